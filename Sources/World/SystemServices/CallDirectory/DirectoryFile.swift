// SPDX-License-Identifier: Apache-2.0
//
//  0        8         16         24        32
//  +--------+---------+----------+---------+------------+------------+-----------+--------+
//  | HANDSETD | blocked | labelled | text    | blocked    | labelled   | label     | text   |
//  |          | count   | count    | octets  | numbers × 8| numbers × 8| ends × 4  |        |
//  +--------+---------+----------+---------+------------+------------+-----------+--------+
//  Integers are little-endian: a file of this machine for this machine.

import CallServiceCore
import Foundation

/// The lists of one extension as a mapped file: nothing is read that is not asked for.
public final class DirectoryFile: CallDirectoryIndex, Sendable {
    static let magic = Array("HANDSETD".utf8)
    static let headerLength = 32

    private let data: Data
    public let blockedCount: Int
    public let labelledCount: Int
    private let textLength: Int

    /// nil: there is no such file, or it is none of these.
    public init?(path: String) {
        guard let data = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped), data.count >= Self.headerLength,
            data.prefix(8).elementsEqual(Self.magic)
        else { return nil }
        let counts = (1...3).map { Self.integer(data, 8 * $0) }
        // Each count alone is bounded by the file, so their sum cannot overflow.
        guard counts.allSatisfy({ $0 >= 0 && $0 <= Int64(data.count) }) else { return nil }
        blockedCount = Int(counts[0])
        labelledCount = Int(counts[1])
        textLength = Int(counts[2])
        guard Self.headerLength + blockedCount * 8 + labelledCount * 12 + textLength == data.count else { return nil }
        self.data = data
    }

    private static func integer(_ data: Data, _ offset: Int) -> Int64 {
        unsafe data.withUnsafeBytes { unsafe Int64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Int64.self)) }
    }

    package func blocked(at index: Int) -> Int64 { Self.integer(data, Self.headerLength + index * 8) }

    private func labelled(at index: Int) -> Int64 { Self.integer(data, Self.headerLength + (blockedCount + index) * 8) }

    /// The number and the octets of its label.
    func label(at index: Int) -> (Int64, Data)? {
        let ends = Self.headerLength + (blockedCount + labelledCount) * 8
        func end(_ index: Int) -> Int {
            guard index >= 0 else { return 0 }
            return unsafe data.withUnsafeBytes {
                unsafe Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: ends + index * 4, as: UInt32.self)))
            }
        }
        let text = ends + labelledCount * 4
        let (from, to) = (end(index - 1), end(index))
        guard from <= to, to <= textLength else { return nil }
        return (labelled(at: index), data[(data.startIndex + text + from)..<(data.startIndex + text + to)])
    }

    public func isBlocked(_ number: Int64) -> Bool {
        let index = lowerBound(blockedCount) { blocked(at: $0) < number }
        return index < blockedCount && blocked(at: index) == number
    }

    public func label(for number: Int64) -> String? {
        let index = lowerBound(labelledCount) { labelled(at: $0) < number }
        guard index < labelledCount, let (found, label) = label(at: index), found == number else { return nil }
        return String(decoding: label, as: UTF8.self)
    }

    private func lowerBound(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Writing

    /// Writes the lists that come out of `load`, over those of the file at `path`. A fault leaves the file alone.
    ///
    /// The new file is written beside the old one and takes its place by a rename: whoever reads sees the one or the other.
    public static func write(_ load: inout DirectoryLoad, to path: String) throws { try write(&load, to: path, by: SystemDirectoryDisk()) }

    package static func write(_ load: inout DirectoryLoad, to path: String, by disk: some DirectoryDisk) throws {
        if let fault = load.fault { throw fault.error }
        let lists = load.isIncremental ? DirectoryLists(DirectoryFile(path: path), changedBy: &load) : DirectoryLists(whole: load)
        let new = path + ".new"
        do {
            let file = try disk.create(new)
            defer { try? file.close() }
            try write(lists) { try disk.write($0, to: file) }
            try disk.synchronize(file)
            try disk.rename(new, to: path)
        } catch {
            disk.remove(new)
            throw DirectoryError.unknown
        }
    }

    private static func write(_ lists: DirectoryLists, _ take: (Data) throws -> Void) throws {
        var header = Data(magic)
        for count in [lists.blocked.count, lists.labelled.count, lists.labelText.count] {
            unsafe withUnsafeBytes(of: Int64(count).littleEndian) { unsafe header.append(contentsOf: $0) }
        }
        try take(header)
        try write(lists.blocked.map(\.littleEndian), take)
        try write(lists.labelled.map(\.littleEndian), take)
        try write(lists.labelEnds.map(\.littleEndian), take)
        try write(lists.labelText, take)
    }

    /// In portions, so that the file is never in memory a second time.
    private static func write<Element: BitwiseCopyable>(_ elements: [Element], _ take: (Data) throws -> Void) throws {
        var rest = elements[...]
        while !rest.isEmpty {
            let portion = rest.prefix(65_536)
            try take(unsafe portion.withUnsafeBytes { unsafe Data($0) })
            rest = rest.dropFirst(portion.count)
        }
    }

    /// Where an extension's lists stand: `HANDSET_DIRECTORIES`, else `handset/directories` in the user's data folder.
    public static func usualPath(of identifier: String, in folder: String? = nil) -> String {
        let environment = ProcessInfo.processInfo.environment
        let data = environment["XDG_DATA_HOME"] ?? (environment["HOME"] ?? "/var/lib") + "/.local/share"
        let name = String(identifier.map { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "_" ? $0 : "_" })
        return (folder ?? environment["HANDSET_DIRECTORIES"] ?? data + "/handset/directories") + "/" + name + ".lists"
    }
}
