// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// The values that the corpus index gives for IPv6 messages, call flows and challenges.
@Suite struct CorpusFlowTests {
    @Test func `ipv6-good.sip and port-ambiguous.sip keep the brackets' content as the host`() throws {
        let good = try Fixtures.message("rfc5118/ipv6-good.sip")
        #expect(good.requestURI.sip?.host == .address(try #require(IPAddress("2001:db8::10"))))
        #expect(good.requestURI.sip?.port == nil)
        #expect(good.topVia.host.description == "[2001:db8::9:1]")
        #expect(good.topVia.port == nil)
        #expect(good.contacts.first?.displayName == "Caller")
        #expect(good.contacts.first?.uri.sip?.host.description == "[2001:db8::1]")
        let ambiguous = try Fixtures.message("rfc5118/port-ambiguous.sip")
        #expect(ambiguous.requestURI.sip?.host.description == "[2001:db8::10:5070]")
        #expect(ambiguous.requestURI.sip?.port == nil)
    }

    @Test(arguments: ["rfc5118/via-received-with-delim.sip", "rfc5118/via-received-no-delim.sip"])
    func `received is read with and without brackets, written without`(file: String) throws {
        var via = try Fixtures.message(file).topVia
        let address = try #require(IPAddress("2001:db8::9:255"))
        #expect(via.received == address)
        via.received = address
        #expect(via.description.contains("received=2001:db8::9:255"))
    }

    @Test func `mult-ip-in-header.sip has three Via values of both families`() throws {
        let vias = try Fixtures.message("rfc5118/mult-ip-in-header.sip").vias
        #expect(vias.map(\.sentBy) == ["[2001:db8::9:1]:6050", "192.0.2.1", "[2001:db8::9:255]"])
        #expect(vias.map(\.transport) == [.udp, .udp, .tcp])
        #expect(vias[2].received == IPAddress("192.0.2.200"))
    }

    @Test func `ipv4-mapped-ipv6.sip`() throws {
        let vias = try Fixtures.message("rfc5118/ipv4-mapped-ipv6.sip").vias
        #expect(vias.first?.sentBy == "[::ffff:192.0.2.10]:19823")
        #expect(vias.last?.host.description == "[::ffff:192.0.2.2]")
    }

    @Test func `ipv6-abnf-3-colons.sip is read as two and never written as three`() throws {
        let message = try Fixtures.message("rfc5118/ipv6-abnf-3-colons.sip")
        #expect(message.leniency.contains(.tripleColon))
        #expect(!message.vias.contains { $0.description.contains(":::") })
    }

    @Test func `3665-2.1-F2.sip is a challenge with an empty opaque`() throws {
        let challenge = try #require(Fixtures.message("flows/3665-2.1-F2.sip").challenges(.wwwAuthenticate).first)
        #expect(challenge.isDigest)
        #expect(challenge.parameters["realm"] == "atlanta.example.com")
        #expect(challenge.parameters["nonce"] == "ea9c8e88df84f1cec4341ae6cbe5a359")
        #expect(challenge.parameters["qop"] == "auth")
        #expect(challenge.parameters["algorithm"] == "MD5")
        #expect(challenge.parameters["opaque"] == "")
        #expect(challenge.parameters["stale"] == "FALSE")
    }

    @Test func `registrar answers list every binding (3665-2.1-F4, 2.2-F2, 2.3-F2)`() throws {
        #expect(try Fixtures.message("flows/3665-2.1-F4.sip").contacts.first?.expires == 3600)
        let two = try Fixtures.message("flows/3665-2.2-F2.sip").contacts
        #expect(two.map(\.uri.scheme).contains("mailto"))
        #expect(two.compactMap(\.uri.sip).count == 1)
        #expect(try Fixtures.message("flows/3665-2.3-F2.sip").contacts.count >= 2)
    }

    @Test func `3665-2.4-F1.sip unregisters everything`() throws {
        let message = try Fixtures.message("flows/3665-2.4-F1.sip")
        #expect(message.hasWildcardContact)
        #expect(message.contacts.isEmpty)
        #expect(message.expires == 0)
    }

    @Test func `3665-3.2-F6.sip has Record-Route in order and three Via values`() throws {
        let message = try Fixtures.message("flows/3665-3.2-F6.sip")
        #expect(message.recordRoutes.compactMap(\.uri.sip?.host.description) == ["ss2.biloxi.example.com", "ss1.atlanta.example.com"])
        #expect(message.recordRoutes.allSatisfy { $0.uri.sip?.isLooseRouter == true })
        #expect(message.vias.count == 3)
        #expect(message.makeResponse(status: 180).build().vias == message.vias)
    }

    @Test func `3665-3.1-F1.sip gives the dialog's key and its offer`() throws {
        let message = try Fixtures.message("flows/3665-3.1-F1.sip")
        #expect(message.callID == "3848276298220188511@atlanta.example.com")
        #expect(message.body(ofType: "application", "sdp") == Array(message.body))
    }

    @Test func `3515 and 5626 flows: Refer-To, sipfrag, instance`() throws {
        // The RFC prints a placeholder that is no URI: it is kept as text and is no address.
        let refer = try Fixtures.message("flows/3515-4.1-F1.sip")
        #expect(refer.first(.referTo) == "(whatever URI)")
        #expect(refer.referTo == nil)
        let notify = try Fixtures.message("flows/3515-4.1-F5.sip")
        #expect(notify.contentType?.subtype == "sipfrag")
        #expect(notify.first(.subscriptionState)?.hasPrefix("terminated") == true)
        let outbound = try Fixtures.message("flows/5626-9.2-F1.sip")
        let contact = try #require(outbound.contacts.first)
        #expect(contact.parameters["reg-id"] == "1")
        #expect(contact.parameters["+sip.instance"]?.hasPrefix("<urn:uuid:") == true)
        #expect(outbound.supported == ["path", "outbound"])
    }

    @Test func `two-algos.sip, auth-authint.sip and folded-aka.sip give all their challenges in order`() throws {
        let two = try Fixtures.message("digest/two-algos.sip").challenges(.wwwAuthenticate)
        #expect(two.map { $0.parameters["algorithm"] } == ["SHA-256", "MD5"])
        let both = try Fixtures.message("digest/auth-authint.sip").challenges(.proxyAuthenticate)
        #expect(both.first?.parameters["qop"] == "auth,auth-int")
        let folded = try #require(Fixtures.message("digest/folded-aka.sip").challenges(.wwwAuthenticate).first)
        #expect(folded.parameters.count == 5)
        #expect(folded.parameters["algorithm"] == "AKAv1-MD5")
    }

    @Test func `double-content-headers.sip: values agree, so the message is taken`() throws {
        let message = try Fixtures.message("sdp/double-content-headers.sip")
        #expect(message.leniency.contains(.repeatedSameValue))
        #expect(message.body.count == 281)
        #expect(message.body(ofType: "application", "sdp") != nil)
    }

    @Test func `compact-nospace.sip: compact names without spaces mean the same`() throws {
        let message = try Fixtures.message("sdp/compact-nospace.sip")
        #expect(message.from.displayName == "201 T2")
        #expect(message.to.tag == "N37Nt6r4rH1rg")
        #expect(message.callID == "4_723949779@192.0.2.14")
        #expect(message.supported == ["timer", "path", "replaces"])
        #expect(message.contentLength == 0)
        #expect(message.challenges(.wwwAuthenticate).first?.parameters["realm"] == "pbx.example.com")
    }
}
