// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// Streams cut in every way (RFC 3261 §18.3, RFC 5626 §3.5.1).
@Suite struct FramingTests {
    private func frames(_ pieces: [[UInt8]], limits: MessageLimits = .default) -> [String] {
        var framer = StreamFramer(limits: limits)
        var out: [String] = []
        for piece in pieces {
            framer.append(piece)
            while let frame = framer.next() {
                switch frame {
                case .message(let bytes): out.append(String(decoding: bytes, as: UTF8.self))
                case .keepAlivePing: out.append("ping")
                case .keepAlivePong: out.append("pong")
                case .failure(let error): out.append("failure \(error.code.rawValue)")
                }
            }
        }
        return out
    }

    private let register = request("REGISTER")
    private let invite = request("INVITE", extra: "Content-Type: application/sdp\n", body: "v=0\r\n\r\nREGISTER sip:x SIP/2.0\r\n\r\n")
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `B-017 keep-alives between messages do not touch the next message`() {
        let stream = register + "\r\n\r\n".octets + invite + "\r\n".octets + register
        #expect(frames([stream]) == [text(register), "ping", text(invite), "pong", text(register)])
    }

    @Test func `B-018 messages come out whole wherever the stream is cut in two`() {
        let stream = register + invite + register
        for cut in 0...stream.count {
            #expect(frames([Array(stream[..<cut]), Array(stream[cut...])]) == [text(register), text(invite), text(register)])
        }
    }

    @Test func `B-018 a REGISTER cut at each CRLF, before, within and behind it`() {
        var pieces: [[UInt8]] = [[]]
        for byte in register {
            if byte == 0x0d { pieces.append([]) }
            pieces[pieces.count - 1].append(byte)
            if byte == 0x0d || byte == 0x0a { pieces.append([]) }
        }
        #expect(frames(pieces) == [text(register)])
        #expect(frames(register.map { [$0] }) == [text(register)])
    }

    @Test func `B-018 octet by octet, with keep-alives between`() {
        let stream = "\r\n\r\n".octets + invite + "\r\n\r\n".octets + register
        let found = frames(stream.map { [$0] }).filter { $0 != "pong" }
        #expect(found == ["ping", text(invite), "ping", text(register)])
    }

    @Test func `B-019 any number of CRLF pairs is fine`() {
        for count in 1...9 {
            let stream = Array(repeating: "\r\n".octets, count: count).flatMap(\.self) + register
            let found = frames([stream])
            #expect(found.last == text(register))
            #expect(found.filter { $0 == "ping" }.count == count / 2)
        }
    }

    @Test func `a line end after our ping is its answer and no half ping`() {
        var framer = StreamFramer()
        for _ in 0..<4 {
            framer.pingSent()
            framer.append("\r\n".octets)
            guard case .keepAlivePong? = framer.next() else {
                Issue.record("no pong")
                return
            }
            #expect(framer.next().map { _ in true } == nil)
        }
    }

    @Test func `B-013 a bare line feed: the message is refused, then the stream fails`() {
        let smuggling = request(extra: "X-Pad: a\u{1}Content-Length: 4\n").map { $0 == 1 ? 0x0a : $0 } + register
        let found = frames([smuggling])
        #expect(found.count == 2)
        #expect(SIPMessage.receive(found[0].octets).verdict == "refuse 400 sip.bare-lf")
        #expect(found[1] == "failure sip.bare-lf")
    }

    @Test func `two Content-Lengths that differ: refused, then the stream fails (mcl01.sip)`() throws {
        let found = frames([try Fixtures.bytes("rfc4475/mcl01.sip")])
        #expect(SIPMessage.receive(try #require(found.first).octets).verdict == "refuse 400 sip.field.repeated")
        #expect(found.last == "failure sip.field.repeated")
    }

    @Test(arguments: ["-1", "x", "", "4 4", "99999999999999999999", "+1", "0x10"])
    func `a Content-Length that is no number: refused, then the stream fails`(value: String) {
        let found = frames([request(extra: "Content-Length: \(value)\n", without: ["Content-Length"]) + register])
        #expect(found.count == 2)
        #expect(SIPMessage.receive(found[0].octets).verdict == "refuse 400 sip.content-length")
        #expect(found.last == "failure sip.content-length")
    }

    @Test func `no Content-Length on a stream fails`() {
        #expect(frames([request(without: ["Content-Length"])]) == ["failure sip.content-length.missing"])
    }

    @Test func `clerr.sip waits on a stream for the octets that its Content-Length promises`() throws {
        let bytes = try Fixtures.bytes("rfc4475/clerr.sip")
        var framer = StreamFramer()
        framer.append(bytes)
        #expect(framer.next().map { _ in true } == nil)
        #expect(framer.pendingCount == bytes.count)
    }

    @Test func `limits of a stream: head, message, and what is no SIP`() {
        var limits = MessageLimits()
        limits.headLength = 500
        limits.messageLength = 1000
        #expect(frames([[UInt8](repeating: 0x61, count: 600)], limits: limits) == ["failure sip.limit.head"])
        #expect(
            frames([request(extra: "Content-Length: 2000\n", without: ["Content-Length"])], limits: limits) == ["failure sip.limit.message"]
        )
        #expect(frames(["GET / HTTP/1.1\r\nHost: x\r\n\r\n".octets]) == ["failure sip.not-sip"])
        #expect(frames([[0x16, 0x03, 0x01, 0x02, 0x00, 0x0d, 0x0a, 0x0d, 0x0a]]) == ["failure sip.not-sip"])
    }

    @Test func `nothing comes after a failure`() {
        var framer = StreamFramer()
        framer.append("x\r\n\r\n".octets)
        guard case .failure? = framer.next() else {
            Issue.record("no failure")
            return
        }
        framer.append(register)
        #expect(framer.next().map { _ in true } == nil)
        #expect(framer.pendingCount == 0)
    }

    @Test func `random cuts of a long stream give the same messages`() {
        var generator = SplitMix64(seed: 20)
        let stream = Array(repeating: register + invite, count: 20).flatMap(\.self)
        for _ in 0..<50 {
            var pieces: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...400, using: &generator)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(frames(pieces).count == 40)
        }
    }
}
