// SPDX-License-Identifier: Apache-2.0

import RTP

// The macros of Swift Testing cannot carry spans.
extension ReportBlocks {
    func block(_ index: Int, in bytes: [UInt8]) -> ReportBlock? { block(index, in: bytes.span) }
}
extension SourceDescription {
    func canonicalName(of ssrc: UInt32? = nil, in bytes: [UInt8]) -> String? { canonicalName(of: ssrc, in: bytes.span) }
}
extension Goodbye {
    func names(_ ssrc: UInt32, in bytes: [UInt8]) -> Bool { names(ssrc, in: bytes.span) }
}
extension RTPPacket {
    static func looksLikeRTCP(_ bytes: [UInt8]) -> Bool { looksLikeRTCP(bytes.span) }
}
extension TelephoneEvent {
    init(parsing bytes: [UInt8], at range: Range<Int>) throws { try self.init(parsing: bytes.span, at: range) }
}
