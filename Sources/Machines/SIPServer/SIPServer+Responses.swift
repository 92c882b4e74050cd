// SPDX-License-Identifier: Apache-2.0
//
// Responses on their way back, CANCEL, and timer C (RFC 3261 §16.7 to §16.10).

import Essentials
import SIP
import SIPAgent

extension SIPServer {
    // MARK: Responses

    func receive(_ response: SIPMessage, of client: TransactionID, now: MonotonicTime) {
        guard let server = branchOwners[client], let context = contexts[server],
            let index = context.branches.firstIndex(where: { $0.client == client })
        else { return counters.increment(.strayResponses) }
        let isInvite = context.request.method == .invite
        switch response.statusCode {
        case ..<101: progress(context, index, now: now, movesTimer: false)
        case ..<200:
            progress(context, index, now: now, movesTimer: true)
            if !context.isAnswered { forward(response, context, now: now) }
        case ..<300:
            // §16.7 step 5: every 2xx to an INVITE goes back at once, also a second one of another branch.
            complete(context, index, .response(response))
            if isInvite || !context.isAnswered { forward(response, context, now: now) }
            context.isAnswered = true
            context.waiting = []
            cancelBranches(of: context, reason: Reason(cause: 200, text: "Call completed elsewhere"), now: now)
        default:
            guard context.branches[index].isPending else { return }
            complete(context, index, .response(response))
            if response.statusCode >= 600 {
                context.waiting = []
                cancelBranches(of: context, reason: Reason(cause: response.statusCode), now: now)
            }
            finishIfComplete(context, now: now)
        }
    }

    private func progress(_ context: ResponseContext, _ index: Int, now: MonotonicTime, movesTimer: Bool) {
        guard context.branches[index].isPending else { return }
        context.branches[index].state = .proceeding
        guard movesTimer, !context.branches[index].isCancelled, context.branches[index].deadline != nil else { return }
        // The timer set earlier stays in the heap and, when it fires, finds the later deadline.
        context.branches[index].deadline = now + configuration.timerC
    }

    private func complete(_ context: ResponseContext, _ index: Int, _ outcome: Branch.Outcome) {
        context.branches[index].state = .completed(outcome)
        context.branches[index].deadline = nil
    }

    /// §16.7 steps 3, 9: the copy without our Via.
    private func forward(
        _ response: SIPMessage, _ context: ResponseContext, now: MonotonicTime, adding headers: [(HeaderName, String)] = []
    ) {
        var copy = MessageBuilder(copying: response)
        let vias = response.values(.via)
        if vias.first == response.first(.via) {
            copy.removeFirst(.via)
        } else {
            // Somebody on the way put several Vias into one field.
            copy.removeAll(.via)
            for via in vias.dropFirst().reversed() { copy.prepend(.via, via) }
        }
        for (name, value) in headers { copy.add(name, value) }
        counters.increment(.responsesForwarded)
        stack.respond(context.server, copy, now: now)
    }

    /// When all branches have ended: the next group, or the best response to the caller (§16.7 step 6).
    func finishIfComplete(_ context: ResponseContext, now: MonotonicTime) {
        guard !context.isAnswered, context.isComplete else { return }
        if !context.waiting.isEmpty { return startNextGroup(of: context, now: now) }
        context.isAnswered = true
        if case .response(let response) = context.best, response.statusCode != 503 {
            forward(response, context, now: now, adding: context.otherChallenges(than: response))
        } else {
            var status = context.best?.status ?? 487
            // A 503 would tell the caller that this server is overloaded (§16.7 step 6).
            if status == 503 { status = 500 }
            if context.isCancelled { status = 487 }
            let reason = status == 500 ? "No Contact Reachable" : nil
            let answer = context.request.makeResponse(status: status, reason: reason, toTag: random.token(10))
            stack.respond(context.server, answer, now: now)
        }
        releaseIfEnded(context)
    }

    // MARK: Failures and ends

    func fail(_ transaction: TransactionID, _ failure: TransactionFailure, now: MonotonicTime) {
        guard let server = branchOwners[transaction], let context = contexts[server],
            let index = context.branches.firstIndex(where: { $0.client == transaction }), context.branches[index].isPending
        else { return }
        counters.increment(.branchesFailed)
        // §16.8, §16.9: as if a 408 or a 503 had come.
        if case .timedOut = failure {
            complete(context, index, .local(context.branches[index].isCancelled ? 487 : 408))
        } else {
            complete(context, index, .local(503))
        }
        finishIfComplete(context, now: now)
    }

    func end(_ transaction: TransactionID, now: MonotonicTime) {
        if let context = contexts[transaction] {
            context.isServerEnded = true
            // The caller is out of reach: nobody waits for the answer any more.
            if !context.isAnswered {
                context.isAnswered = true
                context.waiting = []
                cancelBranches(of: context, now: now)
            }
            releaseIfEnded(context)
        } else if let server = branchOwners.removeValue(forKey: transaction), let context = contexts[server] {
            context.openClients -= 1
            if let index = context.branches.firstIndex(where: { $0.client == transaction }), context.branches[index].isPending {
                complete(context, index, .local(408))
                finishIfComplete(context, now: now)
            }
            releaseIfEnded(context)
        }
    }

    private func releaseIfEnded(_ context: ResponseContext) {
        guard context.isServerEnded, context.openClients == 0, contexts[context.server] != nil else { return }
        contexts[context.server] = nil
        let left = (fingerprints[context.fingerprint] ?? 1) - 1
        fingerprints[context.fingerprint] = left > 0 ? left : nil
    }

    // MARK: CANCEL and timers

    /// §16.10: an INVITE's branches that have no final response are cancelled.
    ///
    /// - Parameter reason: told to the phones that stop ringing: another one answered, or declined for all (RFC 3326 §3.1).
    func cancelBranches(of context: ResponseContext, reason: Reason? = nil, now: MonotonicTime) {
        guard context.request.method == .invite else { return }
        for index in context.branches.indices where context.branches[index].isPending {
            cancelBranch(index, of: context, reason: reason, now: now)
        }
    }

    private func cancelBranch(_ index: Int, of context: ResponseContext, reason: Reason? = nil, now: MonotonicTime) {
        guard !context.branches[index].isCancelled else { return }
        context.branches[index].isCancelled = true
        counters.increment(.branchesCancelled)
        stack.cancel(context.branches[index].client, headers: reason.map { [(.reason, $0.description)] } ?? [], now: now)
        // RFC 3261 §9.1: 64·T1 after a CANCEL the request is taken to be cancelled.
        let deadline = now + configuration.stack.times.timeout
        context.branches[index].deadline = deadline
        timers.insert(.branch(context.server, index), at: deadline)
    }

    func fire(_ timer: ProxyTimer, now: MonotonicTime) {
        switch timer {
        case .branch(let server, let index):
            guard let context = contexts[server], index < context.branches.count, context.branches[index].isPending,
                let deadline = context.branches[index].deadline
            else { return }
            if deadline > now { return timers.insert(timer, at: deadline) }
            if case .proceeding = context.branches[index].state, !context.branches[index].isCancelled {
                counters.increment(.timerCFired)
                return cancelBranch(index, of: context, now: now)
            }
            if !context.branches[index].isCancelled { counters.increment(.timerCFired) }
            complete(context, index, .local(context.branches[index].isCancelled ? 487 : 408))
            finishIfComplete(context, now: now)
        case .ring(let server, let group):
            guard let context = contexts[server], context.groupsStarted == group, !context.isAnswered else { return }
            cancelBranches(of: context, now: now)
            finishIfComplete(context, now: now)
        }
        process(now: now)
    }
}
