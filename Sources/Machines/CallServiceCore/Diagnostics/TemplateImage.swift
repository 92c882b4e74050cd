// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The rules for a provider's icon (CFG-5): PNG, square, with an alpha channel that has transparent pixels.
enum TemplateImage {
    /// What is wrong with it, as the end of a sentence; nil: nothing. PNG as in ISO/IEC 15948 (W3C PNG).
    static func fault(of bytes: [UInt8]) -> String? {
        guard bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) else { return "is no PNG" }
        var header: [UInt8] = []
        var compressed: [UInt8] = []
        var transparency: [UInt8] = []
        var index = 8
        while index + 12 <= bytes.count {
            let length = bytes[index..<(index + 4)].reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - index - 12 else { return "is a broken PNG" }
            let content = bytes[(index + 8)..<(index + 8 + length)]
            switch bytes[(index + 4)..<(index + 8)] {
            case [0x49, 0x48, 0x44, 0x52]: header = Array(content)
            case [0x49, 0x44, 0x41, 0x54]: compressed += content
            case [0x74, 0x52, 0x4e, 0x53]: transparency = Array(content)
            default: break
            }
            index += 12 + length
        }
        guard header.count == 13, !compressed.isEmpty else { return "is a broken PNG" }
        let width = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
        let height = header[4..<8].reduce(0) { $0 << 8 | Int($1) }
        guard width == height, width > 0 else { return "is not square: \(width) by \(height)" }
        guard width <= 1024, header[12] == 0 else { return "is larger than 1024 by 1024, or interlaced" }
        return alphaFault(width, bits: Int(header[8]), type: header[9], transparency, compressed)
    }

    private static func alphaFault(_ size: Int, bits: Int, type: UInt8, _ transparency: [UInt8], _ compressed: [UInt8]) -> String? {
        let channels: Int
        switch type {
        case 4: channels = 2
        case 6: channels = 4
        // A palette or one colour may be transparent as well; whether a pixel uses it is not looked at.
        default: return transparency.contains { $0 != 255 } ? nil : "has no alpha channel"
        }
        guard bits == 8 || bits == 16 else { return "is a broken PNG" }
        let pixel = channels * bits / 8
        guard let raw = Inflate.zlib(compressed, limit: (size * pixel + 1) * size), raw.count == (size * pixel + 1) * size else {
            return "is a broken PNG"
        }
        return hasTransparency(raw, size: size, pixel: pixel, alpha: pixel - bits / 8) ? nil : "has no transparent pixel"
    }

    /// Undoes the filters (§9) line by line and looks at the alpha values.
    private static func hasTransparency(_ raw: [UInt8], size: Int, pixel: Int, alpha: Int) -> Bool {
        let stride = size * pixel
        var above = [UInt8](repeating: 0, count: stride)
        for row in 0..<size {
            let start = row * (stride + 1)
            let filter = raw[start]
            var line = Array(raw[(start + 1)..<(start + 1 + stride)])
            for index in 0..<stride {
                let left = index >= pixel ? line[index - pixel] : 0
                let corner = index >= pixel ? above[index - pixel] : 0
                switch filter {
                case 1: line[index] &+= left
                case 2: line[index] &+= above[index]
                case 3: line[index] &+= UInt8((Int(left) + Int(above[index])) / 2)
                case 4: line[index] &+= paeth(Int(left), Int(above[index]), Int(corner))
                default: break
                }
            }
            for index in Swift.stride(from: alpha, to: stride, by: pixel) where line[index] != 255 { return true }
            above = line
        }
        return false
    }

    private static func paeth(_ left: Int, _ above: Int, _ corner: Int) -> UInt8 {
        let estimate = left + above - corner
        let (a, b, c) = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
        return UInt8(truncatingIfNeeded: a <= b && a <= c ? left : b <= c ? above : corner)
    }
}

/// Unpacks the zlib form of DEFLATE (RFC 1950, RFC 1951).
struct Inflate {
    private let bytes: [UInt8]
    private let limit: Int
    private var index: Int
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var output: [UInt8] = []

    /// The content; nil: broken, or longer than `limit`.
    static func zlib(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        guard bytes.count > 6, bytes[0] & 0x0f == 8, bytes[1] & 0x20 == 0 else { return nil }
        var inflate = Inflate(bytes: bytes, limit: limit, index: 2)
        return inflate.run() ? inflate.output : nil
    }

    private init(bytes: [UInt8], limit: Int, index: Int) {
        self.bytes = bytes
        self.limit = limit
        self.index = index
    }

