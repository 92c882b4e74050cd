// SPDX-License-Identifier: Apache-2.0
//
// RFC 3261 §10.3, step by step.

import Crypto
import Essentials
import HandsetTestKit
import SIP
import SIPAgent
import SIPServer
import Testing

@Suite struct RegistrarTests {
    @Test func aContactIsGrantedTheDefaultTime() throws {
        let bench = ServerBench()
        let answer = try bench.register(bench.peer("p"), "alice", contacts: ["<sip:alice@192.0.2.1>"])
        #expect(answer.statusCode == 200)
        #expect(answer.contacts.first?.parameters.value("expires") == "3600")
        #expect(answer.to.tag != nil)
    }

    @Test(
        arguments: [
            ("30", nil, 423, ""), ("60", nil, 200, "60"), ("7200", nil, 200, "7200"), ("99999", nil, 200, "7200"),
            ("99999999999", nil, 200, "7200"), ("120", "300", 200, "300"), ("300", "20", 423, ""), (nil, "61", 200, "61"),
        ] as [(String?, String?, Int, String)])
    func theGrantedTimeFollowsExpires(field: String?, parameter: String?, status: Int, granted: String) throws {
        let bench = ServerBench()
        let contact = "<sip:alice@192.0.2.1>" + (parameter.map { ";expires=\($0)" } ?? "")
        let answer = try bench.register(bench.peer("p"), "alice", contacts: [contact], expires: field)
        #expect(answer.statusCode == status)
        if status == 423 {
            #expect(answer.first(.minExpires) == "60")
            #expect(bench.server.machine.bindings(of: "alice", now: bench.world.now).isEmpty)
        } else {
            #expect(answer.contacts.first?.parameters.value("expires") == granted)
        }
    }

