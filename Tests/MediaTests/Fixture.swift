// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads files of Tests/Fixtures.
enum Fixture {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func data(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: root.appendingPathComponent(path)))
    }

    static func hex(_ path: String) throws -> [UInt8] { bytes(try text(path)) }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { $0.isHexDigit }.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
