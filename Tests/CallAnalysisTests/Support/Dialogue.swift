// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials

/// Writes the messages of a call between two addresses.
struct Dialogue {
    var caller = "192.0.2.10:5060"
    var callee = "198.51.100.7:5060"
    var callID = "call-1"
    /// What the fields say where it is not the packet's address.
    var callerContact: String?
    var calleeContact: String?
    var callerVia: String?
    var callerMedia: String?
    var calleeMedia: String?
    var callerCodecs = "0 8"
    var calleeCodecs = "0"
    var server = "TestPhone/1"

    static func sdp(_ media: String, _ formats: String, direction: String = "sendrecv") -> String {
        let at = address(media)
        let kind = at.ip.isV6 ? "IP6" : "IP4"
        return
            "v=0\r\no=- 1 1 IN \(kind) \(at.ip)\r\ns=-\r\nc=IN \(kind) \(at.ip)\r\nt=0 0\r\nm=audio \(at.port) RTP/AVP \(formats)\r\na=\(direction)\r\n"
    }

    func request(
        _ method: String, cseq: Int = 1, branch: String = "b1", toTag: Bool = false, byCallee: Bool = false, body: String = "",
        type: String = "application/sdp",
        extra: String = "", uri: String? = nil
    ) -> String {
        let me = byCallee ? callee : caller
        let contact = (byCallee ? calleeContact : callerContact) ?? me
        let via = (byCallee ? nil : callerVia) ?? me
        let (a, b) = ("<sip:alice@example.net>;tag=a", "<sip:bob@example.net>" + (toTag ? ";tag=b" : ""))
        let cseqMethod = method
        return
            "\(method) \(uri ?? "sip:bob@\(byCallee ? caller : callee)") SIP/2.0\r\nVia: SIP/2.0/UDP \(via);branch=z9hG4bK\(branch);rport\r\n"
            + "Max-Forwards: 70\r\nFrom: \(byCallee ? "<sip:bob@example.net>;tag=b" : a)\r\nTo: \(byCallee ? a : b)\r\nCall-ID: \(callID)\r\n"
            + "CSeq: \(cseq) \(cseqMethod)\r\nContact: <sip:\(byCallee ? "bob" : "alice")@\(contact)>\r\n\(extra)" + content(body, type)
    }

    func response(
        _ status: Int, _ reason: String, method: String = "INVITE", cseq: Int = 1, branch: String = "b1", tag: String = "b",
        body: String = "",
        extra: String = "", byCaller: Bool = false
    ) -> String {
        let contact = calleeContact ?? callee
        let via = byCaller ? callee : callerVia ?? caller
        return "SIP/2.0 \(status) \(reason)\r\nVia: SIP/2.0/UDP \(via);branch=z9hG4bK\(branch)\r\nFrom: <sip:alice@example.net>;tag=a\r\n"
            + "To: <sip:bob@example.net>\(status == 100 ? "" : ";tag=\(tag)")\r\nCall-ID: \(callID)\r\nCSeq: \(cseq) \(method)\r\n"
            + (status < 300 ? "Contact: <sip:bob@\(contact)>\r\n" : "") + "Server: \(server)\r\n\(extra)" + content(body, "application/sdp")
    }

    private func content(_ body: String, _ type: String) -> String {
        body.isEmpty ? "Content-Length: 0\r\n\r\n" : "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    var invite: String { request("INVITE", body: Self.sdp(callerMedia ?? "192.0.2.10:4000", callerCodecs)) }
    var ok: String { response(200, "OK", body: Self.sdp(calleeMedia ?? "198.51.100.7:6000", calleeCodecs)) }
    var ack: String { request("ACK", branch: "b2", toTag: true) }

    /// INVITE, 180, 200 and ACK from `start` on.
    func establish(_ writer: inout CaptureWriter, at start: Double = 0) {
        writer.udp(start, caller, callee, invite)
        writer.udp(start + 0.1, callee, caller, response(180, "Ringing"))
        writer.udp(start + 1, callee, caller, ok)
        writer.udp(start + 1.05, caller, callee, ack)
    }

    func hangUp(_ writer: inout CaptureWriter, at time: Double, extra: String = "") {
        writer.udp(time, caller, callee, request("BYE", cseq: 2, branch: "b9", toTag: true, extra: extra))
        writer.udp(time + 0.05, callee, caller, response(200, "OK", method: "BYE", cseq: 2, branch: "b9"))
    }

    /// Both voices from `start` on, 20 ms a packet.
    func talk(_ writer: inout CaptureWriter, at start: Double, count: Int = 250, both: Bool = true) {
        writer.voice(start, "198.51.100.7:6000", "192.0.2.10:4000", count: count, ssrc: 0xb0b)
        if both { writer.voice(start, "192.0.2.10:4000", "198.51.100.7:6000", count: count, ssrc: 0xa11ce) }
    }
}

extension CallAnalysis {
    var codes: [String] { conversations.flatMap(\.findings).map(\.cause.code) }

    func finding(_ code: String) -> Finding? { (conversations.flatMap(\.findings) + general).first { $0.cause.code == code } }
}

extension Finding {
    func evidence(_ name: String) -> String? { cause.evidence.first { $0.name == name }?.value }
}
