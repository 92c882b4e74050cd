// SPDX-License-Identifier: Apache-2.0
//
// Capture files, whatever way they are cut: pcap (draft-ietf-opsawg-pcap) in both byte orders with micro- or nanoseconds, and
// pcapng (draft-ietf-opsawg-pcapng) with several interfaces and sections.

import Essentials

/// One frame of a capture.
public struct CapturedFrame: Sendable, Hashable {
    /// Since 1970, as the capturing machine's clock said.
    public var time: MonotonicTime
    /// The LINKTYPE value of the interface.
    public var linkType: UInt16
    public var bytes: [UInt8]
    /// Octets on the wire; more than `bytes.count` where the capture cut the frame.
    public var originalLength: Int
}

/// Why a file cannot be read as a capture.
public struct CaptureError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, Hashable {
        /// Neither pcap nor pcapng.
        case unknownFormat = "capture.unknown-format"
        /// A version that nobody has written yet.
        case unknownVersion = "capture.unknown-version"
        /// A length that contradicts another one, or itself.
        case broken = "capture.broken"
        /// A frame or block over a limit.
        case tooLarge = "capture.too-large"
    }

    public var code: Code
    public var reason: String
    /// Octets from the beginning of the file.
    public var offset: Int
}

/// The limits of a reading; each is counted in `CaptureCounter` when it is met.
public struct CaptureLimits: Sendable {
    /// Octets of one frame.
    public var frame = 262_144
    /// Octets of a pcapng block that holds no frame.
    public var block = 1 << 24
    /// Interfaces of a pcapng section.
    public var interfaces = 1024
    /// Datagrams whose fragments are waited for.
    public var fragmentedDatagrams = 256
    /// How long fragments are waited for (RFC 791 §3.2, RFC 8200 §4.5).
    public var fragmentTime = Interval.seconds(60)
    /// Directions of TCP connections.
    public var streams = 4096
    /// Octets of a direction that wait for a missing segment.
    public var streamPending = 262_144
    /// Octets of the whole file; what comes after is not read.
    public var octets = 1 << 33
    /// SIP messages, and their octets together.
    public var messages = 200_000
    public var messageOctets = 1 << 28
    /// Causes in a trace.
    public var causes = 100_000
    /// Octets of a trace in which a line must be found that can be read, before it counts as none.
    public var unrecognised = 1 << 21
    /// RTP streams, a direction each.
    public var mediaFlows = 4096
    /// Reports of unreachable addresses.
    public var unreachables = 4096

    public init() {}
}

/// What the reading of a capture counts.
public enum CaptureCounter: Int, CounterName {
    case frames
    /// A link layer or network protocol that is not read.
    case framesNotRead
    /// The capture cut a frame that mattered.
    case framesCut
    case fragments
    case fragmentsDropped
    case datagramsNeverWhole
    case segmentsOutOfOrder
    case segmentsMissing
    case streamsDropped
    case messages
    /// Looked like SIP, and could not be read.
    case messagesUnreadable
    case messagesDropped
    /// The same packet captured twice.
    case messagesSeenTwice
    /// Of a connection that carries TLS, or WebSocket: what it says is not seen.
    case packetsOfTLS
    case packetsOfWebSocket
    case mediaPackets
    case mediaFlowsDropped
}

/// Reads frames out of the octets of a capture file.
public struct CaptureReader: Sendable {
    private enum Format: Sendable {
        case unknown
        case pcap(linkType: UInt16, nanoseconds: Bool)
        case pcapng
    }

    private struct Interface: Sendable {
        var linkType: UInt16
        var snapLength: Int
        /// Ticks a second as a power: of 2 where the top bit is set, else of 10.
        var resolution: UInt8 = 6
        var offset: Int64 = 0
    }

    private let limits: CaptureLimits
    private var format = Format.unknown
    private var bytes: [UInt8] = []
    private var start = 0
    /// Octets that were dropped from the front of `bytes`.
    private var consumed = 0
    private var isBigEndian = false
    private var interfaces: [Interface] = []

    public init(limits: CaptureLimits = CaptureLimits()) { self.limits = limits }

