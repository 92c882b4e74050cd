// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// A peer that does what the test says: it keeps what it gets and sends what it is told.
final class ScriptedPeer: Node {
    let address: SocketAddress
    let network: Network
    private(set) var received: [(message: SIPMessage, from: SocketAddress)] = []
    /// Called for each message as it comes.
    var onMessage: ((SIPMessage) -> Void)?
    /// Called for each packet that is no message: keep-alives.
    var onOctets: (([UInt8]) -> Void)?
    /// Over which transport this peer speaks.
    var transport = TransportProtocol.udp
    private(set) var disconnections = 0
    private(set) var connections = 0
    private var branch = 0

    init(_ network: Network, _ last: UInt32, at address: SocketAddress? = nil) {
        self.network = network
        self.address = address ?? SocketAddress(ip(last), 5060)
        network.nodes.append(self)
    }

    var nextDeadline: MonotonicTime? { nil }
    func advance(to now: MonotonicTime) {}
    func disconnected(from peer: SocketAddress, _ failure: FlowFailure, now: MonotonicTime) { disconnections += 1 }
    func accept(from peer: SocketAddress, now: MonotonicTime) { connections += 1 }

    func receive(_ packet: Packet, now: MonotonicTime) {
        guard let message = packet.message else {
            onOctets?(packet.bytes)
            return
        }
        received.append((message, packet.from))
        onMessage?(message)
    }

    // MARK: What came

    func requests(_ method: Method) -> [SIPMessage] {
        received.map(\.message).filter { $0.isRequest && $0.method == method }
    }

    func responses(_ method: Method) -> [SIPMessage] {
        received.map(\.message).filter { !$0.isRequest && $0.cseq.method == method }
    }

    /// The source of the last message.
    var lastSource: SocketAddress? { received.last?.from }

    // MARK: What goes

    /// Answers a request back to where it came from.
    func respond(
        _ status: Int, to request: SIPMessage, tag: String? = "peer", contact: String? = nil,
        headers: [(HeaderName, String)] = [], body: String? = nil
    ) {
        var response = request.makeResponse(status: status, toTag: request.to.tag == nil ? tag : nil)
        if let contact { response.add(.contact, "<\(contact)>") }
        for (name, value) in headers { response.add(name, value) }
        if let body { response.setBody(Array(body.utf8), type: "application/sdp") }
        let to = received.last { $0.message === request }?.from ?? network.nodes[0].address
        network.send(Packet(from: address, to: to, transport: transport, bytes: response.build().bytes))
    }

    /// The contact of this peer.
    var contact: String { "sip:peer@\(address)" + (transport == .udp ? "" : ";transport=tcp") }

    /// Sends a request; the text has no Via, Content-Length or Max-Forwards.
    @discardableResult
    func send(
        _ method: String, _ uri: String, to agent: AgentNode, callID: String = "call-1", fromTag: String = "peer",
        toTag: String? = nil, sequence: UInt32 = 1, headers: [String] = [], type: String? = nil, body: String = "",
        branch: String? = nil, contact: String? = nil
    ) -> String {
        self.branch += 1
        let branch = branch ?? "z9hG4bKpeer\(self.branch)"
        var lines = ["\(method) \(uri) SIP/2.0"]
        lines.append("Via: SIP/2.0/\(transport.viaName) \(address);rport;branch=\(branch)")
        lines.append("Max-Forwards: 70")
        lines.append("From: \"A Peer\" <sip:peer@\(address)>;tag=\(fromTag)")
        lines.append("To: <sip:1001@\(agent.address)>" + (toTag.map { ";tag=\($0)" } ?? ""))
        lines.append("Call-ID: \(callID)")
        lines.append("CSeq: \(sequence) \(method)")
        if method == "INVITE" { lines.append("Contact: <\(contact ?? self.contact)>") }
        lines += headers
        if let type { lines.append("Content-Type: \(type)") }
        lines.append("Content-Length: \(body.utf8.count)")
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        network.send(Packet(from: address, to: agent.address, transport: transport, bytes: Array(text.utf8)))
        return branch
    }

    func sendRaw(_ bytes: [UInt8], to agent: AgentNode) {
        network.send(Packet(from: address, to: agent.address, transport: transport, bytes: bytes))
    }
}

let sdpOffer = "v=0\r\no=- 1 1 IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 10.0.0.9\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"
let sdpBytes = Array(sdpOffer.utf8)
