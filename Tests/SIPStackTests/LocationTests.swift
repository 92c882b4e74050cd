// SPDX-License-Identifier: Apache-2.0
//
// Server location: RFC 3263 §4, RFC 2782.

import Essentials
import SIP
import SIPAgent
import Testing

/// A location machine with a zone that answers.
private final class LocationBench {
    let location: ServerLocation
    var zone: [String: DNSResult] = [:]
    var asked: [String] = []
    var now = MonotonicTime.zero

    init(_ configuration: LocationConfiguration = LocationConfiguration(), seed: UInt64 = 1) {
        location = ServerLocation(configuration: configuration, random: seeded(seed))
    }

    func a(_ name: String, _ addresses: String..., ttl: UInt32 = 60) {
        for type in ["a", "aaaa"] {
            let records = addresses.compactMap { IPAddress($0) }.filter { $0.isV6 == (type == "aaaa") }
            if !records.isEmpty {
                zone["\(type) \(name)"] = .records(records.map { DNSRecord(.address($0), timeToLive: ttl) })
            }
        }
    }

    func srv(_ name: String, _ records: (UInt16, UInt16, UInt16, String)...) {
        zone["srv \(name)"] = .records(
            records.map { DNSRecord(.srv(priority: $0.0, weight: $0.1, port: $0.2, target: $0.3), timeToLive: 60) })
    }

    func locate(_ text: String, transport: TransportProtocol? = nil) throws -> Result<TargetList, LocationFailure> {
        let uri = try #require(try URI(text).sip)
        let id = location.locate(uri, transport: transport, now: now)
        while let question = location.nextQuestion() {
            let key = "\(question.type) \(question.name)"
            asked.append(key)
            location.handle(DNSAnswer(question, zone[key] ?? .none), now: now)
        }
        let result = try #require(location.nextResult())
        #expect(result.id == id && location.nextResult() == nil && location.pendingQuestionCount == 0)
        return result.outcome
    }

    func targets(_ text: String, transport: TransportProtocol? = nil) throws -> [String] {
        try locate(text, transport: transport).get().map { "\($0.transport) \($0.address)" }
    }
}

@Suite("Server location") struct LocationTests {
    @Test("A numeric host is itself, with the port given or that of the transport")
    func numeric() throws {
        let bench = LocationBench()
        #expect(try bench.targets("sip:bob@192.0.2.7") == ["udp 192.0.2.7:5060"])
        #expect(try bench.targets("sip:bob@192.0.2.7:5080;transport=tcp") == ["tcp 192.0.2.7:5080"])
        #expect(try bench.targets("sip:[2001:db8::7]") == ["udp [2001:db8::7]:5060"])
        #expect(try bench.targets("sips:192.0.2.7") == ["tls 192.0.2.7:5061"])
        #expect(try bench.targets("sip:192.0.2.7", transport: .tcp) == ["tcp 192.0.2.7:5060"])
        #expect(bench.asked.isEmpty)
    }

