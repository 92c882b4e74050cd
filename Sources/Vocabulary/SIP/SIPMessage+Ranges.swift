// SPDX-License-Identifier: Apache-2.0
//
// The hot path: ranges, numbers and comparisons without a string or an allocation.

extension SIPMessage {
    /// Where the parser had to be lenient with this message.
    public var leniency: Leniency { index.leniency }

    /// The topmost Via.
    public var topViaFields: ViaFields { index.topVia }
    public var fromFields: AddressFields { index.from }
    public var toFields: AddressFields { index.to }
    public var callIDRange: ByteRange { index.callID }
    public var branchRange: ByteRange { index.topVia.branch }
    public var fromTagRange: ByteRange { index.from.tag }
    public var toTagRange: ByteRange { index.to.tag }
    /// The method of the request line; empty in a response.
    public var methodRange: ByteRange { index.method }
    public var cseqMethodRange: ByteRange { index.cseqMethod }
    public var cseqNumber: UInt32 { index.cseqNumber }
    public var requestURIRange: ByteRange { index.requestURI }
    public var bodyRange: ByteRange { index.body }
    /// Content-Length as it came; nil if there is none.
    public var contentLength: Int? { index.contentLength < 0 ? nil : Int(index.contentLength) }
    /// Whether the topmost Via has a branch of RFC 3261 (`z9hG4bK…`).
    public var hasBranch: Bool { index.topVia.hasMagicCookie }
    public var hasToTag: Bool { index.to.hasTag }

    /// The octets of a range.
    public func bytes(in range: ByteRange) -> ArraySlice<UInt8> { range.slice(bytes) }

    /// The text of a range.
    public func text(in range: ByteRange) -> String { Text.string(range.slice(bytes)) }

    /// Whether a range holds exactly these characters; case matters.
    public func range(_ range: ByteRange, equals text: String) -> Bool {
        var other = text.utf8.makeIterator()
        guard range.count == text.utf8.count else { return false }
        for byte in range.slice(bytes) where byte != other.next() { return false }
        return true
    }

    /// Whether a range of this message and one of another hold the same octets.
    public func range(_ range: ByteRange, equals other: ByteRange, of message: SIPMessage) -> Bool {
        guard range.count == other.count, range.upper <= bytes.count, other.upper <= message.bytes.count else { return false }
        let ours = bytes
        let others = message.bytes
        let mine = ours.span
        let theirs = others.span
        var i = range.lower
        var j = other.lower
        while i < range.upper {
            if mine[i] != theirs[j] { return false }
            i &+= 1
            j &+= 1
        }
        return true
    }

    /// A hash of a range, the same in every process; `seed` comes from the machine's random source where outsiders
    /// choose the octets.
    public func hash(of range: ByteRange, seed: UInt64 = 0) -> UInt64 {
        guard range.upper <= bytes.count else { return seed }
        let bytes = self.bytes
        let span = bytes.span
        var state = seed ^ 0x9e37_79b9_7f4a_7c15 ^ UInt64(truncatingIfNeeded: range.count)
        var i = range.lower
        while i &+ 8 <= range.upper {
            state = (state ^ span.word(i)) &* 0xff51_afd7_ed55_8ccd
            state ^= state >> 32
            i &+= 8
        }
        var rest: UInt64 = 0
        while i < range.upper {
            rest = rest << 8 | UInt64(span[i])
            i &+= 1
        }
        state = (state ^ rest) &* 0xc4ce_b9fe_1a85_ec53
        return state ^ state >> 29
    }

    /// Where a walk over the values of a field is.
    public struct FieldCursor: Sendable {
        var slot = 0
        var offset = 0
        public init() {}
    }

    /// The next Via value, over all Via fields; false at the end. A malformed value ends the walk of its field.
    public func nextVia(_ cursor: inout FieldCursor, _ out: inout ViaFields) -> Bool {
        if cursor.slot == 0, cursor.offset == 0, !index.topVia.whole.isEmpty {
            // The topmost was read by `receive`.
            out = index.topVia
            let place = Int(index.viaSlot) &- 1
            let end = index.slots[place].value.end
            cursor.slot = out.whole.end < end ? place : place &+ 1
            cursor.offset = out.whole.end < end ? Int(out.whole.end) &+ 1 : 0
            return true
        }
        let bytes = self.bytes
        let span = bytes.span
        while cursor.slot < index.slots.count {
            let slot = index.slots[cursor.slot]
            guard slot.id == .via else {
                cursor.slot &+= 1
                continue
            }
            var i = cursor.offset > slot.value.lower ? cursor.offset : slot.value.lower
            out = ViaFields()
            let code = Grammar.via(span, &i, slot.value.upper, &out)
            if code == nil, i < slot.value.upper {
                cursor.offset = i &+ 1
            } else {
                cursor.slot &+= 1
                cursor.offset = 0
            }
            if code == nil { return true }
        }
        return false
    }

    /// The next address of a field such as Contact, Route or Record-Route; false at the end. What is malformed is skipped
    /// up to the next comma.
    public func nextAddress(_ name: HeaderName, _ cursor: inout FieldCursor, _ out: inout AddressFields) -> Bool {
        let bytes = self.bytes
        let span = bytes.span
        let isList = name.id != .from && name.id != .to && name.id != .replyTo && name.id != .referTo && name.id != .referredBy
        while cursor.slot < index.slots.count {
            let slot = index.slots[cursor.slot]
            guard slot.id == name.id, slot.id != .other || isNamed(slot, name) else {
                cursor.slot &+= 1
                continue
            }
            let end = slot.value.upper
            var i = cursor.offset > slot.value.lower ? cursor.offset : slot.value.lower
            out = AddressFields()
            var code: SIPError.Code?
            if slot.value.count == 1, span[i] == 0x2a {
                out.isWildcard = true
                out.whole = slot.value
                i = end
            } else {
                code = Grammar.address(span, &i, end, isList: isList, &out)
                if code != nil, isList { skipValue(span, &i, end) }
            }
            if i < end, span[i] == 0x2c {
                cursor.offset = i &+ 1
            } else {
                cursor.slot &+= 1
                cursor.offset = 0
            }
            if code == nil { return true }
        }
        return false
    }

    /// Moves to the next comma outside quotation marks, or to the end.
    private func skipValue(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) {
        while i < end, b[i] != 0x2c {
            if b[i] == 0x22 { _ = Grammar.quoted(b, &i, end) } else { i &+= 1 }
        }
    }

    func isNamed(_ slot: HeaderSlot, _ name: HeaderName) -> Bool {
        ByteRange(Int(slot.nameStart), Int(slot.nameStart) &+ Int(slot.nameLength)).text(bytes).asciiLowercased
            == name.description.asciiLowercased
    }
}
