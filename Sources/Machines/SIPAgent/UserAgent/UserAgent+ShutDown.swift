// SPDX-License-Identifier: Apache-2.0

import Essentials

extension UserAgent {
    /// Ends everything in good order: calls, then registrations; `.stopped` follows when all is answered,
    /// at the latest after `UserAgentConfiguration.shutDownLimit`.
    public func shutDown(now: MonotonicTime) {
        guard life == .running else { return }
        life = .stopping
        endReferrals(now: now)
        for id in sessions.keys.sorted() {
            if let session = sessions[id], session.phase != .over {
                hangUp(session, cause: Causes.shutDown, refusal: 480, now: now)
            }
        }
        endSubscriptions(now: now)
        for id in accountOrder {
            guard let account = accounts[id] else { continue }
            timers.cancel(.registration(id))
            if account.registration.mayBeBound { unregister(id, now: now) }
        }
        timers.arm(.shutDown, at: now + configuration.shutDownLimit)
        pump(now)
    }

    /// Stops when nothing is owed to anybody.
    func stopIfDone(_ now: MonotonicTime) {
        guard life == .stopping, sessions.isEmpty, requests.isEmpty, locating.isEmpty, subscriptions.isEmpty, connecting.count == 0,
            races.isEmpty
        else { return }
        stop()
    }

    private func stop() {
        timers.cancel(.shutDown)
        tellUnansweredByes()
        emit(.stopped)
        life = .stopped
        for id in sessions.keys.sorted() {
            for timer in [AgentTimer.repeatSuccess(id), .awaitACK(id), .reinvite(id), .ringLimit(id), .session(id)] { timers.cancel(timer) }
        }
        for id in accountOrder {
            timers.cancel(.registration(id))
            timers.cancel(.registrationLimit(id))
            timers.cancel(.keepAlive(id))
        }
        dropReferrals()
        forgetSubscriptions()
        for timer in [AgentTimer.network, .networkCheck, .networkLoss] { timers.cancel(timer) }
        sessions = [:]
        dialogs = [:]
        for transaction in requests.keys.sorted() { timers.cancel(.patience(transaction)) }
        for id in races.keys.sorted() { timers.cancel(.race(id)) }
        requests = [:]
        races = [:]
        locating = [:]
        for flow in connecting.flows { timers.cancel(.connection(flow)) }
        connecting.removeAll()
        serverInvites = [:]
        unansweredBySource = [:]
    }

    /// The time is over and a BYE has no answer: whoever hung up is told that the other side may still wait.
    private func tellUnansweredByes() {
        for (_, request) in requests.sorted(by: { $0.key < $1.key }) {
            guard case .bye(let id) = request.purpose, let session = sessions[id] else { continue }
            counters.increment(.byeUnanswered)
            emit(.warning(Causes.byeUnanswered("\(session.dialog?.remoteTarget ?? request.nextHop)", .timedOut)))
        }
    }

    /// A timer of the agent is due.
    func fire(_ timer: AgentTimer, now: MonotonicTime) {
        switch timer {
        case .repeatSuccess(let id): repeatSuccess(id, now: now)
        case .awaitACK(let id): ackMissing(id, now: now)
        case .repeatProgress(let id): repeatProgress(id, now: now)
        case .awaitPRACK(let id): prackMissing(id, now: now)
        case .reinvite(let id):
            if let session = sessions[id] { reinviteIfWanted(session, now: now) }
        case .session(let id): sessionTimerDue(id, now: now)
        case .ringLimit(let id): ringLimitReached(id, now: now)
        case .referral(let id): referralDue(id, now: now)
        case .registration(let id): registrationDue(id, now: now)
        case .registrationLimit(let id): registrationLimitReached(id, now: now)
        case .keepAlive(let id): keepAliveDue(id, now: now)
        case .patience(let transaction): patienceOver(transaction, now: now)
        case .connection(let flow): connectionPatienceOver(flow, now: now)
        case .race(let id): raceDue(id, now: now)
        case .event(let timer): fire(timer, now: now)
        case .network: applyNetwork(now: now)
        case .networkCheck: networkCheckDue(now: now)
        case .networkLoss: networkLossDue(now: now)
        case .shutDown: if life == .stopping { stop() }
        }
    }
}
