// SPDX-License-Identifier: Apache-2.0
//
// REFER in both roles: its answer, its subscription, and what peers do with it.

import Essentials
import SIP
import SIPAgent
import Testing

extension AgentNode {
    var referrals: [(ReferralID, ReferralEvent)] {
        events.compactMap { if case .referral(let id, let event) = $0 { (id, event) } else { nil } }
    }
    /// `accepted 202`, `progress 180`, `succeeded 200`, `failed transfer.failed`, one an event of that referral.
    func story(of id: ReferralID) -> [String] {
        referrals.filter { $0.0 == id }.map { entry in
            switch entry.1 {
            case .received: "received"
            case .turnedAway(_, let cause): "turned away \(cause.status ?? 0)"
            case .accepted(let status): "accepted \(status)"
            case .progress(let fragment): "progress \(fragment.statusCode)"
            case .succeeded(let fragment): "succeeded \(fragment.statusCode)"
            case .failed(let cause): "failed \(cause.code)"
            }
        }
    }
    var received: [(ReferralID, IncomingReferral)] {
        referrals.compactMap { if case .received(let referral) = $0.1 { ($0.0, referral) } else { nil } }
    }
}

@Suite struct ReferralTests {
    static let carol = URI.sip(SIPURI(user: "carol", host: .name("example.net")))

    /// A call of ours to the peer that is up.
    struct Talk {
        let scene: Scene
        let id: SessionID
        let invite: SIPMessage
        private(set) var sequence: UInt32 = 0

        init(configure: (inout UserAgentConfiguration) -> Void = { _ in }) throws {
            scene = Scene(configure: configure)
            (id, invite) = try scene.answeredOutgoing()
        }

        func refer(subscribes: Bool = true) throws -> (ReferralID, SIPMessage) {
            let id = try scene.phone.agent.refer(id, to: ReferralTests.carol, subscribes: subscribes, now: scene.network.now)
            scene.phone.drain()
            scene.network.run(.milliseconds(30))
            return (id, try required(scene.peer.requests(.refer).last))
        }

        mutating func send(_ method: String, _ headers: [String], type: String? = nil, body: String = "") -> Int? {
            sequence += 1
            scene.peer.send(
                method, scene.phoneURI, to: scene.phone, callID: invite.callID, toTag: invite.from.tag, sequence: sequence,
                headers: headers, type: type, body: body)
            scene.network.run(.milliseconds(30))
            return scene.peer.responses(Method(rawValue: method)).last { $0.cseq.number == sequence }?.statusCode
        }

        /// The peer tells; the status of our answer.
        mutating func notify(_ status: Int?, _ state: String, id: UInt32? = nil) -> Int? {
            send(
                "NOTIFY", ["Event: refer" + (id.map { ";id=\($0)" } ?? ""), "Subscription-State: \(state)"],
                type: status.map { _ in "message/sipfrag;version=2.0" }, body: status.map { "SIP/2.0 \($0) Word" } ?? "")
        }
    }

    @Test func aReferNamesTheTargetAndIsReportedOnToItsEnd() throws {
        var talk = try Talk()
        let (id, refer) = try talk.refer()
        #expect(refer.referTo?.uri == Self.carol && refer.to.tag == "peer" && refer.contacts.count == 1)
        talk.scene.peer.respond(202, to: refer, contact: talk.scene.peer.contact)
        #expect(talk.notify(100, "active;expires=60") == 200)
        #expect(talk.notify(180, "active;expires=60") == 200)
        #expect(talk.notify(200, "terminated;reason=noresource") == 200)
        #expect(talk.scene.phone.story(of: id) == ["accepted 202", "progress 100", "progress 180", "succeeded 200"])
        #expect(talk.notify(200, "terminated;reason=noresource") == 481, "the subscription is over")
        #expect(talk.scene.phone.agent.referralCount == 0)
    }

