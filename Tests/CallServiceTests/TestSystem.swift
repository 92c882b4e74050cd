// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Calls of the tests.
let callA = UUIDValue(high: 0xA, low: 0xA)
let callB = UUIDValue(high: 0xB, low: 0xB)
let callC = UUIDValue(high: 0xC, low: 0xC)
let cellular = UUIDValue(high: 0xCE, low: 0xCE)

/// A, B, C or the whole UUID.
func letter(_ call: UUIDValue) -> String {
    call == cellular ? "cellular" : call.high == call.low ? String(call.high, radix: 16, uppercase: true) : call.description
}

func words(_ kind: ActionKind) -> String {
    switch kind {
    case .start: "start"
    case .answer: "answer"
    case .end: "end"
    case .setHeld(let isHeld): isHeld ? "hold" : "unhold"
    case .setMuted(let isMuted): isMuted ? "mute" : "unmute"
    case .setGroup(let other): other.map { "group with \(letter($0)):" } ?? "ungroup"
    case .playDTMF(let digits, _): "digits \(digits):"
    case .setTranslating: "translate"
    case .bare: "bare"
    }
}

/// One service, its apps and a clock that runs when told.
final class TestSystem {
    var machine: CallServiceMachine
    var now = MonotonicTime.zero
    var apps: [TestApp] = []
    var diagnostics: [Diagnostic] = []
    /// Everything that apps were told, in order: `one: perform answer A`.
    var log: [String] = []
    var history: [HistoryEntry] = []
    var launches: [String] = []
    var terminated: [String] = []
    var closed: [String] = []
    /// What the system starts when an app is needed.
    var onLaunch: ((String) -> Void)?
    static let start = WallTime(microseconds: 1_790_000_000_000_000)

    init(_ settings: CallServiceSettings = CallServiceSettings(), seed: UInt64 = 1) {
        machine = CallServiceMachine(
            settings: settings, random: RandomSource(SplitMix64(seed: seed)), wallClock: Self.start)
    }

    /// An app that said hello, set its audio category and made its provider.
    func app(
        _ name: String = "one", describe: (inout AppDescriptor) -> Void = { _ in },
        configure: (inout ProviderConfiguration) -> Void = { _ in },
        makesProvider: Bool = true
    ) -> TestApp {
        let app = TestApp(self, name, machine.connect(now: now))
        apps.append(app)
        var descriptor = AppDescriptor(bundle: "org.example.\(name)", displayName: name)
        describe(&descriptor)
        app.say(.hello(descriptor))
        app.say(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "voiceChat")))
        configure(&app.configuration)
        if makesProvider { app.say(.registerProvider(1, app.configuration)) }
        return app
    }

    func pump() {
        while let effect = machine.nextEffect() {
            switch effect {
            case .send(let id, let message): apps.first { $0.id == id && $0.isRunning }?.hear(message)
            case .diagnostic(let diagnostic): diagnostics.append(diagnostic)
            case .history(let entry): history.append(entry)
            case .launch(let bundle):
                launches.append(bundle)
                onLaunch?(bundle)
            case .terminate(let id, let diagnostic): terminated.append("\(id.rawValue) \(diagnostic.pitfall.code)")
            case .close(_, let code): closed.append(code)
            case .screen: break
            }
        }
    }

    @discardableResult
    func person(_ command: UserCommand) -> UserCommandRefusal? {
        let refusal = machine.perform(command, now: now)
        pump()
        return refusal
    }

    func push(_ bundle: String = "org.example.one", _ payload: String = #"{"call":"0000000A-0000-0000-0000-00000000000A"}"#) -> PushVerdict
    {
        let verdict = machine.deliverPush(bundle: bundle, type: PushType.voIP, payload: Array(payload.utf8), now: now)
        pump()
        return verdict
    }

    /// Lets time pass, deadline by deadline.
    func pass(_ interval: Interval) {
        let end = now + interval
        while let next = machine.nextDeadline, next <= end {
            now = max(now, next)
            machine.advance(to: now)
            pump()
        }
        now = end
        machine.advance(to: now)
        pump()
    }

    func state(_ call: UUIDValue) -> ScreenCall.State? { machine.screen.calls.first { $0.uuid == call }?.state }
    func offers(_ call: UUIDValue) -> [UserOffer] { machine.screen.calls.first { $0.uuid == call }?.offers ?? [] }
    var wall: WallTime { WallTime(microseconds: Self.start.microseconds + now.nanoseconds / 1000) }
}

