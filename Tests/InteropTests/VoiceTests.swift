// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// Codecs, in-band FEC and redundancy with other people's phones, and what is heard on both sides.
    @Suite(.serialized) struct VoiceTests {
        /// What survives a codec that keeps the sound and not the waveform.
        static let likeness = 0.8

        @Test func opusWithBaresipBothWays() async throws {
            let place = try await Place()
            let baresip = try await place.baresip("alice", play: Bench.english, more: ["--auto-answer", "--codecs", "opus/48000/2"])
            let us = try await place.handset(
                ["call", "alice", "--codecs", "opus", "--play", Bench.italian, "--record", place.folder + "/us.wav"], "bob")
            #expect(try await us.wait(for: "media", within: 10)["codec"] as? String == "OPUS")
            try await Task.sleep(for: .seconds(6))
            baresip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            baresip.write("quit")
            try await baresip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 5, correlation: Self.likeness)
            // Its file has what its decoder gives: 48 kHz and two channels.
            try expectHeard(Bench.italian, in: try dump(place), seconds: 4, correlation: Self.likeness)
            await place.stop()
        }

        @Test func opusWithTodaysBaresipBothWays() async throws {
            let place = try await Place()
            let baresip = try await place.baresipPython(
                "alice", play: Bench.english, record: place.folder + "/baresip.wav", more: ["--auto-answer", "--codecs", "opus/48000/2"])
            let us = try await place.handset(
                ["call", "alice", "--codecs", "opus", "--play", Bench.italian, "--record", place.folder + "/us.wav", "--duration", "7"],
                "bob")
            #expect(try await us.wait(for: "media", within: 10)["codec"] as? String == "OPUS")
            #expect(try await us.exitStatus(within: 20) == 0, "\(us.transcript)")
            baresip.write("quit")
            try await baresip.exitStatus(within: 10)
            // Its source starts unevenly, and its buffer slips: such a second is not found whole.
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 6, correlation: Self.likeness, share: 0.5)
            try expectHeard(Bench.italian, in: place.folder + "/baresip.wav", seconds: 6, correlation: Self.likeness, share: 0.5)
            await place.stop()
        }

        @Test func g722WithBaresipBothWays() async throws {
            let place = try await Place()
            let baresip = try await place.baresip("alice", play: Bench.english, more: ["--auto-answer", "--codecs", "g722"])
            let us = try await place.handset(
                ["call", "alice", "--codecs", "g722", "--play", Bench.italian, "--record", place.folder + "/us.wav"], "bob")
            #expect(try await us.wait(for: "media", within: 10)["codec"] as? String == "G722")
            try await Task.sleep(for: .seconds(6))
            baresip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            baresip.write("quit")
            try await baresip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 5, correlation: Self.likeness)
            try expectHeard(Bench.italian, in: try dump(place), seconds: 4, correlation: Self.likeness)
            await place.stop()
        }

        @Test func g722WithPjsipBothWays() async throws {
            let place = try await Place()
            let us = try await place.handset(
                ["answer", "--calls", "1", "--codecs", "g722", "--play", Bench.italian, "--record", place.folder + "/us.wav"], "bob")
            let pjsip = try await place.pjsip(
                "alice", play: Bench.english, record: place.folder + "/pjsip.wav", more: ["--codecs", "G722"])
            pjsip.write("call sip:bob@\(place.domain)")
            #expect(try await us.wait(for: "media", within: 10)["codec"] as? String == "G722")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .seconds(6))
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 5, correlation: Self.likeness)
            try expectHeard(Bench.italian, in: place.folder + "/pjsip.wav", seconds: 5, correlation: Self.likeness)
            await place.stop()
        }

        @Test func opusWithLinphoneBothWays() async throws {
            let call = try await LinphoneCall(loss: nil, seconds: 8)
            #expect(call.codec == "OPUS")
            try expectHeard(Bench.italian, in: call.folder + "/linphone.wav", seconds: 5, correlation: Self.likeness)
            try expectHeard(Bench.english, in: call.folder + "/us.wav", seconds: 5, correlation: Self.likeness)
            call.clean()
        }

        @Test func linphonesInBandCorrectionIsUsedUnderLoss() async throws {
            let call = try await LinphoneCall(loss: 0.15, seconds: 25)
            #expect(call.codec == "OPUS")
            let lost = call.figures["lost"] ?? 0
            let recovered = call.figures["recovered"] ?? 0
            #expect(lost > 50 && recovered > lost / 5, "\(call.figures)")
            // Linphone reports what it misses of ours, which sets how much we protect.
            #expect(call.figures["loss_sent"] ?? 0 > 0.02, "\(call.figures)")
            call.clean()
        }

        /// The file that baresip's sndfile module wrote of what it heard.
        private func dump(_ place: Place) throws -> String {
            let folder = place.folder + "/baresip/recordings"
            let dumps = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix("-dec.wav") }.sorted()
            return folder + "/" + (dumps.first ?? "none")
        }
    }
}

/// A call from us to Linphone, perhaps through a relay that loses packets.
private struct LinphoneCall {
    let folder: String
    let codec: String
    /// Our last statistics.
    let figures: [String: Double]

    init(loss: Double?, seconds: Int) async throws {
        folder = try Bench.folder()
        let port = try Bench.freePort()
        let linphone = try Subprocess(
            "/usr/bin/python3",
            [
                Bench.peer("linphone_peer.py"), "--directory", folder, "--port", "\(port)", "--rtp-port", "\(try Bench.freePort() & ~1)",
                "--play", Bench.english, "--record", folder + "/linphone.wav", "--auto-answer",
            ])
        try await linphone.wait(for: "ready", within: 15)
        var target = port
        var relay: Subprocess?
        if let loss {
            target = try Bench.freePort()
            relay = try Subprocess(
                "/usr/bin/python3",
                [Bench.peer("lossy_relay.py"), "--port", "\(target)", "--callee", "\(port)", "--loss", "\(loss)"])
            try await relay?.wait(for: "ready", within: 10)
        }
        let us = try Bench.handset([
            "call", "sip:linphone@127.0.0.1:\(target)", "--listen", "127.0.0.1:0", "--codecs", "opus", "--play", Bench.italian, "--loop",
            "--record", folder + "/us.wav", "--duration", "\(seconds)", "--statistics", "1",
        ])
        codec = try await us.wait(for: "media", within: 15)["codec"] as? String ?? ""
        try await us.exitStatus(within: Double(seconds) + 20)
        figures = (us.events("statistics").last ?? [:]).compactMapValues { $0 as? Double }
        linphone.write("quit")
        try await linphone.exitStatus(within: 15)
        relay?.endInput()
        try await relay?.exitStatus(within: 5)
    }

    func clean() { try? FileManager.default.removeItem(atPath: folder) }
}