    /// Whether a file that begins so is a capture.
    public static func recognises(_ head: [UInt8]) -> Bool {
        guard head.count >= 4 else { return false }
        return [
            [0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ]
        .contains(Array(head.prefix(4)))
    }

    /// Adds what was read of the file.
    public mutating func append(_ more: [UInt8]) {
        if start > 65_536 {
            bytes.removeSubrange(..<start)
            consumed += start
            start = 0
        }
        bytes += more
    }

    /// The next frame; nil until more octets come. After an error nothing more can be read.
    public mutating func next() throws(CaptureError) -> CapturedFrame? {
        while true {
            switch format {
            case .unknown: guard try readHead() else { return nil }
            case .pcap(let linkType, let nanoseconds): return try nextRecord(linkType, nanoseconds)
            case .pcapng:
                guard let length = try wholeBlock() else { return nil }
                let frame = try readBlock(length)
                start += length
                if let frame { return frame }
            }
        }
    }

    private var available: Int { bytes.count - start }

    private func failure(_ code: CaptureError.Code, _ reason: String) -> CaptureError {
        CaptureError(code: code, reason: reason, offset: consumed + start)
    }

    // MARK: pcap

    private mutating func readHead() throws(CaptureError) -> Bool {
        guard available >= 4 else { return false }
        isBigEndian = true
        let magic = u32(0)
        if magic == 0x0a0d_0d0a {
            format = .pcapng
            return true
        }
        guard available >= 24 else { return false }
        switch magic {
        case 0xa1b2_c3d4, 0xa1b2_3c4d: isBigEndian = true
        case 0xd4c3_b2a1, 0x4d3c_b2a1: isBigEndian = false
        default: throw failure(.unknownFormat, "This is no capture file: neither pcap nor pcapng.")
        }
        guard u16(4) == 2 else { throw failure(.unknownVersion, "This pcap file has the unknown version \(u16(4)).") }
        // The upper bits tell of frame check sequences.
        format = .pcap(linkType: UInt16(truncatingIfNeeded: u32(20)), nanoseconds: magic == 0xa1b2_3c4d || magic == 0x4d3c_b2a1)
        start += 24
        return true
    }

    private mutating func nextRecord(_ linkType: UInt16, _ nanoseconds: Bool) throws(CaptureError) -> CapturedFrame? {
        guard available >= 16 else { return nil }
        let length = Int(u32(8))
        guard length <= limits.frame else { throw failure(.tooLarge, "A frame of \(length) octets is over the limit.") }
        guard available >= 16 + length else { return nil }
        let time = Int64(u32(0)) * 1_000_000_000 + Int64(u32(4)) * (nanoseconds ? 1 : 1000)
        let frame = CapturedFrame(
            time: MonotonicTime(nanoseconds: time), linkType: linkType, bytes: Array(bytes[start + 16..<start + 16 + length]),
            originalLength: Int(u32(12)))
        start += 16 + length
        return frame
    }

    // MARK: pcapng

    /// The length of the block at the front once it is whole.
    private mutating func wholeBlock() throws(CaptureError) -> Int? {
        guard available >= 12 else { return nil }
        if u32(0) == 0x0a0d_0d0a {
            isBigEndian = true
            if u32(8) == 0x4d3c_2b1a {
                isBigEndian = false
            } else if u32(8) != 0x1a2b_3c4d {
                throw failure(.broken, "A section of this pcapng file has no byte order.")
            }
        }
        let length = Int(u32(4))
        guard length >= 12, length % 4 == 0 else { throw failure(.broken, "A block of this pcapng file has the length \(length).") }
        guard length <= limits.block else { throw failure(.tooLarge, "A block of \(length) octets is over the limit.") }
        guard available >= length else { return nil }
        guard Int(u32(length - 4)) == length else { throw failure(.broken, "The two lengths of a block differ.") }
        return length
    }

    private mutating func readBlock(_ length: Int) throws(CaptureError) -> CapturedFrame? {
        switch u32(0) {
        case 0x0a0d_0d0a:
            guard length >= 28 else { throw failure(.broken, "A section header is too short.") }
            guard u16(12) == 1 else { throw failure(.unknownVersion, "This pcapng file has the unknown version \(u16(12)).") }
            interfaces = []
        case 1 where length >= 20:
            guard interfaces.count < limits.interfaces else { throw failure(.tooLarge, "The capture has too many interfaces.") }
            interfaces.append(interface(length))
        case 6 where length >= 32: return try frame(Int(u32(8)), header: 28, length)
        // The obsolete packet block.
        case 2 where length >= 32: return try frame(Int(u16(8)), header: 28, length)
        case 3 where length >= 16:
            guard let first = interfaces.first else { throw failure(.broken, "A frame has no interface.") }
            let original = Int(u32(8))
            let count = min(original, length - 16, first.snapLength == 0 ? .max : first.snapLength)
            return CapturedFrame(
                time: .zero, linkType: first.linkType, bytes: Array(bytes[start + 12..<start + 12 + count]), originalLength: original)
        default: break
        }
        return nil
    }

    private func interface(_ length: Int) -> Interface {
        var result = Interface(linkType: u16(8), snapLength: Int(u32(12)))
        var position = 16
        while position + 4 <= length - 4 {
            let (code, size) = (u16(position), Int(u16(position + 2)))
            guard code != 0, position + 4 + size <= length - 4 else { break }
            if code == 9, size >= 1 { result.resolution = bytes[start + position + 4] }
            if code == 14, size >= 8 {
                let (first, second) = (UInt64(u32(position + 4)), UInt64(u32(position + 8)))
                result.offset = Int64(bitPattern: isBigEndian ? first << 32 | second : second << 32 | first)
            }
            position += 4 + (size + 3) / 4 * 4
        }
        return result
    }

    private func frame(_ number: Int, header: Int, _ length: Int) throws(CaptureError) -> CapturedFrame {
        guard number < interfaces.count else { throw failure(.broken, "A frame names an interface that is not there.") }
        let count = Int(u32(20))
        guard count <= length - header - 4 else { throw failure(.broken, "A frame is longer than its block.") }
        guard count <= limits.frame else { throw failure(.tooLarge, "A frame of \(count) octets is over the limit.") }
        let interface = interfaces[number]
        let ticks = UInt64(u32(12)) << 32 | UInt64(u32(16))
        let nanoseconds = Self.nanoseconds(ticks, interface.resolution)
        let offset = interface.offset.multipliedReportingOverflow(by: 1_000_000_000)
        return CapturedFrame(
            time: MonotonicTime(nanoseconds: nanoseconds) + Interval(nanoseconds: offset.overflow ? 0 : offset.partialValue),
            linkType: interface.linkType, bytes: Array(bytes[start + header..<start + header + count]), originalLength: Int(u32(24)))
    }

    /// `ticks` in nanoseconds; what is out of range becomes the largest time.
    static func nanoseconds(_ ticks: UInt64, _ resolution: UInt8) -> Int64 {
        let exponent = Int(resolution & 0x7f)
        if resolution & 0x80 != 0 {
            guard exponent < 64 else { return 0 }
            let (seconds, part) = (ticks >> UInt64(exponent), ticks & ((1 << UInt64(exponent)) &- 1))
            var scale = 1.0
            for _ in 0..<exponent { scale *= 2 }
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            return overflow ? .max : Int64(clamping: whole) &+ Int64(Double(part) / scale * 1e9) & .max
        }
        var result = ticks
        if exponent <= 9 {
            for _ in exponent..<9 {
                let (product, overflow) = result.multipliedReportingOverflow(by: 10)
                if overflow { return .max }
                result = product
            }
        } else {
            for _ in 9..<exponent where result > 0 { result /= 10 }
        }
        return Int64(clamping: result)
    }

    // MARK: Numbers

    /// The two octets `offset` behind the start; the caller has checked that they are there.
    private func u16(_ offset: Int) -> UInt16 {
        let (first, second) = (UInt16(bytes[start + offset]), UInt16(bytes[start + offset + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }

    private func u32(_ offset: Int) -> UInt32 {
        let (first, second) = (UInt32(u16(offset)), UInt32(u16(offset + 2)))
        return isBigEndian ? first << 16 | second : second << 16 | first
    }
}
