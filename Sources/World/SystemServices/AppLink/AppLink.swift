// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Foundation
import Synchronization

/// The way to a call service. What the service says arrives at `AppLink.receive`, in order, never inside of `send`'s caller's locks.
package protocol ServiceConnection: Sendable {
    func send(_ message: AppMessage)
    /// The time as the service sees it.
    var now: Date { get }
    /// Calls `work` after so many seconds of the service's time.
    func after(_ seconds: Double, _ work: @escaping @Sendable () -> Void)
}

/// One app's joint with the call service.
///
/// Messages are routed here; the objects of the API modules register a closure each for what concerns them.
package final class AppLink: @unchecked Sendable {
    package typealias Handler = @Sendable (ServiceMessage) -> Void

    /// Who listens for what. Providers are looked up by number; the others get everything of their kind.
    package enum Role: Hashable, Sendable {
        case provider(ProviderID)
        case audio
        case push
        case activity
        case directory
    }

    struct Content {
        var connection: (any ServiceConnection)?
        var isReachable = true
        var nextProvider: ProviderID = 1
        var nextRequest: RequestID = 1
        var handlers: [Role: Handler] = [:]
        var observers: [(token: Int, handler: @Sendable (CallSnapshot) -> Void)] = []
        var nextObserver = 0
        var answers: [RequestID: @Sendable (ServiceMessage?) -> Void] = [:]
        var calls: [CallSnapshot] = []
        var isWelcomed = false
        var parts: [ObjectIdentifier: AnyObject] = [:]
        var held: [ServiceMessage] = []
        var isTerminated = false
        var pushUnderWay: UInt64 = 0
        /// Whose audio the service activated last, and not deactivated.
        var activeProvider: ProviderID?
        /// What a service that begins anew must be told again, oldest first.
        var standing: [(key: String, message: AppMessage)] = []
    }

    /// The app as it told the service of itself.
    package let descriptor: AppDescriptor
    /// What the app's callbacks are doing: a test waits for it.
    package let deliveries: Deliveries
    /// Completions without a queue of the app's, notifications, directory answers: in order, never on the main queue.
    package let privateQueue = DispatchQueue(label: "handset.calls.app")

    /// Where call directory lists stand; nil: the user's data folder.
    package let directoryFolder: String?

    let content = Mutex(Content())
    private let welcome = DispatchSemaphore(value: 0)
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    private let onTermination: @Sendable (Diagnostic) -> Void

    package init(
        _ descriptor: AppDescriptor, deliveries: Deliveries = Deliveries(), directoryFolder: String? = nil,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = AppLink.print,
        onTermination: @escaping @Sendable (Diagnostic) -> Void = AppLink.terminate
    ) {
        self.descriptor = descriptor
        self.deliveries = deliveries
        self.directoryFolder = directoryFolder
        self.onDiagnostic = onDiagnostic
        self.onTermination = onTermination
    }

    /// Begins to speak. Called once, before the link is used.
    package func connect(_ connection: any ServiceConnection) {
        content.withLock { $0.connection = connection }
        connection.send(.hello(descriptor))
    }

    /// The service cannot be reached, or not any more: open questions are answered by nothing, later ones at once.
    package func disconnect() {
        let answers = content.withLock { content in
            content.isReachable = false
            content.isWelcomed = true
            defer { content.answers = [:] }
            return content.answers.sorted { $0.key < $1.key }.map(\.value)
        }
        welcome.signal()
        for answer in answers { answer(nil) }
    }

    // MARK: To the service

    package func send(_ message: AppMessage) {
        content.withLock { content in
            Self.remember(message, in: &content)
            return content.isReachable && !content.isTerminated ? content.connection : nil
        }?.send(message)
    }

    private static func remember(_ message: AppMessage, in content: inout Content) {
        let (key, isKept): (String, Bool)
        switch message {
        case .registerProvider(let provider, _): (key, isKept) = ("provider \(provider)", true)
        case .invalidateProvider(let provider), .providerReleased(let provider): (key, isKept) = ("provider \(provider)", false)
        case .registerPush: (key, isKept) = ("push", true)
        case .pushRegistryReleased: (key, isKept) = ("push", false)
        case .sessionCategory: (key, isKept) = ("session", true)
        case .foreground: (key, isKept) = ("foreground", true)
        default: return
        }
        content.standing.removeAll { $0.key == key }
        if isKept { content.standing.append((key, message)) }
    }

    /// The service's process is gone, with every call (PRV-6): the app is told as by the service itself, in its order.
    package func lost() {
        disconnect()
        let (calls, observers, active, handlers) = content.withLock { content in
            defer {
                content.calls = []
                content.activeProvider = nil
            }
            return (content.calls, content.observers.map(\.handler), content.activeProvider, content.handlers)
        }
        for var call in calls {
            call.hasEnded = true
            for observer in observers { observer(call) }
        }
        if let active {
            handlers[.audio]?(.didDeactivate(active))
            handlers[.provider(active)]?(.didDeactivate(active))
        }
        let providers = handlers.keys.compactMap { if case .provider(let id) = $0 { id } else { nil } }
        for id in providers.sorted() { handlers[.provider(id)]?(.providerReset(id, registersAgain: false)) }
    }

    /// Another service answers: it is told who this is and what stands, before anything else is said to it.
    package func reconnect(_ connection: any ServiceConnection) {
        var descriptor = descriptor
        descriptor.isReconnecting = true
        content.withLock { content in
            connection.send(.hello(descriptor))
            for standing in content.standing { connection.send(standing.message) }
            content.connection = connection
            content.isReachable = true
        }
    }

    /// Sends the question with a number of its own. `answer` is called once, with nil where the service is not reached.
    package func ask(_ question: (RequestID) -> AppMessage, answer: @escaping @Sendable (ServiceMessage?) -> Void) {
        let (request, isReachable) = content.withLock { content in
            let request = content.nextRequest
            content.nextRequest += 1
            let isReachable = content.isReachable && content.connection != nil && !content.isTerminated
            if isReachable { content.answers[request] = answer }
            return (request, isReachable)
        }
        guard isReachable else { return answer(nil) }
        send(question(request))
    }

    /// As `ask`, and waits: at most five seconds. For the few calls of Apple's API that answer by returning.
    package func askAndWait(_ question: (RequestID) -> AppMessage) -> ServiceMessage? {
        let done = DispatchSemaphore(value: 0)
        let slot = Slot()
        ask(question) { answer in
            slot.value.withLock { $0 = answer }
            done.signal()
        }
        _ = done.wait(timeout: .now() + 5)
        return slot.value.withLock { $0 }
    }

    private final class Slot: Sendable {
        let value = Mutex<ServiceMessage?>(nil)
    }

    /// A pitfall which only this side sees.
    package func observed(_ pitfall: Pitfall, call: UUIDValue? = nil, _ seen: String) {
        send(.observed(pitfall, call: call, seen: seen))
    }

    /// The service's time.
    package var now: Date { content.withLock { $0.connection }?.now ?? Date() }

    /// The push that came last: what an app says of "the push" is about it.
    package var pushUnderWay: UInt64 { content.withLock { $0.pushUnderWay } }

    /// Runs `work` on `queue` after so many seconds of the service's time.
    package func after(_ seconds: Double, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        content.withLock { $0.connection }?.after(seconds) { [weak self] in self?.deliver(on: queue, work) }
    }

    // MARK: Who listens

    package func newProvider() -> ProviderID {
        content.withLock { content in
            defer { content.nextProvider += 1 }
            return content.nextProvider
        }
    }

    package func handle(_ role: Role, by handler: Handler?) {
        let held = content.withLock { content in
            content.handlers[role] = handler
            guard handler != nil else { return [ServiceMessage]() }
            let mine = content.held.filter { Self.role(of: $0) == role }
            content.held.removeAll { Self.role(of: $0) == role }
            return mine
        }
        for message in held { handler?(message) }
    }

    /// The calls there are, everybody's. The first time it waits for the service's first word, at most five seconds.
    package var calls: [CallSnapshot] {
        if !content.withLock({ $0.isWelcomed }) {
            _ = welcome.wait(timeout: .now() + 5)
            welcome.signal()
        }
        return content.withLock { $0.calls }
    }

    package func observe(_ handler: @escaping @Sendable (CallSnapshot) -> Void) -> Int {
        content.withLock { content in
            content.nextObserver += 1
            content.observers.append((content.nextObserver, handler))
            return content.nextObserver
        }
    }

    package func stopObserving(_ token: Int) {
        content.withLock { content in content.observers.removeAll { $0.token == token } }
    }

    /// The one object of that type that this app has.
    package func part<Part: AnyObject>(_ make: () -> Part) -> Part {
        let key = ObjectIdentifier(Part.self)
        if let part = content.withLock({ SendableBox($0.parts[key]) }).value as? Part { return part }
        let made = SendableBox(make())
        let kept = content.withLock { content -> SendableBox<AnyObject?> in
            if content.parts[key] == nil { content.parts[key] = made.value }
            return SendableBox(content.parts[key])
        }
        return kept.value as? Part ?? made.value
    }

    /// Forgets everything: what a dead process does. Handlers are gone, nothing is delivered any more.
    package func abandon() {
        content.withLock { content in
            content.isTerminated = true
            content.handlers = [:]
            content.observers = []
            content.answers = [:]
            content.parts = [:]
        }
    }

    // MARK: From the service

    package func receive(_ message: ServiceMessage) {
        if content.withLock({ $0.isTerminated }) { return }
        switch message {
        case .welcome(let calls, _):
            content.withLock { content in
                content.calls = calls
                content.isWelcomed = true
            }
            welcome.signal()
        case .callChanged(let call):
            let observers = content.withLock { content in
                content.calls.removeAll { $0.uuid == call.uuid && call.hasEnded }
                if let index = content.calls.firstIndex(where: { $0.uuid == call.uuid }) {
                    content.calls[index] = call
                } else if !call.hasEnded {
                    content.calls.append(call)
                }
                return content.observers.map(\.handler)
            }
            for observer in observers { observer(call) }
        case .diagnostic(let diagnostic): onDiagnostic(diagnostic)
        case .terminate(let diagnostic): onTermination(diagnostic)
        default: route(message)
        }
    }

    private func route(_ message: ServiceMessage) {
        if let request = Self.request(of: message) {
            content.withLock { $0.answers.removeValue(forKey: request) }?(message)
            return
        }
        if case .dropped = message {
            for handler in content.withLock({ content in
                content.handlers.filter { if case .provider = $0.key { true } else { false } }.map(\.value)
            }) {
                handler(message)
            }
            return
        }
        // The audio session hears of an activation too, and first: it is the app's when the app is told.
        switch message {
        case .didActivate(let provider):
            content.withLock { content in
                content.activeProvider = provider
                return content.handlers[.audio]
            }?(message)
        case .didDeactivate:
            content.withLock { content in
                content.activeProvider = nil
                return content.handlers[.audio]
            }?(message)
        default: break
        }
        if case .push(let number, _, _, _) = message { content.withLock { $0.pushUnderWay = number } }
        guard let role = Self.role(of: message) else { return }
        let handler = content.withLock { content in
            if content.handlers[role] == nil, role == .activity || role == .push { content.held.append(message) }
            return content.handlers[role]
        }
        handler?(message)
    }

    private static func request(of message: ServiceMessage) -> RequestID? {
        switch message {
        case .reported(let request, _, _), .requested(let request, _), .sessionAnswer(let request, _), .voipPayloadAnswer(let request, _),
            .directoryAnswer(let request, _), .directoryStatus(let request, _, _):
            request
        default: nil
        }
    }

    private static func role(of message: ServiceMessage) -> Role? {
        switch message {
        case .providerBegan(let provider), .providerReset(let provider, _), .transactionBegan(let provider, _),
            .perform(let provider, _, _),
            .timedOut(let provider, _), .didActivate(let provider), .didDeactivate(let provider):
            .provider(provider)
        case .interruptionBegan, .interruptionEnded, .routeChanged, .mediaServicesLost, .mediaServicesReset: .audio
        case .pushToken, .pushTokenInvalidated, .push: .push
        case .activity: .activity
        case .loadDirectory: .directory
        default: nil
        }
    }

    // MARK: Ends

    /// One line on standard error.
    package static func print(_ diagnostic: Diagnostic) {
        try? FileHandle.standardError.write(contentsOf: Data("\(diagnostic)\n".utf8))
    }

    /// As Apple's system does it: the process ends.
    package static func terminate(_ diagnostic: Diagnostic) {
        print(diagnostic)
        abort()
    }
}

/// Carries what the compiler cannot see to be safe: the objects of Apple's API are not Sendable, the queue that they go to is the app's choice.
package struct SendableBox<Value>: @unchecked Sendable {
    package let value: Value
    package init(_ value: Value) { self.value = value }
}
