// SPDX-License-Identifier: Apache-2.0
//
// The parser: one pass over the octets (RFC 8866 §5 and §9), lenient as `Leniency` lists.
// Texts of up to 15 octets (most names, addresses and formats) cost no allocation.

struct SDPParser {
    let limits: SDPLimits
    var leniencies = Leniencies()
    /// Lines and attributes so far.
    var lineCount = 0
    var attributeCount = 0
    /// Whether an `m=` line was read: the last of `media` is the section.
    var inSection = false
    /// The attributes of the section, kept apart so that they grow in place.
    var attributes: [Attribute] = []
    /// The rank of the last line in its section, to notice another order.
    var rank = 0
    var hasOrigin = false
    var hasName = false
    /// Whether this section has its `c=`.
    var hasConnection = false

    init(limits: SDPLimits) { self.limits = limits }

    /// Reads the whole body; nil, or why it is refused.
    mutating func parse(_ bytes: Span<UInt8>, into description: inout SessionDescription) -> SDPError? {
        do {
            try lines(bytes, into: &description)
            return nil
        } catch { return error }
    }

    private mutating func lines(_ bytes: Span<UInt8>, into description: inout SessionDescription) throws(SDPError) {
        var position = 0
        let count = bytes.count
        while position < count {
            let start = position
            var end = firstControl(bytes, from: start)
            while end < count, bytes[end] != 10, bytes[end] != 13 {
                guard bytes[end] != 0 else { throw SDPError(.line, "a line holds a NUL octet", offset: end) }
                end = firstControl(bytes, from: end + 1)
            }
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
            try line(bytes, start, end, &description)
        }
        guard lineCount > 0 else { throw SDPError(.version, "the description is empty") }
        finishSection(&description)
        if !hasOrigin || !hasName || description.timings.isEmpty { leniencies.note(.missingLine) }
        if description.timings.isEmpty { description.timings = [Timing()] }
    }

    private mutating func line(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ description: inout SessionDescription
    ) throws(SDPError) {
        lineCount += 1
        guard lineCount <= limits.lines else {
            throw SDPError(.tooManyLines, "the description has more than \(limits.lines) lines", offset: start)
        }
        guard end - start >= 2, bytes[start + 1] == UInt8(ascii: "=") else {
            throw SDPError(lineCount == 1 ? .version : .line, "a line is not a letter, \"=\" and a value", offset: start)
        }
        let letter = bytes[start]
        let value = start + 2
        if lineCount == 1 {
            guard letter == UInt8(ascii: "v"), end - value == 1, bytes[value] == UInt8(ascii: "0") else {
                throw SDPError(.version, "the description does not begin with v=0", offset: start)
            }
            return
        }
        switch letter {
        case UInt8(ascii: "a"): try attribute(bytes, value, end)
        case UInt8(ascii: "m"):
            finishSection(&description)
            try media(bytes, value, end, &description.media)
        case UInt8(ascii: "c"):
            order(4)
            let connection = try connection(bytes, value, end)
            guard !hasConnection else { return leniencies.note(.ignoredLine) }
            hasConnection = true
            if inSection {
                description.media[description.media.count - 1].connection = connection
            } else {
                description.connection = connection
            }
        case UInt8(ascii: "b"):
            order(5)
            guard let bandwidth = bandwidth(bytes, value, end) else { return leniencies.note(.unreadableLine) }
            if inSection {
                description.media[description.media.count - 1].bandwidths.append(bandwidth)
            } else {
                description.bandwidths.append(bandwidth)
            }
        case UInt8(ascii: "i"):
            order(3)
            let information = text(bytes, value, end)
            if inSection {
                description.media[description.media.count - 1].information = information
            } else {
                description.information = information
            }
        default:
            guard !inSection else { return leniencies.note(.ignoredLine) }
            try sessionLine(bytes, letter, value, end, &description)
        }
    }

    /// `t=0 0`, shared by nearly all descriptions.
    private static let permanent = [Timing()]