    @Test("A target that names the call to be replaced keeps that, in a call and outside, and nothing else of its headers")
    func namedReplaces() throws {
        let talk = try Talk()
        let scene = talk.scene
        let target = try URI("sip:carol@example.net?Subject=x&Replaces=c9%3Bto-tag%3Dt1%3Bfrom-tag%3Df1&Route=%3Csip%3Aevil%3E")
        _ = try scene.phone.agent.refer(talk.id, to: target, now: scene.network.now)
        _ = try scene.phone.agent.refer(from: nil, scene.peerURI, to: target, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(30))
        let sent = scene.peer.requests(.refer)
        #expect(sent.count == 2)
        for refer in sent {
            let headers = refer.referTo?.uri.sip?.headers ?? []
            #expect(headers.map(\.name) == ["Replaces"])
            #expect(try Replaces(headers.first?.value ?? "") == Replaces(callID: "c9", toTag: "t1", fromTag: "f1"))
        }
        for bad in ["Replaces=c9", "Replaces=c9%3Bto-tag%3Dt1", "Replaces="] {
            let uri = try URI("sip:carol@example.net?" + bad)
            #expect(throws: AgentError.self) { try scene.phone.agent.refer(talk.id, to: uri, now: scene.network.now) }
        }
    }

    @Test("A flood of REFERs in a call is paced, answered 500 with a time to wait and told once; the call goes on")
    func floodOfReferrals() throws {
        var talk = try Talk { $0.transfers = .refuse }
        var answers: [Int] = []
        for _ in 0..<50 { answers.append(talk.send("REFER", ["Refer-To: <sip:carol@example.net>"]) ?? 0) }
        let scene = talk.scene
        let taken = answers.count { $0 == 603 }
        #expect((8...10).contains(taken) && answers.count { $0 == 500 } == 50 - taken)
        #expect(scene.peer.responses(.refer).filter { $0.statusCode == 500 }.allSatisfy { $0.retryAfter != nil })
        #expect(scene.phone.warnings.map(\.code) == ["call.flood"])
        #expect(scene.phone.warnings[0].evidence.contains(.init("limit", "referralsPerCall: 8 at once, 1 a second")))
        #expect(scene.phone.agent.counters[.requestFlood] == UInt64(50 - taken))
        scene.network.run(.seconds(3))
        #expect(talk.send("REFER", ["Refer-To: <sip:carol@example.net>"]) == 603, "slowly it may go on")
        #expect(scene.phone.ends.isEmpty)
    }

    @Test("Followed REFERs of a flood make no more calls than the pace allows, in a call and outside", arguments: [true, false])
    func floodOfFollowedReferrals(inCall: Bool) throws {
        var talk = try Talk {
            $0.transfers = .accept
            $0.maximumReferralsPerCall = 100
        }
        let scene = talk.scene
        scene.phone.onEvent = { [weak scene] event in
            guard case .referral(let id, .received) = event, let scene else { return }
            scene.phone.agent.rejectReferral(id, now: scene.network.now)
        }
        for number in 0..<100 as Range<UInt32> {
            if inCall {
                _ = talk.send("REFER", ["Refer-To: <sip:carol@example.net>"])
            } else {
                scene.peer.send(
                    "REFER", scene.phoneURI, to: scene.phone, callID: "flood-\(number)", headers: ["Refer-To: <sip:carol@example.net>"])
                scene.network.run(.milliseconds(30))
            }
        }
        #expect((8...12).contains(scene.phone.received.count))
        #expect(scene.phone.warnings.map(\.code) == ["call.flood"])
    }

    @Test(
        "Floods of INFO, UPDATE, re-INVITE, OPTIONS and MESSAGE in a call are paced by limits of their own names",
        arguments: [
            ("INFO", "notesPerCall"), ("OPTIONS", "notesPerCall"), ("MESSAGE", "notesPerCall"), ("UPDATE", "changesPerCall"),
            ("INVITE", "changesPerCall"),
        ])
    func otherFloods(method: String, limit: String) throws {
        var talk = try Talk {
            $0.notesPerCall = RequestRate(burst: 10, perSecond: 5)
            $0.changesPerCall = RequestRate(burst: 10, perSecond: 5)
        }
        let scene = talk.scene
        scene.phone.onEvent = { [weak scene] event in
            guard case .reinvited(let id, _) = event, let scene else { return }
            scene.phone.agent.answerReinvite(id, status: 200, answer: sdpBytes, now: scene.network.now)
        }
        let before = scene.phone.events.count
        for _ in 0..<60 {
            switch method {
            case "INFO": _ = talk.send(method, [], type: "application/dtmf-relay", body: "Signal=1\r\nDuration=100\r\n")
            case "MESSAGE": _ = talk.send(method, [], type: "text/plain", body: "x")
            case "INVITE":
                _ = talk.send(method, [], type: "application/sdp", body: sdpOffer)
                scene.peer.send(
                    "ACK", scene.phoneURI, to: scene.phone, callID: talk.invite.callID, toTag: talk.invite.from.tag, sequence: talk.sequence
                )
            default: _ = talk.send(method, method == "UPDATE" ? ["Contact: <\(scene.peer.contact)>"] : [])
            }
        }
        // 60 in 1.8 s.
        let refused = scene.phone.agent.counters[.requestFlood]
        #expect((38...42).contains(refused), "\(refused)")
        #expect(scene.phone.events.count - before <= 2 * 22 + 1)
        #expect(scene.phone.warnings.map(\.code) == ["call.flood"])
        #expect(scene.phone.warnings.first?.evidence.contains { $0.name == "limit" && $0.value.hasPrefix(limit) } == true)
        #expect(scene.phone.ends.isEmpty)
        // The end of the call is never refused.
        #expect(talk.send("BYE", []) == 200)
    }

