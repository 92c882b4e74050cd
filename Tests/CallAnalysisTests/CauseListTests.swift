// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/causes.md names every code that a finding can have, and no other `seen.` code.
@Suite struct CauseListTests {
    @Test func everyCodeOfAFindingStandsInTheListAndNoOther() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let list = try String(contentsOf: root.appending(path: "docs/causes.md"), encoding: .utf8)
        let folder = root.appending(path: "Sources/Machines/CallAnalysis")
        var codes: Set<String> = []
        for case let file as URL in try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /"((?:call|registration|seen|capture)(?:\.[a-z-]+)+)"/) { codes.insert(String(match.1)) }
        }
        #expect(codes.count > 40)
        #expect(codes.filter { !list.contains("`\($0)`") }.sorted() == [])
        let listed = Set(list.matches(of: /`((?:seen|capture)(?:\.[a-z-]+)+)`/).map { String($0.1) })
        #expect(listed.subtracting(codes).sorted() == [])
    }
}
