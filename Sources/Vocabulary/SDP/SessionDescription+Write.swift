// SPDX-License-Identifier: Apache-2.0
//
// The writer: the line order of RFC 8866 §5. No value can add a line: CR, LF and NUL are written as spaces.

extension SessionDescription {
    /// The description as octets, lines ended by CRLF.
    public func serialized() -> [UInt8] {
        var out = SDPWriter()
        out.bytes.reserveCapacity(512)
        out.line("v", "0")
        out.line(
            "o", origin.username, origin.sessionID, origin.sessionVersion, origin.networkType, origin.addressType,
            origin.address)
        out.line("s", sessionName.isEmpty ? "-" : sessionName)
        if let information { out.line("i", information) }
        if let uri { out.line("u", uri) }
        for email in emails { out.line("e", email) }
        for phone in phones { out.line("p", phone) }
        if let connection { out.connection(connection) }
        for bandwidth in bandwidths { out.bandwidth(bandwidth) }
        for timing in timings.isEmpty ? [Timing()] : timings {
            out.line("t", String(timing.start), String(timing.stop))
            for text in timing.repeats { out.line("r", text) }
        }
        if let timeZones { out.line("z", timeZones) }
        for attribute in attributes { out.attribute(attribute) }
        for section in media { out.media(section) }
        return out.bytes
    }

    /// The description as text, lines ended by CRLF.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}

private struct SDPWriter {
    var bytes: [UInt8] = []

    mutating func begin(_ letter: Unicode.Scalar) {
        bytes.append(UInt8(truncatingIfNeeded: letter.value))
        bytes.append(UInt8(ascii: "="))
    }

    mutating func end() {
        bytes.append(13)
        bytes.append(10)
    }

    mutating func put(_ text: String) {
        for byte in text.utf8 { bytes.append(byte == 13 || byte == 10 || byte == 0 ? UInt8(ascii: " ") : byte) }
    }

    mutating func line(_ letter: Unicode.Scalar, _ fields: String...) {
        begin(letter)
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: " ")) }
            put(field)
        }
        end()
    }

    mutating func connection(_ connection: Connection) {
        begin("c")
        put(connection.networkType)
        put(" ")
        put(connection.addressType)
        put(" ")
        put(connection.address)
        if let suffix = connection.suffix {
            put("/")
            put(suffix)
        }
        end()
    }

    mutating func bandwidth(_ bandwidth: Bandwidth) { line("b", "\(bandwidth.type):\(bandwidth.value)") }

    mutating func attribute(_ attribute: Attribute) {
        begin("a")
        put(attribute.name)
        if let value = attribute.value {
            put(":")
            put(value)
        }
        end()
    }

    mutating func media(_ media: MediaDescription) {
        begin("m")
        put(media.type)
        put(" ")
        put(media.portCount == 1 ? String(media.port) : "\(media.port)/\(media.portCount)")
        put(" ")
        put(media.protocolName)
        for format in media.formats {
            put(" ")
            put(format)
        }
        end()
        if let information = media.information { line("i", information) }
        if let connection = media.connection { self.connection(connection) }
        for bandwidth in media.bandwidths { self.bandwidth(bandwidth) }
        for attribute in media.attributes { self.attribute(attribute) }
    }
}