    /// The letters that stand only above the first `m=`.
    private mutating func sessionLine(
        _ bytes: Span<UInt8>, _ letter: UInt8, _ value: Int, _ end: Int, _ description: inout SessionDescription
    ) throws(SDPError) {
        switch letter {
        case UInt8(ascii: "o"):
            order(1)
            guard !hasOrigin else { return leniencies.note(.ignoredLine) }
            hasOrigin = true
            try origin(bytes, value, end, &description.origin)
        case UInt8(ascii: "s"):
            order(2)
            guard !hasName, value < end else { return leniencies.note(hasName ? .ignoredLine : .missingLine) }
            hasName = true
            description.sessionName = text(bytes, value, end)
        case UInt8(ascii: "t"):
            order(6)
            guard let start = number(bytes, value, fieldEnd(bytes, value, end)),
                let stop = number(bytes, nextField(bytes, fieldEnd(bytes, value, end), end), end)
            else { return leniencies.note(.unreadableLine) }
            if start == 0, stop == 0, description.timings.isEmpty {
                description.timings = Self.permanent
            } else {
                description.timings.append(Timing(start: start, stop: stop))
            }
        case UInt8(ascii: "r"):
            guard !description.timings.isEmpty else { return leniencies.note(.unreadableLine) }
            description.timings[description.timings.count - 1].repeats.append(text(bytes, value, end))
        case UInt8(ascii: "u"): description.uri = text(bytes, value, end)
        case UInt8(ascii: "e"): description.emails.append(text(bytes, value, end))
        case UInt8(ascii: "p"): description.phones.append(text(bytes, value, end))
        case UInt8(ascii: "z"): description.timeZones = text(bytes, value, end)
        default: leniencies.note(.ignoredLine)
        }
    }

    private mutating func order(_ newRank: Int) {
        if newRank < rank { leniencies.note(.lineOrder) }
        rank = newRank
    }

    private mutating func finishSection(_ description: inout SessionDescription) {
        if inSection {
            description.media[description.media.count - 1].attributes = attributes
        } else {
            description.attributes = attributes
        }
        attributes = []
        hasConnection = false
        rank = 0
    }

    private mutating func attribute(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) throws(SDPError) {
        rank = 7
        attributeCount += 1
        guard attributeCount <= limits.attributes else {
            throw SDPError(.tooManyAttributes, "more than \(limits.attributes) attributes", offset: start)
        }
        var colon = start
        // The first octets of the name as one number: names of up to 8 octets are known by it.
        var word: UInt64 = 0
        while colon < end, bytes[colon] != UInt8(ascii: ":") {
            let byte = bytes[colon]
            guard isTokenByte(byte) else { return leniencies.note(.attributeName) }
            word = word &<< 8 | UInt64(byte)
            colon += 1
        }
        guard colon > start else { return leniencies.note(.attributeName) }
        try checkToken(start, colon)
        if attributes.isEmpty {
            // Lines of attributes have 20 to 40 octets: one allocation serves most sections.
            attributes.reserveCapacity(min(max(4, (bytes.count - start) / 22 + 1), limits.attributes))
        }
        let name = (colon - start <= 8 ? knownName(word) : nil) ?? text(bytes, start, colon)
        attributes.append(Attribute(name, colon < end ? text(bytes, colon + 1, end) : nil))
    }

