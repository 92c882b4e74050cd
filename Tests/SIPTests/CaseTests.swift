// SPDX-License-Identifier: Apache-2.0

import SIP
import Testing

/// The rows of the corpus's cases of the kinds parse and uri: things that broke other people's parsers.
@Suite struct CaseTests {
    @Test func `B-001 angle brackets in a quoted parameter are not those of the URI`() throws {
        let message = try SIPMessage(
            parsing: request(extra: "Contact: sip:user@192.0.2.5:5070;+sip.instance=\"<urn:gsma:imei:90420156-025763-0>\"\n"))
        let contact = try #require(message.contacts.first)
        #expect(contact.uri.description == "sip:user@192.0.2.5:5070")
        #expect(contact.parameters["+sip.instance"] == "<urn:gsma:imei:90420156-025763-0>")
    }

    @Test func `B-002 a quoted parameter in the Contact URI does not hide the binding`() throws {
        let message = try SIPMessage(
            parsing: request("REGISTER", extra: "Contact: <sip:1001@192.0.2.5:5070;thinfo=\"AcY=..=\";ob>;expires=60\n"))
        let own = SIPURI(user: "1001", host: try Host("192.0.2.5"), port: 5070)
        let contact = try #require(message.contacts.first { $0.uri.sip?.matchesBinding(own) == true })
        #expect(contact.expires == 60)
        #expect(contact.uri.sip?.parameters["thinfo"] == "\"AcY=..=\"")
        #expect(try URI(contact.uri.description).isEquivalent(to: contact.uri))
    }

    @Test func `B-003 all Contacts are read, a tel one among them`() throws {
        let message = try SIPMessage(
            parsing: request(
                "REGISTER",
                extra: "Contact: <sip:1001@192.0.2.5>;expires=60, <tel:+15550100>;expires=90\nm: \"x, y\" <sip:1001@192.0.2.6>\n"))
        #expect(message.contacts.map(\.uri.scheme) == ["sip", "tel", "sip"])
        let own = SIPURI(user: "1001", host: try Host("192.0.2.6"))
        #expect(message.contacts.contains { $0.uri.sip?.matchesBinding(own) == true })
    }

    @Test func `B-004 equals signs and semicolons inside quotation marks`() throws {
        let message = try SIPMessage(
            parsing: request("REGISTER", extra: "Contact: <sip:a@b>;+sip.instance=\"<urn:uuid:0;a=b>\";expires=300\n"))
        let contact = try #require(message.contacts.first)
        #expect(contact.parameters["+sip.instance"] == "<urn:uuid:0;a=b>")
        #expect(contact.expires == 300)
    }

    @Test(arguments: ["X-Whatever: \n", "X-Whatever:\n", "Subject:\n", "Subject: \t \n"])
    func `B-005 an empty value does not take the next line`(line: String) throws {
        let message = try SIPMessage(parsing: request(extra: line + "X-Next: 1\n"))
        #expect(message.first("X-Next") == "1")
        #expect(message.headers.first { $0.name == String(line.prefix { $0 != ":" }) }?.value == "")
    }

    @Test func `B-006 an empty quoted display name`() throws {
        let message = try SIPMessage(parsing: request(extra: "To: \"\" <sip:222@host>;epid=x;tag=y\n", without: ["To"]))
        #expect(message.to.tag == "y")
        #expect(message.to.displayName == nil)
        #expect(message.text(in: message.toTagRange) == "y")
    }

    @Test func `B-007 a display name is unescaped when read and escaped once when written`() throws {
        let text = "\"John \\\"The Duke\\\" Wayne\" <sip:john@example.com>"
        let address = try NameAddress(text)
        #expect(address.displayName == "John \"The Duke\" Wayne")
        #expect(address.description == text)
        #expect(try NameAddress(address.description) == address)
    }

    @Test func `B-008 raw UTF-8 and other 8-bit octets in a display name`() throws {
        let utf8 = try SIPMessage(parsing: request(extra: "From: Zoë <sip:zoe@example.com>;tag=1\n", without: ["From"]))
        #expect(utf8.from.displayName == "Zoë")
        #expect(utf8.leniency.contains(.unquotedDisplayName))
        var latin = request(
            extra: "From: Zo? <sip:zoe@example.com>;tag=1\nP-Asserted-Identity: Zo? <sip:zoe@example.com>\n", without: ["From"])
        for index in latin.indices where latin[index] == UInt8(ascii: "?") { latin[index] = 0xeb }
        let message = try SIPMessage(parsing: latin)
        #expect(message.from.displayName == "Zo\u{fffd}")
        #expect(message.addresses(.pAssertedIdentity).first?.displayName == "Zo\u{fffd}")
        #expect(message.bytes == latin)
    }

