// SPDX-License-Identifier: Apache-2.0
//
// After the pass: the body, and the fields that every message must have (RFC 3261 §8.1.1, §20 table 2).

extension MessageIndex {
    /// Reads Content-Length and, if given, checks what came more than once.
    mutating func settleHead(_ b: Span<UInt8>) {
        if repeatedIDs != 0 { compareRepeated(b) }
        guard contentLengthSlot > 0 else { return }
        let range = slots[Int(contentLengthSlot) &- 1].value
        var value: Int32 = 0
        var i = range.lower
        while i < range.upper {
            guard isDigit(b[i]), value <= 99_999_999 else {
                fail(.contentLength, i)
                return
            }
            value = value &* 10 &+ Int32(b[i] &- 0x30)
            i &+= 1
        }
        guard !range.isEmpty else {
            fail(.contentLength, i)
            return
        }
        contentLength = value
    }

    /// Sets the body: as long as Content-Length says, or all the rest of a datagram (RFC 3261 §18.3).
    mutating func settleBody(_ start: Int, _ count: Int) {
        guard contentLength >= 0 else {
            body = ByteRange(start, count)
            return
        }
        let length = Int(contentLength)
        guard length <= count &- start else {
            fail(.truncatedBody, count)
            body = ByteRange(start, count)
            return
        }
        if length < count &- start { leniency.insert(.octetsAfterBody) }
        body = ByteRange(start, start &+ length)
    }

    @inline(never) private mutating func compareRepeated(_ b: Span<UInt8>) {
        for raw in UInt8(1)..<64 where repeatedIDs >> UInt64(raw) & 1 == 1 {
            var first: ByteRange?
            for slot in slots where slot.id.rawValue == raw {
                guard let known = first else {
                    first = slot.value
                    continue
                }
                if !b.same(known, slot.value) { fail(.repeatedField, slot.value.lower) }
            }
        }
    }

    /// Reads the fields that every message must have.
    mutating func settleFields(_ b: Span<UInt8>) {
        if viaSlot > 0 {
            let range = slots[Int(viaSlot) &- 1].value
            var i = range.lower
            if let code = Grammar.via(b, &i, range.upper, &topVia) { fail(code, i) }
            leniency.formUnion(topVia.leniency)
        } else {
            fail(.missingVia, 0)
        }
        if fromSlot > 0 {
            let range = slots[Int(fromSlot) &- 1].value
            var i = range.lower
            if let code = Grammar.address(b, &i, range.upper, isList: false, &from) {
                fail(code == .limitParameters ? code : .from, i)
            }
            if !from.hasTag { leniency.insert(.missingFromTag) }
            leniency.formUnion(from.leniency)
        } else {
            fail(.missingFrom, 0)
        }
        if toSlot > 0 {
            let range = slots[Int(toSlot) &- 1].value
            var i = range.lower
            if let code = Grammar.address(b, &i, range.upper, isList: false, &to) {
                fail(code == .limitParameters ? code : .to, i)
            }
            leniency.formUnion(to.leniency)
        } else {
            fail(.missingTo, 0)
        }
        settleCallID(b)
        settleCSeq(b)
    }

    @inline(__always) private mutating func settleCallID(_ b: Span<UInt8>) {
        guard callIDSlot > 0 else { return fail(.missingCallID, 0) }
        callID = slots[Int(callIDSlot) &- 1].value
        if callID.isEmpty { return fail(.callID, callID.lower) }
        var i = callID.lower
        let end = callID.upper
        while true {
            i = b.plainEnd(i, end)
            guard i < end else { return }
            let c = b[i]
            if !CharacterClass.word.has(c), c != 0x40 {
                if c <= 0x20 || c == 0x7f { return fail(.callID, i) }
                leniency.insert(.callIDCharacters)
            }
            i &+= 1
        }
    }

    @inline(__always) private mutating func settleCSeq(_ b: Span<UInt8>) {
        guard cseqSlot > 0 else { return fail(.missingCSeq, 0) }
        let range = slots[Int(cseqSlot) &- 1].value
        guard Grammar.cseq(b, range.lower, range.upper, &cseqNumber, &cseqMethod, &leniency) else {
            return fail(.cseq, range.lower)
        }
        if isRequest, !b.same(cseqMethod, method) { fail(.methodMismatch, cseqMethod.lower) }
    }
}