    @Test("B-068: reports of a second REFER are not taken for those of the first, failed one, nor the other way round")
    func numbered() throws {
        var talk = try Talk()
        let (first, one) = try talk.refer()
        talk.scene.peer.respond(202, to: one)
        #expect(talk.notify(503, "active;expires=60") == 200)
        let (second, two) = try talk.refer()
        talk.scene.peer.respond(202, to: two)
        // What is still to come of the first says nothing of the second.
        #expect(talk.notify(503, "terminated;reason=noresource") == 200)
        #expect(talk.notify(180, "active;expires=60", id: two.cseq.number) == 200)
        #expect(talk.notify(503, "terminated;reason=noresource", id: one.cseq.number) == 481)
        #expect(talk.notify(200, "terminated;reason=noresource", id: two.cseq.number) == 200)
        #expect(talk.scene.phone.story(of: first) == ["accepted 202", "failed transfer.failed"])
        #expect(talk.scene.phone.story(of: second) == ["accepted 202", "progress 180", "succeeded 200"])
        #expect(talk.scene.phone.agent.referralCount == 0)
    }

    @Test("B-070: a subscription that the peer never ends expires by itself, and no REFER is sent again")
    func neverEnded() throws {
        var talk = try Talk()
        let (id, refer) = try talk.refer()
        talk.scene.peer.respond(202, to: refer)
        #expect(talk.notify(180, "active;expires=20") == 200)
        talk.scene.network.run(.seconds(19))
        #expect(talk.scene.phone.story(of: id).count == 2)
        talk.scene.network.run(.seconds(2))
        #expect(talk.scene.phone.story(of: id).last == "failed transfer.no-outcome")
        talk.scene.network.run(.seconds(300))
        #expect(talk.scene.peer.requests(.refer).count == 1 && talk.scene.phone.agent.referralCount == 0)
        #expect(talk.scene.phone.agent.counters[.referralExpired] == 1 && talk.scene.phone.ends.isEmpty)
    }

    @Test(
        "B-071: an end without a word of how it went is told, and the call stays",
        arguments: [
            ("terminated;reason=noresource", "no-outcome"), ("terminated", "no-outcome"), ("terminated;reason=rejected", "refused"),
        ])
    func endWithoutBody(state: String, code: String) throws {
        var talk = try Talk()
        let (id, refer) = try talk.refer()
        talk.scene.peer.respond(202, to: refer)
        #expect(talk.notify(nil, state) == 200)
        #expect(talk.scene.phone.story(of: id).last == "failed transfer.\(code)")
        #expect(talk.scene.phone.ends.isEmpty && talk.scene.phone.agent.referralCount == 0)
    }

    @Test(
        "B-071: a REFER that is refused is told with its status, and the call stays",
        arguments: [(400, "refused"), (603, "refused"), (405, "unsupported"), (501, "unsupported"), (491, "refused")])
    func refused(status: Int, code: String) throws {
        let talk = try Talk()
        let (id, refer) = try talk.refer()
        talk.scene.peer.respond(status, to: refer)
        talk.scene.network.run(.milliseconds(30))
        #expect(talk.scene.phone.story(of: id) == ["failed transfer.\(code)"])
        #expect(talk.scene.phone.ends.isEmpty && talk.scene.phone.agent.referralCount == 0)
    }

