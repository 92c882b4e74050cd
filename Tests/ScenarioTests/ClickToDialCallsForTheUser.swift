// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIPAgent
import Testing

/// RFC 5359 §2.18: click to dial. A program asks Alice's phone, with which it has no call, to call Bob.
@Suite struct ClickToDialCallsForTheUser {
    @Test func `a program lets Alice's phone call Bob, and hears how it goes`() throws {
        let office = Office()
        let (alice, bob, program) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("program", "1004"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.untilTransferred, .wait(.seconds(1)), .hangUp])
        try program.perform { core, now throws(PhoneError) in
            try core.refer(from: program.accountID, "1001", to: "1002", now: now)
        }
        office.play()
        #expect(program.transferStates(.transferor).last == .succeeded)
        #expect(program.transfers.contains { $0.state == .progress && $0.status == 180 } && program.ends.isEmpty)
        #expect(alice.ends.map(\.wasEstablished) == [true] && bob.ends.map(\.wasEstablished) == [true])
        office.close()
    }

    @Test func `a phone that asks its user is told to wait, and calls when the user agrees`() throws {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001", transfers: .ask), office.phone("bob", "1002"))
        let program = office.phone("program", "1004")
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        try program.perform { core, now throws(PhoneError) in
            try core.refer(from: program.accountID, "1001", to: "1002", now: now)
        }
        office.world.run(for: .seconds(10))
        #expect(alice.transferStates(.transferee) == [.requested] && program.transfers.last?.state == .progress)
        let transfer = try required(alice.transfers.last?.id)
        alice.follow([.untilTransferred, .wait(.seconds(1)), .hangUp])
        try alice.perform { core, now throws(PhoneError) in try core.acceptTransfer(transfer, now: now) }
        office.play()
        #expect(program.transferStates(.transferor).last == .succeeded)
        office.close()
    }

    @Test func `nobody decides: after half a minute the program hears no`() throws {
        let office = Office()
        let (alice, program) = (office.phone("alice", "1001", transfers: .ask), office.phone("program", "1004"))
        try office.open()
        try program.perform { core, now throws(PhoneError) in
            try core.refer(from: program.accountID, "1001", to: "1002", now: now)
        }
        office.world.run(for: .seconds(40))
        #expect(alice.transfers.last.map { [$0.state.rawValue, $0.cause?.code ?? ""] } == ["failed", "transfer.undecided"])
        #expect(program.transfers.last.map { "\($0.state.rawValue) \($0.status)" } == "failed 603")
        office.close()
    }
}
