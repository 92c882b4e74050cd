// SPDX-License-Identifier: Apache-2.0
//
// `red` in descriptions (RFC 2198 §4): one format a clock rate, whose fmtp names the formats that may be in its blocks:
//
//     m=audio 4000 RTP/AVP 96 0 8 121 122
//     a=rtpmap:121 red/48000/2
//     a=fmtp:121 96/96
//     a=rtpmap:122 red/8000
//     a=fmtp:122 0/8

/// Whether audio is sent again against loss (RFC 2198). Negotiated unless it is off.
public enum Redundancy: Sendable, Hashable {
    /// Neither offered nor answered.
    case off
    /// Each packet carries copies of so many before it, 1...4.
    case packets(Int)
    /// As the peer's reports of loss call for it: nothing as long as nothing is lost.
    case automatic

    /// The most copies in a packet.
    public static let maximumPackets = 4

    /// Copies from the start; nil: by the reports.
    public var packetCount: Int? {
        if case .packets(let count) = self { min(max(count, 1), Self.maximumPackets) } else { nil }
    }

    /// The formats in an fmtp of `red`: `96/96`, `0/8`.
    static func payloadTypes(_ parameters: String) -> [UInt8] {
        parameters.split(separator: "/").compactMap { part in UInt8(part.filter { $0 != " " }) }
    }

    /// The fmtp for these formats; a single one is named twice, as copy and as original.
    static func parameters(_ payloadTypes: [UInt8]) -> String {
        let named = payloadTypes.count == 1 ? payloadTypes + payloadTypes : payloadTypes
        return named.map { "\($0)" }.joined(separator: "/")
    }
}

extension OfferAnswer {
    /// The clock rates with channels of our codecs, and their numbers, in order.
    static func redundant(_ codecs: [LocalFormat]) -> [(map: RTPMap, payloadTypes: [UInt8])] {
        var result: [(map: RTPMap, payloadTypes: [UInt8])] = []
        for codec in codecs where codec.kind == .codec {
            let map = RTPMap("red", codec.map.clockRate, codec.map.channels)
            if let index = result.firstIndex(where: { $0.map == map }) {
                result[index].payloadTypes.append(codec.payloadType)
            } else {
                result.append((map, [codec.payloadType]))
            }
        }
        return result
    }

    /// `red` of an offer for the codecs that we answer: its number, with those of its formats that are among them.
    func answeredRedundancy(_ entries: [PayloadTypeTable.Entry], _ codecs: [LocalFormat]) -> [LocalFormat] {
        guard capabilities.redundancy != .off else { return [] }
        var result: [LocalFormat] = []
        for ours in Self.redundant(codecs) {
            guard let entry = entries.first(where: { $0.map.isNamed("red") && $0.map.clockRate == ours.map.clockRate }) else { continue }
            let named = Redundancy.payloadTypes(entry.parameters)
            let common = ours.payloadTypes.filter { named.isEmpty || named.contains($0) }
            guard !common.isEmpty else { continue }
            result.append(
                LocalFormat(
                    kind: .redundancy, payloadType: entry.payloadType, map: entry.map, parameters: Redundancy.parameters(common)))
        }
        return result
    }

    /// What `entries` of the peer and our description agree about sending again, and about comfort noise.
    func agreeOnExtras(_ result: inout NegotiatedAudio, _ entries: [PayloadTypeTable.Entry], _ local: [LocalFormat]) {
        let codec = result.codec
        result.receiveRedundancyPayloadTypes = local.filter { $0.kind == .redundancy }.map(\.payloadType)
        let red = entries.first { entry in
            guard entry.map.isNamed("red"), entry.map.clockRate == codec.clockRate else { return false }
            let named = Redundancy.payloadTypes(entry.parameters)
            return (named.isEmpty || named.contains(codec.payloadType))
                && local.contains { $0.kind == .redundancy && $0.map.clockRate == codec.clockRate }
        }
        if let red {
            result.sendRedundancyPayloadType = red.payloadType
            result.redundantPackets = capabilities.redundancy.packetCount
        }
        if capabilities.comfortNoise {
            result.sendComfortNoisePayloadType =
                entries.first { entry in
                    entry.map.isNamed("CN") && entry.map.clockRate == codec.clockRate && local.contains { $0.kind == .comfortNoise }
                }?.payloadType
        }
    }
}
