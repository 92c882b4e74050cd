// SPDX-License-Identifier: Apache-2.0
//
// The parser: one pass over the octets (RFC 8866 §5 and §9), lenient as `Leniency` lists.
// Texts of up to 15 octets (most names, addresses and formats) cost no allocation.

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
        self.init(origin: Origin(), timings: [])
        var parser = SDPParser(bytes: bytes, limits: limits)
        defer { leniencies.formUnion(parser.leniencies) }
        try parser.parse(into: &self)
    }
}

struct SDPParser {
    let bytes: [UInt8]
    let limits: SDPLimits
    var leniencies = Leniencies()
    /// Lines and attributes so far.
    var lines = 0
    var attributeCount = 0
    /// The section that is being read; its attributes are kept apart so that they grow in place.
    var section = MediaDescription(type: "", port: 0, formats: [])
    /// Whether an `m=` line was read.
    var inSection = false
    var attributes: [Attribute] = []
    /// The rank of the last line in its section, to notice another order.
    var rank = 0
    var hasOrigin = false
    var hasName = false

    init(bytes: [UInt8], limits: SDPLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func parse(into description: inout SessionDescription) throws(SDPError) {
        var position = 0
        let count = bytes.count
        while position < count {
            let start = position
            var end = start
            while end < count {
                let byte = bytes[end]
                if byte <= 13 {
                    if byte == 10 || byte == 13 { break }
                    if byte == 0 { throw SDPError(.line, "a line holds a NUL octet", offset: end) }
                }
                end += 1
            }
            position = end
            if end + 1 < count, bytes[end] == 13, bytes[end + 1] == 10 {
                position = end + 2
            } else {
                leniencies.note(.lineEnding)
                position = end + 1
            }
            while end > start, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == 9 {
                end -= 1
                leniencies.note(.trailingSpace)
            }
            guard end > start else {
                leniencies.note(.emptyLine)
                continue
            }
            try line(start, end, &description)
        }
        guard lines > 0 else { throw SDPError(.version, "the description is empty") }
        finishSection(&description)
        if !hasOrigin || !hasName || description.timings.isEmpty { leniencies.note(.missingLine) }
        if description.timings.isEmpty { description.timings = [Timing()] }
    }

    private mutating func line(_ start: Int, _ end: Int, _ description: inout SessionDescription) throws(SDPError) {
        lines += 1
        guard lines <= limits.lines else {
            throw SDPError(.tooManyLines, "the description has more than \(limits.lines) lines", offset: start)
        }
        guard end - start >= 2, bytes[start + 1] == UInt8(ascii: "=") else {
            throw SDPError(lines == 1 ? .version : .line, "a line is not a letter, \"=\" and a value", offset: start)
        }
        let letter = bytes[start]
        let value = start + 2
        if lines == 1 {
            guard letter == UInt8(ascii: "v"), end - value == 1, bytes[value] == UInt8(ascii: "0") else {
                throw SDPError(.version, "the description does not begin with v=0", offset: start)
            }
            return
        }
        switch letter {
        case UInt8(ascii: "a"): try attribute(value, end)
        case UInt8(ascii: "m"):
            finishSection(&description)
            try media(value, end, count: description.media.count)
        case UInt8(ascii: "c"):
            order(4)
            let connection = try connection(value, end)
            if inSection {
                if section.connection == nil { section.connection = connection } else { leniencies.note(.ignoredLine) }
            } else if description.connection == nil {
                description.connection = connection
            } else {
                leniencies.note(.ignoredLine)
            }
        case UInt8(ascii: "b"):
            order(5)
            guard let bandwidth = bandwidth(value, end) else { return leniencies.note(.unreadableLine) }
            if inSection { section.bandwidths.append(bandwidth) } else { description.bandwidths.append(bandwidth) }
        case UInt8(ascii: "i"):
            order(3)
            if inSection { section.information = text(value, end) } else { description.information = text(value, end) }
        default:
            guard !inSection else { return leniencies.note(.ignoredLine) }
            try sessionLine(letter, value, end, &description)
        }
    }

    /// The letters that stand only above the first `m=`.
    private mutating func sessionLine(
        _ letter: UInt8, _ value: Int, _ end: Int, _ description: inout SessionDescription
    ) throws(SDPError) {
        switch letter {
        case UInt8(ascii: "o"):
            order(1)
            guard !hasOrigin else { return leniencies.note(.ignoredLine) }
            hasOrigin = true
            try origin(value, end, &description.origin)
        case UInt8(ascii: "s"):
            order(2)
            guard !hasName, value < end else { return leniencies.note(hasName ? .ignoredLine : .missingLine) }
            hasName = true
            description.sessionName = text(value, end)
        case UInt8(ascii: "t"):
            order(6)
            guard let start = number(value, fieldEnd(value, end)),
                let stop = number(nextField(fieldEnd(value, end), end), end)
            else { return leniencies.note(.unreadableLine) }
            description.timings.append(Timing(start: start, stop: stop))
        case UInt8(ascii: "r"):
            guard !description.timings.isEmpty else { return leniencies.note(.unreadableLine) }
            description.timings[description.timings.count - 1].repeats.append(text(value, end))
        case UInt8(ascii: "u"): description.uri = text(value, end)
        case UInt8(ascii: "e"): description.emails.append(text(value, end))
        case UInt8(ascii: "p"): description.phones.append(text(value, end))
        case UInt8(ascii: "z"): description.timeZones = text(value, end)
        default: leniencies.note(.ignoredLine)
        }
    }

    private mutating func order(_ newRank: Int) {
        if newRank < rank { leniencies.note(.lineOrder) }
        rank = newRank
    }

    private mutating func finishSection(_ description: inout SessionDescription) {
        if inSection {
            section.attributes = attributes
            description.media.append(section)
        } else {
            description.attributes = attributes
        }
        attributes = []
        rank = 0
    }

    private mutating func attribute(_ start: Int, _ end: Int) throws(SDPError) {
        rank = 7
        attributeCount += 1
        guard attributeCount <= limits.attributes else {
            throw SDPError(.tooManyAttributes, "more than \(limits.attributes) attributes", offset: start)
        }
        var colon = start
        while colon < end, bytes[colon] != UInt8(ascii: ":") {
            guard isTokenByte(bytes[colon]) else { return leniencies.note(.attributeName) }
            colon += 1
        }
        guard colon > start else { return leniencies.note(.attributeName) }
        try checkToken(start, colon)
        if attributes.isEmpty {
            // Lines of attributes have 20 to 40 octets: one allocation serves most sections.
            attributes.reserveCapacity(min(max(4, (bytes.count - start) / 24), limits.attributes))
        }
        attributes.append(Attribute(text(start, colon), colon < end ? text(colon + 1, end) : nil))
    }

    /// `m=<media> <port>[/<count>] <proto> <fmt> …`
    private mutating func media(_ start: Int, _ end: Int, count: Int) throws(SDPError) {
        guard count < limits.media else {
            throw SDPError(.tooManyMedia, "more than \(limits.media) m= lines", offset: start)
        }
        let typeEnd = fieldEnd(start, end)
        let portStart = nextField(typeEnd, end)
        let portEnd = fieldEnd(portStart, end)
        let protocolStart = nextField(portEnd, end)
        let protocolEnd = fieldEnd(protocolStart, end)
        guard typeEnd > start, portEnd > portStart, protocolEnd > protocolStart, areTokenBytes(start, typeEnd),
            areTokenBytes(protocolStart, protocolEnd)
        else { throw SDPError(.media, "an m= line lacks its media type, port or protocol", offset: start) }
        try checkToken(start, typeEnd)
        try checkToken(protocolStart, protocolEnd)
        var slash = portStart
        while slash < portEnd, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard let port = number(portStart, slash), port <= 65_535 else {
            throw SDPError(.media, "the port of an m= line is no number of 0...65535", offset: portStart)
        }
        var portCount: UInt64 = 1
        if slash < portEnd {
            guard let value = number(slash + 1, portEnd), (1...65_535).contains(value) else {
                throw SDPError(.media, "the port count of an m= line is not readable", offset: portStart)
            }
            portCount = value
        }
        inSection = true
        section = MediaDescription(
            type: text(start, typeEnd), port: UInt16(truncatingIfNeeded: port), portCount: Int(portCount),
            protocolName: text(protocolStart, protocolEnd), formats: try formats(protocolEnd, end))
    }

    private mutating func formats(_ start: Int, _ end: Int) throws(SDPError) -> [String] {
        var formats: [String] = []
        var position = nextField(start, end)
        if position < end { formats.reserveCapacity(min((end - position) / 3 + 1, limits.formatsPerMedia)) }
        var found = 0
        while position < end {
            let fieldEnd = fieldEnd(position, end)
            found += 1
            guard found <= limits.formatsPerMedia else {
                throw SDPError(.tooManyFormats, "more than \(limits.formatsPerMedia) formats in an m= line", offset: position)
            }
            try checkToken(position, fieldEnd)
            if areTokenBytes(position, fieldEnd) {
                formats.append(text(position, fieldEnd))
            } else {
                leniencies.note(.formatToken)
            }
            position = nextField(fieldEnd, end)
        }
        return formats
    }

    private mutating func origin(_ start: Int, _ end: Int, _ origin: inout Origin) throws(SDPError) {
        // From the right: only the user name can have spaces in it.
        var last = end
        func field() -> (Int, Int) {
            var fieldStart = last
            while fieldStart > start, bytes[fieldStart - 1] != UInt8(ascii: " ") { fieldStart -= 1 }
            let found = (fieldStart, last)
            last = fieldStart
            while last > start, bytes[last - 1] == UInt8(ascii: " ") { last -= 1 }
            return found
        }
        let address = field()
        let addressType = field()
        let networkType = field()
        let version = field()
        let identifier = field()
        guard last > start, identifier.0 < identifier.1 else {
            throw SDPError(.origin, "the o= line has fewer than six fields", offset: start)
        }
        if fieldEnd(start, last) < last { leniencies.note(.originWithSpaces) }
        origin.username = text(start, last)
        origin.sessionID = text(identifier.0, identifier.1)
        origin.sessionVersion = text(version.0, version.1)
        origin.networkType = networkTypeText(networkType.0, networkType.1)
        origin.addressType = addressTypeText(addressType.0, addressType.1)
        origin.address = text(address.0, address.1)
    }

    /// `c=<nettype> <addrtype> <address>[/<suffix>]`
    private func connection(_ start: Int, _ end: Int) throws(SDPError) -> Connection {
        let networkEnd = fieldEnd(start, end)
        let typeStart = nextField(networkEnd, end)
        let typeEnd = fieldEnd(typeStart, end)
        let addressStart = nextField(typeEnd, end)
        let addressEnd = fieldEnd(addressStart, end)
        guard networkEnd > start, typeEnd > typeStart, addressEnd > addressStart else {
            throw SDPError(.connection, "a c= line has fewer than three fields", offset: start)
        }
        var slash = addressStart
        while slash < addressEnd, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard slash > addressStart else { throw SDPError(.connection, "a c= line has no address", offset: addressStart) }
        return Connection(
            networkType: networkTypeText(start, networkEnd), addressType: addressTypeText(typeStart, typeEnd),
            address: text(addressStart, slash), suffix: slash < addressEnd ? text(slash + 1, addressEnd) : nil)
    }

    private func bandwidth(_ start: Int, _ end: Int) -> Bandwidth? {
        var colon = start
        while colon < end, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon > start, colon < end, colon - start <= limits.tokenOctets, areTokenBytes(start, colon),
            let value = number(colon + 1, end)
        else { return nil }
        return Bandwidth(type: text(start, colon), value: value)
    }
}
