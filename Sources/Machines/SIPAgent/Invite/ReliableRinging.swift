// SPDX-License-Identifier: Apache-2.0
//
// Reliable provisional responses as the called side (RFC 3262 §3): where the caller requires them, or by a setting wherever it
// supports them. One at a time; the next one waits for the PRACK.
//
//   INVITE (Require: 100rel) ─► 180 RSeq: n, again after T1, 2·T1, 4·T1 … ─ PRACK RAck: n ─► 200 (PRACK)
//                                └ 64·T1 without PRACK: 504
//   no offer in the INVITE: the first one has ours, and the PRACK the answer (§5)
//   accepted while a description is not acknowledged: the 200 waits for the PRACK

import Essentials
import SIP

/// When a provisional response of ours is sent reliably.
public enum ReliableProgressPolicy: Sendable, Hashable {
    /// Where the caller requires it.
    case whenRequired
    /// Wherever the caller supports it.
    case whenSupported
}

/// The reliable provisional responses of one INVITE that we were sent.
struct ReliableRinging {
    struct Outstanding {
        let number: UInt32
        let response: SIPMessage
        var interval: Interval
        var hasBody: Bool
    }

    struct Waiting {
        var status: Int
        var body: [UInt8]?
        var headers: [(HeaderName, String)]
    }

    /// The number of the next one; the first is between 1 and 2^31 − 1.
    var nextNumber: UInt32
    var outstanding: Outstanding?
    var queue: [Waiting] = []
    /// A description was sent reliably and acknowledged: offer and answer are exchanged.
    var isAgreed = false
    /// The user has taken the call; the 200 with this body waits for a PRACK.
    var acceptance: (body: [UInt8]?, headers: [(HeaderName, String)])?
    /// At most this many wait.
    static let longestQueue = 8
}

extension UserAgent {
    /// Decides for an INVITE that comes in; nil: ordinary provisional responses.
    func reliableRinging(for request: SIPMessage) -> ReliableRinging? {
        let isRequired = request.contains(.require) && request.lists(.require, Token.reliable)
        let isWanted = isRequired || configuration.reliableProgress == .whenSupported && request.lists(.supported, Token.reliable)
        return isWanted ? ReliableRinging(nextNumber: UInt32(random.integer(in: 1...1_000_000))) : nil
    }

    /// Whether the session's provisional responses are reliable: where the INVITE had no offer the first one must have ours.
    public func ringsReliably(_ id: SessionID) -> Bool { sessions[id]?.ringing != nil }

    /// Sends a provisional response reliably, or puts it behind the one that is not acknowledged.
    func ringReliably(_ session: InviteSession, _ waiting: ReliableRinging.Waiting, now: MonotonicTime) {
        guard let ringing = session.ringing, let server = session.serverInvite else { return }
        guard ringing.outstanding == nil else {
            if ringing.queue.count < ReliableRinging.longestQueue { session.ringing?.queue.append(waiting) }
            return
        }
        var builder = makeInviteResponse(session, server.request, status: waiting.status)
        builder.add(.allow, Self.allowedMethods)
        builder.add(.require, Self.reliableTag)
        builder.add(.rseq, "\(ringing.nextNumber)")
        for (name, value) in waiting.headers { builder.add(name, value) }
        if let body = waiting.body { builder.setBody(body, type: "application/sdp") }
        let response = builder.build()
        let times = configuration.stack.times
        session.ringing?.outstanding = .init(
            number: ringing.nextNumber, response: response, interval: times.t1, hasBody: waiting.body != nil)
        session.ringing?.nextNumber &+= 1
        counters.increment(.reliableRinging)
        stack.respond(server.transaction, response, now: now)
        timers.arm(.repeatProgress(session.id), at: now + times.t1)
        timers.arm(.awaitPRACK(session.id), at: now + times.timeout)
    }

    /// §3: again after T1, doubling without an upper limit.
    func repeatProgress(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id], let server = session.serverInvite, let outstanding = session.ringing?.outstanding else { return }
        let interval = outstanding.interval * 2
        session.ringing?.outstanding?.interval = interval
        stack.respond(server.transaction, outstanding.response, now: now)
        timers.arm(.repeatProgress(id), at: now + interval)
    }

    /// No PRACK in 64*T1 (§3).
    func prackMissing(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id], session.ringing?.outstanding != nil else { return }
        counters.increment(.missingPRACK)
        refuseInvite(session, 504, now: now)
        end(session, byRemote: false, Causes.noPRACK, now: now)
    }

    /// PRACK (§3): 200 where it matches what waits for it, else 481.
    func handlePrack(
        _ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, _ id: DialogID, now: MonotonicTime
    ) {
        guard session.dialog?.id == id, let ringing = session.ringing, let rack = RAck(request.first(.rack) ?? ""),
            rack.method == .invite
        else {
            counters.increment(.unmatchedPRACK)
            return refuse(request, transaction, 481, now: now)
        }
        // One that comes after our final answer is still acknowledged.
        guard let server = session.serverInvite, server.request.cseqNumber == rack.sequence, let outstanding = ringing.outstanding,
            outstanding.number == rack.number
        else {
            let isLate = ringing.outstanding == nil && rack.number < ringing.nextNumber && session.phase != .over
            if !isLate { counters.increment(.unmatchedPRACK) }
            return refuse(request, transaction, isLate ? 200 : 481, now: now)
        }
        stopRepeatingProgress(session)
        let bringsAnswer = outstanding.hasBody && server.offerIsOurs && !ringing.isAgreed
        if outstanding.hasBody { session.ringing?.isAgreed = true }
        if bringsAnswer {
            refuse(request, transaction, 200, now: now)
            emit(.earlyAnswer(session.id, request))
        } else if !request.body.isEmpty, session.ringing?.isAgreed == true, session.serverUpdate == nil {
            session.serverUpdate = ServerUpdate(transaction: transaction, request: request, dialog: id)
            emit(.update(session.id, .offered(request)))
        } else {
            refuse(request, transaction, request.body.isEmpty ? 200 : 488, now: now)
        }
        goOnRinging(session, now: now)
    }

    private func goOnRinging(_ session: InviteSession, now: MonotonicTime) {
        guard session.phase == .ringing else { return }
        if let next = session.ringing?.queue.first {
            session.ringing?.queue.removeFirst()
            ringReliably(session, next, now: now)
        }
        if let acceptance = session.ringing?.acceptance, !mustWaitForPrack(session) {
            session.ringing?.acceptance = nil
            succeedInitial(session, acceptance.body, acceptance.headers, now: now)
        }
    }

    /// §3: no 2xx before a description is acknowledged.
    func mustWaitForPrack(_ session: InviteSession) -> Bool { session.ringing?.outstanding?.hasBody ?? false }

    /// What was not acknowledged is not sent again after a final answer.
    func stopRepeatingProgress(_ session: InviteSession) {
        guard session.ringing != nil else { return }
        session.ringing?.outstanding = nil
        timers.cancel(.repeatProgress(session.id))
        timers.cancel(.awaitPRACK(session.id))
    }
}

/// RAck (RFC 3262 §7.2): `776656 1 INVITE`.
struct RAck {
    let number: UInt32
    let sequence: UInt32
    let method: Method

    init?(_ text: String) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard parts.count == 3, let number = UInt32(parts[0]), let sequence = UInt32(parts[1]) else { return nil }
        self.number = number
        self.sequence = sequence
        method = Method(rawValue: String(parts[2]))
    }
}