    @Test func `B-009 a quoted name without brackets is recovered, a hyphen in the host is legal`() throws {
        let message = try SIPMessage(
            parsing: request(extra: "From: \"Anonymous\" sip:anonymous@host-with-hyphen;tag=x\n", without: ["From"]))
        #expect(message.from.tag == "x")
        #expect(message.from.displayName == "Anonymous")
        #expect(message.from.uri.sip?.host == .name("host-with-hyphen"))
        #expect(message.leniency.contains(.missingBrackets))
    }

    @Test func `B-010 compact names mean the same, in any case and mixed with long ones`() throws {
        let text =
            "BYE sip:b@example.com SIP/2.0\nv: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\nVIA: SIP/2.0/TCP 192.0.2.2;branch=z9hG4bK2\nF: <sip:a@example.com>;tag=1\nt: <sip:b@example.com>;tag=2\ncall-id: x\ncSeQ: 2 BYE\nl: 0\nK: path\nsupported: timer\n\n"
        let message = try SIPMessage(parsing: text.crlf.octets)
        #expect(message.vias.map(\.branch) == ["z9hG4bK1", "z9hG4bK2"])
        #expect(message.from.tag == "1")
        #expect(message.callID == "x")
        #expect(message.supported == ["path", "timer"])
        #expect(HeaderName("V") == .via)
        #expect(HeaderName("x-own") == "X-Own")
        #expect(HeaderName("x-own") != HeaderName("x-other"))
    }

    @Test func `B-011 a CSeq that is no number is refused with 400`() {
        #expect(SIPMessage.receive(request(extra: "CSeq: abcdefg\n", without: ["CSeq"])).verdict == "refuse 400 sip.cseq")
    }

    @Test func `B-012 an empty user part is no user`() throws {
        let message = try SIPMessage(parsing: request(extra: "From: <sip:@192.0.2.200>;tag=x\n", without: ["From"]))
        #expect(message.from.uri.sip?.user == nil)
        #expect(message.from.uri.description == "sip:192.0.2.200")
        #expect(message.leniency.contains(.emptyUser))
    }

    @Test func `B-013 a bare line feed in the header is refused, so nothing can be smuggled behind it`() throws {
        let smuggling = request(extra: "X-Pad: a\u{1}Content-Length: 4\n").map { $0 == 1 ? 0x0a : $0 }
        let reception = SIPMessage.receive(smuggling)
        #expect(reception.verdict == "refuse 400 sip.bare-lf")
        guard case .refuse(let message, _, _) = reception else { return }
        #expect(message.contentLength == 0)
        let copy = MessageBuilder(copying: message).build()
        #expect(!copy.headers.contains { $0.value == "4" })
        let bareReturn = request(extra: "X-Pad: a\u{1}b\n").map { $0 == 1 ? 0x0d : $0 }
        #expect(SIPMessage.receive(bareReturn).verdict == "refuse 400 sip.bare-cr")
    }

    @Test func `B-014 a dialled hash is escaped, a star is not, the user sees what was dialled`() throws {
        let hash = SIPURI(user: "#9", host: .name("example.com"))
        #expect(hash.description == "sip:%239@example.com")
        #expect(hash.user == "#9")
        #expect(SIPURI(user: "*69", host: .name("example.com")).description == "sip:*69@example.com")
        #expect(try URI("sip:#9@example.com").description == "sip:%239@example.com")
    }

    @Test func `B-015 tel URIs work in Refer-To, a value without scheme is malformed`() throws {
        let tel = try SIPMessage(parsing: request("REFER", extra: "Refer-To: tel:+15550100\n"))
        #expect(tel.referTo?.uri.tel?.digits == "+15550100")
        let bare = try SIPMessage(parsing: request("REFER", extra: "Refer-To: +15550100\n"))
        #expect(bare.referTo == nil)
        #expect(throws: SIPError.self) { try URI("+15550100") }
    }

    @Test func `B-016 tel URIs with parameters`() throws {
        let message = try SIPMessage(
            parsing: request(
                extra: "From: <tel:7042;phone-context=example.com;ext=12;isub=88>;tag=1\nContact: <tel:+1-201-555-0123>\n",
                without: ["From"]))
        let tel = try #require(message.from.uri.tel)
        #expect(tel.number == "7042")
        #expect(!tel.isGlobal)
        #expect(tel.phoneContext == "example.com")
        #expect(tel.phoneExtension == "12")
        #expect(tel.subaddress == "88")
        #expect(message.contacts.first?.uri.tel?.digits == "+12015550123")
        #expect(try URI("tel:+1-201-555-0123").isEquivalent(to: URI("TEL:+1(201)5550123")))
    }
}
