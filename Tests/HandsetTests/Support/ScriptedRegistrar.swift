// SPDX-License-Identifier: Apache-2.0

import Essentials
import Handset
import Networking
import SIP

/// A server that asks for a password, says yes to everything after that, and keeps the octets that it got. Lives on its loop.
final class ScriptedRegistrar: @unchecked Sendable {
    static let foreignSecret = "0123456789foreign0secret"
    let received = Notes<String>()
    let address: SocketAddress
    private let socket: DatagramSocket

    init(_ loop: EventLoop) throws {
        socket = try DatagramSocket(loop: loop, local: SocketAddress(.loopbackV4, 0), options: DatagramOptions())
        address = socket.local
        socket.onReceive = { [unowned self] packet, from, _ in
            let bytes = (0..<packet.count).map { packet[$0] }
            received.add(String(decoding: bytes, as: UTF8.self))
            if let message = try? SIPMessage(parsing: bytes), message.isRequest { answer(message, from) }
        }
    }

    private func answer(_ request: SIPMessage, _ from: SocketAddress) {
        switch request.method {
        case .ack: return
        case .register, .invite:
            let isRegister = request.method == .register
            guard request.first(isRegister ? "Authorization" : "Proxy-Authorization") != nil else {
                var challenge = request.makeResponse(status: isRegister ? 401 : 407, toTag: "t")
                let nonce = "n\(request.cseq.number)\(request.callID)"
                challenge.add(
                    isRegister ? "WWW-Authenticate" : "Proxy-Authenticate",
                    "Digest realm=\"example.net\", nonce=\"\(nonce)\", algorithm=SHA-256, qop=\"auth\"")
                return socket.send(challenge.build().bytes, to: from)
            }
            var response = request.makeResponse(status: 200, toTag: "t")
            response.add(.contact, isRegister ? request.first(.contact) ?? "*" : "<sip:bob@\(address)>")
            if !isRegister {
                let sdp = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP 0\r\n"
                response.setBody(Array(sdp.utf8), type: "application/sdp")
            }
            socket.send(response.build().bytes, to: from)
        default: socket.send(request.makeResponse(status: 200, toTag: request.to.tag == nil ? "t" : nil).build().bytes, to: from)
        }
    }

    /// An INVITE with somebody's credentials in it, as a careless proxy leaves them.
    func call(_ phone: SocketAddress) {
        var invite = MessageBuilder(request: .invite, uri: .sip(SIPURI(user: "alice", host: .address(phone.ip), port: phone.port)))
        invite.add(.via, "SIP/2.0/UDP \(address);branch=z9hG4bKforeign")
        invite.add(.maxForwards, "70")
        invite.add(.from, "<sip:carol@example.net>;tag=f")
        invite.add(.to, "<sip:alice@example.net>")
        invite.add(.callID, "foreign")
        invite.add(.cseq, "1 INVITE")
        invite.add(.contact, "<sip:carol@\(address)>")
        invite.add(
            "Proxy-Authorization",
            "Digest username=\"carol\", realm=\"example.net\", nonce=\"n\", uri=\"sip:alice@example.net\", response=\"\(Self.foreignSecret)\""
        )
        socket.send(invite.build().bytes, to: phone)
    }
}
