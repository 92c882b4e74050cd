// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Which call is what the person is doing: at most one group at a time, across all apps (callkit §2.9).
extension CallServiceMachine {
    typealias Move = (app: AppID, provider: ProviderID, action: PendingAction)

    static func groups(of calls: [Call]) -> [UInt64] {
        var groups: [UInt64] = []
        for call in calls where !groups.contains(call.group) { groups.append(call.group) }
        return groups
    }

    /// The calls as they will be once everything that is under way has been done.
    func shadow() -> [Call] {
        var shadow = calls
        for transaction in transactions {
            for action in transaction.actions { predict(action.description, transaction.app, transaction.provider, &shadow) }
        }
        for plan in plans {
            for step in plan.steps { for action in step.actions { predict(action.description, step.app, step.provider, &shadow) } }
        }
        return shadow
    }

    func predict(_ action: ActionDescription, _ app: AppID, _ provider: ProviderID, _ shadow: inout [Call]) {
        if case .start(let handle, _, let isVideo) = action.kind {
            guard !shadow.contains(where: { $0.uuid == action.call }) else { return }
            var call = newOutgoing(action.call, app, provider, handle, isVideo)
            // No group has this number yet, and each call of a transaction gets another.
            call.group = UInt64.max - UInt64(shadow.count)
            shadow.append(call)
            return
        }
        guard let place = shadow.firstIndex(where: { $0.uuid == action.call }) else { return }
        switch action.kind {
        case .answer: shadow[place].state = .answering
        case .end: shadow.remove(at: place)
        case .setHeld(let isHeld): shadow[place].state = isHeld ? .held : .active
        case .setGroup(let other?):
            if let group = shadow.first(where: { $0.uuid == other })?.group { shadow[place].group = group }
        case .setGroup(nil): shadow[place].group = UInt64.max - UInt64(shadow.count + place)
        case .start, .setMuted, .playDTMF, .setTranslating, .bare: break
        }
    }

    func newOutgoing(_ uuid: UUIDValue, _ app: AppID, _ provider: ProviderID, _ handle: Handle, _ isVideo: Bool) -> Call {
        Call(
            uuid: uuid, owner: app, bundle: index(of: app).map { apps[$0].bundle } ?? "", provider: provider, isOutgoing: true,
            state: .dialing,
            update: CallUpdate(remoteHandle: handle, hasVideo: isVideo ? true : nil), group: 0, createdAt: now, startedAt: wall)
    }

    func action(
        _ kind: ActionKind, _ call: UUIDValue, _ origin: Origin, endsOnFailure: Bool = false, resumesHeld: Bool = false
    ) -> PendingAction {
        PendingAction(
            description: ActionDescription(uuid: makeUUID(), call: call, kind: kind, timeoutDate: wall), origin: origin,
            endsOnFailure: endsOnFailure, resumesHeld: resumesHeld)
    }

    // MARK: Requests

    /// An app's valid transaction: what must give way comes first, other apps' calls before its own.
    mutating func accept(_ transaction: TransactionDescription, _ app: AppID, _ provider: ProviderID) {
        var shadow = shadow()
        var foreign: [Move] = []
        var own: [PendingAction] = []
        for description in transaction.actions {
            for move in yielding(to: description, in: transaction, shadow, app) {
                predict(move.action.description, move.app, move.provider, &shadow)
                if move.app == app, move.provider == provider { own.append(move.action) } else { foreign.append(move) }
            }
            if case .start(let handle, _, let isVideo) = description.kind {
                create(description.call, app, provider, handle, isVideo)
            }
            predict(description, app, provider, &shadow)
            var pending = PendingAction(description: description, origin: .app)
            pending.isArbitrated = own.count + foreign.count > 0
            own.append(pending)
        }
        start(steps: foreign + own.map { (app, provider, $0) }, lastUUID: transaction.uuid)
    }

    private mutating func create(_ uuid: UUIDValue, _ app: AppID, _ provider: ProviderID, _ handle: Handle, _ isVideo: Bool) {
        if let index = index(of: app), apps[index].memory.endedCalls.contains(uuid) {
            diagnose(.uuidReused, app, uuid, "The UUID of a call that ended names a new one.")
        }
        var call = newOutgoing(uuid, app, provider, handle, isVideo)
        call.group = number()
        calls.append(call)
        checkHandle(handle, app, uuid)
        announce(call.snapshot())
        startAnswers(handle, call: uuid, app)
    }

    /// What must happen to other calls before this action, which makes its call the foreground.
    private mutating func yielding(
        to action: ActionDescription, in transaction: TransactionDescription, _ shadow: [Call], _ app: AppID
    ) -> [Move] {
        var group: UInt64?
        switch action.kind {
        case .start, .answer: group = nil
        case .setHeld(false):
            group = shadow.first { $0.uuid == action.call }?.group
            // A conference in the making: both are wanted at once (MUL-8).
            let joins = transaction.actions.contains { if case .setGroup(.some) = $0.kind { true } else { false } }
            if joins { return [] }
        case .setGroup(nil): group = nil
        default: return []
        }
        var moves: [Move] = []
        for call in shadow where call.isForeground && call.uuid != action.call && (group == nil || call.group != group) {
            if case .start = action.kind {
                if settings.secondStart == .dropOnConnect, call.owner == app { continue }
                if call.owner == app, call.state == .active, moves.isEmpty {
                    diagnose(.outgoingSecondWithoutHold, app, call.uuid, "A second Start was asked for while this call is active.")
                }
            }
            moves.append(giveWay(call, .service(nil)))
        }
        if action.kind == .answer {
            // MUL-10: what waits behind the accepted call is turned away, in the same breath.
            moves += shadow.filter { $0.state == .ringing && $0.uuid != action.call }.map {
                ($0.owner, $0.provider, self.action(.end, $0.uuid, .service(nil)))
            }
        }
        return moves
    }

