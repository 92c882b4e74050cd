// SPDX-License-Identifier: Apache-2.0
//
// What is said of media, of the way of messages, and of what happens over time.

import CallAnalysis
import Essentials
import SIP
import Testing

extension DiagnosisTests {
    // MARK: Media

    @Test func aCallWithoutVoiceIsTold() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            call.hangUp(&$0, at: 9)
        }
        #expect(analysis.finding("seen.media-none")?.severity == .failure)
    }

    @Test func aTraceOfSignallingAloneSaysNothingOfVoice() throws {
        let call = Dialogue()
        var writer = CaptureWriter()
        call.establish(&writer)
        call.hangUp(&writer, at: 9)
        let analysis = CallAnalysis(Traffic(messages: try writer.traffic().messages))
        #expect(analysis.codes == ["seen.caller-hung-up"])
    }

    @Test func oneWayAudioNamesThePrivateAddressThatCausesIt() throws {
        var call = Dialogue()
        call.callerMedia = "192.168.1.5:4000"
        let analysis = try Self.analysis {
            call.establish(&$0)
            $0.voice(1.1, "192.0.2.10:4000", "198.51.100.7:6000", count: 250, ssrc: 1)
            call.hangUp(&$0, at: 7)
        }
        let finding = try #require(analysis.finding("seen.media-one-way"))
        #expect(finding.evidence("deaf") == "192.168.1.5:4000" && finding.evidence("packets") == "250")
        #expect(finding.cause.sentence.contains("private address 192.168.1.5, which is the reason"))
        #expect(analysis.finding("seen.media-private-address")?.evidence("c") == "192.168.1.5")
    }

    /// A trace of a phone that listens on every address does not say from which it spoke.
    @Test func aSpeakerWhoseAddressIsNotKnownIsNotBehindANAT() throws {
        var call = Dialogue()
        call.caller = "0.0.0.0:5060"
        call.callerMedia = "192.168.1.5:4000"
        var writer = CaptureWriter()
        call.establish(&writer)
        call.hangUp(&writer, at: 9)
        let analysis = CallAnalysis(Traffic(messages: try writer.traffic().messages))
        #expect(analysis.codes == ["seen.caller-hung-up"])
    }

    @Test func audioOnHoldIsNoOneWayAudio() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.request("INVITE", body: Dialogue.sdp("192.0.2.10:4000", "0", direction: "sendonly")))
            $0.udp(
                1, call.callee, call.caller, call.response(200, "OK", body: Dialogue.sdp("198.51.100.7:6000", "0", direction: "recvonly")))
            $0.udp(1.05, call.caller, call.callee, call.ack)
            $0.voice(1.1, "192.0.2.10:4000", "198.51.100.7:6000", count: 250, ssrc: 1)
            call.hangUp(&$0, at: 7)
        }
        #expect(analysis.codes == ["seen.caller-hung-up"])
    }

    @Test func aClosedMediaPortIsToldByTheReportsOfIt() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            call.talk(&$0, at: 1.1)
            for number in 0..<40 {
                $0.unreachable(1.2 + Double(number) * 0.1, by: "192.0.2.10", from: "198.51.100.7:6000", to: "192.0.2.10:4000")
            }
            call.hangUp(&$0, at: 7)
        }
        #expect(analysis.finding("seen.media-port-closed")?.evidence("reports") == "40")
    }

    @Test func lossIsCountedPerDirection() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            $0.voice(1.1, "192.0.2.10:4000", "198.51.100.7:6000", count: 250, ssrc: 1)
            $0.voice(1.1, "198.51.100.7:6000", "192.0.2.10:4000", count: 250, ssrc: 2, lost: Set(stride(from: 20, to: 240, by: 10)))
            call.hangUp(&$0, at: 7)
        }
        let finding = try #require(analysis.finding("seen.media-loss"))
        #expect(finding.evidence("lost") == "22" && finding.cause.sentence.contains("loses 9 %"))
        #expect(analysis.codes.filter { $0 == "seen.media-loss" }.count == 1)
    }

    @Test(arguments: [true, false]) func aCodecMismatchShowsBothLists(isRefused: Bool) throws {
        var call = Dialogue()
        call.callerCodecs = "9 96\r\na=rtpmap:96 opus/48000/2"
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            if isRefused {
                $0.udp(
                    0.1, call.callee, call.caller, call.response(488, "Not Acceptable Here", body: Dialogue.sdp("198.51.100.7:6000", "0 8"))
                )
            } else {
                $0.udp(0.1, call.callee, call.caller, call.response(200, "OK", body: Dialogue.sdp("198.51.100.7:6000", "0 8")))
                $0.udp(0.2, call.caller, call.callee, call.ack)
            }
        }
        let finding = try #require(analysis.finding("seen.codec-mismatch"))
        #expect(finding.evidence("offered") == "G722 opus" && finding.evidence("accepted") == "PCMU PCMA")
    }

    // MARK: The way

    @Test func aGatewayThatRewroteAMessageIsSeenAtTwoPlaces() throws {
        var inside = Dialogue()
        inside.caller = "192.168.1.5:5060"
        inside.callerMedia = "192.168.1.5:4000"
        let outside = inside.invite.replacing("alice@192.168.1.5:5060", with: "alice@203.0.113.50:61000").replacing(
            "c=IN IP4 192.168.1.5", with: "c=IN IP4 203.0.113.50")
        let analysis = try Self.analysis {
            $0.udp(0, inside.caller, inside.callee, inside.invite)
            $0.udp(0.001, "203.0.113.50:61000", inside.callee, outside)
            $0.udp(0.1, inside.callee, "203.0.113.50:61000", inside.response(486, "Busy Here"))
        }
        let finding = try #require(analysis.finding("seen.rewritten"))
        #expect(finding.evidence("SDP") == "192.168.1.5:4000 became 203.0.113.50:4000")
        #expect(finding.evidence("Contact")?.contains("became <sip:alice@203.0.113.50:61000>") == true)
    }

    @Test func aProxyThatOnlyForwardsRewritesNothing() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            $0.udp(
                0.01, call.callee, "203.0.113.9:5060",
                call.invite.replacing("Via: SIP", with: "Via: SIP/2.0/UDP \(call.callee);branch=z9hG4bKp1\r\nVia: SIP", maxReplacements: 1))
        }
        #expect(!analysis.codes.contains("seen.rewritten"))
    }

    /// RFC 3261 §16.10: a proxy answers the CANCEL that it got, and sends one of its own.
    @Test func aProxyThatPassesACancelOnRewritesNothing() throws {
        let call = Dialogue()
        let (proxy, callee) = ("203.0.113.9:5060", "203.0.113.10:5060")
        func answer(_ branch: String) -> String { call.response(200, "OK", method: "CANCEL", branch: branch) }
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, proxy, call.invite)
            $0.udp(1, call.caller, proxy, call.request("CANCEL", branch: "c"))
            $0.udp(1.01, proxy, call.caller, answer("c"))
            $0.udp(1.02, proxy, callee, call.request("CANCEL", branch: "p"))
            $0.udp(1.03, callee, proxy, answer("p"))
        }
        #expect(!analysis.codes.contains("seen.rewritten"), "\(analysis.codes)")
    }

    @Test func aMessageThatContradictsItselfBetraysAGateway() throws {
        var call = Dialogue()
        call.callerContact = "192.168.1.5:5060"
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            $0.udp(0.1, call.callee, call.caller, call.response(486, "Busy Here"))
        }
        #expect(analysis.finding("seen.gateway")?.evidence("Contact") == "192.168.1.5")
    }

    // MARK: Over time

    @Test func aRegistrationThatFlapsNamesItsContacts() throws {
        let analysis = try Self.analysis { writer in
            for number in 1...8 {
                var call = Dialogue()
                call.callID = "r\(number / 2)"
                call.callerContact = number % 2 == 0 ? "192.0.2.10:5060" : "192.0.2.99:5060"
                let time = Double(number) * 5
                writer.udp(time, call.caller, call.callee, call.request("REGISTER", cseq: number, branch: "r\(number)"))
                writer.udp(
                    time + 0.1, call.callee, call.caller,
                    call.response(200, "OK", method: "REGISTER", cseq: number, branch: "r\(number)", extra: "Expires: 600\r\n"))
            }
        }
        let finding = try #require(analysis.finding("seen.registration-flapping"))
        #expect(finding.evidence("requests") == "8" && finding.evidence("contacts") == "192.0.2.99:5060 192.0.2.10:5060")
    }

    /// Two commands in a row: each registers, and leaves when its work is done.
    @Test func programsThatRegisterOneAfterTheOtherDoNotFlap() throws {
        let analysis = try Self.analysis { writer in
            for number in 1...4 {
                var call = Dialogue()
                call.callID = "r\((number + 1) / 2)"
                let time = Double(number) * 2
                let expires = "Expires: \(number % 2 == 0 ? 0 : 600)\r\n"
                writer.udp(time, call.caller, call.callee, call.request("REGISTER", cseq: number, branch: "r\(number)", extra: expires))
                writer.udp(
                    time + 0.1, call.callee, call.caller,
                    call.response(200, "OK", method: "REGISTER", cseq: number, branch: "r\(number)", extra: expires))
            }
        }
        #expect(analysis.codes == ["seen.unregistered", "seen.unregistered"])
    }

    @Test(arguments: [
        ("SIP/2.0 603 Declined", "seen.transfer-failed"), ("SIP/2.0 200 OK", "seen.transferred"),
        ("SIP/2.0 100 Trying", "seen.transfer-open"),
    ])
    func aTransferIsToldByItsReport(line: String, code: String) throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            call.talk(&$0, at: 1.1)
            $0.udp(
                7, call.caller, call.callee,
                call.request("REFER", cseq: 2, branch: "f", toTag: true, extra: "Refer-To: <sip:carol@example.net>\r\n"))
            $0.udp(7.1, call.callee, call.caller, call.response(202, "Accepted", method: "REFER", cseq: 2, branch: "f"))
            $0.udp(
                7.2, call.callee, call.caller,
                call.request(
                    "NOTIFY", cseq: 1, branch: "n", byCallee: true, body: line + "\r\n", type: "message/sipfrag",
                    extra: "Event: refer\r\nSubscription-State: active\r\n"))
            $0.udp(7.3, call.caller, call.callee, call.response(200, "OK", method: "NOTIFY", branch: "n", byCaller: true))
            call.hangUp(&$0, at: 9)
        }
        #expect(analysis.finding(code)?.cause.sentence.contains("sip:carol@example.net") == true, "\(analysis.codes)")
    }

    @Test func aRefusedTransferIsTold() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            call.talk(&$0, at: 1.1)
            $0.udp(
                7, call.caller, call.callee,
                call.request("REFER", cseq: 2, branch: "f", toTag: true, extra: "Refer-To: <sip:carol@example.net>\r\n"))
            $0.udp(7.1, call.callee, call.caller, call.response(405, "Method Not Allowed", method: "REFER", cseq: 2, branch: "f"))
        }
        #expect(analysis.finding("seen.transfer-refused")?.cause.status == 405)
    }

    @Test func aCauseOfThePhoneItselfComesFirst() {
        var traffic = Traffic()
        traffic.causes = [
            TracedCause(
                time: .zero, code: "tls.certificate.name", sentence: "The certificate is for another name.", evidence: ["expected: a"])
        ]
        let analysis = CallAnalysis(traffic)
        #expect(analysis.finding("tls.certificate.name")?.severity == .failure)
        #expect(analysis.text().contains("The certificate is for another name. (tls.certificate.name)"))
    }

    @Test(arguments: ["call.hung-up", "call.transferred", "call.replaced", "call.answered-elsewhere"])
    func anEndThatSomebodyWantedIsNoFailure(code: String) {
        var traffic = Traffic()
        traffic.causes = [TracedCause(time: .zero, code: code, sentence: "The call is over.", evidence: [])]
        let analysis = CallAnalysis(traffic)
        #expect(analysis.finding(code)?.severity == .note && !analysis.text().contains("FAILED"))
    }

    @Test func theSameCaptureGivesTheSameWords() throws {
        let make: (inout CaptureWriter) -> Void = {
            let call = Dialogue()
            call.establish(&$0)
            call.talk(&$0, at: 1.1, both: false)
            call.hangUp(&$0, at: 7)
        }
        let first = try Self.analysis(make).text()
        for _ in 0..<5 { #expect(try Self.analysis(make).text() == first) }
    }

    // MARK: What cannot be seen

    @Test func packetsOfTLSAndWebSocketAreCountedAndSaidToBeHidden() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.tcp(0, "192.0.2.10:40000", "192.0.2.20:5061", [], flags: 0x02)
            $0.tcp(0.1, "192.0.2.10:40000", "192.0.2.20:5061", [22, 3, 1, 0, 100] + [UInt8](repeating: 7, count: 100))
            $0.tcp(0.2, "192.0.2.20:5061", "192.0.2.10:40000", [22, 3, 3, 0, 100] + [UInt8](repeating: 7, count: 100))
            $0.tcp(0.3, "192.0.2.10:40000", "192.0.2.20:5061", [23, 3, 3, 0, 10] + [UInt8](repeating: 9, count: 10))
            $0.tcp(
                0.4, "192.0.2.10:40001", "192.0.2.20:80",
                Array("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: sip\r\n\r\n".utf8))
            $0.udp(1, call.caller, call.callee, call.invite)
        }
        let counters = analysis.traffic.counters
        #expect(counters[.packetsOfTLS] == 3 && counters[.packetsOfWebSocket] == 1 && counters[.messagesUnreadable] == 0)
        #expect(
            analysis.summary.hasSuffix(
                "3 packets of TLS and 1 packet of WebSocket cannot be seen into: the trace of the phone (--trace) holds what they carried."),
            "\(analysis.summary)")
        #expect(try Self.analysis { $0.udp(0, call.caller, call.callee, call.invite) }.summary.hasSuffix("failed."))
    }
}
