// SPDX-License-Identifier: Apache-2.0
//
// Frames (RFC 6455 §5.2):
//
//      FIN RSV1-3 opcode(4) │ MASK length(7) │ length(16 or 64) │ masking key(32) │ payload …

/// What a frame is for (§11.8).
enum Opcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// Writes one frame; a client masks (§5.3), a server never does.
func frame(_ opcode: Opcode, _ payload: [UInt8], mask: UInt32?) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(payload.count + 14)
    bytes.append(0x80 | opcode.rawValue)
    let masked: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case ..<126: bytes.append(masked | UInt8(payload.count))
    case ..<65_536:
        bytes.append(masked | 126)
        bytes.append(UInt8(payload.count >> 8))
        bytes.append(UInt8(payload.count & 255))
    default:
        bytes.append(masked | 127)
        for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: UInt64(payload.count) >> (56 - 8 * UInt64(place)))) }
    }
    guard let mask else { return bytes + payload }
    let key = (0..<4).map { UInt8(truncatingIfNeeded: mask >> (24 - 8 * UInt32($0))) }
    bytes += key
    for (index, byte) in payload.enumerated() { bytes.append(byte ^ key[index & 3]) }
    return bytes
}

/// Takes frames out of a stream of octets. What breaks a rule ends the reading.
struct FrameReader {
    struct Frame {
        var opcode: Opcode
        var isFinal: Bool
        var payload: [UInt8]
    }

    /// Whether frames must be masked: those that a server reads (§5.1).
    let expectsMask: Bool
    let limit: Int
    private var buffer: [UInt8] = []
    private var offset = 0

    init(expectsMask: Bool, limit: Int) {
        self.expectsMask = expectsMask
        self.limit = limit
    }

    /// Octets of an unfinished frame.
    var pending: Int { buffer.count - offset }

    mutating func append(_ bytes: some Collection<UInt8>) {
        if offset > 0 {
            buffer.removeFirst(offset)
            offset = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next whole frame; nil: more octets are needed.
    mutating func next() throws(WebSocketEnd) -> Frame? {
        guard pending >= 2 else { return nil }
        let (first, second) = (buffer[offset], buffer[offset + 1])
        guard first & 0x70 == 0, let opcode = Opcode(rawValue: first & 15) else {
            throw WebSocketEnd(.protocolError, status: 1002, "unknown kind of frame")
        }
        let isFinal = first & 0x80 != 0
        guard (second & 0x80 != 0) == expectsMask else { throw WebSocketEnd(.protocolError, status: 1002, "mask") }
        var at = offset + 2
        var length = UInt64(second & 0x7f)
        if opcode.isControl, !isFinal || length > 125 {
            throw WebSocketEnd(.protocolError, status: 1002, "control frame in fragments or too long")
        }
        if length > 125 {
            let count = length == 126 ? 2 : 8
            guard buffer.count >= at + count else { return nil }
            length = buffer[at..<at + count].reduce(0) { $0 << 8 | UInt64($1) }
            // §5.2: the shortest form, and no top bit.
            guard length > (count == 2 ? 125 : 65_535), length >> 63 == 0 else {
                throw WebSocketEnd(.protocolError, status: 1002, "length")
            }
            at += count
        }
        guard length <= UInt64(limit) else { throw WebSocketEnd(.tooLarge, status: 1009) }
        let start = at + (expectsMask ? 4 : 0)
        let end = start + Int(length)
        guard buffer.count >= end else { return nil }
        var payload = Array(buffer[start..<end])
        if expectsMask {
            for index in payload.indices { payload[index] ^= buffer[at + (index & 3)] }
        }
        offset = end
        return Frame(opcode: opcode, isFinal: isFinal, payload: payload)
    }
}

/// Whether `bytes` are UTF-8 (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF.
func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
        switch decoder.decode(&iterator) {
        case .scalarValue: continue
        case .emptyInput: return true
        case .error: return false
        }
    }
}
