// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of this repository and the tools around them.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }

    /// The files below `folder` with that ending, as paths from the root, in order.
    static func files(below folder: String, ending: String) -> [String] {
        let base = root.appending(path: folder).path
        let found = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
        return found.filter { $0.hasSuffix(ending) }.map { folder + "/" + $0 }.sorted()
    }

    /// The names of what stands in `folder`, in order.
    static func folders(below folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []).sorted()
    }

    /// Where the objects and modules of the running build are: beside the test program.
    static let buildFolder: URL = {
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(filePath: program).deletingLastPathComponent()
    }()

    struct Result {
        var status: Int32
        var output: String
        var errors: String
    }

    /// Runs a program of PATH and waits for it.
    static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Result {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = root
        var variables = ProcessInfo.processInfo.environment
        variables["HANDSET_ONLY"] = nil
        variables["HANDSET_FUZZ"] = nil
        process.environment = variables.merging(environment) { $1 }
        // Files, not pipes: a pipe that nobody empties in time stops the program.
        let folder = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (out, err) = (folder.appending(path: "out"), folder.appending(path: "err"))
        for file in [out, err] { try Data().write(to: file) }
        process.standardOutput = try FileHandle(forWritingTo: out)
        process.standardError = try FileHandle(forWritingTo: err)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: String(decoding: try Data(contentsOf: out), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: err), as: UTF8.self))
    }
}
