// SPDX-License-Identifier: Apache-2.0

import Foundation

extension AVAudioSession {
    /// How the app's sound mixes with the rest of the system. Calls need `playAndRecord`.
    public struct Category: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let ambient = Category(rawValue: "AVAudioSessionCategoryAmbient")
        public static let soloAmbient = Category(rawValue: "AVAudioSessionCategorySoloAmbient")
        public static let playback = Category(rawValue: "AVAudioSessionCategoryPlayback")
        public static let record = Category(rawValue: "AVAudioSessionCategoryRecord")
        public static let playAndRecord = Category(rawValue: "AVAudioSessionCategoryPlayAndRecord")
        public static let multiRoute = Category(rawValue: "AVAudioSessionCategoryMultiRoute")
    }

    /// What the sound is for. Calls use `voiceChat`, with a picture `videoChat`.
    public struct Mode: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let `default` = Mode(rawValue: "AVAudioSessionModeDefault")
        public static let voiceChat = Mode(rawValue: "AVAudioSessionModeVoiceChat")
        public static let videoChat = Mode(rawValue: "AVAudioSessionModeVideoChat")
        public static let gameChat = Mode(rawValue: "AVAudioSessionModeGameChat")
        public static let videoRecording = Mode(rawValue: "AVAudioSessionModeVideoRecording")
        public static let measurement = Mode(rawValue: "AVAudioSessionModeMeasurement")
        public static let moviePlayback = Mode(rawValue: "AVAudioSessionModeMoviePlayback")
        public static let spokenAudio = Mode(rawValue: "AVAudioSessionModeSpokenAudio")
        public static let voicePrompt = Mode(rawValue: "AVAudioSessionModeVoicePrompt")
        public static let shortFormVideo = Mode(rawValue: "AVAudioSessionModeShortFormVideo")
        public static let dualRoute = Mode(rawValue: "AVAudioSessionModeDualRoute")
    }

    public struct CategoryOptions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let mixWithOthers = CategoryOptions(rawValue: 0x1)
        public static let duckOthers = CategoryOptions(rawValue: 0x2)
        /// The older name of `allowBluetoothHFP`, known to every SDK.
        public static let allowBluetooth = CategoryOptions(rawValue: 0x4)
        public static let allowBluetoothHFP = CategoryOptions(rawValue: 0x4)
        public static let defaultToSpeaker = CategoryOptions(rawValue: 0x8)
        public static let interruptSpokenAudioAndMixWithOthers = CategoryOptions(rawValue: 0x11)
        public static let allowBluetoothA2DP = CategoryOptions(rawValue: 0x20)
        public static let allowAirPlay = CategoryOptions(rawValue: 0x40)
        public static let overrideMutedMicrophoneInterruption = CategoryOptions(rawValue: 0x80)
        public static let farFieldInput = CategoryOptions(rawValue: 1 << 18)
        public static let bluetoothHighQualityRecording = CategoryOptions(rawValue: 1 << 19)
    }

    public enum RouteSharingPolicy: UInt, Sendable {
        case `default` = 0
        case longFormAudio = 1
        case independent = 2
        case longFormVideo = 3
    }

    public enum PortOverride: UInt, Sendable {
        case none = 0
        /// 'spkr'
        case speaker = 0x7370_6b72
    }

    public struct SetActiveOptions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let notifyOthersOnDeactivation = SetActiveOptions(rawValue: 1)
    }

    public enum RecordPermission: UInt, Sendable {
        /// 'undt'
        case undetermined = 0x756e_6474
        /// 'deny'
        case denied = 0x6465_6e79
        /// 'grnt'
        case granted = 0x6772_6e74
    }

    public enum RouteChangeReason: UInt, Sendable {
        case unknown = 0
        case newDeviceAvailable = 1
        case oldDeviceUnavailable = 2
        case categoryChange = 3
        case override = 4
        case wakeFromSleep = 6
        case noSuitableRouteForCategory = 7
        case routeConfigurationChange = 8
    }

    public enum InterruptionType: UInt, Sendable {
        case ended = 0
        case began = 1
    }

    public struct InterruptionOptions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let shouldResume = InterruptionOptions(rawValue: 1)
    }

    public enum InterruptionReason: UInt, Sendable {
        case `default` = 0
        case appWasSuspended = 1
        case builtInMicMuted = 2
        case routeDisconnected = 4
    }

    public enum SilenceSecondaryAudioHintType: UInt, Sendable {
        case end = 0
        case begin = 1
    }

    /// The codes of errors of the session, in the domain `NSOSStatusErrorDomain`. Compare with `(error as NSError).code`.
    public enum ErrorCode: Int, Sendable {
        case none = 0
        /// 'msrv'
        case mediaServicesFailed = 0x6d73_7276
        /// '!act'
        case isBusy = 0x2161_6374
        /// '!cat'
        case incompatibleCategory = 0x2163_6174
        /// '!int'
        case cannotInterruptOthers = 0x2169_6e74
        /// 'ent?'
        case missingEntitlement = 0x656e_743f
        /// 'siri'
        case siriIsRecording = 0x7369_7269
        /// '!pla'
        case cannotStartPlaying = 0x2170_6c61
        /// '!rec'
        case cannotStartRecording = 0x2172_6563
        case badParam = -50
        /// '!pri'
        case insufficientPriority = 0x2170_7269
        /// '!res'
        case resourceNotAvailable = 0x2172_6573
        /// 'what'
        case unspecified = 0x7768_6174
        /// '!ses'
        case expiredSession = 0x2173_6573
        /// 'inac'
        case sessionNotActive = 0x696e_6163
    }

    /// What a sound comes from or goes to.
    public struct Port: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let builtInMic = Port(rawValue: "MicrophoneBuiltIn")
        public static let headsetMic = Port(rawValue: "MicrophoneWired")
        public static let lineIn = Port(rawValue: "LineIn")
        public static let continuityMicrophone = Port(rawValue: "ContinuityMicrophone")
        public static let builtInReceiver = Port(rawValue: "Receiver")
        public static let builtInSpeaker = Port(rawValue: "Speaker")
        public static let headphones = Port(rawValue: "Headphones")
        public static let lineOut = Port(rawValue: "LineOut")
        public static let bluetoothA2DP = Port(rawValue: "BluetoothA2DPOutput")
        public static let bluetoothLE = Port(rawValue: "BluetoothLE")
        public static let HDMI = Port(rawValue: "HDMIOutput")
        public static let airPlay = Port(rawValue: "AirPlay")
        public static let bluetoothHFP = Port(rawValue: "BluetoothHFP")
        public static let usbAudio = Port(rawValue: "USBAudio")
        public static let carAudio = Port(rawValue: "CarAudio")
        public static let virtual = Port(rawValue: "Virtual")
        public static let PCI = Port(rawValue: "PCI")
        public static let fireWire = Port(rawValue: "FireWire")
        public static let displayPort = Port(rawValue: "DisplayPort")
        public static let AVB = Port(rawValue: "AVB")
        public static let thunderbolt = Port(rawValue: "Thunderbolt")
    }

    public static let interruptionNotification = Notification.Name("AVAudioSessionInterruptionNotification")
    public static let routeChangeNotification = Notification.Name("AVAudioSessionRouteChangeNotification")
    public static let mediaServicesWereLostNotification = Notification.Name("AVAudioSessionMediaServicesWereLostNotification")
    public static let mediaServicesWereResetNotification = Notification.Name("AVAudioSessionMediaServicesWereResetNotification")
    public static let silenceSecondaryAudioHintNotification = Notification.Name("AVAudioSessionSilenceSecondaryAudioHintNotification")
    public static let availableInputsChangeNotification = Notification.Name("AVAudioSessionAvailableInputsChangeNotification")
}

/// Keys of the notifications' `userInfo`; numbers are read `as? UInt`.
public let AVAudioSessionInterruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
public let AVAudioSessionInterruptionOptionKey = "AVAudioSessionInterruptionOptionKey"
public let AVAudioSessionInterruptionReasonKey = "AVAudioSessionInterruptionReasonKey"
public let AVAudioSessionRouteChangeReasonKey = "AVAudioSessionRouteChangeReasonKey"
public let AVAudioSessionRouteChangePreviousRouteKey = "AVAudioSessionRouteChangePreviousRouteKey"
public let AVAudioSessionSilenceSecondaryAudioHintTypeKey = "AVAudioSessionSilenceSecondaryAudioHintTypeKey"
