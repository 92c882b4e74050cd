// SPDX-License-Identifier: Apache-2.0

import CPosix
import CallServiceCore
import Foundation

/// Where the service's things lie.
public struct CallServiceFiles: Sendable {
    /// The socket.
    public var socket: String
    /// History and push tokens.
    public var state: String
    /// A file for each app that may be started.
    public var apps: String

    public init(socket: String, state: String, apps: String) {
        self.socket = socket
        self.state = state
        self.apps = apps
    }

    /// The folders of the XDG Base Directory specification; `HANDSET_CALLSERVICE` names another socket.
    public static func usual(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> CallServiceFiles {
        let home = environment["HOME"] ?? "/"
        let runtime = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        return CallServiceFiles(
            socket: environment["HANDSET_CALLSERVICE"] ?? runtime + "/handset/callservice.sock",
            state: (environment["XDG_STATE_HOME"] ?? home + "/.local/state") + "/handset",
            apps: (environment["XDG_CONFIG_HOME"] ?? home + "/.config") + "/handset/apps")
    }

    /// The call directory extensions that the person allows: the lines of `directories` beside the folder of apps.
    public var directories: [String] {
        let path = (apps as NSString).deletingLastPathComponent + "/directories"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    func makeFolders() throws {
        for folder in [(socket as NSString).deletingLastPathComponent, state] {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    /// The program that a bundle stands for, and its arguments; nil: none, or a name that is no plain file's.
    func program(of bundle: String) -> [String]? {
        guard !bundle.isEmpty, !bundle.hasPrefix("."), !bundle.contains("/"), bundle.utf8.count <= 255,
            let text = try? String(contentsOfFile: apps + "/" + bundle, encoding: .utf8)
        else { return nil }
        let words = text.split(separator: "\n").map(String.init)
        return words.first?.hasPrefix("/") == true ? words : nil
    }
}

/// A file of frames (`Wire`), one value each, only ever added to. A half one at its end, left by a crash, counts for nothing; it must be
/// cut off before more is added, or what follows would be taken for its rest.
struct FrameFile<Value: Codable> {
    let path: String

    /// The values, and whether there is nothing else in the file.
    func read() -> (values: [Value], isWhole: Bool) {
        guard let content = FileManager.default.contents(atPath: path) else { return ([], true) }
        var reader = FrameReader()
        reader.append(content)
        var values: [Value] = []
        do {
            while let body = try reader.next() { values.append(try Wire.message(Value.self, body)) }
            return (values, reader.pending == 0)
        } catch { return (values, false) }
    }

    /// Writes the whole file anew; a crash leaves the old one or the new one.
    func write(_ values: [Value]) throws {
        try Data(values.flatMap { Wire.frame($0) }).write(to: URL(fileURLWithPath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    func append(_ value: Value) {
        guard let file = FileHandle(forWritingAtPath: path) else {
            try? write([value])
            return
        }
        defer { try? file.close() }
        _ = try? file.seekToEnd()
        try? file.write(contentsOf: Data(Wire.frame(value)))
    }
}
