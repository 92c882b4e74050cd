// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Codes of `CXErrorCodeRequestTransactionError`.
enum RequestCode {
    static let unknown = 0
    static let unentitled = 1
    static let unknownCallProvider = 2
    static let emptyTransaction = 3
    static let unknownCallUUID = 4
    static let callUUIDAlreadyExists = 5
    static let invalidAction = 6
    static let maximumCallGroupsReached = 7
}

/// Requests of apps: the whole transaction is valid, or nothing of it happens (callkit §2.3).
extension CallServiceMachine {
    mutating func request(_ request: RequestID, _ transaction: TransactionDescription, _ app: AppID) {
        guard let index = index(of: app) else { return }
        for action in transaction.actions { apps[index].memory.actionUUIDs.remember(action.uuid, limit: settings.memory) }
        let code = refusal(of: transaction, app)
        guard code == nil, let provider = apps[index].provider else {
            counters.increment(.transactionsRefused)
            for action in transaction.actions {
                if case .start = action.kind, self.index(ofCall: action.call) == nil {
                    apps[index].memory.refusedCalls.remember(action.call, limit: settings.memory)
                }
            }
            send(.requested(request, code: code ?? RequestCode.unknownCallProvider), to: app)
            return
        }
        tellHabits(transaction, app)
        if settings.completionComesFirst { send(.requested(request, code: nil), to: app) }
        accept(transaction, app, provider.id)
        if !settings.completionComesFirst {
            deliver()
            send(.requested(request, code: nil), to: app)
        }
    }

    // MARK: Validation

    private mutating func refusal(of transaction: TransactionDescription, _ app: AppID) -> Int? {
        guard let index = index(of: app), let descriptor = apps[index].descriptor else { return RequestCode.unknown }
        guard !transaction.actions.isEmpty else { return RequestCode.emptyTransaction }
        guard transaction.actions.count <= settings.maximumActions,
            transactions.count(where: { $0.app == app }) < settings.maximumTransactions
        else {
            counters.increment(.limitsReached)
            return RequestCode.invalidAction
        }
        guard descriptor.mayUseCallKit else {
            diagnose(.regionForbidden, app, nil, "An action was asked for where CallKit must be off.")
            return RequestCode.unentitled
        }
        guard descriptor.hasVoIPBackgroundMode else {
            diagnose(.configNoVoipMode, app, nil, "An action was asked for without the background mode voip.")
            return RequestCode.unentitled
        }
        guard let provider = apps[index].provider else { return refuseWithoutProvider(at: index) }
        var shadow = shadow()
        var seen: [UUIDValue] = []
        for action in transaction.actions {
            let isUsed = action.isSpent || seen.contains(action.uuid) || pending(action.uuid, of: app) != nil
            seen.append(action.uuid)
            if let code = refusal(of: action, isUsed: isUsed, provider, shadow, app) { return code }
            predict(action, app, provider.id, &shadow)
        }
        return nil
    }

    private mutating func refuseWithoutProvider(at index: Int) -> Int {
        apps[index].memory.unknownProviderRefusals += 1
        if apps[index].memory.wasReset, apps[index].memory.unknownProviderRefusals == 2 {
            diagnose(.providerDeadAfterReset, apps[index].id, nil, "Requests go on without a provider after the reset.")
        }
        return RequestCode.unknownCallProvider
    }

    private mutating func refusal(
        of action: ActionDescription, isUsed: Bool, _ provider: Provider, _ shadow: [Call], _ app: AppID
    ) -> Int? {
        let call = shadow.first { $0.uuid == action.call }
        if case .start(let handle, _, _) = action.kind {
            // A call that is only about to end still has its name.
            if call != nil || index(ofCall: action.call) != nil { return RequestCode.callUUIDAlreadyExists }
            return refusal(ofStart: action.call, handle, provider, shadow, app) ?? (isUsed ? RequestCode.invalidAction : nil)
        }
        guard let call, call.owner == app else {
            tellUnknown(action, app)
            return RequestCode.unknownCallUUID
        }
        guard !isUsed, isPossible(action.kind, call, provider, shadow) else { return RequestCode.invalidAction }
        if case .setMuted(let isMuted) = action.kind, isEcho(isMuted, of: call.uuid, app) { return RequestCode.invalidAction }
        return nil
    }

    private mutating func refusal(
        ofStart uuid: UUIDValue, _ handle: Handle, _ provider: Provider, _ shadow: [Call], _ app: AppID
    ) -> Int? {
        guard let index = index(of: app) else { return RequestCode.unknown }
        guard provider.hasBegun else {
            diagnose(.requestBeforeBegin, app, uuid, "A Start was asked for before the provider was registered.")
            return RequestCode.maximumCallGroupsReached
        }
        let mine = shadow.filter { $0.owner == app }
        guard apps[index].isForeground || !mine.isEmpty else {
            diagnose(.requestBackground, app, uuid, "A Start was asked for in the background without a live call.")
            return RequestCode.invalidAction
        }
        let groups = Self.groups(of: mine.filter { $0.provider == provider.id }).count
        guard groups < provider.configuration.maximumCallGroups, mine.count < settings.maximumCalls else {
            tellLeftovers(at: index, uuid)
            return RequestCode.maximumCallGroupsReached
        }
        if settings.secondStart == .refuse, shadow.contains(where: { $0.state == .active }) { return RequestCode.maximumCallGroupsReached }
        return nil
    }

