// SPDX-License-Identifier: Apache-2.0

import AVFAudio
import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// What a `CXProvider` does: it may outlive the provider while callbacks are under way.
final class ProviderCore: ActionHolder, @unchecked Sendable {
    /// An action that was delivered and is not forgotten.
    struct Record {
        enum Stage { case pending, complete, timedOut, dropped }
        let described: ActionDescription
        let state: ActionState
        /// Kept until the app has been asked to perform it.
        var object: CXAction?
        weak var seen: CXAction?
        var stage = Stage.pending
    }

    struct Pending {
        let uuid: UUID
        let actions: [UUID]
        var isExecutedByApp = false
    }

    struct Content {
        weak var provider: CXProvider?
        weak var delegate: (any CXProviderDelegate)?
        var queue: DispatchQueue?
        var hasBegun = false
        var missedBegin = false
        var isDead = false
        var current: CXProviderConfiguration
        /// Objects that the app may have changed without assigning them again.
        weak var assigned: CXProviderConfiguration?
        weak var handedOut: CXProviderConfiguration?
        var records: [UUID: Record] = [:]
        var finished: [UUID] = []
        var pending: [Pending] = []
        /// The app looks actions up in the provider: then letting go of one means nothing.
        var usesPending = false
    }

    /// How many finished actions are remembered, to tell a second completion from a stranger's.
    static let memory = 256

    let link: AppLink
    let id: ProviderID
    private let madeOn = pthread_self()
    private let isOfMainQueue = ProviderCore.isOnMainQueue
    let content: Mutex<Content>

    init(link: AppLink, configuration: CXProviderConfiguration) {
        self.link = link
        id = link.newProvider()
        var start = Content(current: configuration.duplicate())
        start.assigned = configuration
        let box = SendableBox(start)
        content = Mutex(box.value)
    }

    func register(_ provider: CXProvider) {
        let box = SendableBox(provider)
        content.withLock { $0.provider = box.value }
        // The session is the app's from now on, so that it hears of the activations.
        _ = AVAudioSession.of(link)
        link.handle(.provider(id)) { [weak self] in self?.receive($0) }
        link.send(.registerProvider(id, configuration.described))
    }

    func send(_ message: (ProviderID) -> AppMessage) {
        guard !content.withLock({ $0.isDead }) else { return link.send(message(id)) }
        noticeStaleConfiguration()
        link.send(message(id))
    }

    // MARK: Delegate

    func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) {
        let box = SendableBox(delegate)
        let isLate = content.withLock { content in
            content.delegate = box.value
            content.queue = queue
            defer { content.missedBegin = false }
            return delegate != nil && (content.missedBegin || pthread_equal(madeOn, pthread_self()) == 0)
        }
        if isLate {
            link.observed(
                .providerDelegateLate,
                "the delegate was set after the provider had begun, or from another thread than the one that made the provider.")
        }
    }

    /// Runs `work` with provider and delegate on the delegate's queue; `missing` where there is no delegate (any more).
    private func call(
        _ work: @escaping @Sendable (CXProvider, any CXProviderDelegate) -> Void, missing: @escaping @Sendable () -> Void = {}
    ) {
        let queue = content.withLock { $0.queue }
        link.deliver(on: queue) { [self] in
            let found = SendableBox(
                content.withLock { content -> (CXProvider, any CXProviderDelegate)? in
                    guard !content.isDead, let provider = content.provider, let delegate = content.delegate else { return nil }
                    return (provider, delegate)
                })
            if let (provider, delegate) = found.value { return work(provider, delegate) }
            if !content.withLock({ $0.isDead }) { missing() }
        }
    }

    // MARK: Configuration

    var configuration: CXProviderConfiguration {
        get {
            content.withLock { content in
                let copy = content.current.duplicate()
                content.handedOut = copy
                return SendableBox(copy)
            }.value
        }
        set {
            let box = SendableBox(newValue)
            content.withLock { content in
                content.current = box.value.duplicate()
                content.assigned = box.value
                content.handedOut = nil
            }
            link.send(.configureProvider(id, newValue.described))
        }
    }

    /// Whether an object of the app's says something else than what is in force (PRV-7).
    private func noticeStaleConfiguration() {
        let isStale = content.withLock { content in
            let current = content.current.described
            let others = [content.assigned, content.handedOut].compactMap { $0 }
            guard others.contains(where: { $0.described != current }) else { return false }
            content.assigned = nil
            content.handedOut = nil
            return true
        }
        if isStale { link.send(.configurationStale(id)) }
    }

    // MARK: Life

    func invalidate() {
        let wasDead = content.withLock { content in
            defer { content.isDead = true }
            return content.isDead
        }
        guard !wasDead else { return }
        link.send(.invalidateProvider(id))
        link.handle(.provider(id), by: nil)
    }

    func released() {
        let wasDead = content.withLock { content in
            defer { content.isDead = true }
            return content.isDead
        }
        guard !wasDead else { return }
        link.send(.providerReleased(id))
        link.handle(.provider(id), by: nil)
    }

    func reportIncoming(_ uuid: UUID, _ update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void) {
        noticeStaleConfiguration()
        let described = update.described
        link.ask({ .reportNewIncomingCall($0, id, call: UUIDValue(uuid), described) }) { [self] answer in
            var error: CXErrorCodeIncomingCallError? = CXErrorCodeIncomingCallError(.unknown)
            if case .reported(_, _, let code)? = answer { error = code.map { CXErrorCodeIncomingCallError(code: $0) } }
            let queue = content.withLock { $0.queue }
            link.deliver(on: queue ?? link.privateQueue) { [error] in completion(error) }
        }
    }
}

