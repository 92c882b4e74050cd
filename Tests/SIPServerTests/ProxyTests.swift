// SPDX-License-Identifier: Apache-2.0
//
// RFC 3261 §16: forwarding, forking, CANCEL, timers, loops, routes.

import Essentials
import HandsetTestKit
import SIP
import SIPAgent
import SIPServer
import Testing

@Suite struct ProxyTests {
    /// A bench with bob's phones, each answering as told.
    private func bench(
        _ phones: [(name: String, q: String?, steps: [(after: Interval, status: Int)])],
        configure: (inout ServerConfiguration) -> Void = { _ in }
    ) throws -> (ServerBench, ScriptedPeer) {
        let bench = ServerBench(configure: configure)
        for phone in phones {
            let peer = bench.peer(phone.name)
            peer.answersInvites(phone.steps)
            let answers = peer.react
            peer.react = { _, _ in }
            try bench.registerHere(peer, "bob", q: phone.q)
            peer.react = answers
        }
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        return (bench, caller)
    }

    private func after(_ milliseconds: Int64, _ status: Int) -> (after: Interval, status: Int) {
        (.milliseconds(milliseconds), status)
    }

    @Test func aCallGoesToTheRegisteredContactAndBack() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 180), after(2000, 200)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(4))
        #expect(bench.statuses(caller).contains(180))
        #expect(bench.finals(caller).first == 200)
        let invite = try #require(bench.requests(bench.peer("b1"), .invite).first)
        #expect("\(invite.requestURI)" == "sip:bob@\(bench.peer("b1").address)")
        #expect(invite.maxForwards == 69)
        #expect(invite.vias.count == 2)
        #expect(invite.recordRoutes.count == 1)
        // received and rport of the caller's Via are filled in (RFC 3581).
        #expect(invite.vias[1].received == caller.address.ip)
        #expect(invite.vias[1].rport == caller.address.port)
    }

    @Test func requestsInsideTheDialogFollowTheRecordRoute() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 200)])])
        let answer = try bench.exchange(caller, bench.invite(caller, "bob"))
        let contact = try #require(answer.contacts.first?.uri)
        func inDialog(_ method: SIP.Method, _ cseq: UInt32) -> MessageBuilder {
            var request = caller.request(
                method, "\(contact)", from: "<sip:carol@elsewhere.test>;tag=c", to: answer.to.description, callID: "call", cseq: cseq)
            for route in answer.recordRoutes.reversed() { request.add(.route, route.description) }
            return request
        }
        caller.send(inDialog(.ack, 1), to: bench.address)
        bench.world.run(for: .seconds(1))
        let acks = bench.requests(bench.peer("b1"), .ack)
        #expect(acks.count == 1)
        #expect(acks.first?.routes.isEmpty == true)
        #expect(bench.server.machine.counters[.acksForwarded] == 1)
        #expect(try bench.exchange(caller, inDialog(.bye, 2)).statusCode == 200)
        // And from the other side, by its route set (not reversed for the called side).
        let phone = bench.peer("b1")
        let invite = try #require(bench.requests(phone, .invite).first)
        phone.react = { _, _ in }
        caller.react = { [unowned caller] message, source in
            if message.isRequest { caller.answer(message, 200, tag: nil, to: source) }
        }
        var bye = phone.request(
            .bye, "sip:carol@\(caller.address)", from: answer.to.description, to: "<sip:carol@elsewhere.test>;tag=c", callID: "call",
            cseq: 1)
        for route in invite.recordRoutes { bye.add(.route, route.description) }
        #expect(try bench.exchange(phone, bye).statusCode == 200)
        #expect(bench.world.settle() == [])
    }

    @Test func aForkRingsAllAndTheFirstAnswerCancelsTheOthers() throws {
        let (bench, caller) = try bench([
            ("b1", nil, [after(100, 180)]), ("b2", nil, [after(100, 180), after(1000, 200)]), ("b3", nil, [after(200, 183)]),
        ])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(3))
        #expect(bench.statuses(caller).filter { $0 == 180 }.count == 2)
        #expect(bench.finals(caller) == [200])
        #expect(bench.requests(bench.peer("b1"), .cancel).count == 1)
        #expect(bench.requests(bench.peer("b2"), .cancel).isEmpty)
        // The others are told why they stop ringing (RFC 3326 §3.1).
        #expect(bench.requests(bench.peer("b3"), .cancel).map(\.reasons) == [[Reason(cause: 200, text: "Call completed elsewhere")]])
        #expect(bench.world.settle() == [])
    }

    @Test func twoAnswersAtOnceBothReachTheCaller() throws {
        let (bench, caller) = try bench([("b1", nil, [after(500, 200)]), ("b2", nil, [after(503, 200)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(3))
        #expect(bench.finals(caller) == [200, 200])
        let tags = caller.received.filter { !$0.message.isRequest && $0.message.statusCode == 200 }.map { $0.message.to.tag }
        #expect(tags == ["b1", "b2"])
        #expect(bench.world.settle() == [])
    }

    @Test(
        arguments: [
            ([486, 404], 486), ([404, 486], 404), ([486, 603], 603), ([503, 486], 486), ([503, 503], 500), ([486, 302], 302),
            ([480, 415], 415), ([500, 503], 500), ([408, 486], 486),
        ] as [([Int], Int)])
    func theBestOfTheFailuresGoesBack(failures: [Int], best: Int) throws {
        let (bench, caller) = try bench(
            failures.enumerated().map { ("b\($0.offset)", nil, [after(100 + Int64($0.offset) * 50, $0.element)]) })
        #expect(try bench.exchange(caller, bench.invite(caller, "bob")).statusCode == best)
        bench.world.run(for: .seconds(1))
        #expect(bench.finals(caller) == [best])
        #expect(bench.world.settle() == [])
    }

    @Test func challengesOfAllBranchesAreGathered() throws {
        let (bench, caller) = try bench([])
        for (name, realm) in [("b1", "one"), ("b2", "two")] {
            let peer = bench.peer(name)
            try bench.registerHere(peer, "bob")
            peer.react = { [unowned peer] message, source in
                guard message.isRequest, message.method == .invite else { return }
                peer.answer(message, 401, tag: name, to: source) {
                    $0.add(.wwwAuthenticate, "Digest realm=\"\(realm)\", nonce=\"n\"")
                }
            }
        }
        let answer = try bench.exchange(caller, bench.invite(caller, "bob"))
        #expect(answer.statusCode == 401)
        #expect(answer.values(.wwwAuthenticate).count == 2)
    }

    @Test func aDeclineEndsTheForkForAll() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 180)]), ("b2", nil, [after(300, 603)])])
        #expect(try bench.exchange(caller, bench.invite(caller, "bob")).statusCode == 603)
        #expect(bench.requests(bench.peer("b1"), .cancel).map(\.reasons) == [[Reason(cause: 603)]])
        #expect(bench.world.settle() == [])
    }

    @Test func aLowerPreferenceIsTriedAfterTheHigherFailed() throws {
        let (bench, caller) = try bench([("b1", "0.9", [after(300, 486)]), ("b2", "0.3", [after(100, 200)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .milliseconds(200))
        #expect(bench.requests(bench.peer("b2"), .invite).isEmpty)
        bench.world.run(for: .seconds(1))
        #expect(bench.finals(caller).first == 200)
    }

    @Test func aLowerPreferenceIsTriedWhenTheHigherRingsTooLong() throws {
        let (bench, caller) = try bench([("b1", "0.9", [after(100, 180)]), ("b2", "0.3", [after(100, 200)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(19))
        #expect(bench.requests(bench.peer("b2"), .invite).isEmpty)
        bench.world.run(for: .seconds(3))
        #expect(bench.requests(bench.peer("b1"), .cancel).count >= 1)
        #expect(bench.finals(caller).first == 200)
        #expect(bench.world.settle() == [])
    }

    @Test func theCallersCancelReachesEveryBranch() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 180)]), ("b2", nil, [after(100, 180)])])
        let invite = bench.invite(caller, "bob")
        caller.send(invite, to: bench.address)
        bench.world.run(for: .seconds(1))
        let sent = invite.build()
        var cancel = MessageBuilder(request: .cancel, uri: sent.requestURI)
        cancel.add(.via, sent.topVia.description)
        cancel.add(.maxForwards, "70")
        cancel.add(.from, sent.from.description)
        cancel.add(.to, sent.to.description)
        cancel.add(.callID, sent.callID)
        cancel.add(.cseq, "1 CANCEL")
        caller.send(cancel, to: bench.address)
        bench.world.run(for: .seconds(1))
        #expect(bench.finals(caller) == [487])
        #expect(bench.requests(bench.peer("b1"), .cancel).count == 1)
        #expect(bench.requests(bench.peer("b2"), .cancel).count == 1)
        #expect(bench.world.settle() == [])
    }

    @Test func aCancelThatMeetsNoAnswerStillEnds() throws {
        let (bench, caller) = try bench([("b1", nil, [])])
        bench.peer("b1").answersInvites([after(100, 180)], honoursCancel: false)
        let invite = bench.invite(caller, "bob")
        caller.send(invite, to: bench.address)
        bench.world.run(for: .seconds(1))
        let sent = invite.build()
        var cancel = MessageBuilder(request: .cancel, uri: sent.requestURI)
        for (name, value) in [
            (HeaderName.via, sent.topVia.description), (.from, sent.from.description), (.to, sent.to.description),
            (.callID, sent.callID), (.cseq, "1 CANCEL"), (.maxForwards, "70"),
        ] { cancel.add(name, value) }
        caller.send(cancel, to: bench.address)
        bench.world.run(for: .seconds(40))
        #expect(bench.finals(caller).first == 487)
        #expect(bench.world.settle() == [])
    }

    @Test func aPhoneThatNeverAnswersIsA408() throws {
        let (bench, caller) = try bench([("b1", nil, [])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(31))
        #expect(bench.finals(caller).isEmpty)
        bench.world.run(for: .seconds(3))
        #expect(bench.finals(caller).first == 408)
        #expect(bench.world.settle() == [])
    }

    @Test func timerCEndsEndlessRinging() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 180)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(180))
        #expect(bench.finals(caller).isEmpty)
        bench.world.run(for: .seconds(3))
        #expect(bench.finals(caller).first == 487)
        #expect(bench.server.machine.counters[.timerCFired] == 1)
        #expect(bench.world.settle() == [])
    }

    @Test func aProvisionalResponseMovesTimerC() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 180), after(170_000, 180), after(300_000, 200)])])
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(301))
        #expect(bench.finals(caller).first == 200)
        #expect(bench.server.machine.counters[.timerCFired] == 0)
    }

    @Test(arguments: [("alice", 480), ("zoe", 404)])
    func whoIsNotThereIsSaidSo(user: String, status: Int) throws {
        let bench = ServerBench { $0.authenticatesRegistrations = true }
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        #expect(try bench.exchange(caller, bench.invite(caller, user)).statusCode == status)
    }

    @Test func hopsAreCounted() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 200)])])
        var invite = bench.invite(caller, "bob")
        invite.set(.maxForwards, "0")
        #expect(try bench.exchange(caller, invite).statusCode == 483)
        #expect(bench.requests(bench.peer("b1"), .invite).isEmpty)
    }

    @Test func aLoopIsDetected() throws {
        let bench = ServerBench()
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        // The contact of bob is bob at this server: the request comes back unchanged.
        try bench.register(caller, "bob", contacts: ["<sip:bob@\(bench.address)>"])
        #expect(try bench.exchange(caller, bench.invite(caller, "bob")).statusCode == 482)
        #expect(bench.server.machine.counters[.loopsDetected] == 1)
        #expect(bench.world.settle() == [])
    }

    @Test func proxyRequireOfTheUnknownIsRefused() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 200)])])
        var invite = bench.invite(caller, "bob")
        invite.add(.proxyRequire, "teleport")
        let answer = try bench.exchange(caller, invite)
        #expect(answer.statusCode == 420)
        #expect(answer.first(.unsupported) == "teleport")
    }

    @Test func strangersAreNotRelayed() throws {
        let bench = ServerBench()
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        var invite = caller.request(
            .invite, "sip:x@192.0.2.77", from: "<sip:carol@elsewhere.test>;tag=c", to: "<sip:x@192.0.2.77>", callID: "relay", cseq: 1)
        invite.add(.contact, "<sip:carol@\(caller.address)>")
        #expect(try bench.exchange(caller, invite).statusCode == 403)
        // Nor with a Route that this server never wrote.
        var routed = caller.request(
            .bye, "sip:x@192.0.2.77", from: "<sip:carol@elsewhere.test>;tag=c", to: "<sip:x@192.0.2.77>;tag=d", callID: "relay2",
            cseq: 1)
        routed.add(.route, "<sip:00112233445566778899aabb@\(bench.address);lr>")
        #expect(try bench.exchange(caller, routed).statusCode == 403)
    }

    @Test func aStrictRoutersRequestIsUnderstood() throws {
        let (bench, caller) = try bench([("b1", nil, [after(100, 200)])])
        let answer = try bench.exchange(caller, bench.invite(caller, "bob"))
        let own = try #require(answer.recordRoutes.first?.uri)
        var bye = caller.request(
            .bye, "\(own)", from: "<sip:carol@elsewhere.test>;tag=c", to: answer.to.description, callID: "call", cseq: 2)
        bye.add(.route, "<\(try #require(answer.contacts.first).uri)>")
        #expect(try bench.exchange(caller, bye).statusCode == 200)
    }

    @Test func optionsToTheServerIsAnswered() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        let request = peer.request(
            .options, "sip:\(bench.address)", from: "<sip:p@x.test>;tag=1", to: "<sip:\(bench.address)>", callID: "o", cseq: 1)
        let answer = try bench.exchange(peer, request)
        #expect(answer.statusCode == 200)
        #expect(answer.allow.contains("INVITE"))
    }

    @Test func servicesAreReachedWithoutRegistration() throws {
        let bench = ServerBench { configuration in
            configuration.services = [
                ServiceContact(user: "echo", contact: SIPURI(user: "echo", host: .address(.v4(0xc633_6403)), port: 5060))
            ]
        }
        let service = bench.peer("service")
        let caller = bench.peer("caller")
        try #require(service.address.ip == .v4(0xc633_6403) || caller.address.ip == .v4(0xc633_6403))
        let (callee, from) = service.address.ip == .v4(0xc633_6403) ? (service, caller) : (caller, service)
        callee.answersInvites([after(10, 200)])
        #expect(try bench.exchange(from, bench.invite(from, "echo")).statusCode == 200)
        #expect("\(bench.requests(callee, .invite)[0].requestURI)" == "sip:echo@\(callee.address)")
    }

    @Test func tooManyBranchesAreLeftOut() throws {
        let (bench, caller) = try bench(
            (1...3).map { ("b\($0)", nil, [after(100, 486)]) }, configure: { $0.maximumBranches = 2 })
        _ = try bench.exchange(caller, bench.invite(caller, "bob"))
        #expect(bench.server.machine.counters[.branchesLimit] == 1)
        #expect(bench.requests(bench.peer("b3"), .invite).isEmpty)
    }

    // MARK: NAT and connections

    @Test func aPhoneBehindANATIsReachedWhereItCameFrom() throws {
        let bench = ServerBench()
        let nat = bench.world.addNAT("nat")
        let phone = bench.peer("inside", behind: nat)
        try bench.registerHere(phone, "bob")
        phone.answersInvites([after(50, 200)])
        let caller = bench.peer("caller")
        let answer = try bench.exchange(caller, bench.invite(caller, "bob"))
        #expect(answer.statusCode == 200)
        // The BYE goes to the inner Contact by way of the flow that the Record-Route remembers.
        var bye = caller.request(
            .bye, "\(try #require(answer.contacts.first).uri)", from: "<sip:carol@elsewhere.test>;tag=c",
            to: answer.to.description, callID: "call", cseq: 2)
        for route in answer.recordRoutes.reversed() { bye.add(.route, route.description) }
        #expect(try bench.exchange(caller, bye).statusCode == 200)
    }

    @Test func aPhoneOnTCPIsReachedOverItsConnection() throws {
        let bench = ServerBench()
        let nat = bench.world.addNAT("nat")
        let phone = bench.peer("inside", behind: nat)
        phone.connect(to: bench.address) { stream in
            var request = phone.request(
                .register, "sip:example.test", from: "<sip:bob@example.test>;tag=r", to: "<sip:bob@example.test>", callID: "t", cseq: 1,
                transport: .tcp)
            request.add(.contact, "<sip:bob@\(phone.address);transport=tcp>")
            stream.send(request.build().bytes)
        }
        bench.world.run(for: .seconds(1))
        #expect(bench.server.machine.bindings(of: "bob", now: bench.world.now).count == 1)
        let caller = bench.peer("caller")
        caller.send(bench.invite(caller, "bob"), to: bench.address)
        bench.world.run(for: .seconds(1))
        let invite = try #require(bench.requests(phone, .invite).first)
        #expect(invite.topVia.transport == .tcp)
        // The two sides differ in transport: two Record-Routes (RFC 5658).
        #expect(invite.recordRoutes.count == 2)
        #expect(invite.recordRoutes.first?.uri.sip?.transport == .tcp)
        // The connection is the only way to this phone: with it the contact goes.
        phone.streams[0].reset()
        bench.world.run(for: .seconds(1))
        #expect(bench.server.machine.bindings(of: "bob", now: bench.world.now).isEmpty)
        #expect(bench.server.machine.counters[.contactsLost] == 1)
    }
}
