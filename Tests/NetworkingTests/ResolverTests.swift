// SPDX-License-Identifier: Apache-2.0

import Essentials
import Networking
import SIPAgent
import Testing

/// Octets of DNS messages, written by hand from RFC 1035 §4.
private enum Octets {
    static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }
    static func u16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }
    static func u32(_ value: Int) -> [UInt8] { u16(value >> 16) + u16(value) }
    static func record(_ owner: [UInt8], _ type: Int, _ lifetime: Int, _ data: [UInt8]) -> [UInt8] {
        owner + u16(type) + u16(1) + u32(lifetime) + u16(data.count) + data
    }
    /// A pointer to the name of the question.
    static let question: [UInt8] = [0xc0, 12]
    static func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// The answer to `query` with these records.
    static func answer(_ query: [UInt8], code: UInt8 = 0, _ records: [[UInt8]]) -> [UInt8] {
        var end = 12
        while end < query.count, query[end] != 0 { end += 1 + Int(query[end]) }
        return query[0..<2] + [0x84, code] + u16(1) + u16(records.count) + [0, 0, 0, 0] + query[12..<min(end + 5, query.count)]
            + records.flatMap { $0 }
    }
    static func questionType(_ query: [UInt8]) -> Int {
        var end = 12
        while end < query.count, query[end] != 0 { end += 1 + Int(query[end]) }
        return end + 2 < query.count ? Int(query[end + 1]) << 8 | Int(query[end + 2]) : 0
    }
}

private final class Held { var resolver: Resolver? }

/// Asks a resolver whose server is a socket of the test that answers by `respond` (nil: not at all).
private func ask(
    _ name: String, _ type: DNSRecordType, options: ResolverOptions = ResolverOptions(),
    respond: @escaping @Sendable ([UInt8]) -> [UInt8]? = { _ in nil }
) throws -> DNSResult {
    let answers = Inbox<DNSAnswer>()
    let held = OnLoop(value: Held())
    var result = DNSResult.failed("the test got no answer")
    try withLoop { loop in
        loop.execute {
            guard let server = try? DatagramSocket(loop: loop, local: loopbackV4) else { return }
            server.onReceive = { bytes, from, _ in
                if let answer = respond((0..<bytes.count).map { bytes[$0] }) { server.send(answer, to: from) }
            }
            var options = options
            options.server = server.local
            let resolver = Resolver(loop: loop, options: options) { answers.put($0) }
            held.value.resolver = resolver
            resolver.ask(DNSQuestion(id: 77, name: name, type: type))
        }
        let answer = try #require(answers.take())
        #expect(answer.question == DNSQuestion(id: 77, name: name, type: type))
        result = answer.result
        loop.sync {
            held.value.resolver?.close()
            held.value.resolver = nil
        }
    }
    return result
}

private let name = "sip.example.net"

@Suite struct ResolverTests {
    @Test func `A and AAAA records come with their time to live`() throws {
        let four = try ask(name, .a) {
            Octets.answer(
                $0, [Octets.record(Octets.question, 1, 300, [192, 0, 2, 1]), Octets.record(Octets.question, 1, 60, [192, 0, 2, 2])])
        }
        #expect(
            four
                == .records([
                    DNSRecord(.address(.v4(0xc000_0201)), timeToLive: 300), DNSRecord(.address(.v4(0xc000_0202)), timeToLive: 60),
                ]))
        let six = try ask(name, .aaaa) {
            Octets.answer($0, [Octets.record(Octets.question, 28, 5, [0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [1])])
        }
        #expect(six == .records([DNSRecord(.address(.v6(0x2001_0db8_0000_0000, 1)), timeToLive: 5)]))
    }

    @Test func `SRV records keep priority, weight, port and target`() throws {
        let result = try ask("_sip._udp.example.net", .srv) {
            Octets.answer(
                $0,
                [
                    Octets.record(
                        Octets.question, 33, 120, Octets.u16(10) + Octets.u16(60) + Octets.u16(5061) + Octets.name("a.example.net"))
                ])
        }
        #expect(result == .records([DNSRecord(.srv(priority: 10, weight: 60, port: 5061, target: "a.example.net"), timeToLive: 120)]))
    }

