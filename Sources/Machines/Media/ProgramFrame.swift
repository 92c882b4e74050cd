// SPDX-License-Identifier: Apache-2.0
//
// What Handset and a speech program say to each other over a stream of octets (docs/program-port.md). Numbers are big endian,
// samples little endian:
//
//      0        1        2                 4                                   8
//     ┌────────┬────────┬─────────────────┬───────────────────────────────────┬───────────────────────────────────┐
//     │ kind   │ 0      │ payload octets  │ queued samples                    │ timestamp in samples, 64 bits     │ payload…
//     └────────┴────────┴─────────────────┴───────────────────────────────────┴───────────────────────────────────┘

/// One message between Handset and a speech program.
public struct ProgramFrame: Sendable, Hashable {
    public enum Kind: UInt8, Sendable {
        /// `A`: PCM, 16 bit, mono, low octet first.
        case audio = 0x41
        /// `F`: throw away what is queued to be said; back: what became of it, as JSON.
        case flush = 0x46
        /// `J`: to Handset a control line, to the program an event, both as in docs/events.md.
        case text = 0x4a
        /// `M`: the name of a place in the program's speech; back: it was reached.
        case mark = 0x4d
    }

    public static let headerSize = 16
    /// Octets of a payload at most.
    public static let payloadLimit = 65535

    public var kind: Kind
    /// To the program: how much of its speech is still to be played, in samples. From it: not looked at.
    public var queued: UInt32
    /// To the program: the call's time in samples, of the first sample or of the mark. From it: not looked at.
    public var timestamp: UInt64
    public var payload: [UInt8]

    public init(_ kind: Kind, _ payload: [UInt8] = [], queued: UInt32 = 0, timestamp: UInt64 = 0) {
        self.kind = kind
        self.queued = queued
        self.timestamp = timestamp
        self.payload = payload
    }

    /// The samples of an audio frame; an odd last octet is none.
    public var samples: [Int16] {
        (0..<payload.count / 2).map { Int16(bitPattern: UInt16(payload[2 * $0]) | UInt16(payload[2 * $0 + 1]) << 8) }
    }

    public static func audio(_ samples: [Int16]) -> ProgramFrame {
        ProgramFrame(
            .audio, samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
    }

    /// Appends the octets of the frame; a payload above `payloadLimit` is cut there.
    public func encode(into bytes: inout [UInt8]) {
        let count = min(payload.count, Self.payloadLimit)
        Self.encodeHeader(kind, count: count, queued: queued, timestamp: timestamp, into: &bytes)
        bytes.append(contentsOf: payload[..<count])
    }

    static func encodeHeader(_ kind: Kind, count: Int, queued: UInt32, timestamp: UInt64, into bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        bytes.append(0)
        for shift in [8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: queued >> UInt32(shift))) }
        for shift in [56, 48, 40, 32, 24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: timestamp >> UInt64(shift))) }
    }
}

/// What a program wrote is no frame.
public struct ProgramFrameError: Error, Sendable, Hashable {
    /// The octets at which a frame should begin, 16 at most.
    public var found: [UInt8]

    public init(found: [UInt8]) { self.found = found }
}

/// Cuts a stream of octets into frames. What it holds is never more than one frame and what was given last.
public struct ProgramFrameReader: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    public init() {}

    public mutating func append(_ new: some Collection<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Octets that are not yet a whole frame.
    public var waiting: Int { bytes.count - start }

    /// The next whole frame; nil: not yet.
    public mutating func next() throws(ProgramFrameError) -> ProgramFrame? {
        guard waiting > 0 else { return nil }
        guard let kind = ProgramFrame.Kind(rawValue: bytes[start]) else {
            throw ProgramFrameError(found: Array(bytes[start..<min(bytes.count, start + ProgramFrame.headerSize)]))
        }
        guard waiting >= ProgramFrame.headerSize else { return nil }
        let count = Int(number(2, 2))
        guard waiting >= ProgramFrame.headerSize + count else { return nil }
        let content = start + ProgramFrame.headerSize
        let frame = ProgramFrame(
            kind, Array(bytes[content..<content + count]), queued: UInt32(truncatingIfNeeded: number(4, 4)), timestamp: number(8, 8))
        start = content + count
        return frame
    }

    private func number(_ offset: Int, _ count: Int) -> UInt64 {
        bytes[start + offset..<start + offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
