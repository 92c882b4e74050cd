// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Codes of `CXErrorCodeIncomingCallError`.
enum IncomingCode {
    static let unknown = 0
    static let unentitled = 1
    static let callUUIDAlreadyExists = 2
    static let filteredByDoNotDisturb = 3
    static let filteredByBlockList = 4
}

/// What an app reports from the network (callkit §2.5, §2.6, §2.8).
extension CallServiceMachine {
    mutating func reportIncoming(_ request: RequestID, _ provider: ProviderID, _ uuid: UUIDValue, _ update: CallUpdate, _ app: AppID) {
        guard let index = index(of: app) else { return }
        let update = bounded(update)
        let code = refusal(ofReport: uuid, provider, update, app)
        // Every outcome counts as a report, also an error (PUSH-10).
        pushReported(uuid, app)
        send(.reported(request, call: uuid, code: code), to: app)
        guard code == nil else {
            counters.increment(.reportsRefused)
            if code != IncomingCode.callUUIDAlreadyExists {
                apps[index].memory.refusedReports.remember(uuid, limit: settings.memory)
                schedule(.probe(app, .refusedReport(uuid)), after: settings.orphanGrace)
            }
            return
        }
        if apps[index].memory.endedCalls.contains(uuid) {
            diagnose(.uuidReused, app, uuid, "The UUID of a call that ended names a new one.")
        }
        checkHandle(update.remoteHandle, app, uuid)
        tellMissingUpdates()
        var call = Call(
            uuid: uuid, owner: app, bundle: apps[index].bundle, provider: provider, isOutgoing: false, state: .ringing, update: update,
            group: number(), createdAt: now, startedAt: wall)
        call.isSilent = isDoNotDisturb
        calls.append(call)
        if configuration(of: call)?.maximumCallGroups == 1, update.supportsHolding == true {
            diagnose(.configHoldButOneGroup, app, uuid, "Holding is announced, and one group is allowed.")
        }
        announce(call.snapshot())
        schedule(.ringsTooLong(uuid), after: settings.maxRingTime)
    }

    private mutating func refusal(ofReport uuid: UUIDValue, _ provider: ProviderID, _ update: CallUpdate, _ app: AppID) -> Int? {
        guard let index = index(of: app), let descriptor = apps[index].descriptor else { return IncomingCode.unknown }
        guard descriptor.mayUseCallKit else {
            diagnose(.regionForbidden, app, uuid, "A call was reported where CallKit must be off.")
            return IncomingCode.unentitled
        }
        guard descriptor.hasVoIPBackgroundMode else {
            diagnose(.configNoVoipMode, app, uuid, "A call was reported without the background mode voip.")
            return IncomingCode.unentitled
        }
        guard apps[index].providers.contains(where: { $0.id == provider }) else { return IncomingCode.unknown }
        if self.index(ofCall: uuid) != nil { return IncomingCode.callUUIDAlreadyExists }
        if apps[index].memory.actionUUIDs.contains(uuid) {
            diagnose(.actionUuidConfused, app, uuid, "A call was reported under the uuid of an action.")
        }
        guard calls.count(where: { $0.owner == app }) < settings.maximumCalls else {
            counters.increment(.limitsReached)
            return IncomingCode.unknown
        }
        if isBlocked(update.remoteHandle) { return IncomingCode.filteredByBlockList }
        if isDoNotDisturb, !settings.doNotDisturbOnlySilences {
            logRefused(uuid, provider, update, app)
            return IncomingCode.filteredByDoNotDisturb
        }
        return nil
    }

    /// Names and addresses are cut where they exceed the limit.
    private mutating func bounded(_ update: CallUpdate) -> CallUpdate {
        var update = update
        if let name = update.localizedCallerName, name.count > settings.maximumText {
            counters.increment(.limitsReached)
            update.localizedCallerName = String(name.prefix(settings.maximumText))
        }
        if let handle = update.remoteHandle, handle.value.count > settings.maximumText {
            counters.increment(.limitsReached)
            update.remoteHandle = Handle(handle.kind, String(handle.value.prefix(settings.maximumText)))
        }
        return update
    }

