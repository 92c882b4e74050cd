// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import SIP
import Testing

/// Each way in which a call fails for people, as a capture, and what is said of it.
@Suite struct DiagnosisTests {
    /// The analysis of a capture that `make` writes.
    static func analysis(_ make: (inout CaptureWriter) -> Void) throws -> CallAnalysis {
        var writer = CaptureWriter()
        make(&writer)
        return try writer.analysis()
    }

    @Test func aGoodCallHasNoFailureAndTellsItsEnd() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            call.talk(&$0, at: 1.1)
            call.hangUp(&$0, at: 7)
        }
        #expect(analysis.codes == ["seen.caller-hung-up"])
        #expect(analysis.finding("seen.caller-hung-up")?.cause.sentence.contains("lasted 6 s") == true)
        #expect(analysis.summary == "1 call in 6 messages; none failed.")
        #expect(analysis.conversations[0].title == "INVITE from alice@example.net to bob@example.net")
    }

    // MARK: No answer

    @Test func aRequestThatNobodyAnswersIsToldWithItsTries() throws {
        let call = Dialogue()
        let analysis = try Self.analysis { for time in [0, 0.5, 1.5, 3.5, 7.5] { $0.udp(time, call.caller, call.callee, call.invite) } }
        let finding = try #require(analysis.finding("call.no-response"))
        #expect(finding.severity == .failure)
        #expect(finding.evidence("tries") == "5" && finding.evidence("to") == call.callee)
        #expect(finding.cause.sentence.contains("sent 5 times over 7.5 s"))
    }

    @Test func aRequestTooBigForThePathIsToldApartFromSilence() throws {
        let call = Dialogue()
        let big = call.request("INVITE", body: Dialogue.sdp("192.0.2.10:4000", "0"), extra: "X: \(String(repeating: "x", count: 1600))\r\n")
        let analysis = try Self.analysis {
            $0.mtu = 1500
            for time in [0, 0.5, 1.5] { $0.udp(time, call.caller, call.callee, big) }
        }
        let finding = try #require(analysis.finding("seen.request-too-big"))
        #expect(finding.evidence("octets") == "\(big.utf8.count)" && finding.evidence("fragments") == "2")
        #expect(!analysis.codes.contains("call.no-response"))
    }

    @Test func aClosedPortIsToldWithWhoSaysSo() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            $0.unreachable(0.01, by: "198.51.100.7", from: call.caller, to: call.callee)
            $0.udp(0.5, call.caller, call.callee, call.invite)
        }
        let finding = try #require(analysis.finding("call.unreachable"))
        #expect(finding.cause.sentence.contains("nothing listens on this port, says 198.51.100.7"))
        #expect(!analysis.codes.contains("call.no-response"))
    }

    @Test func itRangAndNobodyAnswered() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            $0.udp(0.1, call.callee, call.caller, call.response(180, "Ringing"))
        }
        #expect(analysis.finding("seen.never-answered")?.cause.sentence.hasPrefix("It rang at 198.51.100.7:5060") == true)
    }

    @Test(arguments: [(false, "nothing had come back"), (true, "it had been ringing for")])
    func aCallTakenBackTellsWhatHadHappenedByThen(rings: Bool, words: String) throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            if rings { $0.udp(0.2, call.callee, call.caller, call.response(180, "Ringing")) }
            $0.udp(3, call.caller, call.callee, call.request("CANCEL"))
            $0.udp(3.1, call.callee, call.caller, call.response(200, "OK", method: "CANCEL"))
            $0.udp(3.2, call.callee, call.caller, call.response(487, "Request Terminated"))
        }
        let finding = try #require(analysis.finding("call.cancelled"))
        #expect(finding.cause.sentence.contains("after 3 s: \(words)"))
        #expect(analysis.codes.filter { $0 != "call.cancelled" } == [])
    }

    @Test func retransmissionsThatHelpedAreANote() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(-0.5, call.caller, call.callee, call.invite)
            call.establish(&$0)
            call.talk(&$0, at: 1.1)
            call.hangUp(&$0, at: 7)
        }
        #expect(analysis.finding("seen.retransmissions")?.severity == .note)
    }

    // MARK: Refusals

    @Test(arguments: [
        (486, "Busy Here", "call.busy"), (404, "Not Found", "call.not-found"), (403, "Forbidden", "call.forbidden"),
        (480, "Unavailable", "call.unavailable"),
        (503, "Service Unavailable", "call.server-failure"), (603, "Decline", "call.declined"), (302, "Moved", "call.redirected"),
        (484, "Address", "call.bad-address"),
        (400, "Bad", "call.failed"),
    ])
    func aRefusalTellsStatusAndWho(status: Int, reason: String, code: String) throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            $0.udp(0.1, call.callee, call.caller, call.response(status, reason, extra: "Warning: 399 pbx \"out of lines\"\r\n"))
            $0.udp(0.2, call.caller, call.callee, call.request("ACK"))
        }
        let finding = try #require(analysis.finding(code))
        #expect(finding.cause.status == status)
        #expect(finding.cause.sentence.contains("\(status) \(reason) by 198.51.100.7:5060 (TestPhone/1)"))
        #expect(finding.evidence("Warning") == "399 pbx \"out of lines\"")
    }

    @Test func aRefusalThroughAProxyNamesTheHopItCameFrom() throws {
        var call = Dialogue()
        call.callee = "198.51.100.1:5060"
        call.server = "Proxy"
        let (proxy, phone) = (call.callee, "203.0.113.9:5060")
        func onward(_ text: String) -> String {
            text.replacing("Via: SIP", with: "Via: SIP/2.0/UDP \(proxy);branch=z9hG4bKp1\r\nVia: SIP", maxReplacements: 1)
        }
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, proxy, call.invite)
            $0.udp(0.01, proxy, phone, onward(call.invite))
            $0.udp(0.3, phone, proxy, onward(call.response(486, "Busy Here").replacing("Server: Proxy", with: "Server: Deskphone")))
            $0.udp(0.31, proxy, call.caller, call.response(486, "Busy Here"))
        }
        let finding = try #require(analysis.finding("call.busy"))
        #expect(finding.evidence("from") == phone && finding.evidence("server") == "Deskphone" && finding.evidence("hop") == "2 of 2")
        #expect(finding.cause.sentence.contains("the last hop that was seen"))
    }

    // MARK: Passwords

    private static let challenge = "WWW-Authenticate: Digest realm=\"example.net\", nonce=\"n1\"\r\n"
    private static let credentials =
        "Authorization: Digest username=\"alice\", realm=\"example.net\", nonce=\"n1\", uri=\"sip:x\", response=\"0\"\r\n"

    /// Registrations that are challenged; `stale` marks the second challenge.
    static func challenged(_ tries: Int, stale: Bool = false, ends: Int? = nil) -> (inout CaptureWriter) -> Void {
        { writer in
            let call = Dialogue()
            for number in 1...tries {
                let time = Double(number) * 0.2
                let extra = number == 1 ? "" : credentials
                writer.udp(time, call.caller, call.callee, call.request("REGISTER", cseq: number, branch: "r\(number)", extra: extra))
                let isLast = number == tries
                if isLast, let ends {
                    writer.udp(
                        time + 0.1, call.callee, call.caller,
                        call.response(ends, "OK", method: "REGISTER", cseq: number, branch: "r\(number)", extra: "Expires: 600\r\n"))
                } else {
                    let challenge = stale && number > 1 ? challenge.replacing("\r\n", with: ", stale=true\r\n") : challenge
                    writer.udp(
                        time + 0.1, call.callee, call.caller,
                        call.response(401, "Unauthorized", method: "REGISTER", cseq: number, branch: "r\(number)", extra: challenge))
                }
            }
        }
    }

    @Test func aWrongPasswordInALoopIsToldWithTheUser() throws {
        let finding = try #require(try Self.analysis(Self.challenged(5)).finding("registration.refused.password"))
        #expect(
            finding.evidence("rejected") == "4" && finding.evidence("username") == "alice" && finding.evidence("realm") == "example.net")
        #expect(finding.cause.sentence.contains("tried 4 times"))
    }

    @Test func aStaleNonceIsNoWrongPassword() throws {
        let analysis = try Self.analysis(Self.challenged(3, stale: true, ends: 200))
        #expect(analysis.finding("seen.stale-nonce")?.severity == .note)
        #expect(analysis.codes == ["seen.stale-nonce", "seen.registered"])
    }

    @Test func oneChallengeThatWasAnsweredIsNothing() throws {
        #expect(try Self.analysis(Self.challenged(2, ends: 200)).codes == ["seen.registered"])
    }

    @Test func aChallengeThatNobodyAnswersIsTold() throws {
        #expect(try Self.analysis(Self.challenged(1)).codes == ["registration.refused.no-credentials"])
    }

    // MARK: Answers

    @Test func anACKThatNeverCameNamesTheContactThatMisled() throws {
        var call = Dialogue()
        call.calleeContact = "10.0.0.7:5060"
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            for time in [1, 1.5, 2.5, 4.5, 8.5] { $0.udp(time, call.callee, call.caller, call.ok) }
        }
        let finding = try #require(analysis.finding("call.no-ack"))
        #expect(finding.severity == .failure)
        #expect(finding.evidence("Contact") == "sip:bob@10.0.0.7:5060" && finding.evidence("repeats") == "4")
        #expect(finding.cause.sentence.contains("leads the ACK to 10.0.0.7:5060, a private address"))
    }

    @Test func anAnswerRepeatedThoughConfirmedIsAStorm() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            $0.udp(0, call.caller, call.callee, call.invite)
            for time in [1, 1.5, 2.5, 4.5] {
                $0.udp(time, call.callee, call.caller, call.ok)
                $0.udp(time + 0.05, call.caller, call.callee, call.ack)
            }
        }
        #expect(analysis.finding("seen.answer-storm")?.evidence("answers") == "4")
        #expect(!analysis.codes.contains("call.no-ack"))
    }

    @Test func severalPhonesThatAnswerAreCounted() throws {
        let call = Dialogue()
        let analysis = try Self.analysis {
            call.establish(&$0)
            $0.udp(1.2, call.callee, call.caller, call.response(200, "OK", tag: "c", body: Dialogue.sdp("198.51.100.7:6002", "0")))
            call.talk(&$0, at: 1.1)
        }
        #expect(analysis.finding("seen.several-answers")?.cause.sentence.hasPrefix("2 phones answered") == true)
    }

    @Test func aSessionThatExpiredIsToldByItsReasonOrItsTime() throws {
        let call = Dialogue()
        for reason in ["Reason: SIP;cause=408;text=\"Session timer expired\"\r\n", ""] {
            let analysis = try Self.analysis {
                $0.udp(0, call.caller, call.callee, call.invite)
                $0.udp(
                    1, call.callee, call.caller,
                    call.response(200, "OK", body: Dialogue.sdp("198.51.100.7:6000", "0"), extra: "Session-Expires: 90;refresher=uas\r\n"))
                $0.udp(1.1, call.caller, call.callee, call.ack)
                $0.voice(1.1, "198.51.100.7:6000", "192.0.2.10:4000", count: 100, ssrc: 1)
                $0.voice(1.1, "192.0.2.10:4000", "198.51.100.7:6000", count: 100, ssrc: 2)
                call.hangUp(&$0, at: 61, extra: reason)
            }
            let finding = try #require(analysis.finding("call.session-expired"), "\(reason)")
            #expect(finding.cause.sentence.contains("the called side should have refreshed"))
        }
    }
}