    /// Held where the call can be held, else End (MUL-13, OUT-8).
    private func giveWay(_ call: Call, _ origin: Origin) -> Move {
        call.state == .active && call.supportsHolding
            ? (call.owner, call.provider, action(.setHeld(true), call.uuid, origin, endsOnFailure: true))
            : (call.owner, call.provider, action(.end, call.uuid, origin))
    }

    /// A Group or Held that failed may leave two groups active: once nothing is under way, the older one gives way (MUL-15).
    mutating func keepOneGroup() {
        guard transactions.isEmpty, plans.isEmpty else { return }
        let active = calls.filter { $0.state == .active }
        guard let kept = active.last?.group, active.contains(where: { $0.group != kept }) else { return }
        start(steps: active.filter { $0.group != kept }.map { giveWay($0, .service(nil)) })
        deliver()
    }

    // MARK: Plans

    /// Cuts moves into transactions, one for each run of one app, and starts the first.
    mutating func start(steps moves: [Move], lastUUID: UUIDValue? = nil) {
        var steps: [Plan.Step] = []
        for move in moves {
            if let last = steps.indices.last, steps[last].app == move.app, steps[last].provider == move.provider {
                steps[last].actions.append(move.action)
            } else {
                steps.append(Plan.Step(app: move.app, provider: move.provider, uuid: makeUUID(), actions: [move.action]))
            }
        }
        guard !steps.isEmpty else { return }
        if let lastUUID { steps[steps.count - 1].uuid = lastUUID }
        let plan = Plan(id: number(), steps: steps)
        plans.append(plan)
        continuePlan(plan.id)
    }

    /// Begins the next step that still makes sense.
    mutating func continuePlan(_ id: UInt64) {
        guard let place = plans.firstIndex(where: { $0.id == id }) else { return }
        while !plans[place].steps.isEmpty {
            var step = plans[place].steps.removeFirst()
            step.actions.removeAll { action in !calls.contains { $0.uuid == action.description.call && $0.owner == step.app } }
            guard !step.actions.isEmpty else { continue }
            let isLast = plans[place].steps.isEmpty
            if isLast { plans.remove(at: place) }
            begin(
                PendingTransaction(
                    uuid: step.uuid, app: step.app, provider: step.provider, actions: step.actions, plan: isLast ? nil : id))
            return
        }
        plans.remove(at: place)
    }

    // MARK: The call screen's choices

    /// The call whose ringing the person sees and hears: the first one (MUL-9).
    var shownRinging: Call? { shadow().first { $0.state == .ringing } }

    func offers(_ call: Call) -> [UserOffer] {
        let shadow = shadow()
        guard let call = shadow.first(where: { $0.uuid == call.uuid }) else { return [] }
        if call.state == .ringing { return offersOfRinging(call, shadow) }
        var offers: [UserOffer] = [.end, .mute]
        let others = shadow.filter { $0.uuid != call.uuid && $0.group != call.group && $0.isConnectedState }
        switch call.state {
        case .active:
            if call.supportsHolding { offers.append(.hold) }
            if call.supportsHolding, others.contains(where: { $0.state == .held }) { offers.append(.swap) }
        case .held: offers.append(.resume)
        case .ringing, .answering, .dialing, .connecting: break
        }
        if mergePartner(of: call, shadow) != nil { offers.append(.merge) }
        if call.isConnectedState, call.supportsUngrouping, shadow.contains(where: { $0.group == call.group && $0.uuid != call.uuid }) {
            offers.append(.split)
        }
        if call.supportsDTMF, call.state != .held, call.state != .answering { offers.append(.keypad) }
        if configuration(of: call)?.supportsVideo == true, call.update.remoteHandle != nil { offers.append(.video) }
        return offers
    }

    private func offersOfRinging(_ call: Call, _ shadow: [Call]) -> [UserOffer] {
        guard shadow.first(where: { $0.state == .ringing })?.uuid == call.uuid else { return [] }
        let active = shadow.filter { $0.state == .active }
        guard !active.isEmpty else { return [.accept, .decline] }
        let canHold = active.allSatisfy { $0.supportsHolding && $0.hasConnected }
        if shadow.contains(where: { $0.state == .held }) {
            return [.endAndAccept] + (canHold ? [.endHeldAndAccept] : []) + [.decline]
        }
        let mine = Self.groups(of: shadow.filter { $0.owner == call.owner && $0.provider == call.provider }).count
        let fits = mine <= configuration(of: call)?.maximumCallGroups ?? .max
        return [.endAndAccept] + (canHold && fits ? [.holdAndAccept] : []) + [.decline]
    }

    /// A call of the same provider in another group that this one may be merged with.
    func mergePartner(of call: Call, _ shadow: [Call]) -> Call? {
        guard call.isConnectedState, call.supportsGrouping, call.owner != .cellular, let configuration = configuration(of: call) else {
            return nil
        }
        let size = shadow.count { $0.group == call.group }
        return shadow.first { other in
            other.uuid != call.uuid && other.group != call.group && other.owner == call.owner && other.provider == call.provider
                && other.isConnectedState && other.supportsGrouping
                && size + shadow.count { $0.group == other.group } <= configuration.maximumCallsPerCallGroup
        }
    }
}
