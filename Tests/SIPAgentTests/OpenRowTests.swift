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
        ("5626-9.2-F1", "outbound (RFC 5626)"),
    ]

    @Test func everyOpenRowNamesWhatItWaitsFor() {
        #expect(Set(Self.open.map(\.row)).count == Self.open.count)
        #expect(Self.open.allSatisfy { !$0.waitsFor.isEmpty })
    }
}
