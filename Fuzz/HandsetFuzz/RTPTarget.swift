// SPDX-License-Identifier: Apache-2.0

import RTP

/// Any octets as an RTP packet: ranges stay inside, and what is read can be written again.
@Sendable func fuzzRTP(_ bytes: [UInt8]) {
    _ = RTPPacket.looksLikeRTCP(bytes.span)
    guard let packet = try? RTPPacket(parsing: bytes) else { return }
    require(packet.payloadRange.upperBound <= bytes.count, "the payload is inside the packet")
    require(packet.extensionRange.upperBound <= bytes.count, "the extension is inside the packet")
    let payload = Array(bytes[packet.payloadRange])
    let written = packet.serialized(payload: payload)
    guard let again = try? RTPPacket(parsing: written) else {
        require(false, "a written packet can be read")
        return
    }
    require(
        again.sequenceNumber == packet.sequenceNumber && again.timestamp == packet.timestamp && again.ssrc == packet.ssrc,
        "the header is kept")
    require(Array(written[again.payloadRange]) == payload, "the payload is kept")
}
