// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Actions: delivered with a deadline, completed once (callkit §2.4).
extension CallServiceMachine {
    func pending(_ uuid: UUIDValue, of app: AppID) -> PendingAction? {
        for transaction in transactions where transaction.app == app {
            if let action = transaction.actions.first(where: { $0.description.uuid == uuid }) { return action }
        }
        return nil
    }

    mutating func begin(_ transaction: PendingTransaction) {
        transactions.append(transaction)
        guard transaction.app != .cellular, let index = index(of: transaction.app) else { return }
        var description = TransactionDescription(uuid: transaction.uuid, actions: transaction.actions.map(\.description))
        for place in description.actions.indices {
            description.actions[place].timeoutDate = wallTime(of: now + settings.timeout(of: description.actions[place].kind))
            apps[index].memory.actionUUIDs.remember(description.actions[place].uuid, limit: settings.memory)
        }
        send(.transactionBegan(transaction.provider, description), to: transaction.app)
    }

    // MARK: Delivery

    /// Delivers what waits for nothing any more; the mobile network completes its part at once.
    mutating func deliver() {
        var isMoving = true
        while isMoving {
            isMoving = false
            for place in transactions.indices {
                for index in transactions[place].actions.indices where transactions[place].actions[index].deadline == nil {
                    guard mayBeDelivered(place, index) else { continue }
                    deliver(place, index)
                    isMoving = true
                }
            }
            // Nothing is removed while the loop above runs.
            let cellular = transactions.filter { $0.app == .cellular }.flatMap(\.actions).filter { $0.deadline != nil }
            for action in cellular {
                finish(action.description.uuid, .cellular, .completed) { $0.applyFulfilled(action, .cellular, at: nil) }
                isMoving = true
            }
        }
    }

    private func mayBeDelivered(_ place: Int, _ index: Int) -> Bool {
        let transaction = transactions[place]
        if settings.deliversOneByOne, index > 0 { return false }
        guard case .playDTMF = transaction.actions[index].description.kind else { return true }
        // One digit after another (DTMF-2), in the order in which they were asked for.
        let call = transaction.actions[index].description.call
        for (other, earlier) in transactions.enumerated() where other <= place && earlier.app == transaction.app {
            for (position, action) in earlier.actions.enumerated() where other < place || position < index {
                if action.description.call == call, case .playDTMF = action.description.kind { return false }
            }
        }
        return true
    }

    private mutating func deliver(_ place: Int, _ index: Int) {
        let transaction = transactions[place]
        let kind = transaction.actions[index].description.kind
        let limit = settings.timeout(of: kind)
        transactions[place].actions[index].deadline = now + limit
        transactions[place].actions[index].description.timeoutDate = wallTime(of: now + limit)
        let action = transactions[place].actions[index]
        let uuid = action.description.uuid
        if kind == .answer, let call = self.index(ofCall: action.description.call) {
            calls[call].state = .answering
            calls[call].wasArbitrated = action.isArbitrated
            cancel { $0 == .ringsTooLong(action.description.call) }
        }
        guard transaction.app != .cellular else { return }
        noteEnd(action, transaction.app)
        schedule(.actionTimesOut(transaction.app, uuid), after: limit)
        if case .start = kind { schedule(.startIsSlow(transaction.app, uuid), after: settings.startDeadline) }
        send(.perform(transaction.provider, transaction: transaction.uuid, action.description), to: transaction.app)
    }

    /// Remembers why an End came, for the pitfalls about it.
    private mutating func noteEnd(_ action: PendingAction, _ app: AppID) {
        guard action.description.kind == .end, let index = index(of: app) else { return }
        apps[index].memory.ends.remember(
            AppMemory.End(
                call: action.description.call, byPerson: action.origin == .person,
                wasRinging: calls.contains { $0.uuid == action.description.call && $0.state == .ringing }), limit: settings.memory)
    }

    // MARK: Completion

    mutating func complete(_ uuid: UUIDValue, _ outcome: ActionOutcome, _ app: AppID) {
        guard let action = pending(uuid, of: app) else {
            completionOfNothing(uuid, app)
            return
        }
        finish(uuid, app, .completed) { machine in
            switch outcome {
            case .fulfilled(let date, _): machine.applyFulfilled(action, app, at: date)
            case .failed: machine.applyFailed(action, app, isTimeOut: false)
            }
        }
    }