    @Test func severalContactsAreListedByPreferenceThenAge() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>;q=0.2", "<sip:b@192.0.2.2>;q=0.7", "<sip:c@192.0.2.3>;q=0.7"])
        let list = try bench.register(peer, "alice", contacts: [])
        #expect(bench.contacts(list) == ["sip:b@192.0.2.2", "sip:c@192.0.2.3", "sip:a@192.0.2.1"])
    }

    @Test func aRefreshReplacesAndCountsDown() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>"], expires: "100")
        bench.world.run(for: .seconds(40))
        let list = try bench.register(peer, "alice", contacts: [])
        #expect(list.contacts.first?.parameters.value("expires") == "60")
        let refreshed = try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>"], expires: "100")
        #expect(refreshed.contacts.count == 1)
        #expect(refreshed.contacts.first?.parameters.value("expires") == "100")
    }

    @Test func aContactEndsWithItsTime() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>;expires=60", "<sip:b@192.0.2.2>;expires=90"])
        bench.world.run(for: .seconds(61))
        #expect(bench.server.machine.counters[.contactsExpired] == 1)
        #expect(bench.contacts(try bench.register(peer, "alice", contacts: [])) == ["sip:b@192.0.2.2"])
    }

    @Test func zeroTakesOneContactBack() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>", "<sip:b@192.0.2.2>"])
        let answer = try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>;expires=0"])
        #expect(bench.contacts(answer) == ["sip:b@192.0.2.2"])
    }

    @Test func theWildcardTakesAllBack() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>", "<sip:b@192.0.2.2>"])
        let answer = try bench.register(peer, "alice", contacts: ["*"], expires: "0")
        #expect(answer.statusCode == 200)
        #expect(answer.contacts.isEmpty)
    }

    @Test(arguments: ["60", nil] as [String?])
    func theWildcardNeedsExpiresZero(expires: String?) throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>"])
        #expect(try bench.register(peer, "alice", contacts: ["*"], expires: expires).statusCode == 400)
        #expect(bench.server.machine.bindings(of: "alice", now: bench.world.now).count == 1)
    }

    @Test func anOldRequestOfTheSameDeviceIsRefusedAndNothingChanges() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>"], callID: "x", cseq: 5)
        #expect(try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>;expires=0"], callID: "x", cseq: 4).statusCode == 500)
        #expect(try bench.register(peer, "alice", contacts: ["*"], expires: "0", callID: "x", cseq: 5).statusCode == 500)
        #expect(bench.server.machine.bindings(of: "alice", now: bench.world.now).count == 1)
        // Another Call-ID is another device, or this one after a restart: any CSeq will do.
        #expect(try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>;expires=0"], callID: "y", cseq: 1).contacts.isEmpty)
    }

    @Test func contactsAreComparedAsURIs() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:alice@PC.example.test;transport=tcp>"])
        let answer = try bench.register(peer, "alice", contacts: ["<sip:%61lice@pc.example.test;transport=TCP>"])
        #expect(answer.contacts.count == 1)
    }

    @Test func contactsOfOtherSchemesArePassedOver() throws {
        let bench = ServerBench()
        let answer = try bench.register(bench.peer("p"), "alice", contacts: ["<tel:+1555>", "<sip:a@192.0.2.1>"])
        #expect(bench.contacts(answer) == ["sip:a@192.0.2.1"])
    }

    @Test func limitsAreNamedAndCounted() throws {
        let bench = ServerBench { configuration in
            configuration.maximumContactsPerUser = 2
            configuration.maximumContacts = 3
        }
        let peer = bench.peer("p")
        try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>", "<sip:b@192.0.2.2>"])
        let third = try bench.register(peer, "alice", contacts: ["<sip:c@192.0.2.3>"])
        #expect(third.statusCode == 403)
        #expect(bench.server.machine.counters[.contactsPerUserLimit] == 1)
        let others = try bench.register(peer, "bob", contacts: ["<sip:a@192.0.2.1>", "<sip:b@192.0.2.2>"], callID: "b")
        #expect(others.statusCode == 503)
        #expect(bench.server.machine.counters[.contactsLimit] == 1)
        // A refresh is no new contact.
        #expect(try bench.register(peer, "alice", contacts: ["<sip:a@192.0.2.1>"]).statusCode == 200)
    }

    @Test(arguments: [("sip:other.test", 403), ("sip:example.test", 200)])
    func onlyOurDomainIsServed(uri: String, status: Int) throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        var request = peer.request(
            .register, uri, from: "<sip:alice@example.test>;tag=1", to: "<sip:alice@example.test>", callID: "d", cseq: 1)
        request.add(.contact, "<sip:a@192.0.2.1>")
        #expect(try bench.exchange(peer, request).statusCode == status)
    }

    @Test func anUnknownExtensionIsRefused() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        var request = bench.registerRequest(peer, "alice", contacts: ["<sip:a@192.0.2.1>"])
        request.add(.require, "teleport")
        let answer = try bench.exchange(peer, request)
        #expect(answer.statusCode == 420)
        #expect(answer.first(.unsupported) == "teleport")
    }

    // MARK: Authentication

    /// Answers the challenge of `challenged` for a request like `make()`.
    private func authorized(
        _ bench: ServerBench, _ make: MessageBuilder, challenge: SIPMessage, user: String, password: String
    ) throws -> MessageBuilder {
        var client = DigestClient(
            credentials: [Credential(realm: nil, username: user, password: Secret(password))],
            cryptography: bench.world.cryptography, random: RandomSource(SeededGenerator(seed: 9)))
        var attempt = DigestAttempt()
        var request = make
        let built = make.build()
        let sent = DigestRequest(method: built.method, uri: "\(built.requestURI)", body: Array(built.body))
        for (name, value) in try client.authorize(challenge, for: sent, attempt: &attempt) { request.add(name, value) }
        return request
    }

    @Test(arguments: [
        ("alice", "alice", "a-secret", 200), ("alice", "alice", "wrong", 403), ("alice", "bob", "b-secret", 403),
        ("alice", "nobody", "x", 403),
    ])
    func registrationNeedsTheRightPasswordOfTheRightUser(aor: String, user: String, password: String, status: Int) throws {
        let bench = ServerBench(open: false) { $0.challengeAlgorithms = [.sha256, .md5] }
        let peer = bench.peer("p")
        let challenge = try bench.register(peer, aor, contacts: ["<sip:a@192.0.2.1>"])
        #expect(challenge.statusCode == 401)
        #expect(challenge.values(.wwwAuthenticate).count == 2)
        let again = bench.registerRequest(peer, aor, contacts: ["<sip:a@192.0.2.1>"])
        let answer = try bench.exchange(peer, try authorized(bench, again, challenge: challenge, user: user, password: password))
        #expect(answer.statusCode == status)
        #expect(bench.server.machine.bindings(of: aor, now: bench.world.now).count == (status == 200 ? 1 : 0))
    }

    @Test func phonesOfBeforeRFC8760AreAskedInTheirWay() throws {
        let bench = ServerBench(open: false)
        let challenge = try bench.register(bench.peer("p"), "alice", contacts: ["<sip:a@192.0.2.1>"])
        #expect(challenge.values(.wwwAuthenticate).count == 1)
        #expect(challenge.first(.wwwAuthenticate)?.contains("algorithm=MD5") == true)
    }

    @Test func aCallOfOurUserIsChallengedAsByAProxy() throws {
        let bench = ServerBench(open: false)
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        let from = "<sip:alice@example.test>;tag=1"
        let challenge = try bench.exchange(caller, bench.invite(caller, "bob", from: from))
        #expect(challenge.statusCode == 407)
        var again = bench.invite(caller, "bob", from: from)
        again.set(.cseq, "2 INVITE")
        let authorized = try authorized(bench, again, challenge: challenge, user: "alice", password: "a-secret")
        #expect(try bench.exchange(caller, authorized).statusCode == 480)
        #expect(bench.world.settle() == [])
    }

    @Test func nobodyElsesPasswordWillDo() throws {
        let bench = ServerBench(open: false)
        let caller = bench.peer("caller")
        bench.acknowledgeFailures(caller)
        let from = "<sip:alice@example.test>;tag=1"
        let challenge = try bench.exchange(caller, bench.invite(caller, "bob", from: from))
        var again = bench.invite(caller, "bob", from: from)
        again.set(.cseq, "2 INVITE")
        let authorized = try authorized(bench, again, challenge: challenge, user: "bob", password: "b-secret")
        #expect(try bench.exchange(caller, authorized).statusCode == 403)
    }
}
