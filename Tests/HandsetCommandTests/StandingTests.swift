// SPDX-License-Identifier: Apache-2.0

import HandsetCommand
import Testing

/// What a signal means for the exit status, for each subcommand: 0 only where that was reached which it is for.
@Suite struct StandingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var subcommand: Subcommand
        var name: String
        var isDone: Bool
        var change: @Sendable (inout Standing) -> Void
        var testDescription: String { "\(subcommand.rawValue): \(name)" }

        init(_ subcommand: Subcommand, _ name: String, _ isDone: Bool, _ change: @escaping @Sendable (inout Standing) -> Void = { _ in }) {
            self.subcommand = subcommand
            self.name = name
            self.isDone = isDone
            self.change = change
        }
    }

    static let rows: [Row] = [
        Row(.call, "not answered", false),
        Row(.call, "answered", true) { $0.calls = 1 },
        Row(.message, "not answered", false),
        Row(.subscribe, "not there", false),
        Row(.subscribe, "there", true) { $0.isSubscribed = true },
        Row(.register, "no answer", false) { $0.accounts = 1 },
        Row(.register, "registered", true) { ($0.accounts, $0.registered) = (1, 1) },
        Row(.register, "one of two", true) { ($0.accounts, $0.registered) = (2, 1) },
        Row(.register, "--once, no answer", false) { ($0.accounts, $0.isOnce) = (1, true) },
        Row(.register, "--once, one of two", false) { ($0.accounts, $0.registered, $0.isOnce) = (2, 1, true) },
        Row(.register, "--once, both", true) { ($0.accounts, $0.registered, $0.isOnce) = (2, 2, true) },
        Row(.answer, "not registered", false) { $0.accounts = 1 },
        Row(.answer, "registered", true) { ($0.accounts, $0.registered) = (1, 1) },
        Row(.answer, "without a server", true),
        Row(.answer, "--calls, none came", false) { $0.awaitsCalls = true },
        Row(.answer, "--calls, one came", true) { ($0.awaitsCalls, $0.calls) = (true, 1) },
        Row(.phone, "any time", true) { $0.accounts = 1 },
        Row(.serve, "any time", true),
    ]

    @Test(arguments: rows)
    func anInterruptionIsASuccessOnlyAfterOne(row: Row) throws {
        var standing = Standing(row.subcommand)
        row.change(&standing)
        #expect((standing.unfinished == nil) == row.isDone)
        if let sentence = standing.unfinished { #expect(sentence.hasSuffix(".")) }
    }

    @Test func theReasonOfARegistrationThatFailedIsTold() {
        var standing = Standing(.register)
        standing.accounts = 1
        standing.reason = "The server did not respond."
        #expect(standing.unfinished == "The registration was given up before it was there. The server did not respond.")
    }

    @Test func everySubcommandThatWaitsForOthersStandsInTheTable() {
        let waiting: Set<Subcommand> = [.call, .message, .subscribe, .register, .answer, .phone, .serve]
        #expect(Set(Self.rows.map(\.subcommand)) == waiting)
        // Those that end by themselves know no signal: the process ends with 128 and its number.
        #expect(Set(Subcommand.allCases).subtracting(waiting) == [.demo, .explain, .parse, .sdpAnswer, .devices])
    }
}
