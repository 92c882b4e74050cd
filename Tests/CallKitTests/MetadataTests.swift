// SPDX-License-Identifier: Apache-2.0

import AVFAudio
import CallKit
import Foundation
import Intents
import PushKit
import Testing

/// Names and raw values against metadata that others generated from Apple's headers (Tests/Fixtures/apple-metadata).
@Suite struct MetadataTests {
    static func rows(_ module: String) throws -> [String: String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "Fixtures/apple-metadata/\(module).txt"), encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), String($0[1])) })
    }

    /// One of our enums: its prefix in C, and the name of its case with a raw value.
    struct Enumeration: CustomTestStringConvertible, Sendable {
        let module: String
        let prefix: String
        let name: @Sendable (Int) -> String?
        /// Values that are tried for cases which the metadata does not know.
        var tried: [Int] = Array(-1...40)
        /// Names of an older spelling or of another type with the same prefix.
        var others: Set<String> = []

        init<Type: RawRepresentable & SendableMetatype>(_ type: Type.Type, _ module: String, _ prefix: String, others: Set<String> = [])
        where Type.RawValue == Int {
            (self.module, self.prefix, self.others) = (module, prefix, others)
            name = { type.init(rawValue: $0).map { "\($0)" } }
        }

        init<Type: RawRepresentable & SendableMetatype>(_ type: Type.Type, _ module: String, _ prefix: String, others: Set<String> = [])
        where Type.RawValue == UInt {
            (self.module, self.prefix, self.others) = (module, prefix, others)
            name = { UInt(exactly: $0).flatMap(type.init).map { "\($0)" } }
        }

        var testDescription: String { prefix }
    }

    static let enumerations = [
        Enumeration(CXHandle.HandleType.self, "CallKit", "CXHandleType"),
        Enumeration(CXCallEndedReason.self, "CallKit", "CXCallEndedReason"),
        Enumeration(CXPlayDTMFCallAction.ActionType.self, "CallKit", "CXPlayDTMFCallActionType"),
        Enumeration(CXCallDirectoryManager.EnabledStatus.self, "CallKit", "CXCallDirectoryEnabledStatus"),
        Enumeration(CXErrorCodeIncomingCallError.Code.self, "CallKit", "CXErrorCodeIncomingCallError"),
        Enumeration(CXErrorCodeRequestTransactionError.Code.self, "CallKit", "CXErrorCodeRequestTransactionError"),
        Enumeration(CXErrorCodeCallDirectoryManagerError.Code.self, "CallKit", "CXErrorCodeCallDirectoryManagerError"),
        Enumeration(CXErrorCodeNotificationServiceExtensionError.Code.self, "CallKit", "CXErrorCodeNotificationServiceExtensionError"),
        Enumeration(
            CXError.Code.self, "CallKit", "CXErrorCode",
            others: ["IncomingCallError", "RequestTransactionError", "CallDirectoryManagerError", "NotificationServiceExtensionError"]),
        Enumeration(INCallCapability.self, "Intents", "INCallCapability", others: ["Option"]),
        Enumeration(
            INCallDestinationType.self, "Intents", "INCallDestinationType",
            others: ["EmergencyDestination", "NormalDestination", "RedialDestination", "VoicemailDestination"]),
        Enumeration(INCallAudioRoute.self, "Intents", "INCallAudioRoute"),
        Enumeration(INCallRecordType.self, "Intents", "INCallRecordType", others: ["Option"]),
        Enumeration(INStartCallIntentResponseCode.self, "Intents", "INStartCallIntentResponseCode"),
        Enumeration(INPersonHandleType.self, "Intents", "INPersonHandleType"),
        Enumeration(AVAudioSession.RouteSharingPolicy.self, "AVFAudio", "AVAudioSessionRouteSharingPolicy", others: ["LongForm"]),
        Enumeration(AVAudioSession.PortOverride.self, "AVFAudio", "AVAudioSessionPortOverride"),
        Enumeration(AVAudioSession.RecordPermission.self, "AVFAudio", "AVAudioSessionRecordPermission"),
        Enumeration(AVAudioSession.RouteChangeReason.self, "AVFAudio", "AVAudioSessionRouteChangeReason"),
        Enumeration(AVAudioSession.InterruptionType.self, "AVFAudio", "AVAudioSessionInterruptionType"),
        Enumeration(AVAudioSession.InterruptionReason.self, "AVFAudio", "AVAudioSessionInterruptionReason"),
        Enumeration(AVAudioSession.SilenceSecondaryAudioHintType.self, "AVFAudio", "AVAudioSessionSilenceSecondaryAudioHintType"),
    ]

    @Test(arguments: enumerations)
    func casesHaveApplesNamesAndValues(enumeration: Enumeration) throws {
        let rows = try Self.rows(enumeration.module)
        var known: [Int: String] = [:]
        for (name, text) in rows where name.hasPrefix(enumeration.prefix) {
            let rest = String(name.dropFirst(enumeration.prefix.count))
            guard let value = Int(text) else { continue }
            if rest == "Key"
                || enumeration.others.contains(where: {
                    $0 == rest || (rest.hasPrefix($0) && rest != "LongFormAudio" && rest != "LongFormVideo")
                })
            {
                continue
            }
            let swift = rest.prefix(1).lowercased() + rest.dropFirst()
            #expect(enumeration.name(value) == swift, "\(name) = \(value)")
            known[value] = swift
        }
        #expect(!known.isEmpty)
        for value in enumeration.tried where enumeration.name(value) != nil {
            #expect(known[value] != nil, "\(enumeration.name(value) ?? "") = \(value) is unknown to Apple's headers")
        }
    }

    @Test func optionsHaveApplesValues() throws {
        let rows = try Self.rows("AVFAudio")
        let options: [(String, AVAudioSession.CategoryOptions)] = [
            ("MixWithOthers", .mixWithOthers), ("DuckOthers", .duckOthers), ("AllowBluetooth", .allowBluetooth),
            ("AllowBluetoothHFP", .allowBluetoothHFP), ("DefaultToSpeaker", .defaultToSpeaker),
            ("InterruptSpokenAudioAndMixWithOthers", .interruptSpokenAudioAndMixWithOthers),
            ("AllowBluetoothA2DP", .allowBluetoothA2DP), ("AllowAirPlay", .allowAirPlay),
            ("OverrideMutedMicrophoneInterruption", .overrideMutedMicrophoneInterruption), ("FarFieldInput", .farFieldInput),
            ("BluetoothHighQualityRecording", .bluetoothHighQualityRecording),
        ]
        for (name, option) in options { #expect(rows["AVAudioSessionCategoryOption\(name)"] == "\(option.rawValue)", "\(name)") }
        let known = Set(rows.keys.filter { $0.hasPrefix("AVAudioSessionCategoryOption") }.map { $0.dropFirst(28) })
        #expect(known == Set(options.map { $0.0[...] }))
        #expect(rows["AVAudioSessionSetActiveOptionNotifyOthersOnDeactivation"] == "1")
        #expect(AVAudioSession.SetActiveOptions.notifyOthersOnDeactivation.rawValue == 1)
        #expect(AVAudioSession.InterruptionOptions.shouldResume.rawValue == 1)
        #expect(try Self.rows("CallKit")["CXCallDirectoryPhoneNumberMax"] == "\(CXCallDirectoryPhoneNumberMax)")
    }

    @Test func stringConstantsExist() throws {
        // Each is a constant of Apple's headers; the value is its own name where the headers show none.
        let categories: [AVAudioSession.Category] = [.ambient, .soloAmbient, .playback, .record, .playAndRecord, .multiRoute]
        let rows = try Self.rows("AVFAudio")
        for category in categories { #expect(rows[category.rawValue] == "string", "\(category)") }
        let push = try Self.rows("PushKit")
        for type in [PKPushType.voIP, .complication, .fileProvider] { #expect(push[type.rawValue] == "string", "\(type)") }
        let keys = [
            AVAudioSessionInterruptionTypeKey, AVAudioSessionInterruptionOptionKey, AVAudioSessionInterruptionReasonKey,
            AVAudioSessionRouteChangeReasonKey, AVAudioSessionRouteChangePreviousRouteKey,
            AVAudioSessionSilenceSecondaryAudioHintTypeKey, AVAudioSession.interruptionNotification.rawValue,
            AVAudioSession.routeChangeNotification.rawValue, AVAudioSession.silenceSecondaryAudioHintNotification.rawValue,
        ]
        for key in keys { #expect(rows[key] == "string", "\(key)") }
        let domains = try Self.rows("CallKit").filter { $0.value == "string" }.keys.sorted()
        #expect(
            domains == [
                "CXErrorDomain", "CXErrorDomainCallDirectoryManager", "CXErrorDomainIncomingCall",
                "CXErrorDomainNotificationServiceExtension", "CXErrorDomainRequestTransaction",
            ])
    }

    @Test func domainsAreThoseOfTheFramework() {
        #expect(CXErrorDomain == "com.apple.CallKit.error")
        #expect(CXErrorDomainIncomingCall == "com.apple.CallKit.error.incomingcall")
        #expect(CXErrorDomainRequestTransaction == "com.apple.CallKit.error.requesttransaction")
        #expect(CXErrorDomainCallDirectoryManager == "com.apple.CallKit.error.calldirectorymanager")
        #expect(CXErrorDomainNotificationServiceExtension == "com.apple.CallKit.error.notificationserviceextension")
    }

    @Test(arguments: [
        ("!pri", AVAudioSession.ErrorCode.insufficientPriority), ("!int", .cannotInterruptOthers), ("!pla", .cannotStartPlaying),
        ("!rec", .cannotStartRecording), ("ent?", .missingEntitlement), ("msrv", .mediaServicesFailed), ("!act", .isBusy),
        ("!cat", .incompatibleCategory), ("siri", .siriIsRecording), ("!res", .resourceNotAvailable), ("!ses", .expiredSession),
        ("inac", .sessionNotActive), ("what", .unspecified),
    ])
    func sessionErrorsAreFourCharacters(text: String, code: AVAudioSession.ErrorCode) {
        #expect(text.utf8.reduce(0) { $0 << 8 | Int($1) } == code.rawValue)
    }

    @Test func intentsAreNamedAsTheirClasses() {
        #expect(INStartCallIntentIdentifier == "\(INStartCallIntent.self)")
        #expect(INStartAudioCallIntentIdentifier == "\(INStartAudioCallIntent.self)")
        #expect(INStartVideoCallIntentIdentifier == "\(INStartVideoCallIntent.self)")
    }
}