    @Test func `NAPTR records keep order, preference, flags, service and replacement`() throws {
        let result = try ask("example.net", .naptr) {
            Octets.answer(
                $0,
                [
                    Octets.record(
                        Octets.question, 35, 7,
                        Octets.u16(50) + Octets.u16(51) + Octets.string("s") + Octets.string("SIP+D2U") + Octets.string("")
                            + Octets.name("_sip._udp.example.net"))
                ])
        }
        #expect(
            result
                == .records([
                    DNSRecord(
                        .naptr(order: 50, preference: 51, flags: "s", service: "SIP+D2U", replacement: "_sip._udp.example.net"),
                        timeToLive: 7)
                ]))
    }

    @Test func `an alias is followed and its shorter time to live counts`() throws {
        let result = try ask(name, .a) {
            Octets.answer(
                $0,
                [
                    Octets.record(Octets.question, 5, 20, Octets.name("Real.Example.net")),
                    Octets.record(Octets.name("real.example.NET"), 1, 300, [192, 0, 2, 9]),
                    Octets.record(Octets.name("other.example.net"), 1, 300, [192, 0, 2, 66]),
                ])
        }
        #expect(result == .records([DNSRecord(.address(.v4(0xc000_0209)), timeToLive: 20)]))
    }

    @Test func `a name that does not exist, or has no such record, is none`() throws {
        #expect(try ask(name, .srv) { Octets.answer($0, code: 3, []) } == .absent(nameExists: false, timeToLive: nil))
        #expect(try ask(name, .srv) { Octets.answer($0, []) } == DNSResult.none)
    }

    @Test(arguments: [(900, 60, 60), (30, 600, 30)])
    func `how long a name is known not to exist says the smaller one of the SOA record's times`(
        lifetime: Int, minimum: Int, expected: UInt32
    ) throws {
        let data = Octets.name("ns.net") + Octets.name("h.net") + [UInt8](repeating: 0, count: 16) + Octets.u32(minimum)
        let soa = Octets.record(Octets.question, 6, lifetime, data)
        let result = try ask(name, .a) { query in
            var answer = Octets.answer(query, code: 3, [])
            answer[9] = 1
            return answer + soa
        }
        #expect(result == .absent(nameExists: false, timeToLive: expected))
    }

    @Test func `a chain of aliases has an end`() throws {
        @Sendable func chain(_ length: Int) -> [[UInt8]] {
            let aliases = (0..<length).map { index in
                Octets.record(index == 0 ? Octets.question : Octets.name("n\(index).net"), 5, 60, Octets.name("n\(index + 1).net"))
            }
            return aliases + [Octets.record(Octets.name("n\(length).net"), 1, 60, [192, 0, 2, 1])]
        }
        #expect(try ask(name, .a) { Octets.answer($0, chain(8)) } == .records([DNSRecord(.address(.v4(0xc000_0201)), timeToLive: 60)]))
        guard case .failed = try ask(name, .a, respond: { Octets.answer($0, chain(9)) }) else {
            Issue.record("nine aliases were followed")
            return
        }
    }

    @Test func `a server that fails is a failure in words`() throws {
        guard case .failed(let words) = try ask(name, .a, respond: { Octets.answer($0, code: 2, []) }) else {
            Issue.record("not failed")
            return
        }
        #expect(!words.isEmpty)
    }

    @Test func `a server that is silent fails within the time limit`() throws {
        var options = ResolverOptions()
        options.timeout = .milliseconds(50)
        guard case .failed = try ask(name, .a, options: options) else {
            Issue.record("not failed")
            return
        }
    }

    @Test func `localhost and addresses are answered without a server`() throws {
        #expect(try ask("localhost", .a) == .records([DNSRecord(.address(.loopbackV4), timeToLive: 60)]))
        #expect(try ask("pbx.localhost.", .aaaa) == .records([DNSRecord(.address(.loopbackV6), timeToLive: 60)]))
        #expect(try ask("_sip._udp.localhost", .srv) == DNSResult.none)
        #expect(try ask("192.0.2.1", .a) == .records([DNSRecord(.address(.v4(0xc000_0201)), timeToLive: .max)]))
        #expect(try ask("192.0.2.1", .srv) == DNSResult.none)
    }

    @Test func `names that cannot be asked are none or a failure, never a crash`() throws {
        for text in ["", ".", "..", String(repeating: "a", count: 300), "a..b", "x\u{0}y", String(repeating: "b", count: 64) + ".net"] {
            var options = ResolverOptions()
            options.timeout = .milliseconds(50)
            if case .records = try ask(text, .a, options: options) { Issue.record("records for \(text)") }
        }
    }

    @Test func `questions over the limit are refused at once`() throws {
        var options = ResolverOptions()
        options.questions = 0
        guard case .failed(let words) = try ask(name, .a, options: options) else {
            Issue.record("not refused")
            return
        }
        #expect(words.contains("0 questions"))
    }

    /// V-014 (CVE-2023-27585): record lengths beyond the packet, names that loop, counts that lie; the question is right.
    @Test(arguments: 0..<9) func `V-014 a malformed answer is a failure or none`(form: Int) throws {
        var options = ResolverOptions()
        options.timeout = .milliseconds(400)
        options.tries = 1
        let result = try ask("_sip._udp.example.net", .srv, options: options) { query in
            let head = Octets.answer(query, [])
            func with(_ count: Int, _ tail: [UInt8]) -> [UInt8] { Array(head[0..<6]) + Octets.u16(count) + head[8...] + tail }
            let start = Octets.question + Octets.u16(33) + Octets.u16(1) + Octets.u32(60)
            let loop = Octets.u16(0xc000 | (head.count + 18))
            switch form {
            case 0: return with(1, start + Octets.u16(65_535) + Octets.u16(1))
            case 1: return with(1, start + Octets.u16(8) + Octets.u16(1) + Octets.u16(1) + Octets.u16(5060) + loop)
            case 2: return with(1, start + Octets.u16(7) + Octets.u16(1) + Octets.u16(1) + Octets.u16(5060) + [63])
            case 3: return with(500, start + Octets.u16(2) + Octets.u16(1))
            case 4: return with(1, [0xc0])
            case 5: return with(1, start + Octets.u16(0))
            case 6: return Array(query[0..<5])
            case 7: return with(1, start + Octets.u16(7) + Octets.u16(1) + Octets.u16(1) + Octets.u16(5060) + [0xff])
            default: return with(1, [UInt8](repeating: 0xc0, count: 40))
            }
        }
        if case .records(let records) = result { Issue.record("records out of nonsense: \(records)") }
    }

    @Test func `closing drops open questions and leaves nothing on the loop`() throws {
        try withLoop { loop in
            let pending = loop.sync { () -> Int in
                guard let server = try? DatagramSocket(loop: loop, local: loopbackV4) else { return -1 }
                var options = ResolverOptions()
                options.server = server.local
                let resolver = Resolver(loop: loop, options: options) { _ in Issue.record("answered after the end") }
                for id in 0..<20 { resolver.ask(DNSQuestion(id: UInt64(id), name: "n\(id).example.net", type: .a)) }
                resolver.close()
                return loop.pendingTimers
            }
            #expect(pending == 0)
        }
    }
}

