// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The steps by which lists get to the disk: a test lets each one fail, or be the last that is done.
package protocol DirectoryDisk {
    /// An empty file for its user only, with the folders above it.
    func create(_ path: String) throws -> FileHandle
    func write(_ data: Data, to file: FileHandle) throws
    /// Until the content is on the disk.
    func synchronize(_ file: FileHandle) throws
    /// Puts a file in another one's place, in one step; the name is on the disk as well then.
    func rename(_ path: String, to target: String) throws
    func remove(_ path: String)
}

/// The disk itself.
package struct SystemDirectoryDisk: DirectoryDisk {
    package init() {}

    package func create(_ path: String) throws -> FileHandle {
        let folder = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: path)
        else { throw DirectoryError.unknown }
        return file
    }

    package func write(_ data: Data, to file: FileHandle) throws { try file.write(contentsOf: data) }

    package func synchronize(_ file: FileHandle) throws { try file.synchronize() }

    package func rename(_ path: String, to target: String) throws {
        guard unsafe Glibc.rename(path, target) == 0 else { throw DirectoryError.unknown }
        // The file is in place. Where a folder cannot be opened for this, the system writes the name in its own time.
        if let folder = FileHandle(forReadingAtPath: URL(filePath: target).deletingLastPathComponent().path) {
            try? folder.synchronize()
            try? folder.close()
        }
    }

    package func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
