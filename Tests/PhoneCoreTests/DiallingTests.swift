// SPDX-License-Identifier: Apache-2.0
//
// What is dialled, and the Request-URI and route that come of it.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct DiallingTests {
    @Test(arguments: [
        ("1002", "sip:1002@10.0.0.9"), ("  1002\t", "sip:1002@10.0.0.9"), ("bob", "sip:bob@10.0.0.9"),
        ("Bob Smith", "sip:Bob%20Smith@10.0.0.9"), ("+49 (30) 123-45.6/7", "sip:+4930123456" + "7@10.0.0.9"),
        ("*97", "sip:*97@10.0.0.9"),
        // B-014: the user dials #9, the URI holds %23.
        ("#9", "sip:%239@10.0.0.9"), ("*31#", "sip:*31%23@10.0.0.9"),
        ("bob@10.0.0.9", "sip:bob@10.0.0.9"), ("sip:bob@10.0.0.9:5060", "sip:bob@10.0.0.9:5060"),
        ("SIP:bob@10.0.0.9;user=phone", "sip:bob@10.0.0.9;user=phone"),
        // B-015: a number without a scheme is one at the account's domain; with it, it is a tel: URI.
        ("+15550100", "sip:+15550100@10.0.0.9"), ("tel:+15550100", "tel:+15550100"),
        // B-016: the parameters of a tel: URI stay, and it goes to the account's server.
        ("tel:7042;phone-context=example.com", "tel:7042;phone-context=example.com"),
        ("tel:+1-201-555-0123;ext=42", "tel:+1-201-555-0123;ext=42"),
    ])
    func whatIsDialledBecomesTheRequestURI(dialled: String, uri: String) throws {
        let scene = Scene()
        let account = try scene.addAccount()
        let (_, invite) = try scene.calling(dialled, from: account)
        #expect(invite.requestURI.description == uri)
        #expect(invite.to.uri.description == uri)
        #expect(scene.comesToRest())
    }

    @Test func aNumberGoesToTheGatewayAndANameToTheDomain() throws {
        let scene = Scene()
        let account = try scene.addAccount {
            $0.gatewayDomain = .name("pstn.example")
            $0.proxy = SIPURI(user: nil, host: .address($0.addressOfRecord.host.address), port: 5060)
        }
        for (dialled, uri) in [
            ("+49 30 1", "sip:+49301@pstn.example"), ("112", "sip:112@pstn.example"), ("bob", "sip:bob@10.0.0.9"),
            ("sip:112@10.0.0.9", "sip:112@10.0.0.9"),
        ] {
            #expect(try scene.calling(dialled, from: account).invite.requestURI.description == uri)
        }
        #expect(scene.comesToRest())
    }

    @Test(arguments: [
        ("", true), ("   ", true), ("sip:", true), ("sip:bob@", true), ("bob@", true), ("bob@exa mple", true), ("http://example.net", true),
        ("mailto:bob@example.net", true), ("im:bob", true), ("bob\r\nEvil: 1", true), ("bob\u{0}", true), ("tel:", true),
        ("tel:hello", true),
        (String(repeating: "1", count: 1025), true),
        // Without an account there is no domain for a number or a name, and nobody who carries a tel: URI.
        ("1002", false), ("bob", false), ("tel:+15550100", false),
    ])
    func whatCannotBeCalledIsRefusedAtOnce(dialled: String, hasAccount: Bool) throws {
        let scene = Scene()
        let account = hasAccount ? try scene.addAccount() : nil
        let before = scene.phone.events.count
        #expect(refusal { _ = try scene.phone.call(dialled, from: account) } == .badTarget)
        #expect(scene.phone.events.count == before)
        #expect(scene.phone.media.isEmpty)
        #expect(scene.phone.isClean)
    }

    @Test func aSipsURIIsTakenAsItIs() throws {
        let scene = Scene()
        let id = try scene.phone.call("sips:bob@10.0.0.9")
        // Nobody takes connections here: the call ends with that reason, and is never sent in the clear.
        scene.bench.run(.seconds(31))
        #expect(scene.phone.ends.map(\.id) == [id])
        #expect(scene.phone.ends.first?.end.cause.code == "call.unreachable")
        #expect(scene.bench.log.isEmpty)
        #expect(scene.phone.isClean)
    }

    @Test func headerFieldsOfTheApplicationAreSentInOrderAndCannotAddALine() throws {
        let scene = Scene()
        let options = CallOptions(headers: [.init("X-One", "1"), .init("Subject", "a\r\nX-Evil: 2"), .init("X-One", "3")])
        _ = try scene.phone.call(scene.target, options: options)
        scene.bench.run(.milliseconds(30))
        let invite = try required(scene.peer.requests(.invite).first)
        #expect(invite.values("X-One") == ["1", "3"])
        #expect(invite.first("X-Evil") == nil)
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["", "bad name", "X:", "Via", "f", "Contact", "authorization", "Content-Length"])
    func aHeaderFieldThatIsNoTokenOrThatTheProtocolSetsIsRefusedAtOnce(name: String) throws {
        let scene = Scene()
        #expect(refusal { _ = try scene.phone.call(scene.target, options: CallOptions(headers: [.init(name, "1")])) } == .badHeader)
        #expect(scene.phone.events.count == 1)
        #expect(scene.phone.isClean)
    }
}

extension Host {
    var address: IPAddress { if case .address(let address) = self { address } else { .loopbackV4 } }
}
