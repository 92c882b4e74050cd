// SPDX-License-Identifier: Apache-2.0

/// Reads one document, once, from its first octet to its last.
struct XMLReader {
    private let bytes: [UInt8]
    private let limits: EventBodyLimits
    private var i = 0
    private var elements = 0
    /// Prefixes and their namespaces, the innermost last.
    private var bindings: [(prefix: String, uri: String)] = [("xml", "http://www.w3.org/XML/1998/namespace")]

    init(_ bytes: [UInt8], _ limits: EventBodyLimits) throws(EventBodyError) {
        guard bytes.count <= limits.octets else { throw EventBodyError(.limit, at: limits.octets) }
        self.bytes = bytes
        self.limits = limits
        // Octets below the blank but tab and line ends may not stand anywhere, nor may what is no UTF-8.
        if let bad = bytes.firstIndex(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }) {
            throw EventBodyError(.encoding, at: bad)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw EventBodyError(.encoding) }
        guard text.unicodeScalars.allSatisfy({ Self.isCharacter($0.value) }) else { throw EventBodyError(.encoding) }
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { i = 3 }
    }

    /// XML 1.0 §2.2.
    static func isCharacter(_ value: UInt32) -> Bool {
        switch value {
        case 0x09, 0x0a, 0x0d, 0x20...0xd7ff, 0xe000...0xfffd, 0x10000...0x10ffff: true
        default: false
        }
    }

    mutating func document() throws(EventBodyError) -> XMLElement {
        if starts("<?xml"), i + 5 < bytes.count, Self.isBlank(bytes[i + 5]) { try declaration() }
        try miscellany()
        guard peek() == UInt8(ascii: "<") else { throw wrong() }
        let root = try element(depth: 1)
        try miscellany()
        guard i == bytes.count else { throw wrong() }
        return root
    }

    // MARK: Around the root

    /// Only the encodings that this reader knows are taken.
    private mutating func declaration() throws(EventBodyError) {
        let start = i
        guard let end = find("?>", from: i) else { throw wrong() }
        let text = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
        if let at = text.firstRange(of: "encoding") {
            let value = text[at.upperBound...].filter { !" =\t\r\n\"'".contains($0) }
            guard ["utf-8", "us-ascii", "utf8"].contains(where: { value.hasPrefix($0) }) else { throw EventBodyError(.encoding, at: start) }
        }
        i = end + 2
    }

    /// Blanks, comments and processing instructions.
    private mutating func miscellany() throws(EventBodyError) {
        while true {
            skipBlanks()
            if starts("<!--") {
                try skip(past: "-->", from: i + 4)
            } else if starts("<?") {
                try skip(past: "?>", from: i + 2)
            } else if starts("<!") {
                throw EventBodyError(.forbidden, at: i)
            } else {
                return
            }
        }
    }

    // MARK: Elements

    private mutating func element(depth: Int) throws(EventBodyError) -> XMLElement {
        guard depth <= limits.depth, elements < limits.elements else { throw EventBodyError(.limit, at: i) }
        elements += 1
        i += 1
        let start = i
        let rawName = try name()
        let scope = bindings.count
        defer { bindings.removeLast(bindings.count - scope) }
        let attributes = try attributes()
        let (namespace, local) = try resolve(rawName, isAttribute: false, at: start)
        var element = XMLElement(local, namespace: namespace, attributes: attributes)
        if starts("/>") {
            i += 2
            return element
        }
        guard peek() == UInt8(ascii: ">") else { throw wrong() }
        i += 1
        try content(of: &element, depth)
        // The reader stands behind `</`.
        let end = i
        guard try name() == rawName else { throw EventBodyError(.malformed, at: end) }
        skipBlanks()
        guard peek() == UInt8(ascii: ">") else { throw wrong() }
        i += 1
        return element
    }

    private mutating func content(of element: inout XMLElement, _ depth: Int) throws(EventBodyError) {
        var text: [UInt8] = []
        while let byte = peek() {
            if byte != UInt8(ascii: "<") {
                if byte == UInt8(ascii: "&") {
                    try reference(&text)
                } else {
                    if byte == UInt8(ascii: "]"), starts("]]>") { throw wrong() }
                    text.append(byte)
                    i += 1
                }
            } else if starts("</") {
                i += 2
                element.text = String(decoding: text, as: UTF8.self)
                return
            } else if starts("<!--") {
                try skip(past: "-->", from: i + 4)
            } else if starts("<![CDATA[") {
                guard let end = find("]]>", from: i + 9) else { throw wrong() }
                text += bytes[(i + 9)..<end]
                i = end + 3
            } else if starts("<?") {
                try skip(past: "?>", from: i + 2)
            } else if starts("<!") {
                throw EventBodyError(.forbidden, at: i)
            } else {
                element.children.append(try self.element(depth: depth + 1))
            }
        }
        throw wrong()
    }

    // MARK: Attributes

    private mutating func attributes() throws(EventBodyError) -> [XMLElement.Attribute] {
        var raw: [(name: String, value: String, at: Int)] = []
        while true {
            let hadBlank = skipBlanks()
            guard let byte = peek() else { throw wrong() }
            if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") { break }
            guard hadBlank else { throw wrong() }
            guard raw.count < limits.attributes else { throw EventBodyError(.limit, at: i) }
            let start = i
            let name = try name()
            skipBlanks()
            guard peek() == UInt8(ascii: "=") else { throw wrong() }
            i += 1
            skipBlanks()
            let value = try attributeValue()
            guard !raw.contains(where: { $0.name == name }) else { throw EventBodyError(.malformed, at: start) }
            raw.append((name, value, start))
        }
        for (name, value, _) in raw {
            if name == "xmlns" { bindings.append(("", value)) }
            if name.hasPrefix("xmlns:") { bindings.append((String(name.dropFirst(6)), value)) }
        }
        var result: [XMLElement.Attribute] = []
        for (name, value, start) in raw where name != "xmlns" && !name.hasPrefix("xmlns:") {
            let (namespace, local) = try resolve(name, isAttribute: true, at: start)
            guard !result.contains(where: { $0.name == local && $0.namespace == namespace }) else {
                throw EventBodyError(.malformed, at: start)
            }
            result.append(.init(local, value, namespace: namespace))
        }
        return result
    }

    private mutating func attributeValue() throws(EventBodyError) -> String {
        guard let quote = peek(), quote == 0x22 || quote == 0x27 else { throw wrong() }
        i += 1
        var value: [UInt8] = []
        while let byte = peek() {
            switch byte {
            case quote:
                i += 1
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "<"): throw wrong()
            case UInt8(ascii: "&"): try reference(&value)
            default:
                value.append(Self.isBlank(byte) ? 0x20 : byte)
                i += 1
            }
        }
        throw wrong()
    }

    // MARK: Small things

    /// `&amp;` and the like, and characters by number.
    private mutating func reference(_ out: inout [UInt8]) throws(EventBodyError) {
        let start = i
        guard let end = bytes[i...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw wrong() }
        let name = String(decoding: bytes[(start + 1)..<end], as: UTF8.self)
        i = end + 1
        switch name {
        case "amp": out.append(UInt8(ascii: "&"))
        case "lt": out.append(UInt8(ascii: "<"))
        case "gt": out.append(UInt8(ascii: ">"))
        case "quot": out.append(0x22)
        case "apos": out.append(0x27)
        default:
            guard name.hasPrefix("#") else { throw EventBodyError(.forbidden, at: start) }
            let digits = name.dropFirst(name.hasPrefix("#x") ? 2 : 1)
            guard let value = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), digits.first != "+", Self.isCharacter(value),
                let scalar = Unicode.Scalar(value)
            else { throw EventBodyError(.malformed, at: start) }
            out += Array(String(Character(scalar)).utf8)
        }
    }

    private mutating func name() throws(EventBodyError) -> String {
        let start = i
        guard let first = peek(), Self.startsName(first) else { throw wrong() }
        while let byte = peek(), Self.continuesName(byte) { i += 1 }
        guard i - start <= limits.nameOctets else { throw EventBodyError(.limit, at: start) }
        return String(decoding: bytes[start..<i], as: UTF8.self)
    }

    private func resolve(_ name: String, isAttribute: Bool, at offset: Int) throws(EventBodyError) -> (namespace: String, name: String) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        switch parts.count {
        case 1:
            if isAttribute { return ("", name) }
            return (bindings.last { $0.prefix.isEmpty }?.uri ?? "", name)
        case 2 where !parts[0].isEmpty && !parts[1].isEmpty:
            guard let binding = bindings.last(where: { $0.prefix == parts[0] }) else { throw EventBodyError(.malformed, at: offset) }
            return (binding.uri, String(parts[1]))
        default: throw EventBodyError(.malformed, at: offset)
        }
    }

    private static func startsName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: ":"), 0x80...:
            true
        default: false
        }
    }

    private static func continuesName(_ byte: UInt8) -> Bool {
        startsName(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }

    private func peek() -> UInt8? { i < bytes.count ? bytes[i] : nil }

    @discardableResult
    private mutating func skipBlanks() -> Bool {
        let start = i
        while let byte = peek(), Self.isBlank(byte) { i += 1 }
        return i > start
    }

    private func starts(_ text: String) -> Bool { i <= bytes.count && bytes[i...].starts(with: text.utf8) }

    private func find(_ text: String, from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        return (start..<bytes.count).first { bytes[$0] == text.utf8.first && bytes[$0...].starts(with: text.utf8) }
    }

    private mutating func skip(past text: String, from start: Int) throws(EventBodyError) {
        guard let end = find(text, from: start) else { throw wrong() }
        i = end + text.utf8.count
    }

    private func wrong() -> EventBodyError { EventBodyError(.malformed, at: i) }
}
