// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of the repository that these tests read.
enum Fixture {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    /// The octets of a file of the corpus, such as `flows/3665-3.1-F1.sip`.
    static func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: root.appending(path: "Tests/Fixtures/\(file)")))
    }

    /// The rows of a table whose fields are separated by tabs, without the head.
    static func rows(_ file: String) throws -> [[String]] {
        try text("Tests/Fixtures/\(file)").split(separator: "\n").dropFirst().map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }
}