/// Runs a test; exactly these diagnostics must come of it, in this order.
func system(
    _ change: (inout CallServiceSettings) -> Void = { _ in }, expecting: [Pitfall] = [], sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (TestSystem) throws -> Void
) rethrows {
    var settings = CallServiceSettings()
    change(&settings)
    let system = TestSystem(settings)
    try body(system)
    #expect(system.diagnostics.map(\.pitfall) == expecting, "\(system.diagnostics)", sourceLocation: sourceLocation)
}

/// An app that keeps its own view of the calls and completes each action at once, unless told otherwise.
final class TestApp {
    unowned let system: TestSystem
    let name: String
    let id: AppID
    var isRunning = true
    var configuration = ProviderConfiguration()
    /// What it was told, in order.
    var events: [String] = []
    /// How an action is completed; nil: not yet.
    var decide: (ActionDescription) -> ActionOutcome? = { _ in .fulfilled(at: nil, engine: nil) }
    /// What the app does when it is told something, after its own part.
    var onMessage: (ServiceMessage) -> Void = { _ in }
    /// Actions that wait for `complete`.
    var held: [ActionDescription] = []
    var calls: [CallSnapshot] = []
    var isAudioActive = false
    var activations: [Bool] = []
    var answers: [RequestID: Int?] = [:]
    var activities: [ActivityDescription] = []
    var pushes: [(number: UInt64, mustReport: Bool)] = []
    var tokens: [Octets] = []
    private var nextRequest: RequestID = 1

    init(_ system: TestSystem, _ name: String, _ id: AppID) {
        self.system = system
        self.name = name
        self.id = id
    }

    func say(_ message: AppMessage) {
        system.machine.receive(message, from: id, now: system.now)
        system.pump()
    }

    func probe(_ events: ProbeEvent...) { for event in events { say(.probe(event)) } }

    /// The process is gone.
    func crash() {
        isRunning = false
        system.machine.disconnect(id, now: system.now)
        system.pump()
    }

    // MARK: Saying

    private func ask(_ message: (RequestID) -> AppMessage) -> Int? {
        let request = nextRequest
        nextRequest += 1
        say(message(request))
        guard let answer = answers[request] else {
            Issue.record("no answer to request \(request)")
            return -1
        }
        return answer
    }

    /// nil, or the code of the refusal.
    @discardableResult
    func report(_ call: UUIDValue, _ update: CallUpdate = CallUpdate(remoteHandle: Handle(.generic, "ana"))) -> Int? {
        ask { .reportNewIncomingCall($0, 1, call: call, update) }
    }

    @discardableResult
    func request(_ actions: (UUIDValue, ActionKind)...) -> Int? {
        request(actions.map { ActionDescription(uuid: uuid(), call: $0.0, kind: $0.1) })
    }

    @discardableResult
    func request(_ actions: [ActionDescription]) -> Int? {
        ask { .request($0, TransactionDescription(uuid: self.uuid(), actions: actions)) }
    }

    @discardableResult
    func start(_ call: UUIDValue, _ handle: Handle = Handle(.generic, "ben"), isVideo: Bool = false) -> Int? {
        request((call, .start(handle: handle, contactIdentifier: nil, isVideo: isVideo)))
    }

    func setActive(_ isActive: Bool) -> Int? { ask { .setActive($0, isActive, options: 0) } }
    func overrideOutput(_ speaker: Bool) -> Int? { ask { .overrideOutput($0, speaker: speaker) } }
    func voipPayload(_ payload: String) -> Int? { ask { .reportVoIPPayload($0, Octets(Array(payload.utf8))) } }
    func updated(_ call: UUIDValue, _ update: CallUpdate) { say(.reportUpdated(1, call: call, update)) }
    func ended(_ call: UUIDValue, _ reason: CallEndedReason = .remoteEnded) { say(.reportEnded(1, call: call, at: nil, reason)) }
    func connecting(_ call: UUIDValue) { say(.reportStartedConnecting(1, call: call, at: nil)) }
    func connected(_ call: UUIDValue) { say(.reportConnected(1, call: call, at: nil)) }

