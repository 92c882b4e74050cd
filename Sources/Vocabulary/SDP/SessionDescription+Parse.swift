// SPDX-License-Identifier: Apache-2.0
//
// Reading a description; the parser itself is in `SDPParser.swift`.

extension SessionDescription {
    /// Reads a description.
    /// - Throws: `SDPError` with a `sdp.syntax.…` or `sdp.limit.…` code and the place.
    public init(parsing bytes: [UInt8], limits: SDPLimits = .default) throws(SDPError) {
        var leniencies = Leniencies()
        try self.init(parsing: bytes, limits: limits, leniencies: &leniencies)
    }

    /// Reads a description and adds the deviations that were taken to `leniencies`.
    public init(parsing bytes: [UInt8], limits: SDPLimits = .default, leniencies: inout Leniencies) throws(SDPError) {
        guard bytes.count <= limits.octets else {
            throw SDPError(.tooLarge, "the description has \(bytes.count) octets, more than \(limits.octets)")
        }
        // Every part by itself, not by another initializer: that would cost a copy of the whole value.
        origin = Origin()
        sessionName = "-"
        information = nil
        uri = nil
        emails = []
        phones = []
        connection = nil
        bandwidths = []
        timings = []
        timeZones = nil
        attributes = []
        media = []
        var parser = SDPParser(limits: limits)
        let failure = parser.parse(bytes.span, into: &self)
        leniencies.formUnion(parser.leniencies)
        if let failure { throw failure }
    }
}
