// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
@preconcurrency import CallKit
import CallProbe
import Foundation
@preconcurrency import Intents
@preconcurrency import PushKit

/// A minimal calling app: what happens in the network is reported to the system, what the person wants comes back from it.
///
/// Everything runs on the main queue, as both delegates were given none. The same source is built for iOS and for Linux.
public final class SpeakerboxApp: NSObject, @unchecked Sendable {
    /// Limits of the app's own.
    public struct Limits: Sendable {
        /// A call rings so long, in seconds.
        public var ringing = 45.0
        /// An accepted call waits so long for its invitation: less than the system gives the answer.
        public var invitation = 20.0
        /// False where the system is too old or the device too slow to report a pushed call in time: calls are told by an alert instead.
        public var takesCallPushes = true

        public init() {}
    }

    public typealias Schedule = @Sendable (_ seconds: Double, _ work: @escaping @Sendable () -> Void) -> Void

    package let provider: CXProvider
    let controller = CXCallController()
    private let registry: PKPushRegistry
    let signalling: any Signalling
    let limits: Limits
    private let schedule: Schedule
    var calls: [UUID: SpeakerCall] = [:]
    private var hasBegun = false
    private var waitingForBegin: [() -> Void] = []
    /// The system has given the sound device, and not taken it back.
    var hasAudio = false
    private var interruptions: (any NSObjectProtocol)?
    /// Hears in one word each what the app does: for a log, and for tests.
    public var onLog: (@Sendable (String) -> Void)?
    /// Takes the token, as two hexadecimal digits an octet; nil: it is no good any more.
    public var uploadToken: (@Sendable (String?) -> Void)?
    /// Takes the token of alerts: by these the server tells of calls where there is no other.
    public var uploadAlertToken: (@Sendable (String) -> Void)?

    /// Made first thing at launch, before anything slow.
    public init(
        signalling: any Signalling, limits: Limits = Limits(),
        schedule: @escaping Schedule = { DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1) }
    ) {
        self.signalling = signalling
        self.limits = limits
        self.schedule = schedule
        let configuration = CXProviderConfiguration()
        configuration.supportedHandleTypes = [.generic]
        configuration.maximumCallGroups = 2
        configuration.maximumCallsPerCallGroup = 1
        provider = CXProvider(configuration: configuration)
        registry = PKPushRegistry(queue: nil)
        super.init()
        provider.setDelegate(self, queue: nil)
        registry.delegate = self
        registry.desiredPushTypes = limits.takesCallPushes ? [.voIP] : []
        watchInterruptions()
        signalling.onEvent = { [weak self] in self?.happened($0) }
    }

    /// Ends the app's part of the system's calls: only where the process goes on without the app.
    public func close() {
        provider.invalidate()
        if let interruptions { NotificationCenter.default.removeObserver(interruptions) }
    }

    private func watchInterruptions() {
        interruptions = NotificationCenter.default.addObserver(
            forName: AVAudioSession.interruptionNotification, object: AVAudioSession.sharedInstance(), queue: nil
        ) { [weak self] note in
            let type = (note.userInfo?[AVAudioSessionInterruptionTypeKey] as? UInt).flatMap(AVAudioSession.InterruptionType.init)
            guard let type else { return }
            DispatchQueue.main.async { self?.interrupted(type) }
        }
    }

    func log(_ text: String) { onLog?(text) }

    func after(_ seconds: Double, _ work: @escaping @Sendable (SpeakerboxApp) -> Void) {
        schedule(seconds) { [weak self] in if let self { work(self) } }
    }

    // MARK: What the person wants, in the app

    /// A button of the app: calls `address`.
    public func call(_ address: String, isVideo: Bool = false) {
        let start = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: address))
        start.isVideo = isVideo
        whenBegun { app in app.request(start) }
    }

    public func answer(_ call: UUID) { request(CXAnswerCallAction(call: call)) }
    public func end(_ call: UUID) { request(CXEndCallAction(call: call)) }
    public func hold(_ call: UUID, _ isHeld: Bool) { request(CXSetHeldCallAction(call: call, onHold: isHeld)) }
    public func mute(_ call: UUID, _ isMuted: Bool) { request(CXSetMutedCallAction(call: call, muted: isMuted)) }

    private func request(_ action: CXCallAction) {
        controller.requestTransaction(with: action) { [onLog] error in
            if let error { onLog?("refused \((error as NSError).code)") }
        }
    }

    /// The system's token for alerts.
    public func registered(alertToken: Data) { uploadAlertToken?(Self.text(alertToken)) }
    /// The person opened the alert of a call: it comes by the app's own connection.
    public func alertOpened() { signalling.connect() }

    static func text(_ token: Data) -> String { token.map { String(format: "%02x", $0) }.joined() }

    /// A call from the history, the video button, or by voice: the system's activity. Nothing is called by itself.
    public func handle(_ activity: NSUserActivity) -> Bool {
        let person: INPerson?
        switch activity.interaction?.intent {
        case let intent as INStartCallIntent: person = intent.contacts?.first
        case let intent as INStartAudioCallIntent: person = intent.contacts?.first
        case let intent as INStartVideoCallIntent: person = intent.contacts?.first
        default: person = nil
        }
        guard let address = person?.personHandle?.value else { return false }
        // The video button of a live call comes the same way; it is no second call.
        guard !calls.values.contains(where: { $0.address == address }) else { return true }
        call(address)
        return true
    }

    private func whenBegun(_ work: @escaping (SpeakerboxApp) -> Void) {
        if hasBegun { return work(self) }
        waitingForBegin.append { [unowned self] in work(self) }
    }

    func begun() {
        hasBegun = true
        let waiting = waitingForBegin
        waitingForBegin = []
        for work in waiting { work() }
    }

    /// The calls that live, by UUID.
    public var liveCalls: [UUID] { calls.keys.sorted { $0.uuidString < $1.uuidString } }
    public func isMuted(_ call: UUID) -> Bool { calls[call]?.isMuted ?? false }
    public func isHeld(_ call: UUID) -> Bool { calls[call]?.isHeld ?? false }
}
