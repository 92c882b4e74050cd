// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import SIP
import Testing

/// Captures of every form are read to the same messages, and nothing in them can do harm.
@Suite struct CaptureTests {
    static func call(_ make: (inout CaptureWriter) -> Void = { _ in }) -> CaptureWriter {
        var writer = CaptureWriter()
        make(&writer)
        let call = Dialogue()
        call.establish(&writer)
        call.talk(&writer, at: 1.1, count: 20)
        call.hangUp(&writer, at: 5)
        return writer
    }

    @Test(arguments: CaptureWriter.Container.allCases, CaptureWriter.Link.allCases)
    func everyFormGivesTheSameMessages(container: CaptureWriter.Container, link: CaptureWriter.Link) throws {
        let traffic = try Self.call { ($0.container, $0.link) = (container, link) }.traffic()
        #expect(traffic.messages.map(\.message.cseq.method) == [.invite, .invite, .invite, .ack, .bye, .bye])
        #expect(traffic.messages.map(\.message.statusCode) == [0, 180, 200, 0, 0, 200])
        #expect(traffic.messages[0].source == address("192.0.2.10:5060"))
        #expect((traffic.messages[5].time - traffic.messages[0].time).milliseconds.rounded() == 5050)
        #expect(traffic.media.map(\.packets) == [20, 20])
        #expect(traffic.media[0].codec == "PCMU")
        #expect(traffic.media[0].lost == 0)
        #expect(traffic.media[0].jitterMilliseconds.map { $0 < 0.1 } == true)
    }

    @Test(arguments: [1, 2]) func tagsOfVirtualNetworksAreSkipped(tags: Int) throws {
        let traffic = try Self.call { $0.vlanTags = tags }.traffic()
        #expect(traffic.messages.count == 6)
    }

    @Test func aFileInPiecesOfAnyLengthGivesTheSame() throws {
        let bytes = Self.call { $0.container = .pcapngLittle }.bytes
        for length in [1, 7, 64, 1000] {
            var reader = TrafficReader()
            for start in stride(from: 0, to: bytes.count, by: length) {
                try reader.append(Array(bytes[start..<min(bytes.count, start + length)]))
            }
            let traffic = reader.finish()
            #expect(traffic.messages.count == 6 && traffic.media.count == 2)
        }
    }

    @Test(arguments: [("192.0.2.10:5060", "192.0.2.20:5060"), ("[2001:db8::1]:5060", "[2001:db8::2]:5060")])
    func fragmentsAreJoinedInAnyOrder(source: String, destination: String) throws {
        var writer = CaptureWriter()
        writer.mtu = 600
        var call = Dialogue()
        (call.caller, call.callee) = (source, destination)
        writer.udp(
            0, source, destination,
            call.request("INVITE", body: Dialogue.sdp("192.0.2.10:4000", "0"), extra: "X: \(String(repeating: "x", count: 1500))\r\n"))
        #expect(writer.frames.count > 3)
        let traffic = try writer.traffic()
        #expect(traffic.messages.count == 1)
        #expect(traffic.messages[0].fragments == writer.frames.count)
        var reversed = CaptureWriter()
        reversed.append(writer.frames.reversed())
        #expect(try reversed.traffic().messages.count == 1)
    }

    @Test func aDatagramThatNeverBecomesWholeIsTold() throws {
        var writer = CaptureWriter()
        writer.mtu = 600
        writer.udp(
            0, "192.0.2.10:5060", "192.0.2.20:5060", Dialogue().request("INVITE", extra: "X: \(String(repeating: "x", count: 1500))\r\n"))
        var cut = CaptureWriter()
        cut.append(writer.frames.dropLast())
        let analysis = try cut.analysis()
        #expect(analysis.traffic.messages.isEmpty)
        #expect(analysis.finding("seen.fragment-lost")?.evidence("message")?.hasPrefix("INVITE sip:bob") == true)
        #expect(analysis.traffic.counters[.datagramsNeverWhole] == 1)
    }

    // MARK: TCP

    @Test func segmentsOutOfOrderRepeatedAndCutAnywhereGiveTheMessages() throws {
        let call = Dialogue()
        let text = Array((call.invite + "\r\n\r\n" + call.request("OPTIONS", cseq: 7, branch: "o")).utf8)
        let (source, destination) = ("192.0.2.10:40000", "192.0.2.20:5060")
        var writer = CaptureWriter()
        writer.tcp(0, source, destination, [], flags: 0x02)
        let cut = 300
        writer.tcp(0.1, source, destination, Array(text[cut...]), at: UInt32(cut) + 1)
        writer.tcp(0.2, source, destination, Array(text[..<200]), at: 1)
        writer.tcp(0.3, source, destination, Array(text[100..<cut]), at: 101)
        writer.tcp(0.4, source, destination, Array(text[100..<cut]), at: 101)
        let traffic = try writer.traffic()
        #expect(traffic.messages.map(\.message.method) == [.invite, .options])
        #expect(traffic.messages[0].transport == .tcp)
        #expect(traffic.counters[.segmentsOutOfOrder] == 1)
    }

