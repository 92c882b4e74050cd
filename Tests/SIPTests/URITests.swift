// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

@Suite struct URITests {
    @Test(arguments: [
        "sip:alice@atlanta.com", "sip:alice:secretword@atlanta.com;transport=tcp",
        "sips:alice@atlanta.com?subject=project%20x&priority=urgent",
        "sip:+1-212-555-1212:1234@gateway.com;user=phone", "sips:1212@gateway.com", "sip:alice@192.0.2.4",
        "sip:atlanta.com;method=REGISTER?to=alice%40atlanta.com",
        "sip:alice;day=tuesday@atlanta.com", "sip:[2001:db8::10]", "sip:user@[2001:db8::10]:5070;lr", "tel:+1-201-555-0123",
        "tel:7042;phone-context=example.com", "mailto:bob@example.com", "urn:service:sos", "sip:a%00b@h", "sip:h;x", "im:a@b",
    ])
    func `legal URIs are written as they were read`(text: String) throws {
        #expect(try URI(text).description == text)
    }

    @Test(arguments: [
        "", ":", "sip:", "sip", "/", "sip:@", "sip:a@", "sip:a@b@c", "sip:a b@c", "sip:a@b:", "sip:a@b:70000", "sip:a@b:x", "sip:a@[::1",
        "sip:a@[]",
        "sip:a@[1.2.3.4]", "sip:a%zz@b", "sip:a%2@b", "sip:a@b;", "sip:a@b;;c", "sip:a@b;=c", "sip:a@b?", "sip:a@b ", " sip:a@b",
        "sip:a@b\r\nX: y", "sip:a\"@b",
        "1sip:a@b", "<sip:a@b>", "sip:a@b>", "sip::p@b", "tel:", "sip:a@.b", "sip:a@b;x=%", "tel:1 2",
    ])
    func `malformed URIs are refused`(text: String) {
        #expect(throws: SIPError.self) { try URI(text) }
    }

    @Test func `the parts of a SIP URI`() throws {
        let uri = try #require(
            URI("SIPS:Al%69ce:se%3acret@ATLANTA.com:5070;Transport=TLS;lr;maddr=239.1.2.3;a=b%20c?Subject=x%26y&To=z").sip)
        #expect(uri.isSecure)
        #expect(uri.user == "Alice")
        #expect(uri.password == "se:cret")
        #expect(uri.host == .name("atlanta.com"))
        #expect(uri.port == 5070)
        #expect(uri.transport == .tls)
        #expect(uri.isLooseRouter)
        #expect(uri.parameters["MADDR"] == "239.1.2.3")
        #expect(uri.parameters["a"] == "b c")
        #expect(uri.headers == [.init("Subject", "x&y"), .init("To", "z")])
        #expect(uri.addressOfRecord == "sips:Al%69ce@atlanta.com:5070")
    }

    /// The examples of RFC 3261 §19.1.4.
    @Test(arguments: [
        ("sip:%61lice@atlanta.com;transport=TCP", "sip:alice@AtLanTa.CoM;Transport=tcp"),
        ("sip:carol@chicago.com", "sip:carol@chicago.com;newparam=5"), ("sip:carol@chicago.com", "sip:carol@chicago.com;security=on"),
        (
            "sip:biloxi.com;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.com",
            "sip:biloxi.com;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.com"
        ),
        ("sip:alice@atlanta.com?subject=project%20x&priority=urgent", "sip:alice@atlanta.com?priority=urgent&subject=project%20x"),
        ("sip:a@[2001:DB8::1]", "sip:a@[2001:db8:0::1]"),
    ])
    func `equivalent URIs`(left: String, right: String) throws {
        #expect(try URI(left).isEquivalent(to: URI(right)))
        #expect(try URI(right).isEquivalent(to: URI(left)))
    }

    @Test(arguments: [
        ("SIP:ALICE@AtLanTa.CoM;Transport=udp", "sip:alice@AtLanTa.CoM;Transport=UDP"), ("sip:bob@biloxi.com", "sip:bob@biloxi.com:5060"),
        ("sip:bob@biloxi.com", "sip:bob@biloxi.com;transport=udp"), ("sip:bob@biloxi.com", "sip:bob@biloxi.com:6000;transport=tcp"),
        ("sip:carol@chicago.com", "sip:carol@chicago.com?Subject=next%20meeting"), ("sip:bob@phone21.boxesbybob.com", "sip:bob@192.0.2.4"),
        ("sip:carol@chicago.com;security=on", "sip:carol@chicago.com;security=off"), ("sip:a@b", "sips:a@b"), ("sip:a%3Bb@c", "sip:a;b@c"),
        ("sip:a@b", "tel:1"),
    ])
    func `different URIs`(left: String, right: String) throws {
        #expect(try !URI(left).isEquivalent(to: URI(right)))
        #expect(try !URI(right).isEquivalent(to: URI(left)))
    }

    @Test func `hosts`() throws {
        #expect(try Host("Example.COM") == .name("example.com"))
        #expect(try Host("192.0.2.1").address == .v4(0xc000_0201))
        #expect(try Host("[::1]") == Host("::1"))
        #expect(try Host("::1").description == "[::1]")
        for text in ["", "a b", "[::1", "a@b", "[x]", "-\r\n"] { #expect(throws: SIPError.self) { try Host(text) } }
    }

    @Test func `a tag is set, replaced and removed`() throws {
        var address = try NameAddress("sip:a@b;x=1")
        address.tag = "t"
        #expect(address.description == "<sip:a@b>;x=1;tag=t")
        address.tag = "u"
        #expect(address.parameters.count == 2)
        address.tag = nil
        #expect(address.description == "<sip:a@b>;x=1")
    }

    @Test func `a tel URI that names a parameter twice equals itself, and none with another first value`() throws {
        let twice = try URI("tel:7042;phone-context=a.example;phone-context=b.example")
        let other = try URI("tel:7042;phone-context=b.example;phone-context=a.example")
        #expect(twice.isEquivalent(to: twice) && !twice.isEquivalent(to: other) && !other.isEquivalent(to: twice))
        let mixed = try URI("tel:7042;phone-context=a.example;isub=1")
        #expect(!twice.isEquivalent(to: mixed) && !mixed.isEquivalent(to: twice))
    }

    @Test func `a tel parameter without a name is left out, so that what is written means the same`() throws {
        let uri = try URI("tel:7042;=x;isub=1;==y;%%z")
        #expect(uri.description == "tel:7042;isub=1")
        #expect(uri.isEquivalent(to: try URI(uri.description)))
    }
}