    @Test("With a port only A and AAAA are asked")
    func port() throws {
        let bench = LocationBench()
        bench.a("sip.example.net", "192.0.2.1", "192.0.2.2", "2001:db8::1")
        #expect(
            try bench.targets("sip:bob@sip.example.net:5070")
                == ["udp 192.0.2.1:5070", "udp 192.0.2.2:5070", "udp [2001:db8::1]:5070"])
        #expect(bench.asked == ["a sip.example.net", "aaaa sip.example.net"])
    }

    @Test("B-022: the targets of SRV come in the order of priority; each further one is to be tried after a failure")
    func priority() throws {
        let bench = LocationBench()
        bench.srv("_sip._udp.example.net", (20, 0, 5062, "c.example.net"), (10, 0, 5061, "b.example.net."), (5, 0, 5060, "A.example.net"))
        bench.a("a.example.net", "192.0.2.1")
        bench.a("b.example.net", "192.0.2.2")
        bench.a("c.example.net", "192.0.2.3")
        var list = try bench.locate("sip:bob@example.net").get()
        #expect(list.next()?.address == SocketAddress("192.0.2.1:5060"))
        #expect(list.next()?.address == SocketAddress("192.0.2.2:5061"))
        let last = list.next()
        #expect(last?.address == SocketAddress("192.0.2.3:5062") && last?.name == "example.net")
        #expect(list.next() == nil && list.tried == 3)
        #expect(bench.asked.first == "srv _sip._udp.example.net")
    }

    @Test("Within a priority the draw follows the weights")
    func weight() throws {
        var first = ["192.0.2.1": 0, "192.0.2.2": 0]
        for seed in 0..<1_000 {
            let bench = LocationBench(seed: UInt64(seed))
            bench.srv("_sip._udp.example.net", (1, 90, 5060, "a.example.net"), (1, 10, 5060, "b.example.net"))
            bench.a("a.example.net", "192.0.2.1")
            bench.a("b.example.net", "192.0.2.2")
            let targets = try bench.locate("sip:example.net").get().targets
            #expect(targets.count == 2)
            first[targets[0].address.ip.description, default: 0] += 1
        }
        let heavy = try #require(first["192.0.2.1"])
        #expect((850...940).contains(heavy), "\(heavy) of 1000")
    }

    @Test("Without SRV the addresses of the name are used; further transports are asked in order")
    func withoutServices() throws {
        let bench = LocationBench()
        bench.a("example.net", "192.0.2.1")
        #expect(try bench.targets("sip:example.net") == ["udp 192.0.2.1:5060"])
        #expect(bench.asked == ["srv _sip._udp.example.net", "a example.net", "aaaa example.net"])
        var configuration = LocationConfiguration()
        configuration.transports = [.udp, .tcp]
        let both = LocationBench(configuration)
        both.srv("_sip._tcp.example.net", (1, 1, 5070, "t.example.net"))
        both.a("t.example.net", "192.0.2.9")
        #expect(try both.targets("sip:example.net") == ["tcp 192.0.2.9:5070"])
        both.a("other.net", "192.0.2.8")
        #expect(try both.targets("sip:other.net") == ["udp 192.0.2.8:5060"])
        #expect(try both.targets("sip:other.net;transport=tcp") == ["tcp 192.0.2.8:5060"])
    }

    @Test("sips asks _sips._tcp and refuses a transport that cannot be secured")
    func secure() throws {
        let bench = LocationBench()
        bench.srv("_sips._tcp.example.net", (1, 1, 5061, "t.example.net"))
        bench.a("t.example.net", "192.0.2.9")
        #expect(try bench.targets("sips:example.net") == ["tls 192.0.2.9:5061"])
        guard case .failure(.unsupported) = try bench.locate("sips:example.net;transport=udp") else {
            Issue.record("sips over udp was located")
            return
        }
    }

    @Test("Target \".\" says that there is no such service; no record, and no name server, are told apart")
    func failures() throws {
        let bench = LocationBench()
        bench.srv("_sip._udp.closed.net", (0, 0, 0, "."))
        guard case .failure(.notOffered(name: "closed.net")) = try bench.locate("sip:closed.net") else {
            Issue.record("target . was located")
            return
        }
        guard case .failure(.noAddress(name: "void.net")) = try bench.locate("sip:void.net") else {
            Issue.record("a name without records was located")
            return
        }
        bench.zone["a deaf.net"] = .failed("SERVFAIL")
        guard case .failure(.unanswered(name: "deaf.net", reason: "SERVFAIL")) = try bench.locate("sip:deaf.net:5060") else {
            Issue.record("a failed question was located")
            return
        }
        #expect(bench.location.counters[.failures] == 3)
    }

    @Test("Answers are kept for their time to live with a cap, the absence of records for a short time")
    func cache() throws {
        var configuration = LocationConfiguration()
        configuration.longestPositive = .seconds(100)
        configuration.usesIPv6 = false
        let bench = LocationBench(configuration)
        bench.a("a.net", "192.0.2.1", ttl: 10)
        bench.a("b.net", "192.0.2.2", ttl: 1_000_000)
        func questions(_ name: String, at seconds: Int64) throws -> Int {
            bench.asked = []
            bench.now = .zero + .seconds(seconds)
            _ = try bench.locate("sip:\(name):5060")
            return bench.asked.count
        }
        #expect(try questions("a.net", at: 0) == 1)
        #expect(try questions("a.net", at: 9) == 0)
        #expect(try questions("a.net", at: 10) == 1)
        #expect(try questions("b.net", at: 10) == 1)
        #expect(try questions("b.net", at: 109) == 0)
        #expect(try questions("b.net", at: 110) == 1)
        #expect(try questions("void.net", at: 200) == 1)
        #expect(try questions("void.net", at: 229) == 0)
        #expect(try questions("void.net", at: 230) == 1)
        bench.location.forget()
        #expect(try questions("void.net", at: 230) == 1)
        #expect(bench.location.counters[.cacheHits] == 3)
    }

    @Test("The cache, the records of an answer and the searches are bounded")
    func bounds() throws {
        var configuration = LocationConfiguration()
        configuration.cachedAnswers = 2
        configuration.usesIPv6 = false
        configuration.records = 3
        configuration.addresses = 2
        configuration.searches = 1
        let bench = LocationBench(configuration)
        for number in 0..<5 {
            bench.a("n\(number).net", "192.0.2.\(number)", ttl: UInt32(10 + number))
            _ = try bench.locate("sip:n\(number).net:5060")
        }
        #expect(bench.location.counters[.cacheEvictions] == 3)
        bench.zone["srv _sip._udp.many.net"] = .records(
            (0..<50).map { DNSRecord(.srv(priority: 1, weight: 1, port: 5060, target: "192.0.2.\($0)"), timeToLive: 1) })
        #expect(try bench.targets("sip:many.net").count == 3)
        bench.a("wide.net", "192.0.2.1", "192.0.2.2", "192.0.2.3")
        #expect(try bench.targets("sip:wide.net:5060").count == 2)
        #expect(bench.location.counters[.recordsCut] == 2)
        _ = bench.location.locate(try #require(try URI("sip:x.net").sip), now: bench.now)
        _ = bench.location.locate(try #require(try URI("sip:y.net").sip), now: bench.now)
        guard case .failure(.limit)? = bench.location.nextResult()?.outcome else {
            Issue.record("the limit of searches did not hold")
            return
        }
        #expect(bench.location.counters[.limited] == 1)
    }

    @Test("Two searches for one name ask once; an answer that nobody asked for is dropped; a search can be given up")
    func sharing() throws {
        let location = ServerLocation(random: seeded())
        let uri = try #require(try URI("sip:example.net:5060").sip)
        let first = location.locate(uri, now: .zero)
        let second = location.locate(uri, now: .zero)
        let third = location.locate(uri, now: .zero)
        location.abandon(third)
        var questions: [DNSQuestion] = []
        while let question = location.nextQuestion() { questions.append(question) }
        #expect(questions.map(\.type) == [.a, .aaaa])
        location.handle(DNSAnswer(DNSQuestion(id: 999, name: "example.net", type: .a), .none), now: .zero)
        #expect(location.counters[.strayAnswers] == 1)
        for question in questions.reversed() {
            location.handle(DNSAnswer(question, .records([DNSRecord(.address(.loopbackV4), timeToLive: 1)])), now: .zero)
        }
        var done: [LocationID] = []
        while let result = location.nextResult() {
            done.append(result.id)
            #expect(try result.outcome.get().targets.count == 1)
        }
        #expect(done == [first, second])
    }
}
