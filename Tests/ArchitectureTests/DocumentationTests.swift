// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What the documents say is true of the code beside them.
@Suite struct DocumentationTests {
    static let documents = ["README.md", "ARCHITECTURE.md"] + Repository.files(below: "docs", ending: ".md")

    /// The blocks of a language, each with the number of its first line.
    static func blocks(of language: String, in text: String) -> [(line: Int, code: String)] {
        var result: [(Int, String)] = []
        var current: (line: Int, lines: [String])?
        for (number, line) in text.components(separatedBy: "\n").enumerated() {
            if let open = current {
                if line == "```" {
                    result.append((open.line, open.lines.joined(separator: "\n")))
                    current = nil
                } else {
                    current?.lines.append(line)
                }
            } else if line == "```" + language {
                current = (number + 2, [])
            }
        }
        return result
    }

    @Test(arguments: documents)
    func swiftInADocumentCompiles(path: String) throws {
        guard FileManager.default.fileExists(atPath: Repository.root.appending(path: path).path) else {
            Issue.record("\(path) is missing")
            return
        }
        for block in Self.blocks(of: "swift", in: try Repository.text(path)) {
            let file = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString).swift")
            defer { try? FileManager.default.removeItem(at: file) }
            try "#sourceLocation(file: \"\(path)\", line: \(block.line))\n\(block.code)\n".write(
                to: file, atomically: true, encoding: .utf8)
            let result = try Repository.run("swiftc", ["-typecheck", "-swift-version", "6"] + Self.searchPaths + [file.path])
            #expect(result.status == 0, "\(result.errors)")
        }
    }

    /// The modules of the running build, and the module maps of the C targets that they need.
    static var searchPaths: [String] {
        var options = ["-I", Repository.buildFolder.appending(path: "Modules").path]
        let world = Repository.folders(below: "Sources/World").flatMap { name in
            [name] + Repository.folders(below: "Sources/World/\(name)").map { "\(name)/\($0)" }
        }
        for path in world where Self.isCTarget(path) {
            let folder = Repository.root.appending(path: "Sources/World/\(path)").path
            let built = Repository.buildFolder.appending(path: "\(path.split(separator: "/").last ?? "").build/module.modulemap").path
            for map in [folder + "/module.modulemap", built] where FileManager.default.fileExists(atPath: map) {
                options += ["-Xcc", "-fmodule-map-file=\(map)"]
            }
            options += ["-Xcc", "-I\(folder)/include"]
        }
        return options
    }

    /// A C target is named `C…`: `CCares`, not `CallKit`.
    private static func isCTarget(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name.first == "C" && name.dropFirst().first?.isUppercase == true
    }

    @Test func everySystemLibraryOfTheManifestIsDescribed() throws {
        let document = try Repository.text("docs/dependencies.md")
        for target in try Manifest.current.get().targets where target.type == "system" {
            #expect(document.contains("`\(target.name)`"), "docs/dependencies.md does not tell why \(target.name) is linked")
        }
        for package in ["libssl-dev", "libc-ares-dev", "libopus-dev", "libphonenumber-dev"] { #expect(document.contains(package)) }
        for line in try Repository.text("scripts/requirements.txt").split(separator: "\n") {
            #expect(document.contains(line.split(separator: "=")[0]), "docs/dependencies.md does not tell why \(line) is installed")
        }
    }

    @Test(arguments: documents)
    func linksLeadToFiles(path: String) throws {
        let text = try Repository.text(path)
        let folder = Repository.root.appending(path: path).deletingLastPathComponent()
        for match in text.matches(of: try Regex(#"\]\(([^)#:]+)(?:#[^)]*)?\)"#)) {
            guard let link = match.output[1].substring else { continue }
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: String(link)).path), "\(path) links to \(link)")
        }
    }

    @Test func papersKeepTheirSize() throws {
        #expect(try Repository.text("CONTRIBUTING.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 61)
        #expect(try Repository.text("ARCHITECTURE.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 110)
    }
}
