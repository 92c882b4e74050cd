// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import Synchronization
import Testing

/// What an app in a test was asked and told, in order.
final class Events: Sendable {
    private let list = Mutex<[String]>([])

    func add(_ event: String) { list.withLock { $0.append(event) } }
    var all: [String] { list.withLock { $0 } }
    /// Everything until now; then it is forgotten.
    func take() -> [String] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

/// A call app as the tests of the specification assume it: records each callback and fulfils each action at once, unless told otherwise.
final class TestApp: NSObject, CXProviderDelegate, CXCallObserverDelegate, @unchecked Sendable {
    let system: CallSystem
    let process: SimulatedApp
    let events = Events()
    let provider: CXProvider
    let controller: CXCallController
    let observer: CXCallObserver
    let session: AVAudioSession
    /// Actions that were left open, by what they are.
    private let open = Mutex<[CXAction]>([])
    private let names = Mutex<[UUID: String]>([:])
    /// What is done with an action; nil: fulfilled.
    let policy = Mutex<(@Sendable (CXAction) -> Disposal)?>(nil)
    let executesItself = Mutex(false)
    var onMute: (@Sendable (CXSetMutedCallAction) -> Void)?

    enum Disposal { case fulfil, fail, keep, drop }

    init(
        _ system: CallSystem, _ bundle: String = "app.one", configuration: CXProviderConfiguration = TestApp.configuration(),
        describe: (inout AppDescriptor) -> Void = { _ in }
    ) {
        self.system = system
        process = system.launch(bundle, configure: describe)
        (provider, controller, observer, session) = process.run {
            (CXProvider(configuration: configuration), CXCallController(), CXCallObserver(), AVAudioSession.sharedInstance())
        }
        super.init()
        provider.setDelegate(self, queue: Self.queue(bundle))
        observer.setDelegate(self, queue: Self.queue(bundle))
    }

    static func configuration() -> CXProviderConfiguration {
        let configuration = CXProviderConfiguration()
        configuration.supportedHandleTypes = [.generic, .phoneNumber]
        return configuration
    }

    /// One serial queue an app: the order of its events is the order of its callbacks.
    private static func queue(_ bundle: String) -> DispatchQueue { DispatchQueue(label: bundle) }

    /// Gives a call a letter for the events.
    func name(_ uuid: UUID, _ name: String) { names.withLock { $0[uuid] = name } }
    func name(of uuid: UUID) -> String { names.withLock { $0[uuid] } ?? "?" }

    func kept<Kind: CXAction>(_ kind: Kind.Type) -> Kind? { open.withLock { list in Box(list.last { $0 is Kind } as? Kind) }.value }

    struct Box<Value>: @unchecked Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    // MARK: CXProviderDelegate

