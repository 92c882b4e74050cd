// SPDX-License-Identifier: Apache-2.0
//
// Finding a header name: a hash of its lower case octets picks the place, then all its octets are compared, eight at
// a time. A name that only collides with a known one is an unknown name.

/// The table of known header names; built once.
struct HeaderTable: Sendable {
    static let shared = HeaderTable()
    /// The longest known name.
    static let longestName = 24

    private struct Entry: Sendable {
        var words: (UInt64, UInt64, UInt64)
        var length: Int
        var id: HeaderID
    }

    /// Open addressing, a power of two, `id == .other` marks a free place.
    private let entries: [Entry]
    private let names: [String]
    private let lists: [Bool]
    /// All canonical names one after the other with ": ", and where each begins.
    let text: [UInt8]
    let starts: [UInt32]

    private static let size = 512

    private init() {
        let free = Entry(words: (0, 0, 0), length: 0, id: .other)
        var entries = [Entry](repeating: free, count: Self.size)
        var names: [String] = []
        var lists: [Bool] = []
        var text: [UInt8] = []
        var starts: [UInt32] = [0]
        for row in KnownHeader.rows {
            names.append(row.name)
            lists.append(row.isList)
            if row.id != .other { text += Array(row.name.utf8) + [0x3a, 0x20] }
            starts.append(UInt32(truncatingIfNeeded: text.count))
            for spelling in [row.name, row.compact ?? ""] where !spelling.isEmpty {
                let bytes = Array(spelling.utf8)
                let span = bytes.span
                let entry = Entry(
                    words: (span.lowered(0, bytes.count), span.lowered(8, bytes.count - 8), span.lowered(16, bytes.count - 16)),
                    length: bytes.count, id: row.id)
                var place = Self.place(entry.words.0, entry.words.1, entry.words.2)
                while entries[place].id != .other { place = (place + 1) % Self.size }
                entries[place] = entry
            }
        }
        self.entries = entries
        self.names = names
        self.lists = lists
        self.text = text
        self.starts = starts
    }

    @inline(__always) private static func place(_ a: UInt64, _ b: UInt64, _ c: UInt64) -> Int {
        let mixed = (a ^ b &* 31 ^ c &* 131) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed >> 55)
    }

    /// The known name that these lower case words of `length` octets are, or `.other`.
    @inline(__always) func find(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ length: Int) -> HeaderID {
        var place = Self.place(a, b, c)
        while true {
            let entry = entries[place]
            if entry.words.0 == a, entry.words.1 == b, entry.words.2 == c, entry.length == length { return entry.id }
            if entry.id == .other { return .other }
            place = (place &+ 1) & (Self.size &- 1)
        }
    }

    /// The known name in these octets, which must be a token, or `.other`.
    func identify(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> HeaderID {
        let length = end &- start
        guard length > 0, length <= Self.longestName else { return .other }
        return find(
            bytes.lowered(start, length), length > 8 ? bytes.lowered(start &+ 8, length &- 8) : 0,
            length > 16 ? bytes.lowered(start &+ 16, length &- 16) : 0, length)
    }

    func name(_ id: HeaderID) -> String { names[Int(id.rawValue)] }

    func isList(_ id: HeaderID) -> Bool { lists[Int(id.rawValue)] }
}
