// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// The app's use of sound, and what the system decides about it.
///
/// For calls the app sets category and mode and never activates the session: the call service does, and says so by
/// `CXProviderDelegate.provider(_:didActivate:)`. Which devices really play is the business of the sound server and of the phone's audio path;
/// here stand the rights and the route.
public class AVAudioSession: NSObject {
    let core: SessionCore

    private init(link: AppLink) {
        core = SessionCore(link: link)
        super.init()
        core.start(self)
    }

    public class func sharedInstance() -> AVAudioSession { of(AppLink.current) }

    /// The session of that app.
    package class func of(_ link: AppLink) -> AVAudioSession { link.part { AVAudioSession(link: link) } }

    // MARK: Category

    public func setCategory(_ category: Category) throws { try set { $0.category = category } }

    public func setCategory(_ category: Category, options: CategoryOptions = []) throws {
        try set {
            $0.category = category
            $0.options = options
        }
    }

    public func setCategory(_ category: Category, mode: Mode, options: CategoryOptions = []) throws {
        try set {
            $0.category = category
            $0.mode = mode
            $0.options = options
        }
    }

    public func setCategory(_ category: Category, mode: Mode, policy: RouteSharingPolicy, options: CategoryOptions = []) throws {
        try set {
            $0.category = category
            $0.mode = mode
            $0.policy = policy
            $0.options = options
        }
    }

    public func setMode(_ mode: Mode) throws { try set { $0.mode = mode } }

    private func set(_ change: (inout SessionCore.Content) -> Void) throws {
        let now = core.content.withLock { content in
            change(&content)
            return SessionCategory(
                category: Self.short(content.category.rawValue, after: "AVAudioSessionCategory"),
                mode: Self.short(content.mode.rawValue, after: "AVAudioSessionMode"), options: content.options.rawValue)
        }
        core.link?.send(.sessionCategory(now))
    }

    /// `playAndRecord` of `AVAudioSessionCategoryPlayAndRecord`.
    private static func short(_ name: String, after prefix: String) -> String {
        let rest = name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]
        return rest.prefix(1).lowercased() + rest.dropFirst()
    }

    public var category: Category { core.content.withLock { $0.category } }
    public var mode: Mode { core.content.withLock { $0.mode } }
    public var categoryOptions: CategoryOptions { core.content.withLock { $0.options } }
    public var routeSharingPolicy: RouteSharingPolicy { core.content.withLock { $0.policy } }
    public var availableCategories: [Category] { [.ambient, .soloAmbient, .playback, .record, .playAndRecord, .multiRoute] }
    public var availableModes: [Mode] {
        [
            .default, .voiceChat, .videoChat, .gameChat, .videoRecording, .measurement, .moviePlayback, .spokenAudio, .voicePrompt,
        ]
    }

    // MARK: Activation

    /// Activates or deactivates the session by the app's own right, which is less than a call's. Throws an error of
    /// `NSOSStatusErrorDomain`, such as `ErrorCode.insufficientPriority` while another app's call has the sound.
    public func setActive(_ active: Bool, options: SetActiveOptions = []) throws {
        try core.ask { .setActive($0, active, options: options.rawValue) }
    }

    // MARK: Route

    /// Undone by the next change of the route.
    public func overrideOutputAudioPort(_ portOverride: PortOverride) throws {
        try core.ask { .overrideOutput($0, speaker: portOverride == .speaker) }
    }

    public func setPreferredInput(_ inPort: AVAudioSessionPortDescription?) throws {
        let uid = inPort?.uid
        try core.ask { .preferInput($0, uid: uid) }
        core.content.withLock { $0.preferredInput = uid }
    }

    public var preferredInput: AVAudioSessionPortDescription? {
        let uid = core.content.withLock { $0.preferredInput }
        return availableInputs?.first { $0.uid == uid }
    }

    public var availableInputs: [AVAudioSessionPortDescription]? {
        let input = core.content.withLock { $0.route.input }
        let builtIn = AVAudioSessionPortDescription.named("builtInMic")
        return input == "builtInMic" ? [builtIn] : [builtIn, .named(input)]
    }

    public var currentRoute: AVAudioSessionRouteDescription { .of(core.content.withLock { $0.route }) }

    // MARK: Hardware

    public func setPreferredSampleRate(_ sampleRate: Double) throws { core.content.withLock { $0.preferredSampleRate = sampleRate } }
    public var preferredSampleRate: Double { core.content.withLock { $0.preferredSampleRate } }
    public var sampleRate: Double { 48_000 }
    public func setPreferredIOBufferDuration(_ duration: TimeInterval) throws {
        core.content.withLock { $0.preferredBufferDuration = duration }
    }
    public var preferredIOBufferDuration: TimeInterval { core.content.withLock { $0.preferredBufferDuration } }
    public var ioBufferDuration: TimeInterval { 0.02 }
    public var inputLatency: TimeInterval { 0.01 }
    public var outputLatency: TimeInterval { 0.01 }
    public var inputNumberOfChannels: Int { 1 }
    public var outputNumberOfChannels: Int { 1 }
    public var outputVolume: Float { 1 }
    public var isInputAvailable: Bool { recordPermission != .denied }
    public var isOtherAudioPlaying: Bool { false }
    public var secondaryAudioShouldBeSilencedHint: Bool { false }

    // MARK: Permission and helpers

    public var recordPermission: RecordPermission { core.content.withLock { $0.permission } }

    /// Asks the person once; the answer comes on another queue.
    public func requestRecordPermission(_ response: @escaping @Sendable (Bool) -> Void) {
        let isGranted = core.content.withLock { content in
            if content.permission == .undetermined { content.permission = .granted }
            return content.permission == .granted
        }
        guard let link = core.link else { return response(isGranted) }
        link.deliver(on: link.privateQueue) { response(isGranted) }
    }

    public func setPrefersNoInterruptionsFromSystemAlerts(_ inValue: Bool) throws {}
    public func setPrefersInterruptionOnRouteDisconnect(_ inValue: Bool) throws {}
    public func setPrefersEchoCancelledInput(_ value: Bool) throws {}
    public var isEchoCancelledInputAvailable: Bool { false }
    public func setOutputMuted(_ muted: Bool) throws { core.content.withLock { $0.isOutputMuted = muted } }
    public var isOutputMuted: Bool { core.content.withLock { $0.isOutputMuted } }

    /// What the person said of the microphone: set by a test, or by the program that stands for the system's settings.
    package func setPermission(_ permission: RecordPermission) { core.content.withLock { $0.permission = permission } }

    /// Whether the session is active by a call's right.
    package var isActiveForCall: Bool { core.content.withLock { $0.isActiveForCall } }
}