    @Test func aCaptureThatBeginsInsideAConnectionFindsTheNextMessage() throws {
        let call = Dialogue()
        var writer = CaptureWriter()
        writer.tcp(0, "192.0.2.10:40000", "192.0.2.20:5060", Array("tail of something\r\n\r\n".utf8))
        writer.tcp(0.1, "192.0.2.10:40000", "192.0.2.20:5060", Array(call.invite.utf8))
        #expect(try writer.traffic().messages.count == 1)
    }

    @Test func aMissingSegmentCostsOnlyItsMessage() throws {
        let call = Dialogue()
        let invite = Array(call.invite.utf8)
        let options = Array(call.request("OPTIONS", cseq: 7, branch: "o").utf8)
        var writer = CaptureWriter()
        writer.tcp(0, "192.0.2.10:40000", "192.0.2.20:5060", Array(invite[..<100]), at: 0)
        writer.tcp(0.1, "192.0.2.10:40000", "192.0.2.20:5060", options, at: UInt32(invite.count))
        let traffic = try writer.traffic()
        #expect(traffic.messages.map(\.message.method) == [.options])
        #expect(traffic.counters[.segmentsMissing] == 1)
    }

    // MARK: Harm

    @Test func whatIsNoCaptureIsOneClearError() {
        var reader = TrafficReader()
        let error = #expect(throws: CaptureError.self) { try reader.append(Array("this is a text, and no capture".utf8)) }
        #expect(error?.code == .unknownFormat)
        #expect(error?.reason.hasSuffix(".") == true)
    }

    @Test(arguments: CaptureWriter.Container.allCases)
    func aCutOrDamagedFileNeverTraps(container: CaptureWriter.Container) throws {
        let bytes = Self.call { $0.container = container }.bytes
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        func random() -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33)
        }
        var errors = 0
        for round in 0..<120 {
            var damaged = bytes
            for _ in 0...(random() % 12) { damaged[random() % damaged.count] = UInt8(random() & 255) }
            if round % 3 == 0 { damaged.removeLast(random() % damaged.count) }
            var reader = TrafficReader()
            do { try reader.append(damaged) } catch { errors += 1 }
            let analysis = CallAnalysis(reader.finish())
            _ = analysis.text(width: 80)
        }
        #expect(errors > 0 && errors < 120)
    }

    @Test func limitsHoldAndAreCounted() throws {
        var limits = CaptureLimits()
        limits.messages = 2
        limits.mediaFlows = 1
        limits.streams = 0
        var writer = Self.call()
        writer.tcp(6, "192.0.2.10:40000", "192.0.2.20:5060", Array(Dialogue().invite.utf8))
        let traffic = try writer.traffic(limits: limits)
        #expect(traffic.messages.count == 2)
        #expect(traffic.counters[.messagesDropped] == 4)
        #expect(traffic.media.count == 1)
        #expect(traffic.counters[.mediaFlowsDropped] == 20)
        #expect(traffic.counters[.streamsDropped] == 1)
    }

    @Test func aPacketCapturedTwiceIsOneMessage() throws {
        var writer = CaptureWriter()
        let call = Dialogue()
        writer.udp(0, call.caller, call.callee, call.invite)
        writer.udp(0.0001, call.caller, call.callee, call.invite)
        writer.udp(0.5, call.caller, call.callee, call.invite)
        let traffic = try writer.traffic()
        #expect(traffic.messages.count == 2)
        #expect(traffic.counters[.messagesSeenTwice] == 1)
    }

    @Test func otherDatagramsAreNoMedia() throws {
        var writer = CaptureWriter()
        for number in 0..<40 {
            writer.udp(Double(number), "192.0.2.10:40000", "192.0.2.1:53", [0x81, 0x80] + [UInt8](repeating: UInt8(number), count: 30))
        }
        writer.rtp(0, "192.0.2.10:40000", "192.0.2.1:40002", sequence: 1, timestamp: 1, ssrc: 1)
        #expect(try writer.traffic().media.isEmpty)
    }
}

extension CaptureWriter {
    mutating func append(_ frames: some Sequence<(time: Int64, bytes: [UInt8])>) {
        for frame in frames { append(frame) }
    }
}
