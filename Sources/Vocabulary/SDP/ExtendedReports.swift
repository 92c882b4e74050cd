// SPDX-License-Identifier: Apache-2.0

/// Which extended reports a side wishes to get (RFC 3611 §5.1): `a=rtcp-xr:voip-metrics stat-summary=loss,dup,jitt rcvr-rtt=all`.
public struct ExtendedReports: Sendable, Hashable {
    /// VoIP metrics (block 7).
    public var voiceMetrics: Bool
    /// Statistics summary (block 6).
    public var summary: Bool
    /// Reference times and their answers (blocks 4 and 5), by which a side that only receives learns the round trip.
    public var receiverRoundTrip: Bool

    /// VoIP metrics alone unless told otherwise: an offer has to stay small.
    public init(voiceMetrics: Bool = true, summary: Bool = false, receiverRoundTrip: Bool = false) {
        self.voiceMetrics = voiceMetrics
        self.summary = summary
        self.receiverRoundTrip = receiverRoundTrip
    }

    /// Reads the attribute's value; formats that are not known here are passed over.
    init(parsing value: String?) {
        self.init(voiceMetrics: false, summary: false, receiverRoundTrip: false)
        for format in (value ?? "").split(separator: " ") {
            switch format.split(separator: "=").first.map({ $0.lowercased() }) {
            case "voip-metrics": voiceMetrics = true
            case "stat-summary": summary = true
            case "rcvr-rtt": receiverRoundTrip = true
            default: break
            }
        }
    }

    /// Whether nothing is wished for.
    public var isEmpty: Bool { !voiceMetrics && !summary && !receiverRoundTrip }

    /// The attribute's value.
    var value: String {
        var formats: [String] = []
        if voiceMetrics { formats.append("voip-metrics") }
        if summary { formats.append("stat-summary=loss,dup,jitt") }
        if receiverRoundTrip { formats.append("rcvr-rtt=all") }
        return formats.joined(separator: " ")
    }
}