// MARK: - From the service

extension ProviderCore {
    private func receive(_ message: ServiceMessage) {
        switch message {
        case .providerBegan:
            // The delegate of a provider that was made on the main queue comes in the same turn: it is not late, however fast the service is.
            if isOfMainQueue { link.deliver(on: nil) { [self] in begun() } } else { begun() }
        case .providerReset(_, let registersAgain):
            dropAll()
            call { provider, delegate in delegate.providerDidReset(provider) }
            if registersAgain { link.send(.registerProvider(id, configuration.described)) }
        case .transactionBegan(_, let transaction): begin(transaction)
        case .perform(_, let transaction, let action): perform(action, of: UUID(transaction))
        case .timedOut(_, let action): timeOut(action)
        case .dropped(let action): content.withLock { $0.finish(UUID(action), .dropped) }
        case .didActivate:
            call { [link] provider, delegate in delegate.provider(provider, didActivate: AVAudioSession.of(link)) }
        case .didDeactivate:
            call { [link] provider, delegate in delegate.provider(provider, didDeactivate: AVAudioSession.of(link)) }
        default: break
        }
    }

    /// The main queue leaves the main thread with `dispatchMain()`.
    private static var isOnMainQueue: Bool { Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueue.value) != nil }
    private static let mainQueue: SendableBox<DispatchSpecificKey<Bool>> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return SendableBox(key)
    }()

    private func begun() {
        let isMissed = content.withLock { content in
            content.hasBegun = true
            content.missedBegin = content.delegate == nil
            return content.missedBegin
        }
        if !isMissed { call { provider, delegate in delegate.providerDidBegin(provider) } }
    }

    private func dropAll() {
        content.withLock { content in
            for uuid in content.pending.flatMap(\.actions) { content.finish(uuid, .dropped) }
        }
    }

    private func begin(_ described: TransactionDescription) {
        content.withLock { content in
            for action in described.actions {
                let uuid = UUID(action.uuid)
                let state = ActionState(uuid: uuid, timeoutDate: Date(action.timeoutDate), holder: self)
                let object = CXAction.delivered(action, state: state)
                content.records[uuid] = Record(described: action, state: state, object: object, seen: object)
            }
            content.pending.append(Pending(uuid: UUID(described.uuid), actions: described.actions.map { UUID($0.uuid) }))
        }
        let uuid = UUID(described.uuid)
        call { [self] provider, delegate in
            guard let transaction = transaction(uuid) else { return }
            let isExecuted = delegate.provider(provider, execute: transaction)
            guard isExecuted else { return }
            let objects = content.withLock { content -> SendableBox<[CXAction?]> in
                guard let index = content.pending.firstIndex(where: { $0.uuid == uuid }) else { return SendableBox([]) }
                content.pending[index].isExecutedByApp = true
                return SendableBox(content.pending[index].actions.map { content.records[$0]?.take() ?? nil })
            }
            withExtendedLifetime(objects) {}
        }
    }

    private func transaction(_ uuid: UUID) -> CXTransaction? {
        content.withLock { content -> SendableBox<CXTransaction?> in
            guard let pending = content.pending.first(where: { $0.uuid == uuid }) else { return SendableBox(nil) }
            return SendableBox(CXTransaction(uuid: uuid, actions: pending.actions.compactMap { content.object($0) }))
        }.value
    }

    var pendingTransactions: [CXTransaction] {
        content.withLock { content -> SendableBox<[CXTransaction]> in
            content.usesPending = true
            return SendableBox(
                content.pending.map { pending in
                    CXTransaction(uuid: pending.uuid, actions: pending.actions.compactMap { content.object($0) })
                })
        }.value
    }

    private func perform(_ action: ActionDescription, of transaction: UUID) {
        let uuid = UUID(action.uuid)
        content.withLock { content in
            content.records[uuid]?.state.content.withLock { $0.timeoutDate = Date(action.timeoutDate) }
        }
        call { [self] provider, delegate in
            // Executed by the app, or gone while it waited on the queue.
            let taken = content.withLock { content -> SendableBox<CXAction?> in
                guard content.pending.first(where: { $0.uuid == transaction })?.isExecutedByApp != true else { return SendableBox(nil) }
                return SendableBox(content.records[uuid]?.take() ?? nil)
            }
            guard let object = taken.value else { return }
            Self.perform(object, provider, delegate)
        } missing: { [self] in
            link.observed(.providerNoDelegate, call: action.call, "an action arrived and the provider has no delegate.")
        }
    }

    private static func perform(_ action: CXAction, _ provider: CXProvider, _ delegate: any CXProviderDelegate) {
        switch action {
        case let action as CXStartCallAction: delegate.provider(provider, perform: action)
        case let action as CXAnswerCallAction: delegate.provider(provider, perform: action)
        case let action as CXEndCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetHeldCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetMutedCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetGroupCallAction: delegate.provider(provider, perform: action)
        case let action as CXPlayDTMFCallAction: delegate.provider(provider, perform: action)
        case let action as CXSetTranslatingCallAction: delegate.provider(provider, perform: action)
        default: action.fail()
        }
    }

    private func timeOut(_ action: ActionDescription) {
        let uuid = UUID(action.uuid)
        let found = content.withLock { content -> SendableBox<CXAction?> in
            let object = content.object(uuid)
            content.finish(uuid, .timedOut)
            return SendableBox(object)
        }
        guard let object = found.value else { return }
        let box = SendableBox(object)
        call { provider, delegate in delegate.provider(provider, timedOutPerforming: box.value) }
    }
}