    mutating func abandon(_ uuid: UUIDValue, _ app: AppID) {
        guard let action = pending(uuid, of: app) else { return }
        diagnose(.actionAbandoned, app, action.description.call, "An action was let go of without being fulfilled or failed.")
    }

    mutating func completionOfNothing(_ uuid: UUIDValue, _ app: AppID) {
        guard let index = index(of: app) else { return }
        counters.increment(.unknownCompletions)
        switch apps[index].memory.actions.last(where: { $0.uuid == uuid })?.fate {
        case .completed: diagnose(.actionCompletedTwice, app, nil, "An action was completed a second time.")
        case .timedOut: diagnose(.actionCompletedAfterTimeout, app, nil, "An action was completed after its time had run out.")
        case .dropped: diagnose(.actionCompletedAfterEnd, app, nil, "An action was completed after its call had ended.")
        case nil: diagnose(.actionUnknown, app, nil, "An action was completed that was not delivered to this app.")
        }
    }

    mutating func timeOut(_ uuid: UUIDValue, _ app: AppID) {
        guard let action = pending(uuid, of: app) else { return }
        counters.increment(.actionsTimedOut)
        let call = action.description.call
        switch action.description.kind {
        case .setHeld:
            diagnose(.actionHoldSlow, app, call, "Held was not completed within \(Int(settings.actionTimeout.seconds)) s.")
        case .playDTMF where isDigitWaiting(behind: uuid, call, app):
            diagnose(.actionDtmfBlocked, app, call, "A digit was not completed, and others wait behind it.")
        default: diagnose(.actionUnanswered, app, call, "An action reached its timeoutDate neither fulfilled nor failed.")
        }
        if let provider = transactions.first(where: { $0.app == app && $0.actions.contains { $0.description.uuid == uuid } })?.provider {
            send(.timedOut(provider, action.description), to: app)
        }
        finish(uuid, app, .timedOut) { $0.applyFailed(action, app, isTimeOut: true) }
    }

    private func isDigitWaiting(behind uuid: UUIDValue, _ call: UUIDValue, _ app: AppID) -> Bool {
        transactions.contains { transaction in
            transaction.app == app
                && transaction.actions.contains { action in
                    guard action.description.uuid != uuid, action.description.call == call else { return false }
                    if case .playDTMF = action.description.kind { return true }
                    return false
                }
        }
    }

    /// Takes the action out, applies what comes of it, and goes on with its plan once its transaction is complete.
    private mutating func finish(
        _ uuid: UUIDValue, _ app: AppID, _ fate: AppMemory.Fate, _ apply: (inout Self) -> Void
    ) {
        let plan = remove(uuid, app, fate)
        apply(&self)
        guard let plan else { return }
        // The app that gives way loses the session before the other one hears of its turn (MUL-14).
        updateAudio()
        continuePlan(plan)
    }

    /// The plan that goes on, if this was the last action of its transaction.
    private mutating func remove(_ uuid: UUIDValue, _ app: AppID, _ fate: AppMemory.Fate) -> UInt64? {
        if let index = index(of: app) { apps[index].memory.actions.remember((uuid, fate), limit: settings.memory) }
        cancel { $0 == .actionTimesOut(app, uuid) || $0 == .startIsSlow(app, uuid) }
        for place in transactions.indices where transactions[place].app == app {
            guard let index = transactions[place].actions.firstIndex(where: { $0.description.uuid == uuid }) else { continue }
            transactions[place].actions.remove(at: index)
            guard transactions[place].actions.isEmpty else { return nil }
            return transactions.remove(at: place).plan
        }
        return nil
    }

    /// A call ended: what was to be done with it is over, without a word to the delegate (ACT-10).
    mutating func dropActions(of call: UUIDValue) {
        for transaction in transactions {
            for action in transaction.actions where action.description.call == call {
                counters.increment(.actionsDropped)
                if action.deadline != nil || transaction.app != .cellular {
                    send(.dropped(action: action.description.uuid), to: transaction.app)
                }
                finish(action.description.uuid, transaction.app, .dropped) { _ in }
            }
        }
    }

    mutating func forgetDeadlines(of transaction: PendingTransaction) {
        for action in transaction.actions {
            let uuid = action.description.uuid
            cancel { $0 == .actionTimesOut(transaction.app, uuid) || $0 == .startIsSlow(transaction.app, uuid) }
        }
    }

    // MARK: Effects

