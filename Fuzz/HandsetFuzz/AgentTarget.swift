// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent

/// A whole phone in any state, and any octets as datagrams: the input is a script of steps (`AgentScript`).
@Sendable func fuzzAgent(_ bytes: [UInt8]) {
    var script = AgentScript()
    script.run(bytes)
}

/// A digest that is quick and the same every time; strength does not matter here.
private struct WeakCryptography: Cryptography {
    func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        let state = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return (0..<algorithm.length).map { UInt8(truncatingIfNeeded: state >> (8 * UInt64($0 % 8))) }
    }
}

private struct Countdown: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

/// Steps: one octet says what, one how, one how many octets follow for it.
private struct AgentScript {
    let phone: PhoneCore
    let flow = FlowID(rawValue: 1)
    /// A connection that the peer opened.
    let stream = FlowID(rawValue: 1001)
    let local = SocketAddress(.loopbackV4, 5070)
    let peer = SocketAddress(.loopbackV4, 5060)
    let account: AccountID?
    var now = MonotonicTime.zero
    /// The last request and the last response that the phone sent, and the last calls that it told of.
    var lastRequest: SIPMessage?
    var lastResponse: SIPMessage?
    var calls: [CallID] = []
    var serial = 0
    var responsesSent = 0

    init() {
        var configuration = PhoneConfiguration()
        configuration.agent.directCalls = .accept
        configuration.agent.maximumCalls = 8
        phone = PhoneCore(configuration: configuration, cryptography: WeakCryptography(), random: RandomSource(Countdown()))
        account = (try? URI("sip:1001@127.0.0.1:5060"))?.sip.flatMap { [phone] in
            try? phone.addAccount(
                AccountConfiguration(
                    addressOfRecord: $0, credentials: [Credential(realm: nil, username: "1001", password: Secret("x"))],
                    directCalls: .accept),
                now: .zero)
        }
        phone.handle(.listening(flow, .udp, local: local), now: now)
        phone.handle(.listening(FlowID(rawValue: 3), .tcp, local: local), now: now)
        phone.handle(.accepted(stream, listener: FlowID(rawValue: 3), local: local, remote: peer), now: now)
        drain()
    }

    mutating func run(_ bytes: [UInt8]) {
        var rest = bytes[...]
        var steps = 0
        while let what = rest.popFirst(), let how = rest.popFirst(), let length = rest.popFirst(), steps < 64 {
            let piece = Array(rest.prefix(Int(length) * 4))
            rest = rest.dropFirst(piece.count)
            step(what, how, piece)
            drain()
            steps += 1
        }
        phone.shutDown(now: now)
        drain()
        for _ in 0..<200 where phone.nextDeadline != nil { wait(.seconds(5)) }
        require(phone.callCount == 0, "no call outlives the phone")
        require(phone.isQuiet, "nothing is left of a call")
    }

    private mutating func step(_ what: UInt8, _ how: UInt8, _ piece: [UInt8]) {
        switch what % 10 {
        case 0: receive(piece)
        case 8: phone.handle(.received(piece, stream, from: peer), now: now)
        case 9: mediaEvent(how)
        case 1: respond(status: 100 + Int(how) * 5 % 600, piece)
        case 2: request(how, piece, inDialog: false)
        case 3: request(how, piece, inDialog: true)
        case 4: wait(.milliseconds(Int64(how) * Int64(how)))
        case 5: command(how)
        case 6: receive(bent(lastRequest?.bytes ?? [], how, piece))
        default: receive(bent(lastResponse?.bytes ?? [], how, piece))
        }
    }

    private mutating func receive(_ bytes: [UInt8]) {
        phone.handle(.received(bytes, flow, from: peer), now: now)
        // RFC 3261 §17: neither a response nor an ACK has an answer.
        let isUnanswerable =
            switch SIPMessage.receive(bytes) {
            case .message(let message), .refuse(let message, _, _): !message.isRequest || message.method == .ack
            case .drop: true
            }
        let before = responsesSent
        drain()
        require(!isUnanswerable || responsesSent == before, "neither an ACK nor a response is answered")
    }

    /// What the media engine may tell at any time, also of ports that are gone.
    private func mediaEvent(_ how: UInt8) {
        let port = PortID(rawValue: UInt32(how >> 4))
        let event: MediaEvent =
            switch how & 7 {
            case 0: .streamOpened(port, rtp: SocketAddress(.loopbackV4, 9000))
            case 1: .streamFailed(port, reason: "no port")
            case 2: .sourceLocked(port, peer)
            case 3: .digitReceived(port, "5", milliseconds: 100, inBand: false)
            case 4: .digitSent(port, "5", milliseconds: 100, inBand: false)
            case 5: .streamSilent(port, .seconds(5))
            case 6: .streamResumed(port)
            default: .statistics(port, StreamStatistics())
            }
        phone.handle(event, now: now)
    }

    private mutating func wait(_ interval: Interval) {
        let end = now + interval
        while let deadline = phone.nextDeadline, deadline <= end {
            now = max(now, deadline)
            phone.advance(to: now)
            drain()
        }
        now = end
    }

    /// An answer to the phone's last request.
    private mutating func respond(status: Int, _ piece: [UInt8]) {
        guard let lastRequest, (100...699).contains(status) else { return }
        var response = lastRequest.makeResponse(status: status, toTag: "peer")
        response.set(.contact, "<sip:peer@127.0.0.1:5060>")
        if status == 401 || status == 407 {
            response.set(status == 401 ? .wwwAuthenticate : .proxyAuthenticate, "Digest realm=\"r\", nonce=\"\(serial)\", qop=\"auth\"")
        }
        if status / 100 == 2 || status == 183 { response.setBody(piece.isEmpty ? Self.offer : piece, type: "application/sdp") }
        receive(response.build().bytes)
    }

