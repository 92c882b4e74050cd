// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Handset
import PhoneCore
import SIPAgent
import Synchronization
import Testing

/// Session timers with pjsip in real time. It takes none under 90 s (RFC 4028 §4), so that a refresh comes after 45 s at the earliest:
/// these run beside everything else.
@Suite struct RefreshTests {
    /// pjsip calls, and the refreshes are its own.
    @Test func pjsipRefreshesItsCallToUs() async throws {
        let place = try await Place()
        let trace = place.folder + "/trace"
        let us = try await place.handset(["answer", "--calls", "1", "--trace", trace], "bob")
        let pjsip = try await place.pjsip("alice", more: ["--timer", "90"])
        pjsip.write("call sip:bob@\(place.domain)")
        try await us.wait(for: "call", ["state": "confirmed"])
        // The first one may come at once: pjsip settles on one codec by UPDATE.
        let times = { () throws -> [Double] in
            try SignallingTrace(trace).entries.filter { ["received UPDATE", "received INVITE"].contains($0.step) }.map(\.time)
        }
        for _ in 0..<300 {
            let now = try times()
            if let first = now.first, let last = now.last, last - first > 30 { break }
            try await Task.sleep(for: .milliseconds(200))
        }
        let seen = try times()
        let wait = (seen.last ?? 0) - (seen.first ?? 0)
        #expect(abs(wait - 45) < 3, "\(seen)")
        #expect(us.events("ended").isEmpty, "\(us.transcript)")
        pjsip.write("hangup")
        #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
        let whole = try SignallingTrace(trace)
        #expect(whole.count("sent 200 UPDATE") + whole.count("sent 200 INVITE") >= 2, "\(whole.steps)")
        pjsip.write("quit")
        try await pjsip.exitStatus(within: 10)
        await place.stop()
    }

    /// We ask for 90 s, pjsip wants 100 at least (422), and the refreshes are ours.
    @Test func ourIntervalIsRaisedByPjsipAndWeRefresh() async throws {
        let port = try Bench.freePort()
        let pjsip = try Subprocess(
            Bench.python,
            [
                Bench.peer("pjsip_peer.py"), "--port", "\(port)", "--rtp-port", "\(try Bench.freePort() & ~1)", "--user", "alice",
                "--auto-answer", "200", "--timer", "100", "--min-se", "100",
            ])
        try await pjsip.wait(for: "ready")
        let steps = Mutex<[(Date, String)]>([])
        var core = PhoneConfiguration()
        core.agent.sessionInterval = 90
        let settings = PhoneSettings(
            core: core, listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))],
            trace: { record in
                let first = record.message.prefix { $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
                steps.withLock { $0.append((Date(), "\(record.direction) \(first)")) }
            })
        let phone = try await Phone(settings)
        let call = try await phone.call(from: nil, to: "sip:alice@127.0.0.1:\(port)")
        let ends = Mutex<[String]>([])
        let watching = Task {
            for await event in call.events { if case .ended(let end) = event { ends.withLock { $0.append(end.cause.code) } } }
        }
        /// When requests with these methods went out.
        func sent(_ methods: [String]) -> [Date] {
            steps.withLock { $0.filter { step in methods.contains { step.1.hasPrefix("sent \($0) ") } }.map(\.0) }
        }
        for _ in 0..<300 where sent(["INVITE", "UPDATE"]).count < 3 { try await Task.sleep(for: .milliseconds(200)) }
        let all = steps.withLock { $0.map(\.1) }
        #expect(all.contains { $0.hasPrefix("received SIP/2.0 422") }, "\(all)")
        // pjsip allows UPDATE, which needs no new description.
        #expect(all.contains { $0.hasPrefix("sent UPDATE ") }, "\(all)")
        let times = sent(["INVITE", "UPDATE"])
        #expect(times.count == 3 && abs(times[times.count - 1].timeIntervalSince(times[0]) - 50) < 3, "\(all)")
        #expect(ends.withLock { $0 }.isEmpty)
        await call.hangUp()
        await watching.value
        #expect(ends.withLock { $0 } == ["call.hung-up"])
        await phone.stop()
        pjsip.write("quit")
        try await pjsip.exitStatus(within: 10)
    }
}
