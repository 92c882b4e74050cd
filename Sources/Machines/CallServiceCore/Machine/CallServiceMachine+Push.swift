// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Raw values of `PKPushType`.
public enum PushType {
    public static let voIP = "PKPushTypeVoIP"
    public static let complication = "PKPushTypeComplication"
    public static let fileProvider = "PKPushTypeFileProvider"
}

/// A token that was given to an app; kept over restarts of the service.
public struct PushToken: Hashable, Sendable, Codable {
    public var bundle: String
    public var type: String
    public var token: Octets

    public init(bundle: String, type: String, token: Octets) {
        self.bundle = bundle
        self.type = type
        self.token = token
    }
}

struct PushState: Sendable {
    var tokens: [PushToken] = []
    /// Pushes for apps that are being started, oldest first.
    var waiting: [Waiting] = []
    var delivered: [Delivered] = []
    /// Pushes without a report (PUSH-8).
    var failures: [(bundle: String, count: Int)] = []
    /// Apps that were started for a push and have not reported yet.
    var launching: [String] = []

    struct Waiting: Sendable {
        var bundle: String
        var type: String
        var payload: Octets
    }

    struct Delivered: Sendable {
        var number: UInt64
        var app: AppID
        var isVoIP: Bool
        var mustReport: Bool
        var name: String?
        var isReported = false
        var hasReturned = false
        var hasCompleted = false
        var hasFailed = false
        var wasCancel = false
        var dropReason: String?
    }
}

/// Pushes: delivered to apps that run, or that are started for it; each VoIP push leads to a report (callkit §2.13).
extension CallServiceMachine {
    /// Hands in a push. VoIP pushes name a call: a payload of nothing but `aps` is refused (PUSH-15).
    public mutating func deliverPush(bundle: String, type: String, payload: [UInt8], now: MonotonicTime) -> PushVerdict {
        begin(now)
        let verdict = take(PushState.Waiting(bundle: bundle, type: type, payload: Octets(payload)))
        if verdict != .delivered, verdict != .appStarted { counters.increment(.pushesRefused) }
        settle()
        return verdict
    }

    private mutating func take(_ push: PushState.Waiting) -> PushVerdict {
        guard push.payload.bytes.count <= settings.voipPayloadLength else { return .payloadTooLarge }
        guard let payload = JSONText(push.payload.bytes) else { return .badPayload }
        if push.type == PushType.voIP, !payload.members.contains(where: { $0.name != "aps" }) { return .notACall }
        guard pushes.tokens.contains(where: { $0.bundle == push.bundle && $0.type == push.type }) else { return .unregistered }
        let app = apps.first { $0.bundle == push.bundle && $0.descriptor != nil }
        if let limit = settings.failureLimit, failures(of: push.bundle) >= limit, push.type == PushType.voIP {
            diagnose(.pushDeliveryStopped, app?.id, nil, "The push was withheld after \(limit) without a report.", bundle: push.bundle)
            return .stopped
        }
        if let app, app.push.isReady, app.push.types.contains(push.type) {
            deliver(push, payload, to: app)
            return .delivered
        }
        guard pushes.waiting.count(where: { $0.bundle == push.bundle }) < settings.maximumWaitingPushes else {
            counters.increment(.limitsReached)
            return .stopped
        }
        pushes.waiting.append(push)
        if !pushes.launching.contains(push.bundle) {
            pushes.launching.append(push.bundle)
            // The budget is that of this launch: an app that went away in an earlier one left its own behind.
            cancel { $0 == .launch(push.bundle) }
            schedule(.launch(push.bundle), after: settings.launchBudget)
            if app == nil { effects.append(.launch(bundle: push.bundle)) }
        }
        return .appStarted
    }

    private func failures(of bundle: String) -> Int { pushes.failures.first { $0.bundle == bundle }?.count ?? 0 }

    private mutating func deliver(_ push: PushState.Waiting, _ payload: JSONText, to app: App) {
        let isVoIP = push.type == PushType.voIP
        // Exempt: in the foreground, or in a call already (PUSH-7).
        let mustReport = isVoIP && !app.isForeground && !calls.contains { $0.owner == app.id }
        let number = number()
        pushes.delivered.append(
            PushState.Delivered(
                number: number, app: app.id, isVoIP: isVoIP, mustReport: mustReport, name: payload[settings.pushCallKey]))
        send(.push(number, type: push.type, payload: push.payload, mustReport: mustReport), to: app.id)
        if mustReport { schedule(.pushCheck(number), after: settings.pushCheck) }
        schedule(.pushCompletion(number), after: settings.pushCompletionDeadline)
    }

    // MARK: Registration

