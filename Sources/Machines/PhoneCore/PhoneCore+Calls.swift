// SPDX-License-Identifier: Apache-2.0
//
// The user's side of calls: place, answer, refuse, hang up.

import Essentials
import Media
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// Places a call. The INVITE leaves as soon as the world has opened RTP sockets.
    ///
    /// - Parameters:
    ///   - account: whose identity and server are used; nil calls directly.
    ///   - dialled: a number or name at the account's domain, or a full URI.
    public func call(
        from account: AccountID?, to dialled: String, options: CallOptions = CallOptions(), now: MonotonicTime
    ) throws(PhoneError) -> CallID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        if let account { try require(account) }
        guard calls.count < configuration.maximumCalls else {
            throw PhoneError(.limit, "There are already \(calls.count) calls, the most that are allowed.")
        }
        let target = try Dialling.target(dialled, account: account.flatMap { accounts[$0] })
        if case .tel = target, account == nil {
            throw PhoneError(.badTarget, "A tel: URI needs an account whose server leads to the telephone network.")
        }
        for header in options.headers {
            guard let name = HeaderName(header.name) else {
                throw PhoneError(.badHeader, "“\(header.name)” cannot be the name of a header field.")
            }
            guard !UserAgent.isReserved(name) else {
                throw PhoneError(.badHeader, "“\(header.name)” is set by the phone itself.")
            }
        }
        let call = makeCall(account: account, direction: .outgoing, phase: .openingOutgoing(target: target, options: options))
        call.remote = NameAddress(displayName: nil, uri: target)
        call.target = target
        call.options = options
        calls[call.id] = call
        emit(.callState(call.id, .calling, status: 0, reason: ""))
        return call.id
    }

    /// Answers an incoming call that rings.
    public func answer(_ id: CallID, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        guard case .ringing(let answer) = call.phase, let session = call.session, let local = call.local else {
            throw PhoneError(.wrongState, "Only a call that rings can be answered.")
        }
        call.phase = .accepting
        var body = answer
        if body == nil, !call.hasEarlyOffer {
            body = call.negotiation.makeOffer(local: local, direction: call.wantedDirection).serialized()
            prepareToReceive(call)
        }
        if call.audio != nil { configureStream(call) }
        call.lastStatus = 200
        call.lastReason = "OK"
        emit(.callState(id, .connecting, status: 200, reason: "OK"))
        agent.accept(session, answer: body, headers: call.acceptHeaders, now: now)
        drainAgent(now: now)
    }

    /// Refuses an incoming call: 486 (busy) by default, 603 to decline everywhere.
    public func reject(_ id: CallID, status: Int = 486, reason: String? = nil, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        guard case .ringing = call.phase, let session = call.session else {
            throw PhoneError(.wrongState, "Only a call that rings can be refused.")
        }
        agent.reject(session, status: min(max(status, 300), 699), reason: reason, now: now)
        drainAgent(now: now)
    }

    /// Ends a call in whatever state it is, with the message that fits: CANCEL, BYE or a refusal. The call
    /// is over for the user at once. Hanging up a call that is over does nothing.
    ///
    /// - Parameter reason: told to the other side (RFC 3326), such as `Reason(cause: 200, text: "Call completed elsewhere")`.
    public func hangUp(_ id: CallID, cause: Cause? = nil, reason: Reason? = nil, now: MonotonicTime) throws(PhoneError) {
        guard let call = calls[id] else { return }
        if let session = call.session {
            agent.hangUp(session, cause: cause, reason: reason, now: now)
            drainAgent(now: now)
            return
        }
        finish(id, cause ?? PhoneCauses.hungUp)
        drainAgent(now: now)
    }

    /// Stops or lets through what the bridge gives to the call; the peer hears nothing while muted.
    public func setMuted(_ id: CallID, _ isMuted: Bool, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        call.isMuted = isMuted
        if call.hasMedia { configureStream(call) }
        drainAgent(now: now)
    }

    /// Asks for the call's statistics; they come as `PhoneEvent.statistics`.
    public func requestStatistics(_ id: CallID) throws(PhoneError) {
        let call = try require(id)
        order(.reportStatistics(call.port))
    }

    /// The bridge port of a call, for joining it to devices, files and other calls.
    public func port(of id: CallID) throws(PhoneError) -> PortID { try require(id).port }

    /// Who is at the other side: the one who was called, or who calls; nil for a call that is over.
    public func remote(of id: CallID) -> URI? { calls[id]?.remote?.uri }

    /// Whose call it is; nil: a direct one, or over.
    public func account(of id: CallID) -> AccountID? { calls[id]?.account }

    /// The state of a call; `.disconnected` for one that is over or never was.
    public func state(of id: CallID) -> CallState {
        guard let call = calls[id] else { return .disconnected }
        switch call.phase {
        case .openingOutgoing: return .calling
        case .inviting: return call.lastStatus > 100 ? .early : .calling
        case .openingIncoming, .ringing: return .incoming
        case .accepting: return .connecting
        case .established: return .confirmed
        }
    }

    func require(_ id: CallID) throws(PhoneError) -> Call {
        guard let call = calls[id] else { throw PhoneError(.noSuchCall, "There is no such call, or it is over.") }
        return call
    }

    /// Makes the record of a call and orders its stream.
    func makeCall(account: AccountID?, direction: CallDirection, phase: Call.Phase) -> Call {
        let port = makePort()
        let call = Call(
            id: makeCallID(), account: account, direction: direction, port: port, phase: phase,
            negotiation: OfferAnswer(capabilities: audio(of: account), sessionID: random.next() >> 2),
            isAnnounced: direction == .outgoing)
        callOfPort[port] = call.id
        order(
            .openStream(
                port,
                StreamIdentity(
                    ssrc: UInt32(truncatingIfNeeded: random.next()), firstSequenceNumber: UInt16(truncatingIfNeeded: random.next()),
                    firstTimestamp: UInt32(truncatingIfNeeded: random.next()), cname: random.token(16))))
        return call
    }

    /// Ends a call that was never sent.
    func finish(_ id: CallID, _ cause: Cause) {
        finish(id, CallEnd(cause: cause, isByRemote: false, wasEstablished: false, duration: .zero))
    }

    /// Takes a call out of the books, closes its port and tells the application. A call that never rang here is told as a
    /// warning only: the application does not know it.
    func finish(_ id: CallID, _ end: CallEnd) {
        guard let call = calls.removeValue(forKey: id) else { return }
        if let session = call.session { callOfSession[session] = nil }
        silences.disarm(id)
        pauses.disarm(id)
        autoAnswers.disarm(id)
        tellWaitingTones(call)
        if call.early.told != .off { emit(.notice(id, .ringback(.off))) }
        leaveConference(id)
        callOfPort[call.port] = nil
        if call.hasStream {
            closingPorts[call.port] = ClosingPort(call: id, isAnnounced: call.isAnnounced)
            order(.closePort(call.port))
        }
        guard call.isAnnounced else { return emit(.warning(nil, end.cause)) }
        let status = end.cause.status ?? call.lastStatus
        emit(.callState(id, .disconnected, status: status, reason: end.cause.reasonPhrase ?? call.lastReason))
        emit(.ended(id, end))
        // Whoever waits for the last statistics gets some.
        if !call.hasStream { emit(.statistics(id, StreamStatistics(), isFinal: true)) }
        transferorCallEnded(id)
        transfereeCallEnded(id, end.cause)
    }
}
