// SPDX-License-Identifier: Apache-2.0
//
// Requirement A4: silent unless asked, levels, SIP messages on or off.

import Essentials
import Handset
import Testing

@Suite struct LogTests {
    private func records(_ level: LogSettings.Level?, messages: Bool = false) throws -> [LogSettings.Record] {
        let stage = try Stage()
        let records = Notes<LogSettings.Record>()
        let alice = try stage.phone {
            guard let level else { return }
            $0.log = LogSettings(level: level, includesMessages: messages) { records.add($0) }
        }
        let bob = try stage.phone()
        let (caller, _) = try stage.establish(alice, bob)
        try stage.perform { await caller.hangUp() }
        stage.run(.milliseconds(50))
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
        return records.all
    }

    @Test func thereIsNoSinkAndNoLevelBelowNoticeUnlessAsked() {
        let settings = LogSettings()
        #expect(settings.sink == nil)
        #expect(settings.level == .notice)
        #expect(!settings.includesMessages)
    }

    @Test(arguments: LogSettings.Level.allCases) func recordsBelowTheLevelAreNotMade(level: LogSettings.Level) throws {
        let records = try records(level)
        #expect(records.allSatisfy { $0.level >= level })
        let names = Set(records.map { "\($0.message)" })
        #expect(names.contains("call state") == (level <= .debug))
        #expect(names.contains("call ended") == (level <= .info))
        #expect(!names.contains("message"))
    }

    @Test func messagesAreLoggedWhenAskedFor() throws {
        let messages = try records(.debug, messages: true).filter { "\($0.message)" == "message" }
        let texts = messages.compactMap { record in record.metadata.first { $0.name == "message" }?.value }
        #expect(texts.first?.hasPrefix("INVITE sip:") == true)
        #expect(texts.contains { $0.hasPrefix("SIP/2.0 200 OK") })
        #expect(messages.first?.metadata.map(\.name) == ["direction", "transport", "local", "remote", "message"])
        // They are debug records: a higher level keeps them out.
        #expect(try records(.info, messages: true).allSatisfy { "\($0.message)" != "message" })
    }
}