    private func isPossible(_ kind: ActionKind, _ call: Call, _ provider: Provider, _ shadow: [Call]) -> Bool {
        let configuration = configuration(of: call) ?? provider.configuration
        switch kind {
        case .start, .bare: return false
        case .end, .setMuted: return true
        case .answer: return !call.isOutgoing && call.state == .ringing
        case .setHeld: return call.isConnectedState && call.supportsHolding
        case .setGroup(nil):
            return call.isConnectedState && call.supportsUngrouping && shadow.contains { $0.group == call.group && $0.uuid != call.uuid }
        case .setGroup(let other?):
            guard let other = shadow.first(where: { $0.uuid == other }), other.uuid != call.uuid, other.owner == call.owner else {
                return false
            }
            let joined = shadow.count { $0.group == other.group && $0.uuid != call.uuid } + 1
            return call.isConnectedState && other.isConnectedState && call.supportsGrouping && other.supportsGrouping
                && joined <= configuration.maximumCallsPerCallGroup
        case .playDTMF(let digits, _):
            return call.supportsDTMF && call.state != .held && call.state != .ringing && call.state != .answering
                && Self.areDigits(digits, limit: settings.maximumText)
        case .setTranslating(_, let local, let remote):
            return configuration.supportsAudioTranslation && call.isConnectedState && local.count + remote.count <= settings.maximumText
        }
    }

    private static func areDigits(_ text: String, limit: Int) -> Bool {
        !text.isEmpty && text.utf8.count <= limit
            && text.utf8.allSatisfy {
                $0 >= 0x30 && $0 <= 0x39 || $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "#")
                    || $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "D")
            }
    }

    // MARK: Pitfalls of requests

    private mutating func tellUnknown(_ action: ActionDescription, _ app: AppID) {
        guard let index = index(of: app) else { return }
        if apps[index].memory.endedCalls.contains(action.call) {
            diagnose(.requestAfterEnd, app, action.call, "An action was asked for on a call that ended.")
        } else if apps[index].memory.actionUUIDs.contains(action.call) {
            diagnose(.actionUuidConfused, app, action.call, "An action was asked for on the uuid of an action.")
        } else {
            diagnose(.requestUnknownCall, app, action.call, "An action was asked for on a call that is not known.")
        }
    }

    private mutating func tellLeftovers(at index: Int, _ uuid: UUIDValue) {
        guard let leftover = apps[index].memory.leftovers.first else { return }
        diagnose(.endOrphan, apps[index].id, leftover, "A call of an earlier run is still live, and a Start is refused for it.")
    }

    /// Muted asked for while the same Muted is performed: the third in a row is refused (MUT-2).
    private mutating func isEcho(_ isMuted: Bool, of call: UUIDValue, _ app: AppID) -> Bool {
        guard let index = index(of: app) else { return false }
        let isPerforming = transactions.contains { transaction in
            transaction.app == app
                && transaction.actions.contains {
                    $0.deadline != nil && $0.description.call == call && $0.description.kind == .setMuted(isMuted)
                }
        }
        guard isPerforming else {
            apps[index].memory.mutesInARow = 0
            return false
        }
        apps[index].memory.mutesInARow += 1
        if apps[index].memory.mutesInARow == 1 {
            diagnose(.mutePingPong, app, call, "Muted was asked for while the same Muted is being performed.")
        }
        return apps[index].memory.mutesInARow >= 3
    }

    private mutating func tellHabits(_ transaction: TransactionDescription, _ app: AppID) {
        let isChoice = transaction.actions.contains {
            switch $0.kind {
            case .answer, .start: true
            default: false
            }
        }
        for action in transaction.actions {
            guard let call = calls.first(where: { $0.uuid == action.call }) else { continue }
            switch action.kind {
            case .setHeld(true) where !isChoice && call.state == .active && calls.contains(where: { $0.state == .ringing }):
                diagnose(.holdWhileRinging, app, call.uuid, "The call was held while another one merely rings.")
            case .setGroup(let other?):
                let resumed = transaction.actions.contains { $0.kind == .setHeld(false) }
                let isHeld = call.state == .held || calls.contains { $0.uuid == other && $0.state == .held }
                if isHeld, !resumed { diagnose(.groupHeldMembers, app, call.uuid, "Calls are grouped while one is held.") }
            default: break
            }
        }
    }
}
