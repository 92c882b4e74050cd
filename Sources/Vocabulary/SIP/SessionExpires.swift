// SPDX-License-Identifier: Apache-2.0

/// Session-Expires (RFC 4028 §4): `1800;refresher=uas`.
public struct SessionExpires: Sendable, Hashable, CustomStringConvertible {
    /// Who sends the refreshes: the sender of the request that this stands in or answers, or its receiver.
    public enum Refresher: String, Sendable, Hashable { case uac, uas }

    /// Seconds; what does not fit is 2^32 - 1.
    public var interval: UInt32
    /// nil: not said, or not one of the two.
    public var refresher: Refresher?

    public init(interval: UInt32, refresher: Refresher? = nil) {
        self.interval = interval
        self.refresher = refresher
    }

    public init(_ text: String) throws(SIPError) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        let bytes = Array((parts.first ?? "").utf8)
        var i = 0
        Grammar.skipBlanks(bytes.span, &i, bytes.count)
        guard let interval = Grammar.clampedNumber(bytes.span, &i, bytes.count) else { throw SIPError(.field, at: i) }
        Grammar.skipBlanks(bytes.span, &i, bytes.count)
        guard i == bytes.count else { throw SIPError(.field, at: i) }
        self.interval = interval
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
            guard pair.count == 2, String(pair[0]).asciiLowercased == "refresher" else { continue }
            refresher = Refresher(rawValue: String(pair[1]).asciiLowercased)
        }
    }

    public var description: String { "\(interval)" + (refresher.map { ";refresher=" + $0.rawValue } ?? "") }
}
