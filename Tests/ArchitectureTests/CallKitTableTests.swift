// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/callkit.md lists the tests of the call service by number: each that it calls tested is a test, and no number is left out.
@Suite struct CallKitTableTests {
    private static let folders = ["Tests/CallServiceTests", "Tests/CallKitTests", "Examples/SpeakerboxLike/Tests"]

    /// The numbers in the names of tests, such as `@Test("T-28, T-29: …")`.
    private static func namedNumbers() throws -> Set<Int> {
        var result: Set<Int> = []
        let name = try Regex(#"@Test\(\s*"([^":]*)"#)
        let number = try Regex(#"T-(\d+)"#)
        for file in folders.flatMap({ Repository.files(below: $0, ending: ".swift") }) {
            for match in try Repository.text(file).matches(of: name) {
                for found in (match.output[1].substring ?? "").matches(of: number) {
                    if let value = found.output[1].substring.flatMap({ Int($0) }) { result.insert(value) }
                }
            }
        }
        return result
    }

    @Test func theTableOfTestsIsTrue() throws {
        let named = try Self.namedNumbers()
        var listed: [Int: Bool] = [:]
        for line in try Repository.text("docs/callkit.md").split(separator: "\n") where line.hasPrefix("| T-") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let number = try #require(Int(cells[0].dropFirst(2)))
            listed[number] = ["machine", "API", "example"].contains { cells.last?.contains($0) == true }
        }
        #expect(listed.keys.sorted() == Array(1...202))
        for (number, isTested) in listed.sorted(by: { $0.key < $1.key }) {
            #expect(named.contains(number) == isTested, "T-\(number)")
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