    mutating func applyFulfilled(_ action: PendingAction, _ app: AppID, at date: WallTime?) {
        let uuid = action.description.call
        guard let place = index(ofCall: uuid) else { return }
        let moment = clamped(date, from: calls[place].startedAt, app, uuid)
        switch action.description.kind {
        case .start:
            calls[place].startedAt = moment
            if calls[place].state == .dialing { calls[place].state = .connecting }
            if app == .cellular { connectCellular(place) }
        case .answer:
            calls[place].state = .active
            calls[place].connectedAt = moment
            calls[place].connectedSince = now
            announce(calls[place].snapshot())
            if calls[place].wasArbitrated { schedule(.probe(app, .newCallHasAudio(uuid)), after: settings.mediaGrace) }
        case .end:
            end(uuid, at: date, by: action.origin, reason: reason(of: action))
            if action.resumesHeld { resumeHeld() }
        case .setHeld(let isHeld): setHeld(place, isHeld, app)
        case .setMuted(let isMuted):
            calls[place].isMuted = isMuted
            noteMute(app, uuid)
        case .setGroup(let other): regroup(place, with: other)
        case .setTranslating(let isTranslating, _, _): calls[place].isTranslating = isTranslating
        case .playDTMF, .bare: break
        }
    }

    /// The mobile network's calls are answered at once.
    private mutating func connectCellular(_ place: Int) {
        calls[place].state = .active
        calls[place].connectedAt = wall
        announce(calls[place].snapshot())
    }

    private func reason(of action: PendingAction) -> CallEndedReason? {
        if case .service(let reason) = action.origin { return reason }
        return nil
    }

    private mutating func setHeld(_ place: Int, _ isHeld: Bool, _ app: AppID) {
        if isHeld, let index = index(of: app) { apps[index].memory.heldSuccesses += 1 }
        guard (calls[place].state == .held) != isHeld else { return }
        calls[place].state = isHeld ? .held : .active
        announce(calls[place].snapshot())
        if !isHeld { schedule(.probe(app, .audioAfterResume(calls[place].uuid)), after: settings.mediaGrace) }
    }

    private mutating func regroup(_ place: Int, with other: UUIDValue?) {
        guard let other else {
            calls[place].group = number()
            return
        }
        guard let group = calls.first(where: { $0.uuid == other })?.group else { return }
        calls[place].group = group
    }

    mutating func applyFailed(_ action: PendingAction, _ app: AppID, isTimeOut: Bool) {
        let uuid = action.description.call
        guard let place = index(ofCall: uuid) else { return }
        switch action.description.kind {
        case .start, .answer: end(uuid, at: nil, by: .service(.failed), reason: .failed)
        case .end:
            if !isTimeOut { diagnose(.actionEndFailed, app, uuid, "The app failed an End; the call ends all the same.") }
            end(uuid, at: nil, by: action.origin, reason: reason(of: action))
            if action.resumesHeld { resumeHeld() }
        case .setHeld(let isHeld):
            if isHeld, !isTimeOut { tellHoldFailure(app, uuid) }
            if action.endsOnFailure {
                start(steps: [(app, calls[place].provider, self.action(.end, uuid, .service(nil)))])
            }
        case .setMuted:
            if !isTimeOut, !calls[place].isConnectedState {
                diagnose(.actionMuteFailedByState, app, uuid, "Muted was failed while the call was not connected.")
            }
        case .setGroup, .playDTMF, .setTranslating, .bare: break
        }
    }

    private mutating func tellHoldFailure(_ app: AppID, _ uuid: UUIDValue) {
        guard let index = index(of: app) else { return }
        apps[index].memory.heldFailures += 1
        guard apps[index].memory.heldFailures == 2, apps[index].memory.heldSuccesses == 0 else { return }
        diagnose(.actionHoldAlwaysFails, app, uuid, "Every Held so far was failed, and holding is allowed.")
    }

    /// The person ended what was active: the one held group comes back (HLD-3, MUL-12).
    mutating func resumeHeld() {
        let shadow = shadow()
        guard !shadow.contains(where: \.isForeground) else { return }
        let groups = Self.groups(of: shadow.filter { $0.state == .held })
        guard groups.count == 1 else { return }
        start(
            steps: shadow.filter { $0.state == .held }.map { ($0.owner, $0.provider, action(.setHeld(false), $0.uuid, .service(nil))) })
    }
}