    private mutating func take(_ count: Int) -> Int? {
        while bitCount < count {
            guard index < bytes.count else { return nil }
            bits |= UInt32(bytes[index]) << UInt32(bitCount)
            index += 1
            bitCount += 8
        }
        let value = Int(bits & (1 << UInt32(count) - 1))
        bits >>= UInt32(count)
        bitCount -= count
        return value
    }

    private mutating func run() -> Bool {
        while true {
            guard let isLast = take(1), let type = take(2) else { return false }
            switch type {
            case 0: guard stored() else { return false }
            case 1: guard block(Code.fixedLiterals, Code.fixedDistances) else { return false }
            case 2:
                guard let (literals, distances) = dynamicCodes(), block(literals, distances) else { return false }
            default: return false
            }
            if isLast == 1 { return true }
        }
    }

    private mutating func stored() -> Bool {
        bits = 0
        bitCount = 0
        guard index + 4 <= bytes.count else { return false }
        let length = Int(bytes[index]) | Int(bytes[index + 1]) << 8
        index += 4
        guard length <= bytes.count - index, output.count + length <= limit else { return false }
        output += bytes[index..<(index + length)]
        index += length
        return true
    }

    /// A canonical Huffman code (RFC 1951 §3.2.2): how many words of each length, and the symbols in order.
    private struct Code {
        var counts = [Int](repeating: 0, count: 16)
        var symbols: [Int] = []

        init(lengths: [Int]) {
            for length in lengths where length > 0 { counts[length] += 1 }
            for length in 1..<16 { for (symbol, other) in lengths.enumerated() where other == length { symbols.append(symbol) } }
        }

        static let fixedLiterals = Code(
            lengths: [Int](repeating: 8, count: 144) + [Int](repeating: 9, count: 112) + [Int](repeating: 7, count: 24)
                + [Int](repeating: 8, count: 8))
        static let fixedDistances = Code(lengths: [Int](repeating: 5, count: 30))
    }

    private mutating func symbol(_ code: Code) -> Int? {
        var word = 0
        var first = 0
        var place = 0
        for length in 1..<16 {
            guard let bit = take(1) else { return nil }
            word |= bit
            let count = code.counts[length]
            if word - first < count { return code.symbols[place + word - first] }
            place += count
            first = (first + count) << 1
            word <<= 1
        }
        return nil
    }

    private mutating func dynamicCodes() -> (Code, Code)? {
        guard let literalCount = take(5), let distanceCount = take(5), let codeCount = take(4) else { return nil }
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
        var lengths = [Int](repeating: 0, count: 19)
        for place in 0..<(codeCount + 4) {
            guard let length = take(3) else { return nil }
            lengths[order[place]] = length
        }
        let code = Code(lengths: lengths)
        let total = literalCount + 257 + distanceCount + 1
        var all: [Int] = []
        while all.count < total {
            guard let symbol = symbol(code) else { return nil }
            switch symbol {
            case ..<16: all.append(symbol)
            case 16:
                guard let last = all.last, let more = take(2) else { return nil }
                all += [Int](repeating: last, count: more + 3)
            case 17:
                guard let more = take(3) else { return nil }
                all += [Int](repeating: 0, count: more + 3)
            default:
                guard let more = take(7) else { return nil }
                all += [Int](repeating: 0, count: more + 11)
            }
        }
        guard all.count == total else { return nil }
        return (Code(lengths: Array(all[..<(literalCount + 257)])), Code(lengths: Array(all[(literalCount + 257)...])))
    }

    private static let lengthBase = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
    ]
    private static let lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
    private static let distanceBase = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289,
        16385,
        24577,
    ]
    private static let distanceBits = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13]

    private mutating func block(_ literals: Code, _ distances: Code) -> Bool {
        while true {
            guard let symbol = symbol(literals) else { return false }
            if symbol == 256 { return true }
            if symbol < 256 {
                guard output.count < limit else { return false }
                output.append(UInt8(symbol))
                continue
            }
            guard symbol - 257 < Self.lengthBase.count, let more = take(Self.lengthBits[symbol - 257]), let far = self.symbol(distances),
                far < Self.distanceBase.count, let further = take(Self.distanceBits[far])
            else { return false }
            let length = Self.lengthBase[symbol - 257] + more
            let distance = Self.distanceBase[far] + further
            guard distance <= output.count, output.count + length <= limit else { return false }
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }
}