    /// `m=<media> <port>[/<count>] <proto> <fmt> …`
    private mutating func media(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ media: inout [MediaDescription]) throws(SDPError) {
        guard media.count < limits.media else {
            throw SDPError(.tooManyMedia, "more than \(limits.media) m= lines", offset: start)
        }
        let typeEnd = fieldEnd(bytes, start, end)
        let portStart = nextField(bytes, typeEnd, end)
        let portEnd = fieldEnd(bytes, portStart, end)
        let protocolStart = nextField(bytes, portEnd, end)
        let protocolEnd = fieldEnd(bytes, protocolStart, end)
        guard typeEnd > start, portEnd > portStart, protocolEnd > protocolStart, areTokenBytes(bytes, start, typeEnd),
            areTokenBytes(bytes, protocolStart, protocolEnd)
        else { throw SDPError(.media, "an m= line lacks its media type, port or protocol", offset: start) }
        try checkToken(start, typeEnd)
        try checkToken(protocolStart, protocolEnd)
        var slash = portStart
        while slash < portEnd, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard let port = number(bytes, portStart, slash), port <= 65_535 else {
            throw SDPError(.media, "the port of an m= line is no number of 0...65535", offset: portStart)
        }
        var portCount: UInt64 = 1
        if slash < portEnd {
            guard let value = number(bytes, slash + 1, portEnd), (1...65_535).contains(value) else {
                throw SDPError(.media, "the port count of an m= line is not readable", offset: portStart)
            }
            portCount = value
        }
        inSection = true
        media.append(
            MediaDescription(
                type: mediaTypeText(bytes, start, typeEnd), port: UInt16(truncatingIfNeeded: port),
                portCount: Int(portCount), protocolName: protocolText(bytes, protocolStart, protocolEnd),
                formats: try formats(bytes, protocolEnd, end)))
    }

    private mutating func formats(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) throws(SDPError) -> [String] {
        var formats: [String] = []
        var position = nextField(bytes, start, end)
        if position < end { formats.reserveCapacity(min((end - position) / 3 + 1, limits.formatsPerMedia)) }
        var found = 0
        while position < end {
            let fieldEnd = self.fieldEnd(bytes, position, end)
            found += 1
            guard found <= limits.formatsPerMedia else {
                throw SDPError(.tooManyFormats, "more than \(limits.formatsPerMedia) formats in an m= line", offset: position)
            }
            try checkToken(position, fieldEnd)
            if areTokenBytes(bytes, position, fieldEnd) {
                formats.append(formatText(bytes, position, fieldEnd))
            } else {
                leniencies.note(.formatToken)
            }
            position = nextField(bytes, fieldEnd, end)
        }
        return formats
    }

    private mutating func origin(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ origin: inout Origin) throws(SDPError) {
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
        if fieldEnd(bytes, start, last) < last { leniencies.note(.originWithSpaces) }
        origin.username = text(bytes, start, last)
        origin.sessionID = text(bytes, identifier.0, identifier.1)
        origin.sessionVersion = text(bytes, version.0, version.1)
        origin.networkType = networkTypeText(bytes, networkType.0, networkType.1)
        origin.addressType = addressTypeText(bytes, addressType.0, addressType.1)
        origin.address = text(bytes, address.0, address.1)
    }

    /// `c=<nettype> <addrtype> <address>[/<suffix>]`
    private func connection(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) throws(SDPError) -> Connection {
        let networkEnd = fieldEnd(bytes, start, end)
        let typeStart = nextField(bytes, networkEnd, end)
        let typeEnd = fieldEnd(bytes, typeStart, end)
        let addressStart = nextField(bytes, typeEnd, end)
        let addressEnd = fieldEnd(bytes, addressStart, end)
        guard networkEnd > start, typeEnd > typeStart, addressEnd > addressStart else {
            throw SDPError(.connection, "a c= line has fewer than three fields", offset: start)
        }
        var slash = addressStart
        while slash < addressEnd, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard slash > addressStart else { throw SDPError(.connection, "a c= line has no address", offset: addressStart) }
        return Connection(
            networkType: networkTypeText(bytes, start, networkEnd), addressType: addressTypeText(bytes, typeStart, typeEnd),
            address: text(bytes, addressStart, slash), suffix: slash < addressEnd ? text(bytes, slash + 1, addressEnd) : nil)
    }

    private func bandwidth(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bandwidth? {
        var colon = start
        while colon < end, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon > start, colon < end, colon - start <= limits.tokenOctets, areTokenBytes(bytes, start, colon),
            let value = number(bytes, colon + 1, end)
        else { return nil }
        return Bandwidth(type: text(bytes, start, colon), value: value)
    }
}
