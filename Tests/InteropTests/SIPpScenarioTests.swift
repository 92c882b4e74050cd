// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Handset
import PhoneCore
import SIPAgent
import TestArtefacts
import Testing

/// Against SIPp with scenarios of our own: what no phone would do, and what happens to phones all the same. Signalling only, and
/// mostly waiting: these run side by side.
@Suite struct SIPpScenarioTests {
    private let confirmed = ["state": "confirmed"]

    /// Our command that is called by SIPp, with its trace.
    private func called(_ scenario: String, _ arguments: [String]) async throws -> (us: Subprocess, sipp: SIPp, trace: String) {
        let trace = try Bench.folder() + "/trace"
        let port = try Bench.freePort()
        let us = try Bench.handset(["answer", "--calls", "1", "--listen", "127.0.0.1:\(port)", "--trace", trace] + arguments)
        try await us.wait(for: "listening", ["transport": "udp"])
        return (us, try SIPp(scenario, calls: port), trace)
    }

    /// Our command that calls SIPp, with its trace.
    private func calling(_ scenario: String, _ arguments: [String]) async throws -> (us: Subprocess, sipp: SIPp, trace: String) {
        let trace = try Bench.folder() + "/trace"
        let sipp = try SIPp(scenario)
        try await sipp.ready()
        let us = try Bench.handset(
            ["call", "sip:sipp@127.0.0.1:\(sipp.port)", "--listen", "127.0.0.1:0", "--trace", trace] + arguments)
        return (us, sipp, trace)
    }

