// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import PhoneCore
import SDP
import SIP
import SIPAgent
import Testing

/// An INVITE must fit a datagram on any path, with what a proxy adds (RFC 3261 §18.1.1: 1,300 octets).
@Suite struct InviteSizeTests {
    @Test func withTheDefaultCodecsOfTheCommandItHasAtMost1000Octets() throws {
        let scene = Scene { configuration in
            if let audio = try? AudioCapabilities.parse("opus,g722,pcmu,pcma", available: AudioCapabilities.allCodecs) {
                configuration.audio = audio
            }
        }
        let account = try scene.addAccount {
            $0.displayName = "Alice Example"
            $0.credentials = [Credential(realm: "example.net", username: "1001", password: Secret("secret"))]
        }
        let (_, invite) = try scene.calling("1002", from: account)
        #expect(String(decoding: invite.body, as: UTF8.self).contains("opus/48000/2"))
        #expect(invite.bytes.count <= 1000, "\(invite.bytes.count) octets")
        // With credentials it still is a datagram.
        scene.peer.respond(
            407, to: invite,
            headers: [
                (
                    .proxyAuthenticate,
                    "Digest realm=\"example.net\", nonce=\"0123456789abcdef0123456789abcdef\", qop=\"auth\", algorithm=SHA-256"
                )
            ])
        scene.bench.run(.milliseconds(100))
        let again = try required(scene.peer.requests(.invite).last)
        #expect(again.first(.proxyAuthorization) != nil && again.bytes.count <= 1300, "\(again.bytes.count) octets")
        #expect(scene.comesToRest())
    }
}