    mutating func checkHandle(_ handle: Handle?, _ app: AppID, _ uuid: UUIDValue) {
        guard let handle else { return }
        let isNumber = PhoneNumber.parse(handle.value, countryCode: nil) != nil
        let looksDialled = handle.value.utf8.allSatisfy {
            $0 >= 0x30 && $0 <= 0x39 || [0x20, 0x28, 0x29, 0x2a, 0x23, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x3b].contains($0)
        }
        switch handle.kind {
        case .phoneNumber where !looksDialled || handle.value.isEmpty:
            diagnose(.configHandleMismatch, app, uuid, "The address \"\(handle.value)\" is given as a phone number.")
        case .generic where isNumber && handle.value.utf8.first == UInt8(ascii: "+"):
            diagnose(.configHandleMismatch, app, uuid, "The phone number \(handle.value) is given as generic.")
        default: break
        }
    }

    func isBlocked(_ handle: Handle?) -> Bool {
        guard let handle else { return false }
        if blockedAddresses.contains(handle.value.lowercased()) { return true }
        guard handle.kind == .phoneNumber, let number = settings.number(handle.value) else { return false }
        return blockedNumbers.contains(number) || directories.contains { $0.isEnabled && $0.index?.isBlocked(number) == true }
    }

    mutating func reportUpdated(_ uuid: UUIDValue, _ update: CallUpdate, _ app: AppID) {
        guard let place = known(uuid, "An update was reported", .reportUnknownCall, app) else { return }
        calls[place].update = calls[place].update.merged(with: bounded(update))
        calls[place].wasUpdated = true
    }

    mutating func reportEnded(_ uuid: UUIDValue, _ at: WallTime?, _ reason: CallEndedReason, _ app: AppID) {
        guard let place = known(uuid, "An end was reported", .reportUnknownCall, app) else { return }
        let call = calls[place]
        if reason == .failed, let since = call.connectedSince, !call.isOutgoing, now - since <= settings.earlyAnswerWindow,
            let index = index(of: app), !apps[index].probe.hadMedia(uuid)
        {
            diagnose(.actionFulfilledBeforeReady, app, uuid, "The call failed right after its answer, before any media.")
        }
        if reason == .answeredElsewhere || reason == .declinedElsewhere, let index = index(of: app) {
            apps[index].memory.elsewhereCalls.remember(uuid, limit: settings.memory)
        }
        end(uuid, at: at, by: .app, reason: reason)
    }

    mutating func reportStartedConnecting(_ uuid: UUIDValue, _ at: WallTime?, _ app: AppID) {
        guard let place = outgoing(uuid, app) else { return }
        let moment = clamped(at, from: calls[place].startedAt, app, uuid)
        if calls[place].startedConnectingAt == nil { calls[place].startedConnectingAt = moment }
        if calls[place].state == .dialing {
            diagnose(.outgoingOrder, app, uuid, "startedConnecting was reported before Start was fulfilled.")
            calls[place].state = .connecting
        }
    }

    mutating func reportConnected(_ uuid: UUIDValue, _ at: WallTime?, _ app: AppID) {
        guard let place = outgoing(uuid, app) else { return }
        guard !calls[place].hasConnected else { return }
        if calls[place].startedConnectingAt == nil {
            diagnose(.outgoingOrder, app, uuid, "connected was reported without startedConnecting.")
        }
        if let index = index(of: app), apps[index].probe.isStillRinging(uuid) {
            diagnose(.outgoingConnectedEarly, app, uuid, "connected was reported while signalling rings.")
        }
        calls[place].connectedAt = clamped(at, from: calls[place].startedAt, app, uuid)
        calls[place].connectedSince = now
        calls[place].state = .active
        let call = calls[place]
        announce(call.snapshot())
        if settings.secondStart == .dropOnConnect { dropOthers(than: call) }
    }

    /// The place of a live outgoing call of the app; else says what is wrong.
    private mutating func outgoing(_ uuid: UUIDValue, _ app: AppID) -> Int? {
        guard let place = known(uuid, "Progress of an outgoing call was reported", .outgoingNoStart, app) else { return nil }
        guard calls[place].isOutgoing else {
            diagnose(.outgoingWrongDirection, app, uuid, "Progress of an outgoing call was reported for an incoming one.")
            return nil
        }
        return place
    }