    /// RFC 3261 §14.1: whose Call-ID it is waits 2.1…4 s, the other one up to 2 s.
    @Test(arguments: [(isCaller: true, from: 2.0, to: 4.6), (isCaller: false, from: 0, to: 2.6)])
    func reINVITEsThatCrossAreRefusedBothWaysAndTriedAgain(isCaller: Bool, from: Double, to: Double) async throws {
        let (us, sipp, trace) =
            isCaller ? try await calling("glare-called", ["--control"]) : try await called("glare-caller", ["--control"])
        try await us.wait(for: "call", confirmed)
        us.write(#"{"command":"hold"}"#)
        try await us.wait(for: "hold", ["by": "local", "state": "held"], within: 8)
        if isCaller { us.write(#"{"command":"hangup"}"#) }
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)\n\(us.transcript)")
        #expect(try await us.exitStatus(within: 5) == 0, "\(us.transcript)")
        let seen = try SignallingTrace(trace)
        #expect(seen.count("sent 491 INVITE") == 1 && seen.count("received 491 INVITE") == 1, "\(seen.steps)")
        let refused = try #require(seen.times("received 491 INVITE").first)
        let again = try #require(seen.times("sent INVITE").last)
        #expect(again - refused > from && again - refused < to, "tried again after \(again - refused) s")
    }

    /// RFC 3261 §13.2.2.4: each copy of the answer is acknowledged, and is no second call.
    @Test func aStormOfAnswersIsOneCall() async throws {
        let (us, sipp, trace) = try await calling("storm", ["--duration", "2"])
        #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        let seen = try SignallingTrace(trace)
        #expect(seen.count("received 200 INVITE") == 40 && seen.count("sent ACK") == 40, "\(seen.steps)")
        #expect(us.events("call").filter { $0["state"] as? String == "confirmed" }.count == 1)
        #expect(us.events("ended").count == 1 && us.events("warning").isEmpty, "\(us.transcript)")
    }

    /// RFC 3261 §13.2.2.4: the second phone that answers is acknowledged and hung up on; the call is with the first one.
    @Test func ofTwoPhonesThatAnswerOneIsHungUpOn() async throws {
        let (us, sipp, trace) = try await calling("forks", ["--duration", "1"])
        #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        let seen = try SignallingTrace(trace)
        #expect(seen.count("sent ACK") == 2 && seen.count("sent BYE") == 2, "\(seen.steps)")
        #expect(us.events("ended").count == 1, "\(us.transcript)")
    }

    /// RFC 3261 §13.3.1.4: our answer is repeated until its ACK, and the call lives.
    @Test func anACKThatComesLateIsStillGood() async throws {
        let (us, sipp, trace) = try await called("late-ack", [])
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        #expect(try await us.exitStatus(within: 5) == 0, "\(us.transcript)")
        let seen = try SignallingTrace(trace)
        // At 0, 0.5, 1.5 s; the next one would be due at 3.5 s.
        #expect(seen.count("sent 200 INVITE") == 3, "\(seen.steps)")
        let ended = try #require(us.events("ended").first)
        #expect(ended["cause"] as? String == "call.remote-hung-up", "\(us.transcript)")
    }

    /// RFC 3261 §13.3.1.4, with a T1 of 50 ms: 64·T1 are 3.2 s.
    @Test func anACKThatNeverComesEndsTheCallAndIsNamed() async throws {
        var core = PhoneConfiguration()
        core.agent.stack.times.t1 = .milliseconds(50)
        let phone = try await Phone(PhoneSettings(core: core, listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))]))
        let port = try #require(await phone.listening.first).address.port
        let sipp = try SIPp("no-ack", calls: Int(port))
        var end: CallEnd?
        for await call in phone.incomingCalls {
            try await call.answer()
            for await event in call.events { if case .ended(let how) = event { end = how } }
            break
        }
        #expect(end?.cause.code == "call.no-ack")
        #expect(end?.cause.evidence.contains { $0.value.contains("127.0.0.1:\(port)") } == true, "\(String(describing: end?.cause))")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        await phone.stop()
    }

    /// `maximumChallengeRounds`: two answers, and it is told in plain words; nothing is sent after that.
    @Test(arguments: ["", "stale=true, "]) func aServerThatAsksForEverIsGivenUpAtACall(stale: String) async throws {
        let (us, seen) = try await endlesslyChallenged("challenge-invite", ["call", "bob", "--no-register"], stale: stale)
        let ended = try await us.wait(for: "ended", within: 1)
        #expect(ended["cause"] as? String == "call.unauthorized" && ended["status"] as? Double == 407, "\(us.transcript)")
        #expect(us.errorText.contains("password"), "\(us.transcript)")
        #expect((2...3).contains(seen.requests("INVITE")), "\(seen.steps)")
        #expect(seen.requests("ACK") == seen.requests("INVITE"), "\(seen.steps)")
    }

    @Test(arguments: ["", "stale=true, "]) func aServerThatAsksForEverIsGivenUpAtRegistering(stale: String) async throws {
        let (us, seen) = try await endlesslyChallenged("challenge-register", ["register", "--once"], stale: stale)
        let cause = us.events("registration").last?["cause"] as? String ?? "none"
        #expect(cause == "registration.refused.password" || cause == "registration.refused.challenge", "\(us.transcript)")
        #expect((2...3).contains(seen.requests("REGISTER")), "\(seen.steps)")
    }

    /// Our command, until it gives up at a server that never takes a password; and what it sent and received.
    private func endlesslyChallenged(_ scenario: String, _ command: [String], stale: String) async throws -> (Subprocess, SignallingTrace) {
        let sipp = try SIPp(scenario, keys: ["stale": stale])
        try await sipp.ready()
        let trace = try Bench.folder() + "/trace"
        let common = [
            "--account", "sip:alice@example.net", "--proxy", "sip:127.0.0.1:\(sipp.port);lr", "--listen", "127.0.0.1:0", "--trace", trace,
        ]
        let us = try Bench.handset(command + common, password: Secrets.password(of: "alice"))
        #expect(try await us.exitStatus(within: 10) == 1, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        return (us, try SignallingTrace(trace))
    }

    /// RFC 3261 §12.2.1.1, and §8.1.1.1 for our own proxy: the scenario compares Request-URI and Route of INVITE, ACK and BYE.
    @Test func aStrictRouterOnTheWayOfOurCallFindsItselfInTheRequestURI() async throws {
        let sipp = try SIPp("strict-called")
        try await sipp.ready()
        let us = try Bench.handset([
            "call", "sip:bob@example.net", "--no-register", "--account", "sip:alice@example.net", "--proxy",
            "sip:edge@127.0.0.1:\(sipp.port)", "--strict-proxy", "--listen", "127.0.0.1:0", "--duration", "0.5",
        ])
        #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
    }

    @Test func aStrictRouterOnTheWayToUsFindsItselfInTheRequestURI() async throws {
        let (us, sipp, _) = try await called("strict-caller", ["--duration", "0.5"])
        #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
    }

    /// RFC 4028 §10: the refresh comes after half of the time.
    @Test func aSessionThatIsOursToRefreshIsRefreshedAtHalfTime() async throws {
        let (us, sipp, trace) = try await calling("timer-ours", ["--duration", "7"])
        #expect(try await us.exitStatus(within: 20) == 0, "\(us.transcript)")
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        let seen = try SignallingTrace(trace)
        let invites = seen.times("sent INVITE")
        #expect(invites.count == 2, "\(seen.steps)")
        #expect(abs((invites.last ?? 0) - (seen.times("received 200 INVITE").first ?? 0) - 5) < 0.5, "\(invites)")
    }

    /// RFC 4028 §10: a third of the time before its end, where that is less than 32 s.
    @Test func aSessionThatNobodyRefreshesIsEndedAndSaysSo() async throws {
        let (us, sipp, _) = try await calling("timer-theirs", [])
        _ = try await us.exitStatus(within: 20)
        #expect(try await sipp.exitStatus() == 0, "\(sipp.story)")
        let ended = try #require(us.events("ended").first)
        #expect(ended["cause"] as? String == "call.session-expired", "\(us.transcript)")
        #expect(abs((ended["duration"] as? Double ?? 0) - 6.67) < 0.5, "\(us.transcript)")
    }
}
