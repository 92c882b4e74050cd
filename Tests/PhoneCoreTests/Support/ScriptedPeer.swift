// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// A peer that keeps what it gets and sends what it is told.
final class ScriptedPeer: BenchNode {
    let address: SocketAddress
    let bench: Bench
    private(set) var received: [SIPMessage] = []
    /// Called for each request as it comes.
    var onRequest: ((SIPMessage) -> Void)?
    private var branch = 0

    init(_ bench: Bench, _ last: UInt32 = 9) {
        self.bench = bench
        address = SocketAddress(host(last), 5060)
        bench.nodes.append(self)
    }

    var nextDeadline: MonotonicTime? { nil }
    func advance() {}

    func receive(_ bytes: [UInt8], from: SocketAddress) {
        guard let message = try? SIPMessage(parsing: bytes) else { return }
        received.append(message)
        if message.isRequest { onRequest?(message) }
    }

    func requests(_ method: Method) -> [SIPMessage] { received.filter { $0.isRequest && $0.method == method } }

    func responses(_ method: Method) -> [SIPMessage] { received.filter { !$0.isRequest && $0.cseq.method == method } }

    func respond(
        _ status: Int, to request: SIPMessage, reason: String? = nil, tag: String? = "peer", sdp: String? = nil,
        headers: [(HeaderName, String)] = []
    ) {
        var response = request.makeResponse(status: status, reason: reason, toTag: request.to.tag == nil ? tag : nil)
        response.add(.contact, "<sip:peer@\(address)>")
        for (name, value) in headers { response.add(name, value) }
        if let sdp { response.setBody(Array(sdp.utf8), type: "application/sdp") }
        bench.send(response.build().bytes, from: address, to: request.topVia.sentBy ?? address)
    }

    func send(
        _ method: String, to phone: PhoneNode, callID: String = "call-1", toTag: String? = nil, fromTag: String = "peer",
        sequence: UInt32 = 1, from: String? = nil, headers: [String] = [], type: String = "application/sdp", body: String = "",
        branch: String? = nil
    ) {
        self.branch += 1
        let branch = branch ?? "z9hG4bKpeer\(self.branch)"
        let from = from ?? "\"A Peer\" <sip:peer@\(address)>"
        var lines = ["\(method) sip:phone@\(phone.address) SIP/2.0", "Via: SIP/2.0/UDP \(address);rport;branch=\(branch)"]
        lines += ["Max-Forwards: 70", "From: \(from);tag=\(fromTag)"]
        lines.append("To: <sip:phone@\(phone.address)>" + (toTag.map { ";tag=\($0)" } ?? ""))
        lines += ["Call-ID: \(callID)", "CSeq: \(sequence) \(method)", "Contact: <sip:peer@\(address)>"] + headers
        if !body.isEmpty { lines.append("Content-Type: \(type)") }
        lines.append("Content-Length: \(body.utf8.count)")
        bench.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8), from: address, to: phone.address)
    }
}

extension Via {
    var sentBy: SocketAddress? {
        guard case .address(let ip) = host else { return nil }
        return SocketAddress(ip, port ?? 5060)
    }
}

/// A description of a peer at 10.0.0.9, or wherever `at` says.
func sdp(
    port: UInt16 = 7000, at ip: String = "10.0.0.9", direction: String? = nil, formats: String = "0 8", events: Bool = false,
    profile: String = "RTP/AVP", version: Int = 1
) -> String {
    var text = "v=0\r\no=- 1 \(version) IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 \(ip)\r\nt=0 0\r\n"
    text += "m=audio \(port) \(profile) \(formats)\(events ? " 101" : "")\r\n"
    if events { text += "a=rtpmap:101 telephone-event/8000\r\n" }
    if let direction { text += "a=\(direction)\r\n" }
    return text
}
