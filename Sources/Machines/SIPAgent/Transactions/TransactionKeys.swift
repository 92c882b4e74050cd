// SPDX-License-Identifier: Apache-2.0
//
// How messages find their transactions: RFC 3261 §17.1.3 (responses), §17.2.3 (requests), §8.2.2.2 (merged requests).

import SIP

/// What a server transaction is found by: branch, sent-by and method (an ACK looks for INVITE).
struct ServerKey: Hashable {
    /// Method, branch and sent-by, or what RFC 3261 §17.2.3 names for messages without the magic cookie. One text, so
    /// that it is hashed in one go.
    let text: String

    init(_ message: SIPMessage, method: Method) {
        let via = message.topViaFields
        var key: [UInt8] = []
        key.reserveCapacity(96)
        key.append(contentsOf: method.rawValue.utf8)
        key.append(UInt8(ascii: " "))
        if via.hasMagicCookie {
            key.append(contentsOf: message.bytes(in: via.branch))
            key.append(UInt8(ascii: "@"))
            // Host names do not care for case.
            for byte in message.bytes(in: via.host) { key.append(byte &- 65 < 26 ? byte | 0x20 : byte) }
            if via.port >= 0 {
                key.append(UInt8(ascii: ":"))
                appendHexadecimal(UInt32(truncatingIfNeeded: via.port), to: &key)
            }
        } else {
            // RFC 2543: Request-URI, From tag, Call-ID, CSeq number and topmost Via; the To tag is left out, so that
            // ACK and CANCEL are found by the same key.
            for range in [message.requestURIRange, message.fromTagRange, message.callIDRange, via.whole] {
                key.append(0)
                key.append(contentsOf: message.bytes(in: range))
            }
            key.append(0)
            appendHexadecimal(message.cseqNumber, to: &key)
        }
        text = String(decoding: key, as: UTF8.self)
    }
}

/// What tells that a request came over two paths: Call-ID, From tag and CSeq.
struct MergeKey: Hashable {
    let text: String

    init(_ message: SIPMessage) {
        var key: [UInt8] = []
        key.reserveCapacity(96)
        key.append(contentsOf: message.bytes(in: message.callIDRange))
        key.append(0)
        key.append(contentsOf: message.bytes(in: message.fromTagRange))
        key.append(0)
        key.append(contentsOf: message.bytes(in: message.cseqMethodRange))
        appendHexadecimal(message.cseqNumber, to: &key)
        text = String(decoding: key, as: UTF8.self)
    }
}

/// What a client transaction is found by: the branch is ours and unique; a CANCEL has that of its INVITE.
struct ClientKey: Hashable {
    let branch: String
    let isCancel: Bool

    init(branch: String, isCancel: Bool) {
        self.branch = branch
        self.isCancel = isCancel
    }

    init(_ response: SIPMessage, method: Method) {
        branch = String(decoding: response.bytes(in: response.branchRange), as: UTF8.self)
        isCancel = method == .cancel
    }
}

private func appendHexadecimal(_ number: UInt32, to key: inout [UInt8]) {
    var rest = number
    repeat {
        let digit = UInt8(truncatingIfNeeded: rest & 15)
        key.append(digit < 10 ? 48 + digit : 87 + digit)
        rest >>= 4
    } while rest > 0
}
