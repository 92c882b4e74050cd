// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `docs/corpus.md` against the indexes and the sources of the tests: nothing is left out silently.
@Suite struct CompletenessTests {
    struct Row {
        var name: String
        var isOpen: Bool
        var waitsFor: String
        /// File below Tests, and the title of the test.
        var shownBy: [(file: String, title: String)]
    }

    /// The rows of all tables with three columns.
    static func table() throws -> [Row] {
        try cells(columns: 3).filter { $0[0] != "Row" && !$0[0].hasPrefix("---") }.map { cells in
            let tests = cells[2].components(separatedBy: "<br>").filter { $0 != "–" }.map { entry in
                let parts = entry.replacingOccurrences(of: "&#124;", with: "|").components(separatedBy: ".swift: ")
                return (parts[0] + ".swift", parts.dropFirst().joined(separator: ".swift: "))
            }
            return Row(
                name: cells[0], isOpen: cells[1].hasPrefix("open"),
                waitsFor: cells[1].components(separatedBy: "waits for ").dropFirst().joined(), shownBy: tests)
        }
    }

    static func cells(columns: Int) throws -> [[String]] {
        try Fixture.text("docs/corpus.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
        }.filter { $0.count == columns }
    }

    static let folders = ["rfc4475", "rfc5118", "flows", "digest", "sdp", "rtp", "stun"]

    @Test func `every row of the indexes and of the cases stands in the table once, and nothing else does`() throws {
        var indexed: [String] = []
        for folder in Self.folders { indexed += try Fixture.rows("\(folder)/index.tsv").map { "\(folder)/\($0[0])" } }
        indexed += try Fixture.rows("cases/cases.tsv").map { $0[0] }
        let named = try Self.table().map(\.name)
        #expect(indexed.count == 235)
        #expect(Set(named) == Set(indexed), "\(Set(named).symmetricDifference(indexed).sorted())")
        #expect(named.count == Set(named).count)
    }

    @Test func `every test that the table names is in the sources, and a row that is met names one`() throws {
        for row in try Self.table() {
            #expect(row.isOpen || !row.shownBy.isEmpty, "\(row.name)")
            for test in row.shownBy {
                let source = (try? Fixture.text("Tests/\(test.file)")) ?? ""
                #expect(!test.title.isEmpty, "\(row.name): \(test.file)")
                #expect(
                    ["\"\(test.title)\"", "`\(test.title)`", "func \(test.title)()"].contains(where: source.contains),
                    "\(row.name): there is no “\(test.title)” in \(test.file)")
            }
        }
    }

    @Test func `an open row names what it waits for`() throws {
        #expect(try Self.table().allSatisfy { !$0.isOpen || !$0.waitsFor.isEmpty })
    }

    @Test func `what is met of the kinds of the first release is all but what later capabilities bring`() throws {
        let later = [
            "SRTP", "ICE", "STUN", "TLS", "MESSAGE", "transfer", "UPDATE", "outbound", "redirections", "RFC 4028", "RFC 3262", "RFC 6665",
            "CallKit", "change of the network",
        ]
        for row in try Self.table() where row.isOpen {
            #expect(later.contains { row.waitsFor.contains($0) }, "\(row.name) waits for \(row.waitsFor)")
        }
    }
}