    /// A call that came and was accepted at the screen.
    func takeCall(_ call: UUIDValue, _ update: CallUpdate = CallUpdate(remoteHandle: Handle(.generic, "ana"))) {
        report(call, update)
        system.person(.accept(call))
    }

    /// A call that was placed and answered; what it supports was reported.
    func placeCall(_ call: UUIDValue, _ handle: Handle = Handle(.generic, "ben")) {
        start(call, handle)
        connecting(call)
        connected(call)
        updated(call, CallUpdate(supportsHolding: true))
    }

    func complete(_ action: ActionDescription, _ outcome: ActionOutcome = .fulfilled(at: nil, engine: nil)) {
        held.removeAll { $0.uuid == action.uuid }
        say(.completeAction(action.uuid, outcome))
    }

    /// Completes the oldest action that waits.
    func completeNext(_ outcome: ActionOutcome = .fulfilled(at: nil, engine: nil)) {
        guard let action = held.first else {
            Issue.record("no action waits")
            return
        }
        complete(action, outcome)
    }

    func uuid() -> UUIDValue {
        nextUUID += 1
        return UUIDValue(high: UInt64(id.rawValue) << 32 | 0xAC, low: nextUUID)
    }
    private var nextUUID: UInt64 = 0

    // MARK: Hearing

    func hear(_ message: ServiceMessage) {
        switch message {
        case .welcome(let calls, _): self.calls = calls
        case .providerBegan: note("begin")
        case .providerReset(let id, let registersAgain):
            note("reset")
            calls = []
            held = []
            if registersAgain { say(.registerProvider(id, configuration)) }
        case .reported(let request, _, let code), .requested(let request, let code), .sessionAnswer(let request, let code),
            .voipPayloadAnswer(let request, let code), .directoryAnswer(let request, let code), .directoryStatus(let request, _, let code):
            answers[request] = code
            if case .requested = message { note("completion \(code.map(String.init) ?? "nil")") }
        case .transactionBegan(_, let transaction):
            note("execute " + transaction.actions.map { "\(words($0.kind)) \(letter($0.call))" }.joined(separator: ", "))
        case .perform(_, _, let action): perform(action)
        case .timedOut(_, let action):
            note("timed out \(words(action.kind)) \(letter(action.call))")
            held.removeAll { $0.uuid == action.uuid }
        case .dropped(let action): held.removeAll { $0.uuid == action }
        case .callChanged(let snapshot): observe(snapshot)
        default: hearWorld(message)
        }
        onMessage(message)
    }

    private func perform(_ action: ActionDescription) {
        note("perform \(words(action.kind)) \(letter(action.call))")
        if let outcome = decide(action) { say(.completeAction(action.uuid, outcome)) } else { held.append(action) }
    }

    private func observe(_ snapshot: CallSnapshot) {
        calls.removeAll { $0.uuid == snapshot.uuid }
        if !snapshot.hasEnded { calls.append(snapshot) }
        let state = snapshot.hasEnded ? "ended" : snapshot.isOnHold ? "held" : snapshot.hasConnected ? "connected" : "new"
        note("observe \(letter(snapshot.uuid)) \(state)")
    }

    private func hearWorld(_ message: ServiceMessage) {
        switch message {
        case .didActivate:
            isAudioActive = true
            activations.append(true)
            note("didActivate")
        case .didDeactivate:
            isAudioActive = false
            activations.append(false)
            note("didDeactivate")
        case .interruptionBegan: note("interrupted")
        case .interruptionEnded(let shouldResume): note("interruption ended \(shouldResume)")
        case .routeChanged(let reason, let route): note("route \(reason) \(route.output)")
        case .mediaServicesReset: note("media reset")
        case .pushToken(_, let token): tokens.append(token)
        case .pushTokenInvalidated: note("token invalid")
        case .push(let number, _, _, let mustReport):
            pushes.append((number, mustReport))
            note("push")
        case .activity(_, let activity):
            activities.append(activity)
            note("activity")
        default: break
        }
    }

    private func note(_ event: String) {
        events.append(event)
        system.log.append("\(name): \(event)")
    }

    /// What was told, of those kinds only.
    func heard(_ prefixes: String...) -> [String] { events.filter { event in prefixes.contains { event.hasPrefix($0) } } }
    var performed: [String] { heard("perform").map { String($0.dropFirst(8)) } }
}
