// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// The header fields of RFC 3261 §20 by their examples.
@Suite struct FieldTests {
    private func message(_ lines: String) throws -> SIPMessage { try SIPMessage(parsing: request("INVITE", extra: lines)) }

    @Test func `lists of media types, encodings and languages`() throws {
        let message = try message(
            "Accept: application/sdp;level=1, application/x-private, text/*;q=0.5\nAccept-Encoding: gzip, *;q=0\nAccept-Language: da, en-gb;q=0.8\n"
        )
        #expect(message.accept?.map(\.description) == ["application/sdp;level=1", "application/x-private", "text/*;q=0.5"])
        #expect(message.accept?.contains { $0.includes(.sdp) } == true)
        #expect(message.accept?.contains { $0.includes(MediaType("text", "html")) } == true)
        #expect(message.acceptEncoding.map(\.value) == ["gzip", "*"])
        #expect(message.acceptLanguage.last?.parameters["q"] == "0.8")
        #expect(try self.message("").accept == nil)
        #expect(try self.message("Accept:\n").accept == [])
    }

    @Test func `references to information`() throws {
        let message = try message(
            "Alert-Info: <http://www.example.com/sounds/moo.wav>\nCall-Info: <http://www.example.com/alice/photo.jpg> ;purpose=icon,\n <http://www.example.com/alice/> ;purpose=info\nError-Info: <sip:not-in-service-recording@atlanta.com>\n"
        )
        #expect(message.alertInfo.first?.uri.description == "http://www.example.com/sounds/moo.wav")
        #expect(message.callInfo.map { $0.parameters["purpose"] } == ["icon", "info"])
        #expect(message.errorInfo.first?.uri.sip?.user == "not-in-service-recording")
    }

    @Test func `token lists`() throws {
        let message = try message(
            "Allow: INVITE, ACK,OPTIONS\nRequire: 100rel\nRequire: a , b\nProxy-Require: foo\nUnsupported: x\nContent-Encoding: GZIP\nContent-Language: fr\nIn-Reply-To: 70710@saturn.bell-tel.com, 17320@saturn.bell-tel.com\n"
        )
        #expect(message.allow == ["INVITE", "ACK", "OPTIONS"])
        #expect(message.require == ["100rel", "a", "b"])
        #expect(message.proxyRequire == ["foo"])
        #expect(message.unsupported == ["x"])
        #expect(message.contentEncoding == ["gzip"])
        #expect(message.contentLanguage == ["fr"])
        #expect(message.inReplyTo.count == 2)
    }

    @Test func `dates, delays and stamps`() throws {
        let message = try message(
            "Date: Sat, 13 Nov 2010 23:29:00 GMT\nRetry-After: 18000 (I'm in a (long) meeting);duration=3600\nTimestamp: 54.21 0.5\nMin-Expires: 60\nExpires: 5\n"
        )
        #expect(message.date?.description == "Sat, 13 Nov 2010 23:29:00 GMT")
        #expect(message.date?.secondsSince1970 == 1_289_690_940)
        #expect(SIPDate(secondsSince1970: 1_289_690_940) == message.date)
        #expect(SIPDate(secondsSince1970: 951_782_400).description == "Tue, 29 Feb 2000 00:00:00 GMT")
        #expect(message.retryAfter?.delay == 18000)
        #expect(message.retryAfter?.duration == 3600)
        #expect(message.retryAfter?.comment == "I'm in a (long) meeting")
        #expect(message.timestamp?.value == "54.21")
        #expect(message.timestamp?.delay == "0.5")
        #expect(message.minExpires == 60)
        #expect(message.expires == 5)
    }

    @Test func `texts, priority and warnings`() throws {
        let message = try message(
            "Organization: Boxes by Bob\nPriority: Emergency\nServer: HomeServer v2\nUser-Agent: Softphone Beta1.5\nSubject: Need more boxes\nMIME-Version: 1.0\nReply-To: Bob <sip:bob@biloxi.com>\nContent-Disposition: session;handling=optional\nWarning: 307 isi.edu \"Session parameter 'foo' not understood\", 301 isi.edu:5060 \"x, y\"\n"
        )
        #expect(message.organization == "Boxes by Bob")
        #expect(message.priority == "emergency")
        #expect(message.server == "HomeServer v2")
        #expect(message.userAgent == "Softphone Beta1.5")
        #expect(message.subject == "Need more boxes")
        #expect(message.mimeVersion == "1.0")
        #expect(message.replyTo?.displayName == "Bob")
        #expect(message.contentDisposition?.parameters["handling"] == "optional")
        #expect(message.warnings.map(\.code) == [307, 301])
        #expect(message.warnings.first?.description == "307 isi.edu \"Session parameter 'foo' not understood\"")
    }