    @Test func nobodyAnswersOrReports() throws {
        let silent = try Talk()
        let (first, _) = try silent.refer()
        silent.scene.network.run(.seconds(40))
        #expect(silent.scene.phone.story(of: first) == ["failed transfer.no-response"])
        let mute = try Talk()
        let (second, refer) = try mute.refer()
        mute.scene.peer.respond(202, to: refer)
        mute.scene.network.run(.seconds(40))
        #expect(mute.scene.phone.story(of: second) == ["accepted 202", "failed transfer.no-report"])
    }

    @Test("a NOTIFY may come before the answer to its REFER (RFC 6665 §4.1.2.4)")
    func overtaken() throws {
        var talk = try Talk()
        let (id, refer) = try talk.refer()
        #expect(talk.notify(200, "terminated;reason=noresource") == 200)
        talk.scene.peer.respond(202, to: refer)
        talk.scene.network.run(.seconds(40))
        #expect(talk.scene.phone.story(of: id) == ["succeeded 200"] && talk.scene.phone.agent.referralCount == 0)
    }

    @Test("without reports (RFC 4488) it is done when it is taken")
    func withoutReports() throws {
        let talk = try Talk()
        let (id, refer) = try talk.refer(subscribes: false)
        #expect(refer.referSub == false)
        talk.scene.peer.respond(202, to: refer, headers: [(.referSub, "false")])
        talk.scene.network.run(.milliseconds(30))
        #expect(talk.scene.phone.story(of: id) == ["accepted 202", "succeeded 202"] && talk.scene.phone.agent.referralCount == 0)
    }

    @Test func reportsAndReferralsAreLimited() throws {
        var talk = try Talk {
            $0.maximumReferralNotifications = 3
            $0.maximumReferralsPerCall = 1
        }
        let (id, refer) = try talk.refer()
        talk.scene.peer.respond(202, to: refer)
        talk.scene.network.run(.milliseconds(30))
        #expect(throws: AgentError.self) { try talk.refer() }
        for status in 180...184 { _ = talk.notify(status, "active;expires=60") }
        #expect(talk.scene.phone.story(of: id).last == "failed transfer.no-outcome")
        #expect(talk.scene.phone.agent.counters[.referralLimit] == 2)
    }

    @Test("after BYE the reports of the transfer still come (RFC 5057 §4)")
    func afterBye() throws {
        var talk = try Talk()
        let (id, refer) = try talk.refer()
        talk.scene.peer.respond(202, to: refer)
        #expect(talk.notify(100, "active;expires=60") == 200)
        #expect(talk.send("BYE", []) == 200)
        #expect(talk.notify(200, "terminated;reason=noresource") == 200)
        #expect(talk.scene.phone.story(of: id).last == "succeeded 200" && talk.scene.phone.agent.referralCount == 0)
        #expect(talk.scene.settles())
    }

    // MARK: Being referred

    private func accepting(_ policy: TransferPolicy = .accept) throws -> Talk { try Talk { $0.transfers = policy } }

    @Test func aReferIsTakenAndReportedOn() throws {
        var talk = try accepting()
        talk.scene.peer.onMessage = { [unowned peer = talk.scene.peer] message in
            if message.isRequest, message.method == .notify { peer.respond(200, to: message) }
        }
        _ = talk.send("REFER", ["Refer-To: <sip:carol@example.net>", "Referred-By: <sip:peer@example.net>"])
        let (id, referral) = try required(talk.scene.phone.received.last)
        #expect(referral.target == Self.carol && referral.session == talk.id && referral.referredBy?.uri.sip?.user == "peer")
        talk.scene.on { agent, now in
            agent.acceptReferral(id, now: now)
            // Each waits for the answer to the one before; what is old by then is left out.
            for status in [180, 183, 200] { agent.notifyReferral(id, StatusFragment(status), now: now) }
        }
        talk.scene.network.run(.milliseconds(200))
        #expect(talk.scene.peer.responses(.refer).last?.statusCode == 202)
        let reports = talk.scene.peer.requests(.notify)
        #expect(reports.map { StatusFragment(parsing: Array($0.body))?.statusCode } == [100, 200])
        #expect(reports.map { $0.first(.subscriptionState)?.hasPrefix("active;expires=") } == [true, false])
        #expect(reports.last?.first(.subscriptionState) == "terminated;reason=noresource")
        #expect(reports.allSatisfy { $0.first(.event) == "refer" && $0.contacts.count == 1 && $0.to.tag == "peer" })
        #expect(talk.scene.phone.agent.referralCount == 0)
    }