// MARK: - From the actions

extension ProviderCore {
    func completed(_ action: UUID, _ result: ActionResult) {
        let stage = content.withLock { content in
            defer { if content.records[action]?.stage == .pending { content.finish(action, .complete) } }
            return content.records[action]?.stage
        }
        if case .notImplemented = result { return link.send(.actionNotImplemented(UUIDValue(action))) }
        switch stage {
        case .pending, .dropped, nil: link.send(.completeAction(UUIDValue(action), result.outcome))
        case .complete, .timedOut: link.send(.completionIgnored(UUIDValue(action), result.outcome))
        }
    }

    /// Comes out of a `deinit`, which may run under any lock: judged later.
    func released(_ action: UUID) { link.deliver(on: link.privateQueue) { [self] in judgeReleased(action) } }

    private func judgeReleased(_ action: UUID) {
        let isAbandoned = content.withLock { content in
            guard let record = content.records[action], record.stage == .pending else { return false }
            return !content.usesPending && !content.isDead
        }
        if isAbandoned { link.send(.actionAbandoned(UUIDValue(action))) }
    }
}

extension ProviderCore.Record {
    /// The object, no longer kept here.
    mutating func take() -> CXAction? {
        defer { object = nil }
        return object
    }
}

extension ProviderCore.Content {
    /// The object of that action that the app has, or a new one.
    mutating func object(_ uuid: UUID) -> CXAction? {
        guard let record = records[uuid] else { return nil }
        if let object = record.object ?? record.seen { return object }
        let made = CXAction.delivered(record.described, state: record.state)
        records[uuid]?.seen = made
        return made
    }

    mutating func finish(_ uuid: UUID, _ stage: ProviderCore.Record.Stage) {
        guard records[uuid]?.stage == .pending else { return }
        records[uuid]?.stage = stage
        records[uuid]?.object = nil
        finished.append(uuid)
        pending.removeAll { pending in pending.actions.allSatisfy { records[$0]?.stage != .pending } }
        while finished.count > ProviderCore.memory { records[finished.removeFirst()] = nil }
    }
}
