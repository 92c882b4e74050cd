// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The targets of Package.swift in order, as the package manager understands them.
struct Manifest {
    struct Target {
        var name: String
        var type: String
        var path: String
        var dependencies: [String]

        /// 1 to 5, by folder; nil: a test, what tests share, or an example.
        var floor: Int? {
            switch path.split(separator: "/").dropFirst().first {
            case "Vocabulary": 1
            case "Machines": 2
            case "World": 3
            // The test kit is as high as the face, and may stand on it.
            case "Face", "TestKit": 4
            case "Products": 5
            default: nil
            }
        }
    }

    var targets: [Target]

    func target(_ name: String) -> Target? { targets.first { $0.name == name } }
    var lowerFloors: [Target] { targets.filter { ($0.floor ?? 9) <= 2 } }

    /// Read once for all tests.
    static let current = Swift.Result { try read() }

    private static func read() throws -> Manifest {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "handset-manifest-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        // A scratch path of its own: the running `swift test` holds the lock of the usual one.
        let result = try Repository.run("swift", ["package", "--scratch-path", scratch.path, "dump-package"])
        guard result.status == 0 else { throw Failure(text: result.errors) }
        let dump = try JSONDecoder().decode(Dump.self, from: Data(result.output.utf8))
        return Manifest(
            targets: dump.targets.map { target in
                Target(
                    name: target.name, type: target.type, path: target.path ?? "",
                    dependencies: target.dependencies.flatMap { $0.byName?.compactMap { $0?.text } ?? [] })
            })
    }

    struct Failure: Error { var text: String }

    private struct Dump: Decodable {
        struct Target: Decodable {
            var name: String
            var type: String
            var path: String?
            var dependencies: [Dependency]
        }
        struct Dependency: Decodable { var byName: [Word?]? }
        /// A name, or something else that does not matter here (a condition).
        struct Word: Decodable {
            var text: String?
            init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
        }
        var targets: [Target]
    }
}