@Suite struct DNSMessageTests {
    /// Every prefix and many single-octet changes of a good answer: any result is right, none may trap.
    @Test func `V-014 no change of an octet makes the reader trap`() {
        let query: [UInt8] =
            [0, 1, 1, 0] + Octets.u16(1) + [0, 0, 0, 0, 0, 0] + Octets.name("example.net") + Octets.u16(35) + Octets.u16(1)
        let good = Octets.answer(
            query,
            [
                Octets.record(Octets.question, 5, 20, Octets.name("b.example.net")),
                Octets.record(
                    Octets.name("b.example.net"), 35, 7,
                    Octets.u16(50) + Octets.u16(51) + Octets.string("s") + Octets.string("SIP+D2U") + Octets.string("")
                        + [4, 95, 115, 105, 112, 0xc0, 12]),
            ])
        #expect(DNSMessage.records(in: good, of: .naptr, named: "Example.net.")?.count == 1)
        for length in 0..<good.count {
            #expect(DNSMessage.records(in: Array(good[..<length]), of: .naptr, named: "example.net") == nil)
        }
        for index in good.indices {
            for value in [0, 1, 12, 63, 64, 127, 128, 191, 192, 255] as [UInt8] {
                var changed = good
                changed[index] = value
                _ = DNSMessage.records(in: changed, of: .naptr, named: "example.net")
            }
        }
    }
}
