// SPDX-License-Identifier: Apache-2.0
//
// Rows that cannot be met yet, each with the capability it waits for and with what the agent does until then: whoever
// brings the capability finds the test that has to change.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct OpenRowTests {
    /// Row and what it waits for.
    static let open: [(row: String, waitsFor: String)] = [
        ("B-021/transport", "network change: new connection, REGISTER and re-INVITE"),
        ("B-069/event", "subscriptions (RFC 6665)"), ("5626-9.2-F1", "outbound (RFC 5626)"),
        ("mpart01.sip", "MESSAGE (RFC 3428): refused 405 so far"), ("V-028/advisory", "MESSAGE (RFC 3428): the text shown"),
    ]

    @Test func everyOpenRowNamesWhatItWaitsFor() {
        #expect(Set(Self.open.map(\.row)).count == Self.open.count)
        #expect(Self.open.allSatisfy { !$0.waitsFor.isEmpty })
    }

    @Test("open: MESSAGE within a dialog is answered 405", arguments: ["MESSAGE"])
    func laterMethods(method: String) throws {
        let scene = Scene()
        let (_, tag) = try scene.answeredIncoming()
        scene.peer.send(method, scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.received.last?.message.statusCode == 405)
        #expect(scene.phone.ends.isEmpty)
    }
}