    private mutating func request(_ how: UInt8, _ piece: [UInt8], inDialog: Bool) {
        let methods: [Method] = [.invite, .ack, .bye, .cancel, .options, .info, .update, .prack, .refer, .notify, .register, .message]
        let method = methods[Int(how & 15) % methods.count]
        guard let uri = try? URI("sip:1001@127.0.0.1:5070") else { return }
        var builder = MessageBuilder(request: method, uri: uri)
        serial += 1
        let dialog = inDialog ? lastResponse ?? lastRequest : nil
        // A repeated branch makes retransmissions, CANCELs and ACKs that match.
        let branch = how & 0x80 != 0 ? dialog?.topVia.branch ?? "z9hG4bKf\(serial)" : "z9hG4bKf\(serial)"
        builder.add(.via, "SIP/2.0/UDP 127.0.0.1:5060;branch=\(branch)")
        let ours = dialog.map { $0.isRequest ? $0.from : $0.to }
        let theirs = dialog.map { $0.isRequest ? $0.to : $0.from }
        builder.add(.from, theirs?.description ?? "<sip:peer@127.0.0.1>;tag=p\(how >> 6)")
        builder.add(.to, ours?.description ?? "<sip:1001@127.0.0.1>")
        builder.add(.callID, dialog?.callID ?? "c\(how >> 5)")
        builder.add(.cseq, "\(how & 0x40 != 0 ? dialog?.cseq.number ?? 1 : UInt32(serial)) \(method.rawValue)")
        builder.add(.contact, "<sip:peer@127.0.0.1:5060>")
        builder.add(.maxForwards, "70")
        if method == .invite || method == .update, how & 0x20 == 0 {
            builder.setBody(piece.isEmpty ? Self.offer : piece, type: "application/sdp")
        }
        if method == .info { builder.setBody(piece, type: "application/dtmf-relay") }
        receive(builder.build().bytes)
    }

    private mutating func command(_ how: UInt8) {
        let call = calls.isEmpty ? CallID(rawValue: 0) : calls[Int(how >> 4) % calls.count]
        switch how & 15 {
        case 0: _ = try? phone.call(from: account, to: "1002", now: now)
        case 1: try? phone.answer(call, now: now)
        case 2: try? phone.reject(call, now: now)
        case 3: try? phone.hangUp(call, now: now)
        case 4: try? phone.hold(call, now: now)
        case 5: try? phone.resume(call, now: now)
        case 6: try? phone.sendDigits("1#", on: call, now: now)
        case 7: if let account { try? phone.register(account, now: now) }
        case 8: if let account { try? phone.unregister(account, now: now) }
        case 9: try? phone.setMuted(call, true, now: now)
        case 10: try? phone.sendDigits("5", on: call, method: .info, now: now)
        default: phone.handle(.sendFailed(flow, to: peer, .refused), now: now)
        }
    }

    /// A message that the phone itself sent, with some octets replaced.
    private func bent(_ message: [UInt8], _ how: UInt8, _ piece: [UInt8]) -> [UInt8] {
        var result = message
        var rest = piece[...]
        while let high = rest.popFirst(), let low = rest.popFirst(), let octet = rest.popFirst(), !result.isEmpty {
            let place = (Int(high) << 8 | Int(low)) % result.count
            if how & 1 == 0 { result[place] = octet } else { result.insert(octet, at: place) }
        }
        return result
    }

    private mutating func drain() {
        var count = 0
        while let effect = phone.nextEffect() {
            count += 1
            require(count < 10_000, "effects come to an end")
            perform(effect)
        }
    }

    private mutating func perform(_ effect: PhoneEffect) {
        switch effect {
        case .transport(.send(let bytes, _, _)):
            if bytes.starts(with: "SIP/2.0 ".utf8) { responsesSent += 1 }
            guard case .message(let message) = SIPMessage.receive(bytes) else {
                // A refusal repeats the broken fields of the request (RFC 3261 §8.2.6.2); all else must be readable.
                // What else is no message is a keep-alive, or the answer to one: line ends and STUN (RFC 5626 §3.5).
                let isKeepAlive = bytes == [13, 10] || bytes == [13, 10, 13, 10] || (bytes.first ?? 255) < 4
                require(
                    bytes.starts(with: "SIP/2.0 ".utf8) || isKeepAlive,
                    "the phone sends requests that can be read: \(String(decoding: bytes, as: UTF8.self))")
                return
            }
            if message.isRequest { lastRequest = message } else { lastResponse = message }
        case .transport(.connect(let flow, _, _, _, _, _)): phone.handle(.closed(flow, .refused), now: now)
        case .transport(.close(let flow)): phone.handle(.closed(flow, .closedLocally), now: now)
        case .resolve(let question): phone.handle(DNSAnswer(question, .none), now: now)
        case .media(.openStream(let port, _)):
            phone.handle(
                .streamOpened(port, rtp: SocketAddress(.loopbackV4, UInt16(truncatingIfNeeded: 10000 + port.rawValue * 2))), now: now)
        case .media(.closePort(let port)): phone.handle(.statistics(port, StreamStatistics()), now: now)
        case .media, .checkNetwork: break
        case .event(.incomingCall(let call, _)): remember(call)
        case .event(.callState(let call, _, _, _)): remember(call)
        case .event: break
        }
    }

    private mutating func remember(_ call: CallID) {
        guard !calls.contains(call) else { return }
        calls.append(call)
        if calls.count > 16 { calls.removeFirst() }
    }

    private static let offer = Array(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 20000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n"
            .utf8)
}
