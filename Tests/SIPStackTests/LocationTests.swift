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

    func naptr(_ name: String, _ records: (UInt16, UInt16, String, String, String)...) {
        zone["naptr \(name)"] = .records(
            records.map {
                DNSRecord(.naptr(order: $0.0, preference: $0.1, flags: $0.2, service: $0.3, replacement: $0.4), timeToLive: 60)
            })
    }

    func locate(
        _ text: String, transport: TransportProtocol? = nil, among offered: [TransportProtocol]? = nil
    ) throws -> Result<TargetList, LocationFailure> {
        let uri = try #require(try URI(text).sip)
        let id = location.locate(uri, transport: transport, among: offered, now: now)
        while let question = location.nextQuestion() {
            let key = "\(question.type) \(question.name)"
            asked.append(key)
            location.handle(DNSAnswer(question, zone[key] ?? .none), now: now)
        }
        let result = try #require(location.nextResult())
        #expect(result.id == id && location.nextResult() == nil && location.pendingQuestionCount == 0)
        return result.outcome
    }

    func targets(_ text: String, transport: TransportProtocol? = nil, among offered: [TransportProtocol]? = nil) throws -> [String] {
        try locate(text, transport: transport, among: offered).get().map { "\($0.transport) \($0.address)" }
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

    @Test("RFC 7118: the servers of a WebSocket are found by NAPTR, else by the name's addresses")
    func webSocket() throws {
        let bench = LocationBench()
        bench.a("example.net", "192.0.2.9")
        #expect(try bench.targets("sip:example.net", transport: .ws) == ["ws 192.0.2.9:80"])
        #expect(try bench.targets("sips:example.net;transport=ws") == ["wss 192.0.2.9:443"])
        bench.naptr(
            "example.com", (10, 10, "s", "SIP+D2U", "_sip._udp.example.com"), (20, 10, "s", "SIPS+D2W", "edge.example.com"),
            (30, 10, "s", "SIP+D2W", "plain.example.com"))
        bench.srv("_sip._udp.example.com", (1, 1, 5060, "u.example.com"))
        bench.srv("edge.example.com", (1, 1, 8443, "w.example.com"), (2, 1, 8444, "w.example.com"))
        bench.srv("plain.example.com", (1, 1, 8080, "w.example.com"))
        bench.a("w.example.com", "192.0.2.5")
        #expect(try bench.targets("sip:example.com", transport: .wss) == ["wss 192.0.2.5:8443", "wss 192.0.2.5:8444"])
        #expect(try bench.targets("sip:example.com;transport=ws") == ["ws 192.0.2.5:8080"])
        // A domain that names no WebSocket may still have one at its own name.
        bench.naptr("example.org", (10, 10, "s", "SIP+D2U", "_sip._udp.example.org"))
        bench.a("example.org", "192.0.2.7")
        #expect(try bench.targets("sip:example.org", transport: .ws) == ["ws 192.0.2.7:80"])
    }

    @Test("With a port only A and AAAA are asked")
    func port() throws {
        let bench = LocationBench()
        bench.a("sip.example.net", "192.0.2.1", "192.0.2.2", "2001:db8::1")
        #expect(
            try bench.targets("sip:bob@sip.example.net:5070")
                == ["udp 192.0.2.1:5070", "udp [2001:db8::1]:5070", "udp 192.0.2.2:5070"], "the families by turns")
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
        #expect(bench.asked.prefix(2) == ["naptr example.net", "srv _sip._udp.example.net"])
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
        #expect(
            bench.asked == [
                "naptr example.net", "srv _sip._udp.example.net", "srv _sip._tcp.example.net", "srv _sips._tcp.example.net",
                "a example.net", "aaaa example.net",
            ])
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

    // MARK: NAPTR (RFC 3263 §4.1)

    @Test("NAPTR chooses the transport by order, then preference, among those that we have; the host's own SRV is not looked at")
    func naptr() throws {
        let bench = LocationBench()
        bench.naptr(
            "example.net", (50, 50, "s", "SIPS+D2T", "_sips._tcp.example.net"), (90, 50, "s", "SIP+D2T", "_sip._tcp.example.net"),
            (100, 50, "s", "SIP+D2U", "_sip._udp.other.example.org."))
        bench.srv("_sips._tcp.example.net", (1, 1, 5061, "t.example.net"))
        bench.srv("_sip._udp.other.example.org", (1, 1, 5070, "u.example.org"))
        bench.srv("_sip._udp.example.net", (1, 1, 9, "wrong.example.net"))
        bench.a("t.example.net", "192.0.2.1")
        bench.a("u.example.org", "192.0.2.2")
        bench.a("wrong.example.net", "192.0.2.9")
        #expect(try bench.targets("sip:bob@example.net") == ["tls 192.0.2.1:5061"])
        #expect(try bench.targets("sip:bob@example.net", among: [.udp]) == ["udp 192.0.2.2:5070"])
        // The first service that leads nowhere is passed over.
        #expect(try bench.targets("sip:bob@example.net", among: [.tcp, .udp]) == ["udp 192.0.2.2:5070"])
        // The name asked for is what a certificate must cover, not the replacement (RFC 3263 §4.1).
        #expect(try bench.locate("sip:bob@example.net", among: [.udp]).get().targets[0].name == "example.net")
        // With a transport, a port or sips the choice is made already, or narrower.
        #expect(try bench.targets("sip:example.net;transport=udp") == ["udp 192.0.2.9:9"])
        #expect(try bench.targets("sips:bob@example.net") == ["tls 192.0.2.1:5061"])
    }

    @Test(
        "A transport, a port or a numeric host leaves nothing for NAPTR to choose",
        arguments: ["sip:a.net;transport=tcp", "sip:a.net:5060"])
    func withoutNAPTR(uri: String) throws {
        let bench = LocationBench()
        bench.a("a.net", "192.0.2.1")
        _ = try bench.targets(uri)
        #expect(!bench.asked.contains { $0.hasPrefix("naptr") })
    }

    @Test("A name that offers only transports that we do not have says so, with what it offers")
    func foreignTransports() throws {
        let bench = LocationBench()
        bench.naptr("example.net", (50, 50, "s", "SIPS+D2T", "_sips._tcp.example.net"), (60, 50, "s", "SIP+D2S", "_sip._sctp.example.net"))
        bench.a("example.net", "192.0.2.1")
        guard case .failure(.transportNotOffered("example.net", ["SIPS+D2T"])) = try bench.locate("sip:bob@example.net", among: [.udp])
        else {
            Issue.record("it was located")
            return
        }
    }

    @Test("Records that are of no use are passed over: other flags, other services, no replacement")
    func oddNAPTR() throws {
        let bench = LocationBench()
        bench.naptr(
            "example.net", (1, 1, "u", "SIP+D2U", "_sip._udp.x.net"), (2, 1, "s", "H323+D2U", "_h323._udp.x.net"),
            (3, 1, "S", "sip+d2u", ""),
            (4, 1, "", "SIP+D2U", "y.net"))
        bench.a("example.net", "192.0.2.1")
        #expect(try bench.targets("sip:bob@example.net", among: [.tcp]) == ["tcp 192.0.2.1:5060"])
    }

    @Test("maddr is what is looked up (RFC 3263 §4)")
    func maddr() throws {
        let bench = LocationBench()
        #expect(try bench.targets("sip:example.net;maddr=192.0.2.5") == ["udp 192.0.2.5:5060"])
        bench.a("m.net", "192.0.2.6")
        #expect(try bench.targets("sip:example.net:5070;maddr=M.net") == ["udp 192.0.2.6:5070"])
    }

    @Test("A draw stays as long as the records do: a registration does not wander between servers")
    func steadyDraw() throws {
        let bench = LocationBench()
        bench.srv("_sip._udp.example.net", (1, 1, 1, "a.net"), (1, 1, 2, "b.net"), (1, 1, 3, "c.net"), (1, 1, 4, "d.net"))
        for name in ["a", "b", "c", "d"] { bench.a(name + ".net", "192.0.2.1") }
        let first = try bench.targets("sip:example.net")
        for second in 1...20 {
            bench.now = .zero + .seconds(Int64(second) * 100)
            #expect(try bench.targets("sip:example.net") == first)
        }
        bench.srv("_sip._udp.example.net", (1, 1, 1, "a.net"), (0, 1, 9, "b.net"))
        bench.now = .zero + .seconds(3000)
        #expect(try bench.targets("sip:example.net") == ["udp 192.0.2.1:9", "udp 192.0.2.1:1"])
    }

    // MARK: Health

    @Test("A target that failed comes last for its time, then has its place again; one that answers at once")
    func health() throws {
        let bench = LocationBench()
        bench.srv("_sip._udp.example.net", (1, 1, 5060, "a.net"), (2, 1, 5060, "b.net"), (3, 1, 5060, "c.net"))
        for (name, address) in [("a.net", "192.0.2.1"), ("b.net", "192.0.2.2"), ("c.net", "192.0.2.3")] {
            bench.a(name, address, ttl: 3600)
        }
        func order() throws -> String { try bench.targets("sip:example.net").map { String($0.dropFirst(12).prefix(1)) }.joined() }
        let targets = try bench.locate("sip:example.net").get().targets
        #expect(try order() == "123")
        bench.location.failed(targets[0], now: bench.now)
        #expect(try order() == "231")
        bench.location.failed(targets[1], for: .seconds(300), now: bench.now)
        #expect(try order() == "312")
        bench.now = .zero + .seconds(60)
        #expect(try order() == "132", "the first is preferred again")
        bench.location.succeeded(targets[1])
        #expect(try order() == "123")
        for target in targets { bench.location.failed(target, now: bench.now) }
        #expect(try order() == "123", "where all are bad the order is as ever")
        bench.location.forget()
        #expect(!bench.location.hasFailingTargets)
    }

    @Test("What is remembered of failures is bounded in number and time")
    func healthBounds() throws {
        var configuration = LocationConfiguration()
        configuration.failing = 2
        configuration.longestAvoidance = .seconds(100)
        configuration.targets = 2
        let bench = LocationBench(configuration)
        bench.a("x.net", "192.0.2.1", "192.0.2.2", "192.0.2.3", ttl: 3600)
        let targets = (1...3).map { SignallingTarget(.udp, SocketAddress(.v4(0xc000_0200 + UInt32($0)), 5060)) }
        for target in targets { bench.location.failed(target, for: .seconds(100_000), now: .zero) }
        #expect(try bench.targets("sip:x.net:5060") == ["udp 192.0.2.1:5060", "udp 192.0.2.2:5060"])
        bench.location.failed(targets[0], for: .seconds(100_000), now: .zero)
        #expect(try bench.targets("sip:x.net:5060") == ["udp 192.0.2.2:5060", "udp 192.0.2.1:5060"])
        bench.now = .zero + .seconds(100)
        #expect(try bench.targets("sip:x.net:5060") == ["udp 192.0.2.1:5060", "udp 192.0.2.2:5060"])
    }

    @Test("RFC 2308: how long it is known that something is not there says the answer, with a cap; names that do not exist are told apart")
    func negative() throws {
        var configuration = LocationConfiguration()
        configuration.usesIPv6 = false
        configuration.longestNegative = .seconds(100)
        let bench = LocationBench(configuration)
        bench.zone["a short.net"] = .absent(nameExists: false, timeToLive: 5)
        bench.zone["a long.net"] = .absent(nameExists: true, timeToLive: 100_000)
        for (name, seconds) in [("short.net", 5), ("long.net", 100)] {
            let begin = bench.now
            func asks(at offset: Int) throws -> Bool {
                bench.asked = []
                bench.now = begin + .seconds(Int64(offset))
                _ = try bench.locate("sip:\(name):5060")
                return !bench.asked.isEmpty
            }
            #expect(try asks(at: 0), "\(name)")
            #expect(try !asks(at: seconds - 1), "\(name)")
            #expect(try asks(at: seconds), "\(name)")
        }
        guard case .failure(.noSuchName("short.net")) = try bench.locate("sip:short.net:5060") else {
            Issue.record("NXDOMAIN is not told")
            return
        }
        guard case .failure(.noAddress("long.net")) = try bench.locate("sip:long.net:5060") else {
            Issue.record("a name without address is not told")
            return
        }
    }

    @Test("A name server that never answers NAPTR is not waited for each time")
    func deafToNAPTR() throws {
        let bench = LocationBench()
        bench.a("example.net", "192.0.2.1", ttl: 1)
        bench.zone["naptr example.net"] = .failed("time-out")
        #expect(try bench.targets("sip:example.net") == ["udp 192.0.2.1:5060"])
        bench.now = .zero + .seconds(200)
        bench.asked = []
        #expect(try bench.targets("sip:example.net") == ["udp 192.0.2.1:5060"])
        #expect(!bench.asked.contains("naptr example.net") && bench.asked.contains("a example.net"))
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

    @Test("Of thousands of SRV records the best are taken, wherever they stand, and few names are asked for")
    func thousandsOfRecords() throws {
        let bench = LocationBench()
        let crowd = (0..<5000).map { DNSRecord(.srv(priority: 10, weight: 0, port: 5060, target: "n\($0).net"), timeToLive: 60) }
        let best = DNSRecord(.srv(priority: 1, weight: 0, port: 5070, target: "best.net"), timeToLive: 60)
        bench.zone["srv _sip._udp.many.net"] = .records(crowd + [best])
        bench.a("best.net", "192.0.2.1")
        #expect(try bench.targets("sip:many.net").first == "udp 192.0.2.1:5070")
        #expect(bench.asked.count <= 4 + 2 * 32 && bench.location.counters[.recordsCut] == 1)
    }

    @Test("Records that lead in a circle end the search: NAPTR to itself, SRV to its own name, a name that is its own replacement")
    func circles() throws {
        let bench = LocationBench()
        bench.naptr(
            "circle.net", (1, 1, "s", "SIP+D2U", "circle.net"), (2, 1, "s", "SIP+D2T", "_sip._tcp.circle.net"),
            (3, 1, "S", "SIP+D2U", "_sip._udp.circle.net."), (4, 1, "", "SIP+D2U", "circle.net"))
        bench.srv("_sip._udp.circle.net", (1, 1, 5060, "_sip._udp.circle.net"), (2, 1, 5060, "circle.net"))
        #expect(try bench.locate("sip:circle.net") == .failure(.noAddress(name: "circle.net")))
        #expect(Set(bench.asked).count == bench.asked.count && bench.asked.count < 20, "\(bench.asked)")
        bench.a("circle.net", "192.0.2.1")
        bench.now += .seconds(100)
        #expect(try bench.targets("sip:circle.net") == ["udp 192.0.2.1:5060"])
    }

    @Test("Records with a time to live of zero serve the search that asked for them, and are asked for again by the next")
    func noTimeToLive() throws {
        let bench = LocationBench()
        bench.zone["srv _sip._udp.zero.net"] = .records([
            DNSRecord(.srv(priority: 1, weight: 1, port: 5070, target: "a.zero.net"), timeToLive: 0)
        ])
        bench.a("a.zero.net", "192.0.2.1", ttl: 0)
        for round in 1...3 {
            #expect(try bench.targets("sip:zero.net") == ["udp 192.0.2.1:5070"])
            #expect(bench.asked.count { $0 == "srv _sip._udp.zero.net" } == round && bench.asked.count { $0 == "a a.zero.net" } == round)
        }
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
