// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Foundation
import Testing

/// docs/causes.md names every code of the call service with its sentence, and no other.
@Suite struct CauseListTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func everyCodeStandsInTheListWithItsSentence() throws {
        let list = try String(contentsOf: root.appending(path: "docs/causes.md"), encoding: .utf8)
        for cause in CallServiceCause.allCases {
            #expect(list.contains("| `\(cause.rawValue)` | \(cause.sentence) |"), "\(cause.rawValue)")
        }
        let listed = Set(list.matches(of: /`((?:wire|service)\.[a-z-]+)`/).map { String($0.1) })
        #expect(listed == Set(CallServiceCause.allCases.map(\.rawValue)))
        for error in WireError.allCases { #expect(CallServiceCause(rawValue: error.rawValue) != nil) }
    }

    @Test func everyCodeOfTheSourceIsOneOfThem() throws {
        var codes: Set<String> = []
        for folder in ["Sources/Machines/CallServiceCore", "Sources/World/CallServiceHost", "Sources/Products/CallServiceCommand"] {
            let files = try #require(FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" && file.lastPathComponent != "CallServiceCause.swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /"((?:wire|service)\.[a-z-]+)"/) { codes.insert(String(match.1)) }
            }
        }
        #expect(codes == Set(CallServiceCause.allCases.map(\.rawValue)))
    }

    @Test func aCodeFromOutsideIsNoText() {
        #expect(CallServiceCause.words("wire.bad-text") == "wire.bad-text: A message holds text that is not UTF-8.")
        #expect(CallServiceCause.words("x\u{1b}[2J") == "x\u{fffd}[2J")
    }
}
