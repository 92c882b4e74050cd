// SPDX-License-Identifier: Apache-2.0

import RTP

/// Any octets as an RTCP compound, and as telephone events: nothing is read past the packet, and reading ends.
@Sendable func fuzzRTCP(_ bytes: [UInt8]) {
    var reader = RTCPReader()
    var count = 0
    while let packet = try? reader.next(in: bytes.span) {
        count += 1
        require(count <= bytes.count, "reading goes forward")
        switch packet {
        case .senderReport(_, _, let blocks), .receiverReport(_, let blocks):
            for index in -1...blocks.count { _ = blocks.block(index, in: bytes.span) }
        case .sourceDescription(let description):
            _ = (description.canonicalName(in: bytes.span), description.canonicalName(of: 1, in: bytes.span))
        case .goodbye(let goodbye):
            _ = goodbye.names(0, in: bytes.span)
            if let reason = goodbye.reason { require(reason.upperBound <= bytes.count, "the reason is inside the packet") }
        case .other(_, let range): require(range.upperBound <= bytes.count, "an unknown packet is inside the datagram")
        }
    }
    if let event = try? TelephoneEvent(parsing: bytes.span, at: 0..<bytes.count) { _ = (event.digit, event.serialized) }
}
