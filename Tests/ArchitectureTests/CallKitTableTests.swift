// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/callkit.md lists the tests of the call service by number: each that it calls tested is a test, and no number is left out. Only what a
/// push server would do is open.
@Suite struct CallKitTableTests {
    private static let folders = [
        "machine": "Tests/CallServiceTests", "API": "Tests/CallKitTests", "example": "Examples/SpeakerboxLike/Tests",
        "interop": "Tests/InteropTests",
    ]
    /// T-141 to T-150, T-191, T-192; P-80 to P-83. P-96 cannot be committed where the API has it right: T-166.
    private static let ofPushServer = (tests: Set(141...150).union([191, 192]), pitfalls: Set(80...83))

    /// The numbers after `letter` in the names of tests, such as `@Test("T-28, T-29: …")` or `func P4_aSecondCompletion`.
    private static func namedNumbers(_ letter: String, below folder: String) throws -> Set<Int> {
        var result: Set<Int> = []
        let titles = [try Regex(#"@Test\(\s*"([^":]*)"#), try Regex(#"\s+func ([A-Z]\d+(?:_[A-Z]\d+)*)_"#)]
        let number = try Regex("\(letter)-?(\\d+)")
        for file in Repository.files(below: folder, ending: ".swift") {
            let text = try Repository.text(file)
            for match in titles.flatMap({ text.matches(of: $0) }) {
                for found in (match.output[1].substring ?? "").matches(of: number) {
                    if let value = found.output[1].substring.flatMap({ Int($0) }) { result.insert(value) }
                }
            }
        }
        return result
    }

    private static func rows(_ start: String) throws -> [(number: Int, last: String)] {
        try Repository.text("docs/callkit.md").split(separator: "\n").filter { $0.hasPrefix("| \(start)-") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return (try #require(Int(cells[0].dropFirst(2))), try #require(cells.last))
        }
    }

    @Test func theTableOfTestsIsTrue() throws {
        let named = try Self.folders.mapValues { try Self.namedNumbers("T", below: $0) }
        let rows = try Self.rows("T")
        #expect(rows.map(\.number).sorted() == Array(1...202))
        for row in rows {
            if Self.ofPushServer.tests.contains(row.number) {
                #expect(row.last == "push server: open", "T-\(row.number)")
            } else {
                let place = row.last.split(separator: " ").first.map(String.init) ?? ""
                #expect(named[place]?.contains(row.number) == true, "T-\(row.number) in \(row.last)")
            }
        }
    }

    @Test func everyPitfallIsCommittedInATest() throws {
        let named = try Self.folders.values.reduce(into: Set<Int>()) { try $0.formUnion(Self.namedNumbers("P", below: $1)) }
        let rows = try Self.rows("P")
        #expect(rows.map(\.number).sorted() == Array(1...98))
        for row in rows {
            switch row.number {
            case 96: #expect(row.last == "T-166")
            case let number where Self.ofPushServer.pitfalls.contains(number): #expect(row.last == "push server: open", "P-\(number)")
            default: #expect(row.last == "yes" && named.contains(row.number), "P-\(row.number)")
            }
        }
    }

    @Test func everyPitfallStandsInTheTable() throws {
        let document = try Repository.text("docs/callkit.md")
        let table = try Repository.text("Sources/Machines/CallServiceCore/Diagnostics/PitfallTable.swift")
        let codes = table.matches(of: try Regex(#"\.init\(\s*\.\w+,\s*"([^"]+)""#)).compactMap { $0.output[1].substring }
        #expect(codes.count > 98)
        for code in codes { #expect(document.contains("| \(code) |"), "\(code)") }
    }
}
