// SPDX-License-Identifier: Apache-2.0
//
// What a whole test run leaves behind: every output, log and trace of every program that tests start, and the secrets that
// were in play. `make test` names a folder for it and has it searched afterwards; without that nothing is kept.

import Foundation
import Synchronization

public enum Artefacts {
    /// From the environment's HANDSET_ARTEFACTS.
    public static let folder = ProcessInfo.processInfo.environment["HANDSET_ARTEFACTS"].flatMap { $0.isEmpty ? nil : $0 }

    private struct State {
        var count = 0
        var noted: Set<String> = []
        var list: FileHandle?
    }

    private static let state = Mutex(State())

    /// A path that no other artefact has; nil where nothing is kept.
    public static func path(_ name: String) -> String? {
        guard let folder else { return nil }
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let safe = name.map { $0.isLetter || $0.isNumber || ".-".contains($0) ? $0 : "_" }
        return "\(folder)/\(ProcessInfo.processInfo.processIdentifier)-\(number)-\(String(safe))"
    }

    /// A new file that grows with what a program writes.
    public static func open(_ name: String) -> FileHandle? {
        guard let path = path(name), FileManager.default.createFile(atPath: path, contents: nil) else { return nil }
        return FileHandle(forWritingAtPath: path)
    }

    public static func keep(_ text: String, as name: String) {
        if let path = path(name) { try? text.write(toFile: path, atomically: false, encoding: .utf8) }
    }

    /// A copy of a file that its test deletes.
    public static func keep(fileAt file: String) {
        if let path = path((file as NSString).lastPathComponent) { try? FileManager.default.copyItem(atPath: file, toPath: path) }
    }

    /// Lets a program that will write `file` write an artefact: a link stands where the file is expected.
    public static func divert(_ file: String) {
        guard !FileManager.default.fileExists(atPath: file), let path = path((file as NSString).lastPathComponent) else { return }
        try? FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: path)
    }

    /// Notes what must not be found in any artefact: a password, a key, a token.
    ///
    /// - Parameters:
    ///   - user, realm: with them, the hash of name, realm and password that digest is made of (RFC 7616 §3.4.2) is looked for too.
    public static func note(secret: String, user: String = "", realm: String = "") {
        guard let folder, secret.utf8.count >= 6,
            let line = try? JSONSerialization.data(withJSONObject: ["secret": secret, "user": user, "realm": realm], options: .sortedKeys)
        else { return }
        state.withLock { state in
            guard state.noted.insert(String(decoding: line, as: UTF8.self)).inserted else { return }
            if state.list == nil {
                let path = "\(folder)/secrets/\(ProcessInfo.processInfo.processIdentifier).jsonl"
                try? FileManager.default.createDirectory(atPath: folder + "/secrets", withIntermediateDirectories: true)
                _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                state.list = FileHandle(forWritingAtPath: path)
            }
            try? state.list?.write(contentsOf: line + Data([10]))
        }
    }

    /// Notes the secrets in a program's arguments and environment, and diverts the files that it will write about calls.
    public static func noteStart(_ arguments: [String], _ environment: [String: String]) {
        guard folder != nil else { return }
        func values(_ option: String) -> [String] { zip(arguments, arguments.dropFirst()).filter { $0.0 == option }.map(\.1) }
        let account = values("--account").first?.split(separator: ":").last?.split(separator: "@").map(String.init) ?? []
        let user = account.first ?? values("--user").first { !$0.contains(":") } ?? ""
        let realm = values("--domain").first ?? (account.count > 1 ? account[1] : "")
        for secret in values("--password") + [environment["HANDSET_PASSWORD"]].compactMap({ $0 }) {
            note(secret: secret, user: user, realm: realm)
        }
        for pair in values("--user") {
            let parts = pair.split(separator: ":", maxSplits: 1).map(String.init)
            if parts.count == 2 { note(secret: parts[1], user: parts[0], realm: realm) }
        }
        for file in values("--password-file") where isRegular(file) {
            if let line = try? String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first {
                note(secret: String(line), user: user, realm: realm)
            }
        }
        for file in values("--key") where isRegular(file) { noteKey(file) }
        for push in values("--push") {
            for part in push.split(separator: ",") where part.hasPrefix("prid=") || part.hasPrefix("param=") {
                note(secret: String(part.drop { $0 != "=" }.dropFirst()))
            }
        }
        for option in ["--trace", "--html", "-message_file"] { values(option).forEach(divert) }
    }

    /// The lines of a private key in PEM: one of them is enough to know it by.
    public static func noteKey(_ file: String) {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return }
        for line in text.split(separator: "\n") where !line.hasPrefix("-") && line.utf8.count >= 40 { note(secret: String(line)) }
    }

    private static func isRegular(_ file: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType) == .typeRegular
    }
}
