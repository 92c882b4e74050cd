// SPDX-License-Identifier: Apache-2.0
//
// From one target to the next (RFC 3263 §4.3): after a time-out, a failure of the transport or a 503, with the same
// request in a new transaction. A server that is silent is left after some seconds if there is another one.

import Essentials
import SIP

extension UserAgent {
    /// Sends the request to the next of its targets that a transport of ours leads to; false: there is none left.
    func tryNextTarget(_ request: ClientRequest, now: MonotonicTime) -> Bool {
        if request.triedTargets == 0 {
            addKnownCredentials(to: request)
        } else {
            // Another server has nonces of its own.
            request.challengeRounds = 0
            request.attempt = DigestAttempt()
        }
        while request.triedTargets < request.targets.count {
            if request.targets.count - request.triedTargets > 1, startRace(request, now: now) { return true }
            let target = request.targets[request.triedTargets]
            request.triedTargets += 1
            if transmit(request, to: target, now: now) { return true }
        }
        return false
    }

    /// Gives the server of a request so long to say anything, where another one waits.
    func armPatience(_ request: ClientRequest, _ transaction: TransactionID, now: MonotonicTime) {
        let patience = configuration.location.patience
        guard patience > .zero, request.hasFurtherTarget else { return }
        request.hasPatience = true
        timers.arm(.patience(transaction), at: now + patience)
    }

    /// The same where the request waits for its connection; the time runs from the first that waits.
    func armPatience(_ request: ClientRequest, connection flow: FlowID, now: MonotonicTime) {
        let patience = configuration.location.patience
        guard patience > .zero, request.hasFurtherTarget, !timers.isArmed(.connection(flow)) else { return }
        timers.arm(.connection(flow), at: now + patience)
    }

    /// The server said something, or the transaction is over.
    func forgetPatience(_ request: ClientRequest, _ transaction: TransactionID) {
        guard request.hasPatience else { return }
        request.hasPatience = false
        timers.cancel(.patience(transaction))
    }

    /// The server is silent: the next one gets the request. Should the first one answer an INVITE after all, the call that
    /// it set up is ended.
    func patienceOver(_ transaction: TransactionID, now: MonotonicTime) {
        guard let request = requests[transaction] else { return }
        request.hasPatience = false
        counters.increment(.targetsGivenUp)
        stack.abandon(transaction)
        // A connection over which nobody answers would only be used again.
        if let target = request.target { stack.closeConnection(to: target) }
        if request.method == .invite {
            acceptedInvites[transaction] = AcceptedInvite(request: request)
            stack.cancel(transaction, now: now)
        }
        handleFailure(.timedOut, request, now: now)
    }

    /// A target did not do.
    func noteFailure(_ failure: RequestFailure, _ request: ClientRequest, now: MonotonicTime) {
        guard let target = request.target else { return }
        switch failure {
        case .timedOut:
            location.failed(target, now: now)
            // The registrar answers by itself, so the silence is the connection's.
            if request.method == .register { stack.closeConnection(to: target) }
        case .transport(.closedLocally), .transport(.limit), .notLocated, .notSecure, .noLocalAddress, .noNetwork, .tooLarge: break
        case .transport: location.failed(target, now: now)
        }
    }

    /// What a response says of its target: 503 that it is not well, anything else that it is.
    func noteResponse(_ response: SIPMessage, _ request: ClientRequest, now: MonotonicTime) {
        guard let target = request.target else { return }
        if response.statusCode == 503 {
            location.failed(target, for: response.retryAfter, now: now)
        } else if location.hasFailingTargets {
            location.succeeded(target)
        }
    }
}
