// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import SIP
import Testing

@Suite struct CallPageTests {
    static func record(samples count: Int = 60) -> CallRecord {
        var record = CallRecord()
        record.remote = "sip:bob@example.net"
        record.end = "The other side hung up."
        record.duration = Double(count)
        record.score = 4.2
        record.codec = "OPUS"
        (record.received, record.lost, record.restored, record.recovered) = (2900, 100, 80, 5)
        for second in 0..<count {
            record.add(
                CallSample(
                    seconds: Double(second), lost: second == 30 ? 0.2 : 0.01, repaired: 0.01, lostThere: 0.02, jitter: 4, buffer: 40,
                    delay: 95, received: -22, sent: -25, score: 4.3, rate: 72, redundantRate: 48))
        }
        record.add(CallMark(seconds: 30, kind: .warning, text: "Of what the other side sends, 20 % is lost on the way."))
        return record
    }

    static func traffic() throws -> Traffic {
        func body(_ address: String, _ port: Int, _ formats: String, _ more: [String]) -> String {
            let lines = [
                "v=0", "o=- 1 1 IN IP4 \(address)", "s=-", "c=IN IP4 \(address)", "t=0 0", "m=audio \(port) RTP/AVP \(formats)",
                "a=rtpmap:96 opus/48000/2", "a=fmtp:96 useinbandfec=1;maxplaybackrate=16000", "a=rtpmap:121 red/48000/2",
                "a=fmtp:121 96/96", "a=rtcp-xr:voip-metrics",
            ]
            return (lines + more).map { $0 + "\r\n" }.joined()
        }
        let offer = body("192.0.2.1", 4000, "96 9 0 121 101", ["a=rtpmap:101 telephone-event/8000"])
        let answer = body("192.0.2.2", 5000, "96 121", ["a=ptime:20"])
        func message(_ first: String, _ body: String, _ number: Int) throws -> SeenMessage {
            let head = [
                first, "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1", "From: <sip:alice@example.net>;tag=1",
                "To: <sip:bob@example.net>\(number == 0 ? "" : ";tag=2")", "Call-ID: call-1", "CSeq: 1 INVITE", "Max-Forwards: 70",
                "Contact: <sip:a@192.0.2.1>", "Content-Type: application/sdp", "Content-Length: \(body.utf8.count)",
            ]
            let text = head.map { $0 + "\r\n" }.joined() + "\r\n" + body
            guard case .message(let found) = SIPMessage.receive(Array(text.utf8)) else { throw Unreadable() }
            let (here, there) = (SocketAddress(.v4(0xc000_0201), 5060), SocketAddress(.v4(0xc000_0202), 5060))
            return SeenMessage(
                time: MonotonicTime(nanoseconds: Int64(number) * 1_000_000_000), transport: .udp, source: number == 0 ? here : there,
                destination: number == 0 ? there : here, message: found)
        }
        return Traffic(messages: [try message("INVITE sip:bob@example.net SIP/2.0", offer, 0), try message("SIP/2.0 200 OK", answer, 1)])
    }

    struct Unreadable: Error {}

    @Test func thePageNeedsNothingElse() throws {
        let page = CallPage(Self.record(), try Self.traffic(), callID: "call-1") { $0 }.text
        #expect(page.hasPrefix("<!doctype html>"))
        for outside in ["http:", "https:", "<script", "<img", "<link", "@import", "url("] { #expect(!page.contains(outside), "\(outside)") }
        #expect(page.contains("default-src 'none'"))
    }

    @Test func thePageShowsTheCourseOfTheCall() throws {
        let page = CallPage(Self.record(), try Self.traffic(), callID: "call-1") { $0 }.text
        for title in ["Score", "Lost", "Time", "Level", "Sent"] { #expect(page.contains("class=\"title\"") && page.contains(">\(title)")) }
        #expect(page.contains("85 of 100 made good"))
        #expect(page.contains("20 % is lost on the way"))
        #expect(page.contains("95 ms"))
    }

    @Test func theNegotiationIsExplainedInSentences() throws {
        let page = CallPage(Self.record(), try Self.traffic(), callID: "call-1") { $0 }.text
        for sentence in [
            "192.0.2.1:5060 offered opus (48 kHz), G722 (16 kHz), PCMU (8 kHz).", "192.0.2.2:5060 took opus (48 kHz).",
            "packets may carry a coarse copy of the one before; no sound above 8 kHz is wanted",
            "Digits as events were not taken.", "Audio may be sent again against loss (RFC 2198).", "Each packet has 20 ms of sound.",
            "Both sides report how the call sounds (RFC 3611).", "The sound is not encrypted.",
        ] { #expect(page.contains(sentence), "\(sentence)") }
    }

    @Test func whatPeersWriteCannotBecomeMarkup() throws {
        var record = Self.record()
        record.remote = "<script>alert(1)</script>"
        record.end = "<b onload='x'>"
        record.codec = "<i>"
        record.add(CallMark(seconds: 1, kind: .note, text: "</svg><script>"))
        let page = CallPage(record, try Self.traffic()) { $0 }.text
        #expect(!page.contains("<script") && !page.contains("<b onload") && !page.contains("<i>"))
    }

    @Test("numbers that are none draw nothing wild", arguments: [Double.nan, .infinity, -.infinity, 1e300, -5])
    func strangeNumbers(value: Double) {
        var record = Self.record(samples: 3)
        record.add(
            CallSample(
                seconds: value, lost: value, repaired: value, lostThere: value, jitter: value, buffer: value, delay: value,
                received: value, sent: value, score: value, rate: value, redundantRate: value))
        let page = CallPage(record, Traffic()) { $0 }.text
        #expect(!page.contains("nan") && !page.contains("inf,") && page.contains("</html>"))
    }

    @Test func aCallThatWasNeverAnsweredHasAPage() {
        var record = CallRecord()
        record.end = "The other side is busy."
        let page = CallPage(record, Traffic()) { $0 }.text
        #expect(page.contains("never answered") && !page.contains("How it sounded"))
    }

    @Test func whereNoSoundCameThePageSaysSoAndDrawsNoScore() throws {
        var record = Self.record(samples: 0)
        record.score = nil
        (record.received, record.lost, record.restored, record.recovered) = (0, 0, 0, 0)
        for second in 0..<5 { record.add(CallSample(seconds: Double(second), sent: -20, rate: 64)) }
        let page = CallPage(record, try Self.traffic(), callID: "call-1") { $0 }.text
        #expect(page.contains("no sound came") && page.contains("How it sounded"))
        #expect(!page.contains("estimated opinion") && !page.contains("mouth to ear") && !page.contains("of 4.5"))
    }

    @Test func aScoreThatIsMissingForAWhilePartsItsCurve() {
        var record = Self.record(samples: 0)
        for second in 0..<10 { record.add(CallSample(seconds: Double(second), score: second == 5 ? 0 : 4)) }
        let page = CallPage(record, Traffic()) { $0 }.text
        #expect(page.split(separator: "class=\"line good\"").count == 3)
    }

    @Test func aLongCallKeepsWhatFits() {
        var record = CallRecord()
        for second in 0..<CallRecord.sampleLimit + 10 { record.add(CallSample(seconds: Double(second))) }
        #expect(record.samples.count == CallRecord.sampleLimit && record.omitted == 10)
    }
}
