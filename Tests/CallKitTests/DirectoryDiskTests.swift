// SPDX-License-Identifier: Apache-2.0

import CallDirectory
import Foundation
import Synchronization
import Testing

/// A disk that does so many steps and then no more.
private final class FailingDisk: DirectoryDisk {
    enum End: Sendable, CaseIterable {
        /// The process is killed: nothing is done any more, not even to tidy up. Half of what was being written is there.
        case killed
        /// The step fails, as on a full disk, and the process goes on.
        case failed
    }
    struct Stop: Error {}

    private let disk = SystemDirectoryDisk()
    private let end: End
    private let left: Mutex<Int>

    init(_ end: End, after steps: Int) {
        self.end = end
        left = Mutex(steps)
    }

    private func step() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
    var hasEnded: Bool { left.withLock { $0 < 0 } }

    func create(_ path: String) throws -> FileHandle {
        guard step() else { throw Stop() }
        return try disk.create(path)
    }
    func write(_ data: Data, to file: FileHandle) throws {
        guard step() else {
            try disk.write(data.prefix(data.count / 2), to: file)
            throw Stop()
        }
        try disk.write(data, to: file)
    }
    func synchronize(_ file: FileHandle) throws {
        guard step() else { throw Stop() }
        try disk.synchronize(file)
    }
    func rename(_ path: String, to target: String) throws {
        guard step() else { throw Stop() }
        try disk.rename(path, to: target)
    }
    func remove(_ path: String) { if end == .failed || !hasEnded { disk.remove(path) } }
}

/// A write of the lists that ends in its middle leaves the old ones.
@Suite struct DirectoryDiskTests {
    private static let base: Int64 = 390_000_000_000

    private func load(_ range: Range<Int>, isIncremental: Bool = false) -> DirectoryLoad {
        var load = DirectoryLoad(isIncremental: isIncremental)
        for index in range { load.block(Self.base + Int64(index)) }
        for index in range.prefix(10) { load.label(Self.base + Int64(index), "Label \(range.lowerBound)") }
        return load
    }

    @Test(arguments: FailingDisk.End.allCases, [false, true])
    private func whatEndsAtAnyStepLeavesTheOldLists(end: FailingDisk.End, isIncremental: Bool) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handset-lists-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path + "/app.lists"
        var steps = 0
        while true {
            var old = load(0..<100)
            try DirectoryFile.write(&old, to: path)
            let before = try Data(contentsOf: URL(filePath: path))
            // More than a portion, so that there are steps in the middle of a list.
            var new = load(1000..<71_000, isIncremental: isIncremental)
            let disk = FailingDisk(end, after: steps)
            do {
                try DirectoryFile.write(&new, to: path, by: disk)
                break
            } catch { #expect(error as? DirectoryError == .unknown) }
            #expect(try Data(contentsOf: URL(filePath: path)) == before, "after \(steps) steps")
            let file = try #require(DirectoryFile(path: path))
            #expect(file.blockedCount == 100 && file.label(for: Self.base) == "Label 0" && !file.isBlocked(Self.base + 2000))
            #expect(FileManager.default.fileExists(atPath: path + ".new") == (end == .killed && steps > 0))
            // What a killed one left stands in nobody's way.
            var next = load(5000..<5001)
            try DirectoryFile.write(&next, to: path)
            #expect(DirectoryFile(path: path)?.isBlocked(Self.base + 5000) == true && DirectoryFile(path: path)?.blockedCount == 1)
            steps += 1
        }
        #expect(steps >= 8, "creation, header, two portions of numbers, labels, their ends, text, synchronisation, rename")
        let file = try #require(DirectoryFile(path: path))
        #expect(file.blockedCount == (isIncremental ? 70_100 : 70_000) && file.isBlocked(Self.base + 70_999))
    }
}