    @Test func `challenges and credentials: several in one field, what is quoted and what is not`() throws {
        let message = try message(
            "WWW-Authenticate: Digest realm=\"a, b\", nonce=\"1\", Digest realm=\"c\", nonce=\"2\", algorithm=SHA-256\nProxy-Authorization: Digest username=\"bob\", realm=\"a\", nonce=\"n\", uri=\"sip:b\", response=\"f\", qop=auth, nc=00000001, cnonce=\"0\"\nAuthentication-Info: nextnonce=\"47364c23432d2e131a5fb210812c\", qop=auth\n"
        )
        #expect(message.challenges(.wwwAuthenticate).map { $0.parameters["realm"] } == ["a, b", "c"])
        let credentials = try #require(message.credentials(.proxyAuthorization).first)
        #expect(
            credentials.description
                == "Digest username=\"bob\", realm=\"a\", nonce=\"n\", uri=\"sip:b\", response=\"f\", qop=auth, nc=00000001, cnonce=\"0\"")
        #expect(message.authenticationInfo?.parameters["nextnonce"] == "47364c23432d2e131a5fb210812c")
        let built = Challenge(
            scheme: "Digest", parameters: Parameters([Parameter("realm", "x\"y"), Parameter("algorithm", "MD5"), Parameter("qop", "auth")]))
        #expect(built.description == "Digest realm=\"x\\\"y\", algorithm=MD5, qop=\"auth\"")
    }

    @Test func `Via by RFC 3261 20.42 and RFC 3581`() throws {
        let via = try Via("SIP / 2.0 / UDP first.example.com: 4000;ttl=16 ;maddr=224.2.0.1 ;branch=z9hG4bKa7c6a8dlze.1;rport")
        #expect(via.sentBy == "first.example.com:4000")
        #expect(via.maddr == "224.2.0.1")
        #expect(via.hasRport)
        #expect(via.rport == nil)
        var copy = via
        copy.rport = 9988
        copy.received = .v4(0xc000_0201)
        #expect(
            copy.description
                == "SIP/2.0/UDP first.example.com:4000;ttl=16;maddr=224.2.0.1;branch=z9hG4bKa7c6a8dlze.1;rport=9988;received=192.0.2.1")
        for text in [
            "", "SIP/2.0/UDP", "SIP/2.0 h", "SIP/2.0/UDP h;", "SIP/2.0/UDP h;;a", "SIP/2.0/UDP h:0x", "SIP/2.0/UDP h, SIP/2.0/UDP i",
            "SIP/2.0/UDP h\r\n",
        ] {
            #expect(throws: SIPError.self) { try Via(text) }
        }
    }

    @Test func `unknown fields stay in order, and names are compared without case`() throws {
        let message = try message("X-Z: 1\nX-A: 2\nx-z: 3, 4\nX-A-B: 5\n")
        #expect(message.headers.suffix(4).map(\.name) == ["X-Z", "X-A", "x-z", "X-A-B"])
        #expect(message.values("X-Z") == ["1", "3, 4"])
        #expect(message.first("x-a") == "2")
        #expect(!message.contains("X-B"))
    }

    @Test func `every known name is found in any case, and no name that only resembles it`() throws {
        let names = [
            "Via", "Contact", "Content-Length", "Proxy-Authorization", "P-Preferred-Identity", "P-Access-Network-Info",
            "Subscription-State", "MIME-Version",
            "Max-Forwards", "Record-Route",
        ]
        for name in names {
            let known = try #require(HeaderName(name))
            #expect(known.description == name)
            for other in [name.uppercased(), name.lowercased()] { #expect(HeaderName(other) == known) }
            let bytes = request(extra: "\(name.uppercased()) \t: 0\n", without: ["Content-Length", "Max-Forwards"])
            let reception = SIPMessage.receive(bytes)
            #expect(reception.message?.headers.last?.name == name.uppercased())
            #expect(reception.message?.values(known).last == "0" || known == .via)
            for wrong in [name + "x", String(name.dropLast()), "x" + name, name.replacing("-", with: "_")]
            where wrong != name && wrong.utf8.count > 1 {
                #expect(HeaderName(wrong) != known, "\(wrong)")
            }
        }
        // A control octet is no hyphen, though it becomes one when the bit of the case is set.
        var bytes = request(extra: "Content-Type: text/plain\n")
        let place = try #require(bytes.firstRange(of: "Content-Type".octets)?.lowerBound)
        bytes[place + 7] = 0x0d
        #expect(SIPMessage.receive(bytes).verdict.hasPrefix("refuse 400"))
    }

    @Test func `ranges compare and hash without strings`() throws {
        let a = try message("Subject: a\n"), b = try message("X: y\nSubject: b\n")
        #expect(a.range(a.callIDRange, equals: b.callIDRange, of: b))
        #expect(!a.range(a.callIDRange, equals: b.branchRange, of: b))
        #expect(a.hash(of: a.callIDRange) == b.hash(of: b.callIDRange))
        #expect(a.hash(of: a.callIDRange, seed: 1) != b.hash(of: b.callIDRange, seed: 2))
        #expect(a.range(a.fromTagRange, equals: "1928301774"))
        #expect(!a.range(a.fromTagRange, equals: "192830177"))
        #expect(a.text(in: a.branchRange) == "z9hG4bK776asdhds")
    }
}
