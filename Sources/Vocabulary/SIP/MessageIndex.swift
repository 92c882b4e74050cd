// SPDX-License-Identifier: Apache-2.0
//
// One pass over a message:
//
//   start line CRLF
//   name: value CRLF          a slot: id, name, value
//    folded CRLF              a line that begins with a blank belongs to the value before it
//   CRLF
//   body                      by Content-Length
//
// The pass never stops at a mistake: the first one is noted, so that a request can still be answered with an error.

/// Where one header field is.
struct HeaderSlot: Sendable {
    var id: HeaderID
    var isFolded: Bool
    var nameLength: UInt16
    var nameStart: UInt32
    var value: ByteRange
}

/// What the pass found.
struct MessageIndex: Sendable {
    var slots: [HeaderSlot] = []
    var isRequest = false
    var status: UInt16 = 0
    var method = ByteRange.none
    var requestURI = ByteRange.none
    var reason = ByteRange.none
    var body = ByteRange.none
    /// -1 if there is none.
    var contentLength: Int32 = -1

    var topVia = ViaFields()
    var from = AddressFields()
    var to = AddressFields()
    var callID = ByteRange.none
    var cseqNumber: UInt32 = 0
    var cseqMethod = ByteRange.none

    /// One bit for each of the first 64 header ids.
    var seen: UInt64 = 0
    /// Places in `slots` of the first field of its name, plus one.
    var viaSlot: UInt16 = 0
    var fromSlot: UInt16 = 0
    var toSlot: UInt16 = 0
    var callIDSlot: UInt16 = 0
    var cseqSlot: UInt16 = 0
    var contentLengthSlot: UInt16 = 0

    /// Names of `single` that came more than once.
    var repeatedIDs: UInt64 = 0
    var leniency: Leniency = []
    /// The first mistake.
    var problem: SIPError.Code?
    var problemOffset: UInt32 = 0

    @inline(never) mutating func fail(_ code: SIPError.Code, _ offset: Int) {
        guard problem == nil else { return }
        problem = code
        problemOffset = UInt32(truncatingIfNeeded: offset)
    }
}

extension MessageIndex {
    /// Indexes start line and header fields; returns where the body begins, or nil for what is no SIP at all.
    mutating func scanHead(_ b: Span<UInt8>, _ limits: MessageLimits) -> Int? {
        let count = b.count
        var p = 0
        while p &+ 1 < count, b[p] == 0x0d, b[p &+ 1] == 0x0a { p &+= 2 }
        if p > 0 { leniency.insert(.leadingEmptyLines) }
        guard p < count else {
            fail(.empty, 0)
            return nil
        }
        let lineEnd = endOfLine(b, p)
        if lineEnd &- p > limits.startLineLength { fail(.limitStartLine, p) }
        guard lineEnd < count, readStartLine(b, p, lineEnd, limits) else {
            fail(.notSIP, p)
            return nil
        }
        p = lineEnd &+ 2
        return scanFields(b, p, limits)
    }

    /// The CR of the CRLF that ends the line, or the count. Other controls belong to the value, but a bare CR or LF is noted.
    @inline(__always) private mutating func endOfLine(_ b: Span<UInt8>, _ start: Int) -> Int {
        let count = b.count
        var i = start
        while true {
            i = b.firstControl(i, count)
            guard i < count else { return count }
            let c = b[i]
            if c == 0x0d {
                if i &+ 1 < count, b[i &+ 1] == 0x0a { return i }
                fail(.bareCarriageReturn, i)
            } else if c == 0x0a {
                fail(.bareLineFeed, i)
            }
            i &+= 1
        }
    }

    private mutating func scanFields(_ b: Span<UInt8>, _ start: Int, _ limits: MessageLimits) -> Int {
        let table = HeaderTable.shared
        let count = b.count
        let most = min(limits.headerFields, Int(UInt16.max) - 1)
        var p = start
        slots.reserveCapacity(24)
        while true {
            guard p < count else {
                leniency.insert(.missingEmptyLine)
                return count
            }
            if b[p] == 0x0d, p &+ 1 < count, b[p &+ 1] == 0x0a { return p &+ 2 }
            var slot = HeaderSlot(id: .other, isFolded: false, nameLength: 0, nameStart: UInt32(truncatingIfNeeded: p), value: .none)
            let colon = readName(b, p, table, &slot)
            var value = colon < 0 ? p : colon &+ 1
            while value < count, b[value] == 0x20 || b[value] == 0x09 { value &+= 1 }
            var end = endOfLine(b, value)
            while end &+ 2 < count, b[end &+ 2] == 0x20 || b[end &+ 2] == 0x09 {
                slot.isFolded = true
                end = endOfLine(b, end &+ 2)
            }
            p = end &+ 2
            if end == count { leniency.insert(.missingEmptyLine) }
            guard colon >= 0 else {
                fail(.headerLine, Int(slot.nameStart))
                continue
            }
            if slot.isFolded { Grammar.skipBlanks(b, &value, end) }
            while end > value, isBlank(b[end &- 1]) { end &-= 1 }
            slot.value = ByteRange(value, end)
            if slots.count >= most {
                fail(.limitFields, Int(slot.nameStart))
                continue
            }
            if p &- start > limits.headLength { fail(.limitHead, Int(slot.nameStart)) }
            note(slot)
        }
    }

