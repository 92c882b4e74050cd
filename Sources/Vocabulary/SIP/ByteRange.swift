// SPDX-License-Identifier: Apache-2.0
//
// Ranges into a message, and the few functions that read octets eight at a time.

/// A range of octets of a message: what the hot path holds instead of strings.
public struct ByteRange: Hashable, Sendable {
    public var start: UInt32
    public var end: UInt32

    /// No octets.
    public static let none = ByteRange(0, 0)

    @inline(__always) package init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }

    public var isEmpty: Bool { start >= end }
    public var count: Int { isEmpty ? 0 : Int(end &- start) }
    @inline(__always) package var lower: Int { Int(start) }
    @inline(__always) package var upper: Int { Int(end) }
}

extension ByteRange {
    /// The octets of the range, empty if it does not lie within.
    package func slice(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        guard start < end, upper <= bytes.count else { return [] }
        return bytes[lower..<upper]
    }

    /// The text of the range; octets that are no UTF-8 become replacement characters.
    package func text(_ bytes: [UInt8]) -> String { String(decoding: slice(bytes), as: UTF8.self) }
}

private let ones: UInt64 = 0x0101_0101_0101_0101
private let tops: UInt64 = 0x8080_8080_8080_8080

extension Span<UInt8> {
    /// Eight octets as a word, the first in the lowest bits. Checked: `index + 8` must not exceed the count.
    @inline(__always) func word(_ index: Int) -> UInt64 {
        // The bounds are checked by the call itself; it is unsafe only because it may build any type from the octets.
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// The first octet below 0x20 at or after `index`, or `end`.
    @inline(__always) func firstControl(_ index: Int, _ end: Int) -> Int {
        var i = index
        while i &+ 8 <= end {
            let w = word(i)
            let hit = (w &- (ones &* 0x20)) & ~w & tops
            if hit != 0 { return i &+ hit.trailingZeroBitCount >> 3 }
            i &+= 8
        }
        while i < end, self[i] >= 0x20 { i &+= 1 }
        return i
    }

    /// The first octet at or after `index` that is no ASCII letter, digit, hyphen or dot, or `end`: most octets of names,
    /// hosts, tags and branches are these, and every class of the grammar that is scanned for has them.
    @inline(__always) func plainEnd(_ index: Int, _ end: Int) -> Int {
        var i = index
        while i &+ 8 <= count {
            let w = word(i)
            // Without their top bits no sum carries into the next octet; it comes out with its top bit set where the
            // octet is at or above the limit that 0x80 was lessened by.
            let low = w & ~tops
            let lower = low | ones &* 0x20
            let letter = (lower &+ ones &* 0x1f) & ~(lower &+ ones &* 0x05)
            let digit = (low &+ ones &* 0x50) & ~(low &+ ones &* 0x46)
            let mark = (low &+ ones &* 0x53) & ~(low &+ ones &* 0x51)
            let other = ((letter | digit | mark) & ~w & tops) ^ tops
            if other != 0 {
                let at = i &+ other.trailingZeroBitCount >> 3
                return at < end ? at : end
            }
            i &+= 8
            if i >= end { return end }
        }
        while i < end, isDigit(self[i]) || isLetter(self[i]) || self[i] == 0x2d || self[i] == 0x2e { i &+= 1 }
        return i
    }

    /// Up to 8 octets with 0x20 set in each, zero beyond `length`: ASCII letters become lower case.
    @inline(__always) func lowered(_ start: Int, _ length: Int) -> UInt64 {
        if length <= 0 { return 0 }
        let size = length < 8 ? length : 8
        if start &+ 8 <= count {
            return (word(start) | ones &* 0x20) & (UInt64.max >> UInt64(truncatingIfNeeded: 64 &- size &* 8))
        }
        var result: UInt64 = 0
        var i = 0
        while i < size {
            result |= UInt64(self[start &+ i] | 0x20) << UInt64(truncatingIfNeeded: i &* 8)
            i &+= 1
        }
        return result
    }

    /// Whether two ranges of the same length hold the same octets.
    @inline(__always) func same(_ a: ByteRange, _ b: ByteRange) -> Bool {
        guard a.count == b.count, a.upper <= count, b.upper <= count else { return false }
        var i = a.lower
        var j = b.lower
        let end = a.upper
        while i < end {
            if self[i] != self[j] { return false }
            i &+= 1
            j &+= 1
        }
        return true
    }
}

/// The lowest byte that is zero, as an index 0...7, or nil.
@inline(__always) func firstZeroByte(_ word: UInt64) -> Int? {
    let hit = (word &- ones) & ~word & tops
    return hit == 0 ? nil : hit.trailingZeroBitCount >> 3
}

/// Whether any octet of the word is below 0x20.
@inline(__always) func hasControl(_ word: UInt64) -> Bool { (word &- (ones &* 0x20)) & ~word & tops != 0 }

/// A word with all bits set in its lowest `count` octets, 0...7.
@inline(__always) func lowBytes(_ count: Int) -> UInt64 {
    (1 as UInt64) << UInt64(truncatingIfNeeded: count &* 8) &- 1
}
