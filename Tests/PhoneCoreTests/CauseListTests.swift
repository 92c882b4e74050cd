// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/causes.md names every cause that the phone adds, and every code of `PhoneError`.
@Suite struct CauseListTests {
    @Test func everyCodeOfThePhoneStandsInTheList() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let list = try String(contentsOf: root.appending(path: "docs/causes.md"), encoding: .utf8)
        var codes: Set<String> = []
        for name in ["PhoneCauses.swift", "PhoneEvent.swift"] {
            let text = try String(contentsOf: root.appending(path: "Sources/Machines/PhoneCore/\(name)"), encoding: .utf8)
            for match in text.matches(of: /"((?:call|media|dtmf|transfer|phone|notification)(?:\.[a-z-]+)+)"/) {
                codes.insert(String(match.1))
            }
        }
        #expect(codes.count > 15)
        #expect(codes.filter { !list.contains("| `\($0)` |") }.sorted() == [])
    }
}