    mutating func registerPush(_ types: [String], _ hasDelegate: Bool, _ app: AppID) {
        guard let index = index(of: app) else { return }
        guard types.count <= 3, types.allSatisfy({ [PushType.voIP, PushType.complication, PushType.fileProvider].contains($0) }) else {
            diagnose(.pushUnknownType, app, nil, "A registration names a push type that does not exist.")
            return
        }
        let wasReady = apps[index].push.isReady
        if !types.isEmpty, !hasDelegate {
            diagnose(.pushRegistryLost, app, nil, "desiredPushTypes was set before the delegate.")
        }
        let new = types.filter { !apps[index].push.types.contains($0) }
        apps[index].push = PushRegistration(types: types, isReady: !types.isEmpty && hasDelegate)
        for type in new { send(.pushToken(type: type, token(for: apps[index].bundle, type)), to: app) }
        if apps[index].push.isReady, !wasReady || !new.isEmpty { deliverWaiting(to: apps[index]) }
    }

    private mutating func deliverWaiting(to app: App) {
        let mine = pushes.waiting.filter { $0.bundle == app.bundle && app.push.types.contains($0.type) }
        pushes.waiting.removeAll { $0.bundle == app.bundle && app.push.types.contains($0.type) }
        for push in mine { if let payload = JSONText(push.payload.bytes) { deliver(push, payload, to: app) } }
    }

    private mutating func token(for bundle: String, _ type: String) -> Octets {
        if let known = pushes.tokens.first(where: { $0.bundle == bundle && $0.type == type }) { return known.token }
        let token = makeToken()
        pushes.tokens.append(PushToken(bundle: bundle, type: type, token: token))
        return token
    }

    private func makeToken() -> Octets {
        Octets((0..<4).flatMap { _ in withOctets(of: random.next()) })
    }

    private func withOctets(of number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }

    /// The tokens that were given out, to be kept over a restart.
    public var pushTokens: [PushToken] { pushes.tokens }

    public mutating func restore(pushTokens: [PushToken]) { pushes.tokens = pushTokens }

    /// Gives an app's registration another token (PUSH-2).
    public mutating func changePushToken(bundle: String, type: String, now: MonotonicTime) {
        begin(now)
        guard let place = pushes.tokens.firstIndex(where: { $0.bundle == bundle && $0.type == type }) else { return }
        pushes.tokens[place].token = makeToken()
        for app in apps where app.bundle == bundle && app.push.types.contains(type) {
            send(.pushToken(type: type, pushes.tokens[place].token), to: app.id)
        }
    }

    /// The token is worth nothing any more (PUSH-4).
    public mutating func invalidatePushToken(bundle: String, type: String, now: MonotonicTime) {
        begin(now)
        pushes.tokens.removeAll { $0.bundle == bundle && $0.type == type }
        for index in apps.indices where apps[index].bundle == bundle && apps[index].push.types.contains(type) {
            apps[index].push.types.removeAll { $0 == type }
            send(.pushTokenInvalidated(type: type), to: apps[index].id)
        }
    }

    /// The app was installed anew: its failures are forgotten (PUSH-8).
    public mutating func reinstall(bundle: String) { pushes.failures.removeAll { $0.bundle == bundle } }

    mutating func tokenUploaded(_ text: String, _ app: AppID) {
        let isHex = !text.isEmpty && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy { hexDigitValue($0) != nil }
        if !isHex { diagnose(.pushTokenFormat, app, nil, "The token was sent as \"\(text.prefix(80))\".") }
    }

    // MARK: Reports

    /// A report was made: it belongs to the push that is being handled.
    mutating func pushReported(_ call: UUIDValue, _ app: AppID) {
        if let index = index(of: app) { pushes.launching.removeAll { $0 == apps[index].bundle } }
        let open = pushes.delivered.indices.filter { pushes.delivered[$0].app == app && pushes.delivered[$0].isVoIP }
        guard let place = open.last(where: { !pushes.delivered[$0].hasReturned }) ?? open.first(where: { !pushes.delivered[$0].isReported })
        else { return }
        if let name = pushes.delivered[place].name { recordName(name, call, app) }
        let wasReported = pushes.delivered[place].isReported
        pushes.delivered[place].isReported = true
        if pushes.delivered[place].hasReturned, pushes.delivered[place].mustReport, !wasReported {
            diagnose(.pushReportedLate, app, call, "The call was reported after the push handler had returned.")
        }
        forgetFinishedPushes()
    }

    /// One call under two UUIDs (P-74), or under a new one each time since its name is no UUID (P-19).
    mutating func recordName(_ name: String, _ call: UUIDValue, _ app: AppID) {
        guard let index = index(of: app) else { return }
        guard let known = apps[index].memory.names.last(where: { $0.text.lowercased() == name.lowercased() }) else {
            apps[index].memory.names.remember((name, call), limit: settings.memory)
            return
        }
        guard known.call != call else { return }
        if UUIDValue(name) == nil {
            diagnose(.uuidNotUUID, app, call, "The call \"\(name.prefix(80))\" was given another UUID than before.")
        } else {
            diagnose(.pushDuplicate, app, call, "The call \(name) was known as \(known.call) before.")
        }
        apps[index].memory.names.remember((name, call), limit: settings.memory)
    }