    /// The place of a live call of the app; else says what is wrong: the uuid of an action, a call that ended, or nothing known.
    private mutating func known(_ uuid: UUIDValue, _ what: String, _ pitfall: Pitfall, _ app: AppID) -> Int? {
        if let place = index(ofCall: uuid), calls[place].owner == app { return place }
        guard let index = index(of: app) else { return nil }
        if apps[index].memory.actionUUIDs.contains(uuid) {
            diagnose(.actionUuidConfused, app, uuid, "\(what) for the uuid of an action.")
        } else if apps[index].memory.endedCalls.contains(uuid) {
            diagnose(.reportUnknownCall, app, uuid, "\(what) for a call that ended before.")
        } else {
            diagnose(pitfall, app, uuid, "\(what) for a call that is not known.")
        }
        return nil
    }

    /// The moment an app gave, within the call's life (ACT-5).
    mutating func clamped(_ date: WallTime?, from start: WallTime, _ app: AppID, _ uuid: UUIDValue) -> WallTime {
        guard let date else { return wall }
        // A date was read a moment before it arrives here, and a call's beginning a moment after the app knew of it.
        guard date > WallTime(microseconds: wall.microseconds &+ 1_000_000) else {
            if date.microseconds < start.microseconds &- 1_000_000 {
                diagnose(.actionDateClamped, app, uuid, "The date lies before the call's beginning.")
                return start
            }
            return min(max(date, start), wall)
        }
        diagnose(.actionDateClamped, app, uuid, "The date lies in the future.")
        return wall
    }

    mutating func ringsTooLong(_ uuid: UUIDValue) {
        guard let place = index(ofCall: uuid), calls[place].state == .ringing else { return }
        diagnose(.endRingForever, calls[place].owner, uuid, "The call has been ringing for \(Int(settings.maxRingTime.seconds)) s.")
        let call = calls[place]
        start(steps: [(call.owner, call.provider, action(.end, call.uuid, .service(.unanswered)))])
    }

    private mutating func dropOthers(than call: Call) {
        let others = calls.filter { $0.uuid != call.uuid && $0.state == .active && $0.group != call.group }
        start(steps: others.map { ($0.owner, $0.provider, action(.end, $0.uuid, .service(nil))) })
    }

    // MARK: The end of a call

    /// A call ends: its pending actions die, observers hear it, history keeps it.
    mutating func end(_ uuid: UUIDValue, at date: WallTime?, by origin: Origin, reason: CallEndedReason?) {
        guard let place = index(ofCall: uuid) else { return }
        let call = calls.remove(at: place)
        let endedAt = date.map { clamped($0, from: call.startedAt, call.owner, uuid) } ?? wall
        dropActions(of: uuid)
        cancel { $0 == .ringsTooLong(uuid) }
        if let index = index(of: call.owner) {
            apps[index].memory.endedCalls.remember(uuid, limit: settings.memory)
            apps[index].memory.leftovers.removeAll { $0 == uuid }
            callEndedForProbe(call, by: origin, at: index)
        }
        announce(call.snapshot(hasEnded: true))
        log(call, endedAt: endedAt, by: origin, reason: reason)
        if origin == .app, reason != nil, call.isForeground {
            for index in calls.indices where calls[index].state == .held { calls[index].isHeldAfterRemoteEnd = true }
        }
    }

    func configuration(of call: Call) -> ProviderConfiguration? {
        guard let index = index(of: call.owner) else { return nil }
        return apps[index].providers.first { $0.id == call.provider }?.configuration
    }

    /// P-39: the flags of an outgoing call matter when another one comes.
    private mutating func tellMissingUpdates() {
        for call in calls where call.isOutgoing && call.state == .active && !call.wasUpdated && call.owner != .cellular {
            diagnose(
                .outgoingUpdateMissing, call.owner, call.uuid,
                "Another call comes, and what this outgoing call supports was never reported.")
        }
    }
}
