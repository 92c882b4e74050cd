// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// linphone (Debian linphone-cli) and our phone, each calling the other; digits both ways by each method. What linphone hears cannot
/// be had from it: only what it says is compared. One after another, but beside the other suites: linphone wants to be waited for.
@Suite(.serialized) struct LinphoneTests {
    private let confirmed = ["state": "confirmed"]

    @Test(arguments: ["info", "rfc4733"]) func linphoneCallsUsAndBothSendDigitsAndHold(method: String) async throws {
        let linphone = try await Linphone.start(digitsByINFO: method == "info")
        let port = try Bench.freePort()
        let us = try Bench.handset([
            "answer", "--calls", "1", "--listen", "127.0.0.1:\(port)", "--control", "--dtmf-method", method, "--codecs",
            "pcmu", "--record", linphone.folder + "/us.wav",
        ])
        try await us.wait(for: "listening", ["transport": "udp"])
        linphone.process.write("call sip:handset@127.0.0.1:\(port)")
        try await us.wait(for: "call", confirmed)
        try await linphone.order("incall-player-start \(Bench.english)")
        try await Task.sleep(for: .seconds(4))
        try await exchangeDigits(us, linphone, method)
        try await linphone.order("call-pause 1")
        try await us.wait(for: "hold", ["by": "remote", "state": "held"], within: 5)
        try await linphone.order("call-resume 1")
        try await us.wait(for: "hold", ["by": "remote", "state": "resumed"], within: 5)
        try await holdAndResume(us)
        try await linphone.order("terminate")
        #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
        try expectHeard(Bench.english, in: linphone.folder + "/us.wav", seconds: 3, within: 8)
        try await linphone.quit()
    }

    @Test(arguments: ["info", "rfc4733"]) func weCallLinphoneAndItTransfersUs(method: String) async throws {
        let linphone = try await Linphone.start(digitsByINFO: method == "info")
        let port = try Bench.freePort()
        let carol = try Bench.handset(["answer", "--calls", "1", "--listen", "127.0.0.1:\(port)"])
        try await carol.wait(for: "listening", ["transport": "udp"])
        let us = try Bench.handset([
            "call", linphone.address, "--listen", "127.0.0.1:0", "--control", "--transfers", "accept", "--dtmf-method", method,
        ])
        try await linphone.wait(for: "LinphoneCallIncomingReceived")
        linphone.process.write("answer 1")
        try await us.wait(for: "call", confirmed)
        try await exchangeDigits(us, linphone, method)
        try await linphone.order("call-transfer 1 sip:carol@127.0.0.1:\(port)")
        try await us.wait(for: "transfer", ["direction": "incoming", "state": "succeeded"])
        try await carol.wait(for: "call", confirmed)
        try await us.wait(for: "ended", ["call": "1"])
        us.write(#"{"command":"hangup","call":"2"}"#)
        #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
        #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
        try await linphone.quit()
    }

    @Test func weHoldLinphoneAndTransferIt() async throws {
        let linphone = try await Linphone.start(digitsByINFO: false)
        let port = try Bench.freePort()
        let carol = try Bench.handset(["answer", "--calls", "1", "--listen", "127.0.0.1:\(port)"])
        try await carol.wait(for: "listening", ["transport": "udp"])
        let us = try Bench.handset(["call", linphone.address, "--listen", "127.0.0.1:0", "--control"])
        try await linphone.wait(for: "LinphoneCallIncomingReceived")
        linphone.process.write("answer 1")
        try await us.wait(for: "call", confirmed)
        try await holdAndResume(us)
        try await linphone.wait(for: "LinphoneCallStreamsRunning")
        us.write(#"{"command":"transfer","to":"sip:carol@127.0.0.1:\#(port)"}"#)
        try await us.wait(for: "transfer", ["direction": "outgoing", "state": "succeeded"])
        try await carol.wait(for: "call", confirmed)
        #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
        try await linphone.order("terminate")
        #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
        try await linphone.quit()
    }

    private func exchangeDigits(_ us: Subprocess, _ linphone: Linphone, _ method: String) async throws {
        us.write(#"{"command":"dtmf","digits":"9"}"#)
        try await us.wait(for: "dtmf", ["direction": "sent", "digit": "9", "method": method], within: 5)
        try await linphone.wait(for: "Tone: 9", within: 5)
        try await linphone.order("dtmf 5")
        try await us.wait(for: "dtmf", ["direction": "received", "digit": "5", "method": method], within: 5)
    }

    private func holdAndResume(_ us: Subprocess) async throws {
        us.write(#"{"command":"hold"}"#)
        try await us.wait(for: "hold", ["by": "local", "state": "held"], within: 5)
        us.write(#"{"command":"resume"}"#)
        try await us.wait(for: "hold", ["by": "local", "state": "resumed"], within: 5)
    }
}