    func providerDidReset(_ provider: CXProvider) { events.add("reset") }
    func providerDidBegin(_ provider: CXProvider) { events.add("begin") }
    func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool {
        let isOwn = executesItself.withLock { $0 }
        if isOwn {
            events.add("execute \(transaction.actions.count)")
            for action in transaction.actions { keep(action) }
        }
        return isOwn
    }
    func provider(_ provider: CXProvider, perform action: CXStartCallAction) { done(action, "Start(\(name(of: action.callUUID)))") }
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { done(action, "Answer(\(name(of: action.callUUID)))") }
    func provider(_ provider: CXProvider, perform action: CXEndCallAction) { done(action, "End(\(name(of: action.callUUID)))") }
    func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
        done(action, "Held(\(name(of: action.callUUID)),\(action.isOnHold))")
    }
    func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
        onMute?(action)
        done(action, "Muted(\(name(of: action.callUUID)),\(action.isMuted))")
    }
    func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) {
        done(action, "Group(\(name(of: action.callUUID)),\(action.callUUIDToGroupWith.map(name(of:)) ?? "nil"))")
    }
    func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {
        done(action, "DTMF(\(name(of: action.callUUID)),\(action.digits),\(action.type.rawValue))")
    }
    func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) { events.add("timedOut \(type(of: action))") }
    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { events.add("didActivate") }
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) { events.add("didDeactivate") }

    func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall) {
        let flags = [
            call.isOutgoing ? "outgoing" : "incoming", call.hasConnected ? "connected" : nil, call.isOnHold ? "held" : nil,
            call.hasEnded ? "ended" : nil,
        ]
        observed.add("\(name(of: call.uuid)) \(flags.compactMap { $0 }.joined(separator: " "))")
    }
    let observed = Events()

    private func done(_ action: CXAction, _ event: String) {
        events.add(event)
        if action is CXStartCallAction || action is CXAnswerCallAction {
            try? AVAudioSession.sharedInstance().setCategory(.playAndRecord, mode: .voiceChat)
        }
        let choice = policy.withLock { $0 }
        switch choice?(action) ?? .fulfil {
        case .fulfil: action.fulfill()
        case .fail: action.fail()
        case .keep: keep(action)
        case .drop: break
        }
    }

    private func keep(_ action: CXAction) {
        let box = Box(action)
        open.withLock { $0.append(box.value) }
    }

    func dropKept() { open.withLock { $0 = [] } }
}

extension TestApp {
    /// Reports an incoming call and waits for the verdict: nil, or the code.
    func report(_ uuid: UUID, _ name: String, from handle: String = "+390612345", change: (CXCallUpdate) -> Void = { _ in }) async -> Int? {
        self.name(uuid, name)
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: .phoneNumber, value: handle)
        change(update)
        do {
            try await provider.reportNewIncomingCall(with: uuid, update: update)
        } catch {
            await system.settle()
            return (error as NSError).code
        }
        await system.settle()
        return nil
    }

    /// Asks for actions and waits for the verdict and what follows.
    func request(_ actions: CXAction...) async -> Int? {
        var code: Int?
        do { try await controller.request(CXTransaction(actions: actions)) } catch { code = (error as NSError).code }
        await system.settle()
        return code
    }

    /// What the app knows of an outgoing call, as every app reports it once the call is up.
    func update(_ uuid: UUID) {
        let update = CXCallUpdate()
        update.localizedCallerName = name(of: uuid)
        provider.reportCall(with: uuid, updated: update)
    }

    /// An outgoing call that the other side has answered.
    func connected(_ name: String) async throws -> UUID {
        let call = UUID()
        #expect(await start(call, name) == nil)
        provider.reportOutgoingCall(with: call, startedConnectingAt: nil)
        provider.reportOutgoingCall(with: call, connectedAt: nil)
        update(call)
        await system.settle()
        _ = events.take()
        _ = observed.take()
        return call
    }

    func start(_ uuid: UUID, _ name: String, to handle: String = "+390698765") async -> Int? {
        self.name(uuid, name)
        return await request(CXStartCallAction(call: uuid, handle: CXHandle(type: .phoneNumber, value: handle)))
    }

    /// An incoming call that the person has answered.
    func answered(_ name: String) async throws -> UUID {
        let call = UUID()
        #expect(await report(call, name) == nil)
        try await system.user.accept(call)
        _ = events.take()
        _ = observed.take()
        return call
    }
}

/// A system whose diagnostics must all have been taken at the end.
func withSystem(
    _ settings: CallServiceSettings = CallSystem.usualSettings, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (CallSystem) async throws -> Void
) async throws {
    let system = CallSystem(settings: settings)
    try await body(system)
    await system.runCallbacks()
    // The app's objects go with the body; whether provider and registry may is tested by P-27 and P-78.
    let diagnostics = system.diagnostics.filter { $0.pitfall != .providerNotInvalidated && $0.pitfall != .pushRegistryLost }
    #expect(diagnostics.map(\.pitfall.code) == [], "unexpected diagnostics", sourceLocation: sourceLocation)
}
