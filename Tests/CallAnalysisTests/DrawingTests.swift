// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import SIP
import Testing

/// The ladder as text and as a page.
@Suite struct DrawingTests {
    static func analysis(_ change: (inout Dialogue) -> Void = { _ in }) throws -> CallAnalysis {
        var call = Dialogue()
        change(&call)
        var writer = CaptureWriter()
        call.establish(&writer)
        call.talk(&writer, at: 1.1)
        call.hangUp(&writer, at: 7)
        return try writer.analysis()
    }

    @Test func theLadderShowsWhoSentWhatWhen() throws {
        let analysis = try Self.analysis()
        let lines = Ladder(analysis.conversations[0], of: analysis.traffic).text(width: 80).split(separator: "\n").map(String.init)
        #expect(lines.count == 9)
        #expect(lines[0].contains("192.0.2.10") && lines[0].contains("198.51.100.7"))
        #expect(lines[1].contains("0.000") && lines[1].contains(" INVITE (SDP) ") && lines[1].contains("▶│"))
        #expect(lines[2].contains("│◀") && lines[2].contains(" 180 Ringing "))
        #expect(lines.contains { $0.contains("═ RTP PCMU 250 packets ═") })
        #expect(lines.last?.contains("200 OK (BYE)") == true)
        #expect(lines.allSatisfy { $0.count <= 90 })
    }

    @Test func arrowsOfOneMachineWithItselfAreDrawnBetweenItsPorts() throws {
        var writer = CaptureWriter()
        var call = Dialogue()
        (call.caller, call.callee) = ("127.0.0.1:5070", "127.0.0.1:5060")
        writer.udp(0, call.caller, call.callee, call.invite)
        let analysis = try writer.analysis()
        #expect(Ladder(analysis.conversations[0], of: analysis.traffic).columns == ["127.0.0.1:5070", "127.0.0.1:5060"])
    }

    @Test func aRowNamesTheFindingsThatItShows() throws {
        var writer = CaptureWriter()
        let call = Dialogue()
        writer.udp(0, call.caller, call.callee, call.invite)
        writer.udp(0.1, call.callee, call.caller, call.response(486, "Busy Here"))
        let text = try writer.analysis().text()
        #expect(text.contains(" 1 FAILED  The INVITE was refused with 486 Busy Here"))
        #expect(text.contains("← 1"))
    }

    @Test func thePageNeedsNothingElseAndRunsNothing() throws {
        let analysis = try Self.analysis()
        let html = Page(analysis, name: "call.pcap") { $0.replacing("192.0.2.10:4000", with: "***") }.text
        #expect(html.hasPrefix("<!doctype html>"))
        #expect(!html.contains("<script") && !html.contains("src=") && !html.contains("url(") && !html.contains("http:"))
        #expect(html.contains("default-src 'none'"))
        #expect(html.contains("<svg") && html.contains("<details id=\"m0\">") && html.contains("href=\"#m0\""))
        #expect(html.split(separator: "<details").count == 7)
    }

    @Test func secretsAreMaskedInThePage() throws {
        let analysis = try Self.analysis()
        let html = Page(analysis, name: "call.pcap") { $0.replacing("alice@example.net", with: "***") }.text
        #expect(html.contains("From: &lt;sip:***&gt;"))
    }

    @Test func whatAStrangerWroteIsOnlyText() throws {
        let hostile = "<script>alert(1)</script>\u{1b}[2J"
        let analysis = try Self.analysis {
            $0.server = hostile
            $0.callID = "\"><script>x"
        }
        let html = Page(analysis, name: "<b>.pcap") { $0 }.text
        #expect(!html.contains("<script") && !html.contains("<b>.pcap") && !html.contains("\u{1b}"))
        #expect(html.contains("&lt;script&gt;"))
        #expect(!analysis.text().contains("\u{1b}"))
    }

    @Test func longCapturesAreCutInTheDrawing() throws {
        var writer = CaptureWriter()
        for number in 0..<500 {
            writer.udp(
                Double(number), "192.0.2.1:5060", "192.0.2.2:5060", Dialogue().request("OPTIONS", cseq: number, branch: "o\(number)"))
        }
        let analysis = try writer.analysis()
        #expect(Ladder(analysis.conversations[0], of: analysis.traffic).text().contains("… and 100 rows more"))
    }
}