    mutating func pushReturned(_ number: UInt64, _ isImplemented: Bool, _ app: AppID) {
        guard let place = pushes.delivered.firstIndex(where: { $0.number == number && $0.app == app }) else { return }
        pushes.delivered[place].hasReturned = true
        let push = pushes.delivered[place]
        if push.mustReport, !push.isReported, !push.hasFailed { fail(place, app, isImplemented) }
        forgetFinishedPushes()
    }

    private mutating func fail(_ place: Int, _ app: AppID, _ isImplemented: Bool) {
        pushes.delivered[place].hasFailed = true
        let push = pushes.delivered[place]
        if let index = index(of: app), push.mustReport { countFailure(apps[index].bundle) }
        if push.wasCancel {
            diagnose(.pushCancelByPush, app, nil, "A push for a cancelled call was handled without a report.")
        } else if let reason = push.dropReason {
            diagnose(.pushFilteredByApp, app, nil, "The app dropped the pushed call: \(reason.prefix(200)).")
        } else {
            let what = isImplemented ? "The push handler returned without a report." : "No push handler is implemented."
            diagnose(.pushNotReported, app, nil, what)
        }
    }

    private mutating func countFailure(_ bundle: String) {
        if let place = pushes.failures.firstIndex(where: { $0.bundle == bundle }) {
            pushes.failures[place].count += 1
        } else {
            pushes.failures.append((bundle, 1))
        }
    }

    mutating func secondPushCheck(_ number: UInt64) {
        guard let place = pushes.delivered.firstIndex(where: { $0.number == number }) else { return }
        let push = pushes.delivered[place]
        guard !push.isReported, !push.hasFailed else { return }
        fail(place, push.app, true)
    }

    mutating func pushCompleted(_ number: UInt64, _ app: AppID) {
        guard let place = pushes.delivered.firstIndex(where: { $0.number == number && $0.app == app }) else { return }
        pushes.delivered[place].hasCompleted = true
        cancel { $0 == .pushCompletion(number) }
        forgetFinishedPushes()
    }

    mutating func pushNotCompleted(_ number: UInt64) {
        guard let place = pushes.delivered.firstIndex(where: { $0.number == number }) else { return }
        let push = pushes.delivered.remove(at: place)
        cancel { $0 == .pushCheck(number) }
        diagnose(.pushCompletionMissing, push.app, nil, "The completion of a push was not called.")
    }

    /// A push stays known while a late report may still belong to it.
    private mutating func forgetFinishedPushes() {
        for push in pushes.delivered where push.hasReturned && push.hasCompleted && (push.isReported || !push.mustReport) {
            cancel { $0 == .pushCheck(push.number) || $0 == .pushCompletion(push.number) }
        }
        pushes.delivered.removeAll { $0.hasReturned && $0.hasCompleted && ($0.isReported || !$0.mustReport) }
        // Those that failed are kept until the next failure of the same app.
        let failed = pushes.delivered.filter { $0.hasFailed && $0.hasCompleted }
        if failed.count > 8, let oldest = failed.first { pushes.delivered.removeAll { $0.number == oldest.number } }
    }

    mutating func losePushes(of app: AppID) {
        for push in pushes.delivered where push.app == app {
            cancel { $0 == .pushCheck(push.number) || $0 == .pushCompletion(push.number) }
            // A crash in the handler counts as a push without a report.
            if push.mustReport, !push.isReported, !push.hasFailed, let index = index(of: app) { countFailure(apps[index].bundle) }
        }
        pushes.delivered.removeAll { $0.app == app }
    }

    mutating func launchIsSlow(_ bundle: String) {
        let wasWaiting = pushes.waiting.contains { $0.bundle == bundle }
        pushes.waiting.removeAll { $0.bundle == bundle && apps.allSatisfy { $0.bundle != bundle } }
        guard pushes.launching.contains(bundle) else { return }
        pushes.launching.removeAll { $0 == bundle }
        let app = apps.first { $0.bundle == bundle }
        let since = app.map { Int(($0.startedAt > now ? .zero : now - $0.startedAt).seconds) } ?? Int(settings.launchBudget.seconds)
        let what = wasWaiting ? "no push registry is ready" : "no call is reported"
        diagnose(.pushSlowLaunch, app?.id, nil, "\(since) s after the start of the process \(what).", bundle: bundle)
    }

    /// The route of iOS 14.5: an extension hands a payload to its app (PUSH-17).
    mutating func reportVoIPPayload(_ request: RequestID, _ payload: Octets, _ app: AppID) {
        guard let index = index(of: app), apps[index].descriptor?.mayFilterNotifications == true else {
            send(.voipPayloadAnswer(request, code: 2), to: app)
            return
        }
        let bundle = apps[index].bundle
        let owner = pushes.tokens.map(\.bundle).filter { bundle == $0 || bundle.hasPrefix($0 + ".") }.max { $0.count < $1.count }
        guard let owner else {
            send(.voipPayloadAnswer(request, code: 1), to: app)
            return
        }
        let verdict = take(PushState.Waiting(bundle: owner, type: PushType.voIP, payload: payload))
        send(.voipPayloadAnswer(request, code: verdict == .delivered || verdict == .appStarted ? nil : 0), to: app)
    }
}
