// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite struct CauseListTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A code of the agent.
    static var code: Regex<(Substring, Substring)> {
        /((?:call|registration|agent|transfer|subscription|publication|message|transport)(?:\.[a-z-]+)+)/
    }

    /// Quoted dotted codes in the source of the agent.
    static func codesInSource() throws -> Set<String> {
        var codes: Set<String> = []
        // The phone adds causes of its own to the agent's.
        let folders = ["SIPAgent", "PhoneCore"].map { root.appending(path: "Sources/Machines/\($0)") }
        for folder in folders {
            for case let file as URL in try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for quoted in text.matches(of: /"([a-z.-]+)"/) {
                    if let match = quoted.1.wholeMatch(of: Self.code) { codes.insert(String(match.1)) }
                }
            }
        }
        return codes
    }

    static func codesInList() throws -> Set<String> {
        let text = try String(contentsOf: root.appending(path: "docs/causes.md"), encoding: .utf8)
        return Set(text.matches(of: /\| `([a-z.-]+)` \|/).compactMap { $0.1.wholeMatch(of: Self.code).map { String($0.1) } })
    }

    @Test func everyCauseCodeInTheSourceStandsInTheListAndNoOther() throws {
        let source = try Self.codesInSource()
        let list = try Self.codesInList()
        #expect(source.count > 40)
        #expect(source.subtracting(list).sorted() == [])
        #expect(list.subtracting(source).sorted() == [])
    }
}