    /// Appends a slot and keeps the place of the first field of each name that every message needs.
    @inline(__always) mutating func note(_ slot: HeaderSlot) {
        slots.append(slot)
        let id = slot.id.rawValue
        guard id > 0, id < 64 else { return }
        let bit: UInt64 = 1 << UInt64(id)
        let place = UInt16(truncatingIfNeeded: slots.count)
        if seen & bit == 0 {
            seen |= bit
            switch slot.id {
            case .via: viaSlot = place
            case .from: fromSlot = place
            case .to: toSlot = place
            case .callID: callIDSlot = place
            case .cseq: cseqSlot = place
            case .contentLength: contentLengthSlot = place
            default: break
            }
        } else if bit & Self.single != 0 {
            repeated(slot.id)
        }
    }

    /// Fields that may stand only once and decide how the message is understood.
    private static let single: UInt64 = {
        let ids: [HeaderID] = [.from, .to, .callID, .cseq, .contentLength, .contentType, .maxForwards]
        return ids.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
    }()

    @inline(never) private mutating func repeated(_ id: HeaderID) {
        leniency.insert(.repeatedSameValue)
        repeatedIDs |= 1 << UInt64(id.rawValue)
    }

    /// The place of the colon, or -1 if the line has no name. Sets `slot.id` and `slot.nameLength`.
    @inline(__always) private func readName(
        _ b: Span<UInt8>, _ start: Int, _ table: HeaderTable, _ slot: inout HeaderSlot
    ) -> Int {
        let lower: UInt64 = 0x2020_2020_2020_2020
        let colons: UInt64 = 0x3a3a_3a3a_3a3a_3a3a
        guard start &+ 24 <= b.count else { return readNameSlowly(b, start, &slot) }
        var first = b.word(start)
        var second: UInt64 = 0
        var third: UInt64 = 0
        var length = 0
        // Behind the name the octets are set to zero after the check for controls: a control octet would become
        // another character when 0x20 is set, so a name with one is read again, octet by octet.
        if let at = firstZeroByte(first ^ colons) {
            guard at > 0 else { return -1 }
            let mask = lowBytes(at)
            if hasControl(first | ~mask) { return readNameSlowly(b, start, &slot) }
            first = (first | lower) & mask
            length = at
        } else {
            second = b.word(start &+ 8)
            if let at = firstZeroByte(second ^ colons) {
                let mask = lowBytes(at)
                if hasControl(first) || hasControl(second | ~mask) { return readNameSlowly(b, start, &slot) }
                second = (second | lower) & mask
                length = 8 &+ at
            } else {
                third = b.word(start &+ 16)
                guard let at = firstZeroByte(third ^ colons) else { return readNameSlowly(b, start, &slot) }
                let mask = lowBytes(at)
                if hasControl(first) || hasControl(second) || hasControl(third | ~mask) {
                    return readNameSlowly(b, start, &slot)
                }
                third = (third | lower) & mask
                second |= lower
                length = 16 &+ at
            }
            first |= lower
        }
        let id = table.find(first, second, third, length)
        guard id != .other else { return readNameSlowly(b, start, &slot) }
        slot.id = id
        slot.nameLength = UInt16(truncatingIfNeeded: length)
        return start &+ length
    }

    /// A name that is not known, that stands near the end, or with blanks before its colon.
    @inline(never) private func readNameSlowly(_ b: Span<UInt8>, _ start: Int, _ slot: inout HeaderSlot) -> Int {
        var i = start
        let count = b.count
        while i < count, CharacterClass.token.has(b[i]) { i &+= 1 }
        let length = i &- start
        guard length > 0, length <= 1024 else { return -1 }
        while i < count, b[i] == 0x20 || b[i] == 0x09 { i &+= 1 }
        guard i < count, b[i] == 0x3a else { return -1 }
        slot.nameLength = UInt16(truncatingIfNeeded: length)
        slot.id = HeaderTable.shared.identify(b, start, start &+ length)
        return i
    }
}
