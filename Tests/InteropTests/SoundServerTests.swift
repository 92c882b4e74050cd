// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import Foundation
import Media
import Testing

extension Interop {
    /// A PulseAudio server of the test's own, with a loudspeaker that its microphone hears.
    @Suite struct SoundServerTests {
        struct Server {
            let process: Subprocess
            let folder: String
            var address: String { "unix:\(folder)/native" }

            /// - Parameter place: the folder of a server that was there before.
            init(in place: String? = nil) async throws {
                folder = try place ?? Bench.folder()
                let log = folder + "/native"
                // PulseAudio closes every descriptor that it inherits, the one among them by which Foundation sees the end of a
                // program, and Foundation then waits for it and for no other: a shell stands between.
                let shell = "pulseaudio \"$@\" & child=$!; trap 'kill $child; wait $child' TERM; wait $child"
                process = try Subprocess(
                    "/bin/sh",
                    [
                        "-c", shell, "sh",
                        "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "-L",
                        "module-native-protocol-unix socket=\(log) auth-anonymous=1",
                        "-L", "module-null-sink sink_name=spk rate=48000 channels=1", "-L",
                        "module-remap-source master=spk.monitor source_name=mic",
                    ], environment: ["HOME": folder, "XDG_RUNTIME_DIR": folder, "PULSE_RUNTIME_PATH": folder + "/run"])
                for _ in 0..<500 where !FileManager.default.fileExists(atPath: log) { try await Task.sleep(for: .milliseconds(10)) }
            }

            func stop() async {
                await process.stop()
                try? FileManager.default.removeItem(atPath: folder)
            }
        }

        static func wait(_ device: any SoundDevice, seconds: Double, until isIt: (SoundDeviceState) -> Bool) async throws -> Bool {
            for _ in 0..<Int(seconds * 100) {
                if isIt(device.state) { return true }
                try await Task.sleep(for: .milliseconds(10))
            }
            return false
        }

        /// Plays `frame(n)` every 10 ms for `count` frames, and gives what was heard.
        static func run(_ device: any SoundDevice, _ count: Int, _ frame: (Int) -> [Int16]) async throws -> [Int16] {
            let clock = ContinuousClock()
            let start = clock.now
            var heard: [Int16] = []
            var piece = [Int16](repeating: 0, count: 160)
            for number in 0..<count {
                device.play(frame(number).span)
                _ = device.capture(&piece)
                heard += piece
                try await clock.sleep(until: start + .milliseconds(10 * (number + 1)), tolerance: .zero)
            }
            return heard
        }

        @Test func whatIsPlayedIsHeardSoonAfter() async throws {
            let server = try await Server()
            let device = SoundDevices.open("spk,mic", rate: 16_000, server: server.address)
            #expect(try await Self.wait(device, seconds: 5) { $0 == .ready }, "\(device.state) \(server.process.transcript)")
            // A null sink that was just made takes up to two seconds before it asks for sound.
            for _ in 0..<50 where device.figures.played == 0 || device.figures.captured == 0 {
                _ = try await Self.run(device, 10) { _ in [Int16](repeating: 0, count: 160) }
            }
            let before = device.figures
            // Silence first, then a tone of 500 Hz from frame 60 on.
            let heard = try await Self.run(device, 160) { number in
                (0..<160).map { number < 60 ? 0 : Int16(12_000 * sin(2 * .pi * 500 * Double(number * 160 + $0) / 16_000)) }
            }
            let begin = heard.firstIndex { abs(Int($0)) > 3000 } ?? heard.count
            let delay = Double(begin - 60 * 160) / 16
            #expect((0.0...250).contains(delay), "heard after \(delay) ms")
            print("sound server: heard after \(delay) ms, \(device.figures)")
            let part = Array(heard[min(begin + 1600, heard.count)...].prefix(8000))
            let crossings = zip(part, part.dropFirst()).count { ($0 < 0) != ($1 < 0) }
            #expect((460...540).contains(crossings), "\(crossings) zero crossings in half a second")
            #expect(device.figures.played - before.played > 16_000 && device.figures.captured - before.captured > 16_000)
            device.close()
            await server.stop()
        }

        @Test func aServerThatGoesAwayIsTold() async throws {
            let server = try await Server()
            let device = SoundDevices.open("default", rate: 16_000, server: server.address)
            #expect(try await Self.wait(device, seconds: 5) { $0 == .ready }, "\(device.state)")
            await server.stop()
            #expect(try await Self.wait(device, seconds: 5) { if case .failed = $0 { true } else { false } })
            var frame: [Int16] = [1, 2]
            device.play(frame.span)
            // What it still had may come first.
            for _ in 0..<1000 { _ = device.capture(&frame) }
            #expect(frame == [0, 0])
            device.close()
        }

        @Test func withoutAServerOrADeviceOfThatNameItSaysSo() async throws {
            let lonely = SoundDevices.open("default", rate: 16_000, server: "unix:/nonexistent/native")
            #expect(try await Self.wait(lonely, seconds: 5) { if case .failed = $0 { true } else { false } }, "\(lonely.state)")
            lonely.close()
            let server = try await Server()
            let device = SoundDevices.open("nobody", rate: 16_000, server: server.address)
            #expect(try await Self.wait(device, seconds: 5) { if case .failed = $0 { true } else { false } }, "\(device.state)")
            device.close()
            await server.stop()
        }

        @Test func aCallGetsItsSoundBackWhenTheServerReturns() async throws {
            let server = try await Server()
            let answering = try Bench.handset(["answer", "--listen", "127.0.0.1:0", "--calls", "1", "--echo"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let calling = try Subprocess(
                Bench.handset, ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--json", "--device", "default"],
                environment: ["PULSE_SERVER": server.address])
            try await calling.wait(for: "media")
            try await Task.sleep(for: .milliseconds(500))
            #expect(calling.events("warning").isEmpty, "\(calling.transcript)")
            await server.process.stop()
            try await calling.wait(for: "warning", ["code": "sound.device.failed"])
            let again = try await Server(in: server.folder)
            try await calling.wait(for: "warning", ["code": "sound.device.returned"])
            #expect(calling.events("ended").isEmpty)
            await calling.stop()
            await answering.stop()
            await again.stop()
        }

        /// The whole way: a call of the command with `--device`.
        @Test func aCallThroughTheSoundServerIsHeard() async throws {
            let server = try await Server()
            let answering = try Bench.handset(["answer", "--play", Bench.english, "--listen", "127.0.0.1:0", "--calls", "1"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let file = server.folder + "/spk.raw"
            let recorder = try Subprocess(
                "/usr/bin/parec", ["--device=spk.monitor", "--rate=16000", "--channels=1", "--format=s16le", "--raw", file],
                environment: ["PULSE_SERVER": server.address])
            let calling = try Subprocess(
                Bench.handset,
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--json", "--device", "default", "--duration", "4"],
                environment: ["PULSE_SERVER": server.address])
            #expect(try await calling.exitStatus(within: 15) == 0)
            await recorder.stop()
            #expect(calling.events("warning").isEmpty, "\(calling.transcript)")
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
            let loud = stride(from: 0, to: bytes.count - 1, by: 2).count {
                abs(Int(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8))) > 1000
            }
            #expect(loud > 4000, "\(loud) loud samples of \(bytes.count / 2)")
            await answering.stop()
            await server.stop()
        }
    }
}
