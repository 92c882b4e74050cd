// SPDX-License-Identifier: Apache-2.0
//
// The messages of the call-flow RFCs in their place: the phone is brought to where the message belongs, and what it then
// does is what the index asks.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct FlowTests {
    // MARK: Registration (RFC 3665 §2)

    @Test("3665-2.1-F1.sip: our first REGISTER has what the reference has")
    func firstRegister() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("bob", at: "biloxi.example.com")
        let (ours, reference) = (try desk.last(.register), try PhoneOnDesk.read("flows/3665-2.1-F1.sip"))
        for name in [HeaderName.via, .maxForwards, .from, .to, .callID, .cseq, .contact, .contentLength] {
            #expect((ours.first(name) != nil) == (reference.first(name) != nil), "\(name)")
        }
        #expect(ours.topVia.branch?.hasPrefix("z9hG4bK") == true && ours.to.uri == ours.from.uri)
        #expect(ours.from.tag != nil && ours.to.tag == nil && ours.maxForwards == reference.maxForwards)
        #expect(ours.first(.authorization) == nil)
    }

    @Test("3665-2.1-F2.sip, F4: the challenge is answered, then the registration stands and is refreshed before 3600 s")
    func challengedRegister() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("bob", at: "biloxi.example.com")
        let first = try desk.last(.register)
        try desk.answer(first, with: "flows/3665-2.1-F2.sip")
        let second = try desk.last(.register)
        #expect(second.cseq.number == first.cseq.number + 1 && second.callID == first.callID)
        let credentials = try #require(second.credentials(.authorization).first)
        #expect(credentials.parameters["realm"] == "atlanta.example.com")
        #expect(credentials.parameters["nonce"] == "ea9c8e88df84f1cec4341ae6cbe5a359")
        #expect(credentials.parameters["opaque"] == "" && credentials.parameters["nc"] == "00000001")
        #expect(second.first(.authorization)?.contains("qop=auth,") == true && credentials.parameters["cnonce"] != nil)
        let contact = try #require(second.contacts.first?.uri.description)
        try desk.answer(second, with: "flows/3665-2.1-F4.sip", replacing: [("sips:bob@client.biloxi.example.com", contact)])
        guard case .registered(_, 3600, 200, _) = desk.registrations.last else {
            Issue.record("\(desk.registrations)")
            return
        }
        let before = desk.requests(.register).count
        desk.run(.seconds(3599))
        #expect(desk.requests(.register).count > before)
    }

    @Test("3665-2.2-F2.sip, 3665-2.3-F2.sip: our binding is found among others", arguments: ["2.2", "2.3"])
    func severalBindings(section: String) throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("bob", at: "biloxi.example.com")
        let register = try desk.last(.register)
        let contact = try #require(register.contacts.first?.uri.description)
        try desk.answer(register, with: "flows/3665-\(section)-F2.sip", replacing: [("sips:bob@client.biloxi.example.com", contact)])
        guard case .registered(_, 3600, 200, _) = desk.registrations.last else {
            Issue.record("\(desk.registrations)")
            return
        }
    }

    @Test("3665-2.5-F4.sip: a second 401 stops with wrong credentials")
    func wrongPassword() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("bob", at: "biloxi.example.com")
        try desk.answer(try desk.last(.register), with: "flows/3665-2.1-F2.sip")
        try desk.answer(try desk.last(.register), with: "flows/3665-2.5-F4.sip")
        // A changed nonce allows one silent retry (B-030); the same answer once more is the end.
        if desk.requests(.register).count == 3 { try desk.answer(try desk.last(.register), with: "flows/3665-2.5-F4.sip") }
        let count = desk.requests(.register).count
        desk.run(.seconds(7200))
        #expect(count <= 3 && desk.requests(.register).count == count)
        guard case .refused(let cause) = desk.registrations.last else {
            Issue.record("\(desk.registrations)")
            return
        }
        #expect(!cause.code.isEmpty)
    }

    @Test("digest/two-algos.sip: the topmost algorithm is answered, once")
    func twoAlgorithms() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount(at: "sip.example.com")
        try desk.answer(try desk.last(.register), with: "digest/two-algos.sip")
        let credentials = try desk.last(.register).credentials(.authorization)
        #expect(credentials.count == 1 && credentials.first?.parameters["algorithm"] == "SHA-256")
        #expect(credentials.first?.parameters["response"]?.count == 64)
    }

    @Test("digest/folded-aka.sip: no supported algorithm is reported, without another request")
    func noAlgorithm() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("30123456789", at: "example.net")
        try desk.answer(try desk.last(.register), with: "digest/folded-aka.sip")
        desk.run(.seconds(60))
        #expect(desk.requests(.register).count == 1)
        guard case .refused(let cause) = desk.registrations.last else {
            Issue.record("\(desk.registrations)")
            return
        }
        #expect(cause.code == "registration.refused.unsupported")
    }

    @Test("sdp/compact-nospace.sip: a challenge in compact form without spaces is one")
    func compactChallenge() throws {
        let desk = PhoneOnDesk()
        try desk.addAccount("201", at: "pbx.example.com")
        try desk.answer(try desk.last(.register), with: "sdp/compact-nospace.sip")
        #expect(try desk.last(.register).credentials(.authorization).first?.parameters["realm"] == "pbx.example.com")
    }

    // MARK: Calls that we make (RFC 3665 §3)

    /// A call to Bob whose INVITE has left.
    private func calling(
        proxied: Bool = false, realm: String? = nil, transfers: TransferPolicy = .refuse
    ) throws -> (PhoneOnDesk, CallID, SIPMessage) {
        let desk = PhoneOnDesk(transfers: transfers)
        if proxied { try desk.addAccount("alice", at: "atlanta.example.com", realm: realm, registers: false) }
        var id: CallID?
        let account = desk.account
        try desk.perform { id = try $0.call(from: account, to: "sip:bob@biloxi.example.com", now: $1) }
        return (desk, try #require(id), try desk.last(.invite))
    }

    @Test("3665-3.1-F2.sip, 3665-3.1-F3.sip, 3665-3.1-F5.sip: early dialog, answer, BYE by the callee")
    func basicCall() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-3.1-F2.sip")
        #expect(desk.phone.state(of: id) == .early && desk.requests(.ack).isEmpty)
        try desk.answer(invite, with: "flows/3665-3.1-F3.sip")
        let ack = try desk.last(.ack)
        #expect(ack.requestURI == .sip(try #require(PhoneOnDesk.read("flows/3665-3.1-F3.sip").contacts.first?.uri.sip)))
        #expect(ack.cseq.number == invite.cseq.number && ack.to.tag == "8321234356")
        #expect(desk.phone.state(of: id) == .confirmed)
        #expect(desk.streams.last?.remote == SocketAddress("192.0.2.201:3456") && desk.streams.last?.codec.name == "PCMU")
        try desk.sendInDialog(of: invite, peerTag: "8321234356", "flows/3665-3.1-F5.sip")
        #expect(desk.responses(.bye).map(\.statusCode) == [200])
        #expect(desk.ends.count == 1 && desk.ends.allSatisfy { $0.isByRemote && $0.wasEstablished })
        #expect(desk.leavesNothing())
    }

    @Test("3665-3.2-F2.sip: 407 is acknowledged, then answered")
    func proxyChallenge() throws {
        let (desk, _, invite) = try calling(proxied: true)
        try desk.answer(invite, with: "flows/3665-3.2-F2.sip")
        let (ack, again) = (try desk.last(.ack), try desk.last(.invite))
        #expect(ack.topVia.branch == invite.topVia.branch && ack.cseq.number == invite.cseq.number)
        #expect(again.cseq.number == invite.cseq.number + 1 && again.to.tag == nil && again.callID == invite.callID)
        #expect(again.topVia.branch != invite.topVia.branch)
        #expect(again.credentials(.proxyAuthorization).first?.parameters["realm"] == "atlanta.example.com")
    }

    @Test("digest/auth-authint.sip: auth is chosen, and written without quotes")
    func authInt() throws {
        let (desk, _, invite) = try calling(proxied: true, realm: "sip.example.com")
        try desk.answer(invite, with: "digest/auth-authint.sip")
        let value = try #require(desk.last(.invite).first(.proxyAuthorization))
        #expect(value.contains("qop=auth,") || value.hasSuffix("qop=auth"))
    }

    @Test("3665-3.2-F14.sip, 3665-3.2-F20.sip: the route set is reversed; a BYE through both proxies is answered with both Via values")
    func routes() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-3.2-F14.sip")
        let ack = try desk.last(.ack)
        #expect(ack.routes.map(\.uri.description) == ["sip:ss1.atlanta.example.com;lr", "sip:ss2.biloxi.example.com;lr"])
        #expect(ack.requestURI.description == "sip:bob@client.biloxi.example.com;transport=tcp")
        #expect(desk.phone.state(of: id) == .confirmed)
        try desk.sendInDialog(of: invite, peerTag: "314159", "flows/3665-3.2-F20.sip")
        let answer = try #require(desk.responses(.bye).last)
        let reference = try PhoneOnDesk.read("flows/3665-3.2-F20.sip")
        #expect(answer.statusCode == 200 && answer.vias.count == reference.vias.count)
        #expect(answer.vias.map(\.branch) == reference.vias.map(\.branch))
        #expect(desk.ends.count == 1)
    }

    @Test("3665-3.7-F9.sip: a re-INVITE moves the remote target and the media")
    func moved() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(
            invite, with: "flows/3665-3.2-F14.sip",
            replacing: [
                ("Record-Route: <sip:ss2.biloxi.example.com;lr>,\r\n <sip:ss1.atlanta.example.com;lr>\r\n", "")
            ])
        try desk.sendInDialog(of: invite, peerTag: "314159", "flows/3665-3.7-F9.sip")
        let answer = try #require(desk.responses(.invite).last)
        #expect(answer.statusCode == 200)
        #expect(desk.streams.last?.remote == SocketAddress("192.0.2.100:47172"))
        let before = try #require(desk.requests(.invite).last?.body(ofType: "application", "sdp"))
        let after = try #require(answer.body(ofType: "application", "sdp"))
        #expect(Self.version(after) ?? 0 >= Self.version(before) ?? .max)
        try desk.follow(answer, with: "flows/3665-3.1-F4.sip")
        try desk.perform { try $0.hangUp(id, now: $1) }
        #expect(try desk.last(.bye).requestURI.description == "sip:bob@client.chicago.example.com")
    }

    private static func version(_ body: [UInt8]) -> UInt64? {
        let origin = String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline).first { $0.hasPrefix("o=") }
        return origin.flatMap { $0.split(separator: " ").count > 2 ? UInt64($0.split(separator: " ")[2]) : nil }
    }

    @Test("3665-3.8-F19.sip: 487 after CANCEL is acknowledged, and the call was cancelled")
    func cancelled() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-3.1-F2.sip")
        try desk.perform { try $0.hangUp(id, now: $1) }
        #expect(try desk.last(.cancel).topVia.branch == invite.topVia.branch)
        try desk.answer(invite, with: "flows/3665-3.8-F19.sip")
        #expect(try desk.last(.ack).topVia.branch == invite.topVia.branch)
        #expect(desk.ends.count == 1 && desk.ends.allSatisfy { !$0.isByRemote && !$0.wasEstablished })
        #expect(desk.ends.first?.cause.code.contains("failed") == false, "\(desk.ends.map(\.cause.code))")
    }

    @Test("3665-3.9-F10.sip, 3665-3.11-F13.sip: busy and unavailable", arguments: [("3.9-F10", "busy"), ("3.11-F13", "unavailable")])
    func refused(row: (String, String)) throws {
        let (desk, _, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-\(row.0).sip")
        #expect(try desk.last(.ack).topVia.branch == invite.topVia.branch)
        #expect(desk.ends.map(\.cause.code) == ["call.\(row.1)"])
        desk.run(.seconds(60))
        #expect(desk.requests(.invite).count == 1)
    }

    @Test("3665-3.6-F2.sip: the call goes to the place that the 302 names")
    func redirected() throws {
        let (desk, _, invite) = try calling()
        desk.perform { $0.handle(.listening(FlowID(rawValue: 3), .tcp, local: desk.address), now: $1) }
        try desk.answer(invite, with: "flows/3665-3.6-F2.sip")
        desk.run(.seconds(1))
        let second = try desk.last(.invite)
        #expect("\(second.requestURI)" == "sip:bob@chicago.example.com;transport=tcp")
        #expect(second.topVia.branch != invite.topVia.branch && second.callID == invite.callID)
        #expect(second.cseq.number == invite.cseq.number + 1)
        #expect(try desk.last(.ack).topVia.branch == invite.topVia.branch)
        #expect(desk.ends.isEmpty)
    }

    // MARK: Calls that come in

    @Test("3665-3.1-F1.sip, 3665-3.1-F4.sip: 180, 200 with PCMU, and the ACK ends its repetition")
    func answering() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("flows/3665-3.1-F1.sip"))
        let id = try #require(desk.ringing)
        try desk.perform { try $0.answer(id, now: $1) }
        let answer = try #require(desk.responses(.invite).last)
        #expect(desk.responses(.invite).map(\.statusCode) == [180, 200])
        #expect(answer.to.tag != nil && answer.contacts.count == 1 && answer.callID == "3848276298220188511@atlanta.example.com")
        #expect(String(decoding: answer.body, as: UTF8.self).contains("RTP/AVP 0\r\n"))
        desk.run(.milliseconds(600))
        #expect(desk.responses(.invite).count == 3, "the 200 is repeated until the ACK comes")
        try desk.follow(answer, with: "flows/3665-3.1-F4.sip")
        let count = desk.sent.count
        desk.run(.seconds(40))
        #expect(desk.sent.count == count && desk.phone.state(of: id) == .confirmed)
    }

    @Test("3665-3.2-F6.sip: the callee keeps the order of Record-Route")
    func routedIn() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("flows/3665-3.2-F6.sip"))
        let id = try #require(desk.ringing)
        try desk.perform { try $0.answer(id, now: $1) }
        let reference = try PhoneOnDesk.read("flows/3665-3.2-F6.sip")
        for response in desk.responses(.invite) {
            #expect(response.vias.map(\.branch) == reference.vias.map(\.branch))
            #expect(response.recordRoutes == reference.recordRoutes)
        }
        try desk.follow(try #require(desk.responses(.invite).last), with: "flows/3665-3.1-F4.sip")
        try desk.perform { try $0.hangUp(id, now: $1) }
        #expect(try desk.last(.bye).routes.map(\.uri.description) == ["sip:ss2.biloxi.example.com;lr", "sip:ss1.atlanta.example.com;lr"])
    }

    @Test("3665-3.6-F5.sip, 3665-3.6-F12.sip: a late offer in the 200, the answer in the ACK")
    func lateOffer() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("flows/3665-3.6-F5.sip"))
        let id = try #require(desk.ringing)
        try desk.perform { try $0.answer(id, now: $1) }
        let answer = try #require(desk.responses(.invite).last)
        #expect(answer.statusCode == 200 && answer.contentType?.description == "application/sdp")
        try desk.follow(answer, with: "flows/3665-3.6-F12.sip")
        #expect(desk.phone.state(of: id) == .confirmed)
        #expect(desk.streams.last?.remote == SocketAddress("192.0.2.101:49172") && desk.streams.last?.codec.name == "PCMU")
    }

    @Test("3665-3.8-F13.sip: CANCEL gets 200, its INVITE 487")
    func cancelledByTheCaller() throws {
        let desk = PhoneOnDesk()
        // The INVITE to which this CANCEL belongs is the one of §3.2 with the branch and Call-ID of §3.8.
        let cancel = try PhoneOnDesk.read("flows/3665-3.8-F13.sip")
        var invite = MessageBuilder(copying: try PhoneOnDesk.read("flows/3665-3.2-F6.sip"))
        for name in [HeaderName.via, .from, .to, .callID] {
            if let value = cancel.first(name) { invite.set(name, value) }
        }
        invite.set(.cseq, "1 INVITE")
        invite.setRequestURI(cancel.requestURI)
        desk.receive(invite.build().bytes)
        #expect(desk.ringing != nil)
        desk.receive(try Fixture.bytes("flows/3665-3.8-F13.sip"))
        #expect(desk.responses(.cancel).map(\.statusCode) == [200])
        #expect(desk.responses(.invite).map(\.statusCode) == [180, 487])
        #expect(desk.ends.count == 1)
        #expect(desk.leavesNothing())
    }

    @Test("3515-4.1-F1.sip: a REFER within a call is taken, told 100, and followed by a new INVITE")
    func referred() throws {
        let (desk, id, invite) = try calling(transfers: .accept)
        try desk.answer(invite, with: "flows/3665-3.1-F3.sip")
        try desk.sendInDialog(
            of: invite, peerTag: "8321234356", "flows/3515-4.1-F1.sip", replacing: [("(whatever URI)", "<sip:carol@chicago.example.com>")])
        #expect(desk.responses(.refer).map(\.statusCode) == [202])
        let report = try desk.last(.notify)
        #expect(report.first(.event) == "refer" && report.first(.subscriptionState)?.hasPrefix("active") == true)
        #expect(StatusFragment(parsing: Array(report.body))?.statusCode == 100)
        let second = try desk.last(.invite)
        #expect(second.requestURI.sip?.user == "carol" && second.callID != invite.callID)
        #expect(desk.phone.state(of: id) == .confirmed)
        desk.run(.seconds(200))
        #expect(desk.leavesNothing())
    }

    @Test("3515-4.1-F3.sip, 3515-4.1-F5.sip: what the other side tells of our transfer")
    func reported() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-3.1-F3.sip")
        try desk.perform { try $0.transfer(id, to: "sip:carol@chicago.example.com", options: TransferOptions(), now: $1) }
        // The hold first.
        let hold = try desk.last(.invite)
        try desk.answer(hold, with: "flows/3665-3.1-F3.sip")
        let refer = try desk.last(.refer)
        var taken = refer.makeResponse(status: 202)
        taken.add(.contact, "<sip:bob@client.biloxi.example.com>")
        desk.receive(taken.build().bytes)
        try desk.sendInDialog(of: invite, peerTag: "8321234356", "flows/3515-4.1-F3.sip")
        #expect(desk.responses(.notify).map(\.statusCode) == [200])
        #expect(desk.transfers.map(\.state) == [.trying, .progress, .progress] && desk.transfers.last?.status == 100)
        try desk.sendInDialog(of: invite, peerTag: "8321234356", "flows/3515-4.1-F5.sip")
        #expect(desk.responses(.notify).map(\.statusCode) == [200, 200])
        #expect(desk.transfers.last?.state == .succeeded && desk.ends.map(\.cause.code) == ["call.transferred"])
        #expect(desk.leavesNothing())
    }

    @Test("4916-5.1-F8.sip: an UPDATE whose From has changed shows who is connected now")
    func connectedIdentity() throws {
        let (desk, id, invite) = try calling()
        try desk.answer(invite, with: "flows/3665-3.1-F3.sip")
        try desk.sendInDialog(of: invite, peerTag: "8321234356", "flows/4916-5.1-F8.sip", keepsFrom: true)
        #expect(desk.sent.last?.status == 200)
        let shown = desk.identities.last
        #expect(shown.map { "\($0.claimed)" } == "\"Carol\" <sip:Carol@example.com>")
        #expect(shown?.asserted == nil)
        try desk.perform { try $0.hangUp(id, now: $1) }
        #expect(try desk.last(.bye).to.uri == URI("sip:Carol@example.com"))
    }
}
