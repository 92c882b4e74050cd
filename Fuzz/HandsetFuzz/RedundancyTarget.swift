// SPDX-License-Identifier: Apache-2.0

import RTP

/// Any octets as a redundant payload (RFC 2198) and as an extended report (RFC 3611): blocks stay inside and do not overlap, reading
/// ends, and what is read can be written again.
@Sendable func fuzzRedundancy(_ bytes: [UInt8]) {
    readReport(bytes)
    guard let payload = try? RedundantPayload(parsing: bytes.span, at: 0..<bytes.count) else { return }
    require((1...RedundantPayload.maximumBlocks).contains(payload.count), "a payload has blocks, and not too many")
    var place = 0
    var blocks: [(payloadType: UInt8, timestampOffset: UInt32, bytes: [UInt8])] = []
    for index in 0..<payload.count {
        guard let block = payload.block(index, in: bytes.span) else { return require(false, "every block is there") }
        require(block.range.lowerBound >= place && block.range.upperBound <= bytes.count, "blocks follow each other inside the payload")
        require(block.age == payload.count - 1 - index, "the last block is the packet's own")
        place = block.range.upperBound
        blocks.append((block.payloadType, block.timestampOffset, Array(bytes[block.range])))
    }
    require(place == bytes.count, "nothing is left over")
    require(payload.block(payload.count, in: bytes.span) == nil && payload.block(-1, in: bytes.span) == nil, "there are no more blocks")
    // Where a copy follows the head that ended the heads, the octets are the same.
    if let written = RedundantPayload.serialized(blocks) { require(written == bytes, "what was read is written") }
}

private func readReport(_ bytes: [UInt8]) {
    guard var report = ExtendedReport(parsing: bytes.span, at: 0..<bytes.count) else { return }
    var writer = RTCPWriter()
    let start = writer.beginExtendedReport(ssrc: report.ssrc)
    var blocks: [ExtendedReportBlock] = []
    while let block = report.next(in: bytes.span) {
        require(blocks.count <= bytes.count, "reading goes forward")
        blocks.append(block)
        writer.append(block)
    }
    writer.endExtendedReport(at: start)
    guard !writer.bytes.isEmpty, var again = ExtendedReport(parsing: writer.bytes.span, at: 4..<writer.bytes.count) else { return }
    for block in blocks {
        if case .other = block { continue }
        require(again.next(in: writer.bytes.span) == block, "a block that was written is read")
    }
}
