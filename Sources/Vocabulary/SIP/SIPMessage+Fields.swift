// SPDX-License-Identifier: Apache-2.0
//
// The owned, convenient forms. None of them traps for a message that `receive` gave out.

extension SIPMessage {
    public var isRequest: Bool { index.isRequest }

    /// Of the request line; of CSeq in a response.
    public var method: Method { Method(bytes, index.isRequest ? index.method : index.cseqMethod) }

    /// The Request-URI. In a refused request that has none it is `other`.
    public var requestURI: URI { uri(index.requestURI) }

    /// 0 for a request.
    public var statusCode: Int { Int(index.status) }
    /// As it came, empty for a request.
    public var reasonPhrase: String { Text.visible(index.reason.text(bytes)) }
    public var body: ArraySlice<UInt8> { index.body.slice(bytes) }

    public var topVia: Via { Via(index.topVia, bytes) }
    public var from: NameAddress { NameAddress(index.from, bytes) }
    public var to: NameAddress { NameAddress(index.to, bytes) }
    public var callID: String { index.callID.text(bytes) }
    public var cseq: CSeq { CSeq(number: index.cseqNumber, method: Method(bytes, index.cseqMethod)) }

    /// All Via values, the topmost first.
    public var vias: [Via] {
        var cursor = FieldCursor()
        var fields = ViaFields()
        var out: [Via] = []
        while nextVia(&cursor, &fields) { out.append(Via(fields, bytes)) }
        return out
    }

    /// The Contact values but the wildcard; malformed ones are left out.
    public var contacts: [NameAddress] { addresses(.contact) }
    /// Whether Contact is the single asterisk (RFC 3261 §10.2.2).
    public var hasWildcardContact: Bool {
        var cursor = FieldCursor()
        var fields = AddressFields()
        while nextAddress(.contact, &cursor, &fields) { if fields.isWildcard { return true } }
        return false
    }
    public var routes: [NameAddress] { addresses(.route) }
    public var recordRoutes: [NameAddress] { addresses(.recordRoute) }

    /// The addresses of any field made of them, malformed ones left out.
    public func addresses(_ name: HeaderName) -> [NameAddress] {
        var cursor = FieldCursor()
        var fields = AddressFields()
        var out: [NameAddress] = []
        while nextAddress(name, &cursor, &fields) { if !fields.isWildcard { out.append(NameAddress(fields, bytes)) } }
        return out
    }

    private func uri(_ range: ByteRange) -> URI {
        var fields = URIFields()
        var i = range.lower
        let bytes = self.bytes
        guard range.upper <= bytes.count, Grammar.uri(bytes.span, &i, range.upper, .whole, &fields) == nil else {
            return .other(scheme: "invalid", range.text(bytes))
        }
        return URI(fields, bytes)
    }

    /// The fields in their order: name as it came, value without folds.
    public var headers: [(name: String, value: String)] {
        index.slots.map { slot in
            (
                ByteRange(Int(slot.nameStart), Int(slot.nameStart) &+ Int(slot.nameLength)).text(bytes),
                Text.string(slot.value.slice(bytes))
            )
        }
    }

    /// Whether a field of that name is there.
    public func contains(_ name: HeaderName) -> Bool { firstRange(name) != nil }

    /// The value of the first field of that name, whole and without folds.
    public func first(_ name: HeaderName) -> String? { firstRange(name).map { Text.string($0.slice(bytes)) } }

    /// The range of the value of the first field of that name.
    public func firstRange(_ name: HeaderName) -> ByteRange? {
        let id = name.id.rawValue
        if id > 0, id < 64, index.seen >> UInt64(id) & 1 == 0 { return nil }
        for slot in index.slots where slot.id == name.id && (slot.id != .other || isNamed(slot, name)) { return slot.value }
        return nil
    }

    /// All values of the fields of that name, in order. Those of fields that are lists are split at their commas.
    public func values(_ name: HeaderName) -> [String] {
        let id = name.id.rawValue
        if id > 0, id < 64, index.seen >> UInt64(id) & 1 == 0 { return [] }
        var out: [String] = []
        for slot in index.slots where slot.id == name.id && (slot.id != .other || isNamed(slot, name)) {
            if name.isList {
                out += Text.split(slot.value.slice(bytes))
            } else {
                out.append(Text.string(slot.value.slice(bytes)))
            }
        }
        return out
    }
}

extension HeaderName {
    /// The values in one field of this name: split at the commas where the field is a list, else the field itself.
    package func values(in field: String) -> [String] {
        isList ? Text.split(Array(field.utf8)[...]) : [field]
    }
}

extension Method {
    /// The method in a range; known ones without a new string.
    init(_ bytes: [UInt8], _ range: ByteRange) {
        let length = range.count
        guard length <= 8, range.upper <= bytes.count else {
            self.init(rawValue: range.text(bytes))
            return
        }
        var word: UInt64 = 0
        var i = range.upper
        while i > range.lower {
            i &-= 1
            word = word << 8 | UInt64(bytes[i])
        }
        switch word {
        case 0x455449564e49: self = .invite  // INVITE
        case 0x4b4341: self = .ack  // ACK
        case 0x455942: self = .bye  // BYE
        case 0x4c45434e4143: self = .cancel  // CANCEL
        case 0x5245545349474552: self = .register  // REGISTER
        case 0x534e4f4954504f: self = .options  // OPTIONS
        case 0x4f464e49: self = .info  // INFO
        case 0x4b43415250: self = .prack  // PRACK
        case 0x455441445055: self = .update  // UPDATE
        case 0x5245464552: self = .refer  // REFER
        case 0x594649544f4e: self = .notify  // NOTIFY
        case 0x4547415353454d: self = .message  // MESSAGE
        case 0x4853494c425550: self = .publish  // PUBLISH
        default: self.init(rawValue: range.text(bytes))
        }
    }
}

extension Text {
    /// Splits at commas outside quotation marks and angle brackets; empty elements are left out (RFC 3261 §7.3.1).
    static func split(_ bytes: ArraySlice<UInt8>) -> [String] {
        var out: [String] = []
        var start = bytes.startIndex
        var inQuotes = false
        var inBrackets = false
        var isEscaped = false
        func add(_ end: Int) {
            var part = bytes[start..<end]
            while let first = part.first, isBlank(first) { part.removeFirst() }
            while let last = part.last, isBlank(last) { part.removeLast() }
            if !part.isEmpty { out.append(string(part)) }
        }
        for index in bytes.indices {
            let byte = bytes[index]
            if isEscaped {
                isEscaped = false
            } else if inQuotes {
                if byte == 0x5c { isEscaped = true } else if byte == 0x22 { inQuotes = false }
            } else if byte == 0x22 {
                inQuotes = true
            } else if byte == 0x3c {
                inBrackets = true
            } else if byte == 0x3e {
                inBrackets = false
            } else if byte == 0x2c, !inBrackets {
                add(index)
                start = index + 1
            }
        }
        add(bytes.endIndex)
        return out
    }
}
