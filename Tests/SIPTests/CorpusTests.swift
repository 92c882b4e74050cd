// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// Each whole message of the corpus with the verdict that its index asks for.
@Suite struct CorpusTests {
    @Test(arguments: CorpusExpectation.all.map(\.file)) func `a corpus file gets its verdict`(file: String) throws {
        let expected = try #require(CorpusExpectation.all.first { $0.file == file })
        #expect(SIPMessage.receive(try Fixtures.bytes(file)).verdict == expected.verdict)
    }

    @Test func `no indexed message is without an expectation`() throws {
        #expect(try Set(Fixtures.allMessages()) == Set(CorpusExpectation.all.map(\.file)))
    }

    @Test(arguments: CorpusExpectation.all.map(\.file)) func `no accessor traps for what receive gave out`(file: String) throws {
        switch SIPMessage.receive(try Fixtures.bytes(file)) {
        case .message(let message): touchEverything(message)
        case .refuse(let message, let status, _):
            touchEverything(message)
            let answer = SIPMessage.receive(message.makeResponse(status: status, toTag: "x").build().bytes)
            if let parsed = answer.message { #expect(parsed.statusCode == status) }
        case .drop(let error): #expect(!error.reason.isEmpty)
        }
    }

    @Test func `wsinv.sip reads through all its folding and spacing`() throws {
        let message = try Fixtures.message("rfc4475/wsinv.sip")
        #expect(message.method == .invite)
        #expect(message.to.tag == "1918181833n")
        #expect(message.from.tag == "98asjd8")
        #expect(message.from.displayName == "J Rosenberg \\\"")
        #expect(message.maxForwards == 68)
        #expect(message.cseq == CSeq(number: 9, method: .invite))
        let vias = message.vias
        #expect(vias.map(\.transportName) == ["UDP", "TCP", "UDP"])
        #expect(vias.map(\.host.description) == ["192.0.2.2", "spindle.example.com", "192.168.255.111"])
        #expect(vias[0].branch == "390skdjuw")
        #expect(message.first(.subject) == "")
        #expect(message.contacts.first?.parameters["q"] == "0.33")
        #expect(message.contacts.first?.preference == 330)
        #expect(message.body.count == 150)
    }

    @Test func `intmeth.sip keeps every octet and is echoed unchanged`() throws {
        let message = try Fixtures.message("rfc4475/intmeth.sip")
        #expect(message.method.rawValue == "!interesting-Method0123456789_*+`.%indeed'~")
        let answer = message.makeResponse(status: 405).build()
        for name in [HeaderName.via, .from, .to, .callID, .cseq] {
            let sent = try #require(message.firstRange(name)), back = try #require(answer.firstRange(name))
            #expect(message.bytes(in: sent).elementsEqual(answer.bytes(in: back)), "\(name)")
        }
        #expect(message.to.displayName == "BEL:\u{fffd} NUL:\u{fffd} DEL:\u{fffd}")
    }

    @Test func `esc01.sip is unescaped exactly once`() throws {
        let message = try Fixtures.message("rfc4475/esc01.sip")
        #expect(message.requestURI.sip?.user == "sips:user@example.com")
        #expect(message.requestURI.sip?.host == .name("example.net"))
        #expect(message.to.uri.sip?.user == "user")
        #expect(message.from.uri.sip?.user == "I have spaces")
        let contact = try #require(message.contacts.first?.uri.sip)
        #expect(contact.isLooseRouter)
        #expect(contact.parameters["name"] == "value%41")
    }

    @Test func `escnull.sip keeps users apart that differ in escaped NULs`() throws {
        let users = try Fixtures.message("rfc4475/escnull.sip").contacts.compactMap(\.uri.sip)
        #expect(users.map(\.user) == ["\0", "\0\0"])
        #expect(!users[0].isEquivalent(to: users[1]))
    }

    @Test func `longreq.sip is read whole and every Via is echoed`() throws {
        let message = try Fixtures.message("rfc4475/longreq.sip")
        #expect(message.vias.count == 34)
        let answer = message.makeResponse(status: 200).build()
        #expect(answer.vias == message.vias)
        #expect(answer.bytes.count > 1300)
    }

    @Test func `dblreq.sip ends where its Content-Length says`() throws {
        let message = try Fixtures.message("rfc4475/dblreq.sip")
        #expect(message.method == .register)
        #expect(message.body.isEmpty)
        #expect(message.leniency.contains(.octetsAfterBody))
    }

    @Test func `transports.sip reads five transports, one unknown`() throws {
        let vias = try Fixtures.message("rfc4475/transports.sip").vias
        #expect(vias.map(\.transport) == [.udp, nil, .tls, nil, .tcp])
        #expect(vias.map(\.transportName) == ["UDP", "SCTP", "TLS", "UNKNOWN", "TCP"])
    }

    @Test func `mpart01.sip gives out both parts, the binary one whole`() throws {
        let message = try Fixtures.message("rfc4475/mpart01.sip")
        #expect(message.body.count == 553)
        let parts = message.bodyParts
        #expect(parts.map(\.type.description) == ["text/plain", "application/octet-stream"])
        #expect(String(decoding: try #require(message.body(ofType: "text", "plain")), as: UTF8.self) == "Hello")
        #expect(parts[1].content.contains(0))
    }

    @Test func `badaspec.sip and baddn.sip are taken leniently, and say so`() throws {
        let aspec = try Fixtures.message("rfc4475/badaspec.sip")
        #expect(aspec.leniency.contains(.spaceInBrackets))
        #expect(aspec.to.uri.description == "sip:t.watson@example.org")
        let name = try Fixtures.message("rfc4475/baddn.sip")
        #expect(name.leniency.isSuperset(of: [.unquotedDisplayName, .missingEmptyLine]))
        #expect(name.to.displayName == "Watson, Thomas")
        #expect(name.from.displayName == "Bell, Alexander")
    }

    @Test func `numbers that are too large are clamped, as scalar02.sip asks of Expires`() throws {
        let message = try SIPMessage(
            parsing: request(
                "REGISTER", extra: "Expires: \(String(repeating: "9", count: 100))\nContact: <sip:a@b>;expires=280297596632815\n"))
        #expect(message.expires == .max)
        #expect(message.contacts.first?.expires == .max)
    }

    @Test func `an escaped Route header in a Contact stays with the URI (regescrt.sip)`() throws {
        let contact = try #require(Fixtures.message("rfc4475/regescrt.sip").contacts.first?.uri.sip)
        #expect(contact.headers.map(\.name) == ["Route"])
        #expect(try URI(contact.description) == .sip(contact))
    }

    @Test func `an unbracketed Contact gives its parameters to the field (cparam01.sip)`() throws {
        let contact = try #require(Fixtures.message("rfc4475/cparam01.sip").contacts.first)
        #expect(contact.uri.description == "sip:+19725552222@gw1.example.net")
        #expect(contact.parameters.contains("unknownparam"))
    }

    @Test func `a message of RFC 2543 has no magic cookie and no From tag (inv2543.sip)`() throws {
        let message = try Fixtures.message("rfc4475/inv2543.sip")
        #expect(!message.hasBranch)
        #expect(message.topVia.branch == nil)
        #expect(message.from.tag == nil)
        #expect(message.leniency.contains(.missingFromTag))
        #expect(message.maxForwards == nil)
        #expect(message.contacts.isEmpty)
    }

    @Test func `a Date that is not GMT is no date (baddate.sip)`() throws {
        #expect(try Fixtures.message("rfc4475/baddate.sip").date == nil)
    }

    @Test func `unknown schemes in To, From and Contact are URIs of their own kind (unksm2.sip)`() throws {
        let message = try Fixtures.message("rfc4475/unksm2.sip")
        #expect(message.to.uri.scheme == "isbn")
        #expect(message.from.uri.scheme == "http")
        #expect(message.contacts.map(\.uri.scheme) == ["name"])
    }
}

/// Reads everything that can be read.
func touchEverything(_ message: SIPMessage) {
    _ = (message.method, message.statusCode, message.reasonPhrase, message.topVia, message.vias, message.from, message.to)
    if message.isRequest { _ = message.requestURI.description }
    _ = (message.callID, message.cseq, message.contacts, message.hasWildcardContact, message.routes, message.recordRoutes)
    _ = (message.maxForwards, message.expires, message.minExpires, message.contentType, message.contentDisposition)
    _ = (message.accept, message.acceptEncoding, message.acceptLanguage, message.allow, message.require, message.supported)
    _ = (message.alertInfo, message.callInfo, message.errorInfo, message.inReplyTo, message.replyTo, message.referTo)
    _ = (message.date, message.retryAfter, message.timestamp, message.warnings, message.subject, message.userAgent, message.server)
    _ = (message.challenges(.wwwAuthenticate), message.challenges(.proxyAuthenticate), message.authenticationInfo)
    _ = (message.credentials(.authorization), message.credentials(.proxyAuthorization), message.bodyParts)
    for (name, _) in message.headers {
        guard let known = HeaderName(name) else { continue }
        _ = message.values(known)
        _ = message.addresses(known)
    }
    _ = MessageBuilder(copying: message).build()
}