    @Test func byDefaultNobodyMayReferUs() throws {
        var talk = try Talk()
        #expect(talk.send("REFER", ["Refer-To: <sip:carol@example.net>"]) == 603)
        #expect(talk.scene.phone.received.isEmpty && talk.scene.phone.agent.counters[.referralRefused] == 1)
        #expect(talk.scene.phone.referrals.count == 1 && talk.scene.phone.ends.isEmpty)
    }

    @Test(
        "B-015: a tel URI is followed; no URI, two, or one without a scheme is 400; what cannot be called is refused",
        arguments: [
            (["Refer-To: tel:+15550100"], nil), (["Refer-To: <sips:carol@example.net>"], nil), ([], 400), (["Refer-To: +15550100"], 400),
            (["Refer-To: <sip:a@b.example>", "Refer-To: <sip:c@b.example>"], 400), (["Refer-To: <mailto:a@b.example>"], 416),
            (["Refer-To: <sip:a@b.example;method=BYE>"], 603), (["Refer-To: <sip:a@b.example?Replaces=nothing>"], 400),
            (["Refer-To: <sip:a@b.example>", "Require: multiple-refer"], 420),
        ] as [([String], Int?)])
    func targets(headers: [String], status: Int?) throws {
        var talk = try accepting()
        #expect(talk.send("REFER", headers) == status)
        #expect((talk.scene.phone.received.count == 1) == (status == nil))
    }

    @Test func ofTheHeaderFieldsOfATargetOnlyReplacesIsTaken() throws {
        var talk = try accepting()
        _ = talk.send("REFER", ["Refer-To: <sip:a@b.example?Replaces=c1%3Bto-tag%3D1%3Bfrom-tag%3D2&Route=%3Csip:evil.example%3E&From=x>"])
        let referral = try required(talk.scene.phone.received.last?.1)
        #expect(referral.replaces == Replaces(callID: "c1", toTag: "1", fromTag: "2") && referral.target.sip?.headers.isEmpty == true)
    }

    @Test("outside a call a REFER must come from where calls may come from, or name a call of ours (RFC 4538)")
    func outside() throws {
        let scene = Scene {
            $0.transfers = .accept
            $0.directCalls = .refuse
        }
        let (_, invite) = try scene.answeredOutgoing()
        scene.peer.send("REFER", scene.phoneURI, to: scene.phone, headers: ["Refer-To: <sip:carol@example.net>"])
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.refer).last?.statusCode == 403 && scene.phone.received.isEmpty)
        let tag = try required(invite.from.tag)
        scene.peer.send(
            "REFER", scene.phoneURI, to: scene.phone, callID: "other",
            headers: ["Refer-To: <sip:carol@example.net>", "Target-Dialog: \(invite.callID);local-tag=peer;remote-tag=\(tag)"])
        scene.network.run(.milliseconds(30))
        let (id, referral) = try required(scene.phone.received.last)
        #expect(referral.session != nil)
        scene.on { $0.acceptReferral(id, now: $1) }
        scene.network.run(.milliseconds(30))
        let answer = try required(scene.peer.responses(.refer).last)
        let report = try required(scene.peer.requests(.notify).last)
        #expect(answer.statusCode == 202 && report.callID == "other" && report.from.tag == answer.to.tag)
        scene.peer.respond(481, to: report)
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.agent.referralCount == 0, "who does not know the subscription is told no more")
    }

    @Test func aShutDownTellsThoseWhoReferredUs() throws {
        var talk = try accepting()
        talk.scene.peer.onMessage = { [unowned peer = talk.scene.peer] message in
            if message.isRequest, message.method != .ack { peer.respond(200, to: message) }
        }
        _ = talk.send("REFER", ["Refer-To: <sip:carol@example.net>"])
        let (id, _) = try required(talk.scene.phone.received.last)
        talk.scene.on { $0.acceptReferral(id, now: $1) }
        talk.scene.network.run(.milliseconds(50))
        talk.scene.on { $0.shutDown(now: $1) }
        talk.scene.network.run(.seconds(3))
        #expect(talk.scene.phone.hasStopped && talk.scene.phone.agent.heldAfterStop.isEmpty)
        #expect(talk.scene.peer.requests(.notify).last?.first(.subscriptionState)?.hasPrefix("terminated") == true)
    }
}
