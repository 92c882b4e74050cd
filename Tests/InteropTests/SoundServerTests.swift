// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import Essentials
import Foundation
import Handset
import Media
import Testing

extension Interop {
    /// A PulseAudio server of the test's own, with a loudspeaker that its microphone hears.
    @Suite struct SoundServerTests {
        struct Server {
            let process: Subprocess
            let folder: String
            var address: String { "unix:\(folder)/native" }

            init(folder: String? = nil) async throws {
                self.folder = try folder ?? Bench.folder()
                let folder = self.folder
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

            /// `keeping`: what a test wrote there is still looked at, or another server is to come.
            func stop(keeping: Bool = false) async {
                await process.stop()
                try? FileManager.default.removeItem(atPath: keeping ? folder + "/native" : folder)
            }
        }

        /// Hears what a loudspeaker of the server plays.
        struct Listener {
            private let process: Subprocess
            private let file: String

            init(to device: String, of server: Server) throws {
                file = server.folder + "/\(device).raw"
                process = try Subprocess(
                    "/usr/bin/parec", ["--device=\(device).monitor", "--rate=16000", "--channels=1", "--format=s16le", "--raw", file],
                    environment: ["PULSE_SERVER": server.address])
            }

            /// Stops, and counts what was heard.
            func loudSamples(above limit: Int) async throws -> Int {
                await process.stop()
                let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
                return stride(from: 0, to: bytes.count - 1, by: 2).count {
                    abs(Int(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8))) > limit
                }
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
            await server.stop(keeping: true)
            try await calling.wait(for: "warning", ["code": "sound.device.failed"])
            let again = try await Server(folder: server.folder)
            try await calling.wait(for: "warning", ["code": "sound.device.returned"])
            #expect(calling.events("ended").isEmpty)
            await calling.stop()
            await answering.stop()
            await again.stop()
        }

        /// The whole loop as a call has it: bridge, device, sound server, device, bridge.
        @Test func theWholeLoopIsSixtyMillisecondsAtMost() async throws {
            let server = try await Server()
            let address = server.address
            var settings = PhoneSettings(listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))])
            settings.devices = { name, rate in SoundDevices.open(name, rate: rate, server: address) }
            let phone = try await Phone(settings)
            // Noise in pieces, so that the place at which it comes back is sharp.
            var seed: UInt32 = 7
            let noise = (0..<16_000 * 8).map { index -> Int16 in
                seed = seed &* 1_664_525 &+ 1_013_904_223
                return index / 1600 % 3 == 0 ? Int16(truncatingIfNeeded: Int32(bitPattern: seed) >> 18) : 0
            }
            let file = server.folder + "/noise.wav"
            try Data(WAVEncoder.file(WAVAudio(rate: 16_000, samples: noise))).write(to: URL(filePath: file))
            let device = await phone.bridge.openDevice("spk,mic")
            let player = await phone.bridge.openPlayer(file, loops: true)
            await phone.bridge.connect(player, device)
            await phone.bridge.start(player)
            // A null sink that was just made takes up to two seconds before it asks for sound; the drift is followed within some more.
            try await Task.sleep(for: .seconds(5))
            let recording = await phone.bridge.openSplitRecorder(server.folder + "/both.wav")
            await phone.bridge.connect(player, recording.left)
            await phone.bridge.connect(device, recording.right)
            try await Task.sleep(for: .seconds(5))
            await phone.stop()
            await server.stop(keeping: true)
            defer { try? FileManager.default.removeItem(atPath: server.folder) }
            let delays = try Self.delays(in: server.folder + "/both.wav")
            let sorted = delays.sorted()
            let median = try #require(sorted.isEmpty ? nil : sorted[sorted.count / 2])
            print("sound server: whole loop \(median) ms in the median of \(sorted.first ?? 0)...\(sorted.last ?? 0)")
            #expect(median <= 60 && median > 5, "\(delays)")
        }

        /// How much later the right channel is, in milliseconds, for each half second.
        static func delays(in file: String) throws -> [Double] {
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
            #expect(bytes[22] == 2)
            func sample(_ index: Int) -> Float {
                Float(Int16(bitPattern: UInt16(bytes[44 + 2 * index]) | UInt16(bytes[45 + 2 * index]) << 8))
            }
            let count = (bytes.count - 44) / 4
            let left = (0..<count).map { sample(2 * $0) }
            let right = (0..<count).map { sample(2 * $0 + 1) }
            return stride(from: 0, to: count - 8000 - 3200, by: 8000).map { start in
                var best: (lag: Int, sum: Float) = (0, 0)
                for lag in 0..<3200 {
                    var sum: Float = 0
                    for index in stride(from: start, to: start + 4800, by: 3) { sum += left[index] * right[index + lag] }
                    if sum > best.sum { best = (lag, sum) }
                }
                return Double(best.lag) / 16
            }
        }

        /// `pactl` against the test's own server.
        static func control(_ server: Server, _ arguments: String...) async throws {
            let control = try Subprocess("/usr/bin/pactl", arguments, environment: ["PULSE_SERVER": server.address, "HOME": server.folder])
            #expect(try await control.exitStatus(within: 10) == 0, "\(arguments) \(control.transcript)")
        }

        @Test func devicesAreListedAndTheDefaultIsFollowed() async throws {
            let server = try await Server()
            try await Self.control(server, "load-module", "module-null-sink", "sink_name=other", "rate=48000", "channels=1")
            try await Self.control(server, "set-default-sink", "spk")
            let listed = try SoundDevices.pulse(server: server.address)
            #expect(listed.filter { $0.direction == .output }.map(\.name).sorted() == ["other", "spk"])
            #expect(listed.first { $0.isDefault && $0.direction == .output }?.name == "spk")
            #expect(listed.contains { $0.name == "mic" && $0.direction == .input })
            // The command lists the same.
            let command = try Subprocess(Bench.handset, ["devices", "--json"], environment: ["PULSE_SERVER": server.address])
            #expect(try await command.exitStatus(within: 20) == 0, "\(command.transcript)")
            #expect(command.events("device").contains { $0["name"] as? String == "spk" && $0["backend"] as? String == "pulse" })

            let device = SoundDevices.open("default", rate: 16_000, server: server.address)
            #expect(try await Self.wait(device, seconds: 5) { $0 == .ready }, "\(device.state)")
            let listeners = try ["spk", "other"].map { try Listener(to: $0, of: server) }
            let tone = (0..<160).map { Int16(12_000 * sin(2 * .pi * 500 * Double($0) / 16_000)) }
            _ = try await Self.run(device, 300) { _ in tone }
            // The user chooses another loudspeaker: the call goes on there.
            try await Self.control(server, "set-default-sink", "other")
            _ = try await Self.run(device, 300) { _ in tone }
            for listener in listeners { #expect(try await listener.loudSamples(above: 6000) > 8000, "\(listener)") }
            device.close()
            await server.stop()
        }

        @Test func aDeviceThatIsPluggedInAndAServerThatComesBackAreUsed() async throws {
            let server = try await Server()
            let device = SoundDevices.open("headset,mic", rate: 16_000, server: server.address)
            #expect(try await Self.wait(device, seconds: 5) { if case .degraded = $0 { true } else { false } }, "\(device.state)")
            try await Self.control(server, "load-module", "module-null-sink", "sink_name=headset", "rate=48000", "channels=1")
            #expect(try await Self.wait(device, seconds: 5) { $0 == .ready }, "\(device.state)")
            await server.stop(keeping: true)
            #expect(try await Self.wait(device, seconds: 5) { if case .failed = $0 { true } else { false } }, "\(device.state)")
            let again = try await Server(folder: server.folder)
            try await Self.control(again, "load-module", "module-null-sink", "sink_name=headset", "rate=48000", "channels=1")
            #expect(try await Self.wait(device, seconds: 10) { $0 == .ready }, "\(device.state)")
            device.close()
            await again.stop()
        }

        /// ALSA without hardware: its plugin for PulseAudio, and its null device.
        @Test func alsaPlaysAndHears() async throws {
            let null = SoundDevices.open("alsa:null", rate: 16_000)
            #expect(try await Self.wait(null, seconds: 5) { $0 == .ready }, "\(null.state)")
            _ = try await Self.run(null, 100) { _ in [Int16](repeating: 5, count: 160) }
            // A device that takes anything at any time is held to the clock.
            #expect((8000...32_000).contains(null.figures.played) && (8000...32_000).contains(null.figures.captured), "\(null.figures)")
            null.close()
            let missing = SoundDevices.open("alsa:nosuchcard", rate: 16_000)
            #expect(try await Self.wait(missing, seconds: 5) { if case .failed = $0 { true } else { false } }, "\(missing.state)")
            missing.close()
            #expect(try SoundDevices.alsa().contains { $0.name == "alsa:null" && $0.direction == .output })

            let server = try await Server()
            let answering = try Bench.handset(["answer", "--play", Bench.english, "--listen", "127.0.0.1:0", "--calls", "1"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let listener = try Listener(to: "spk", of: server)
            let calling = try Subprocess(
                Bench.handset,
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--json", "--device", "alsa:pulse", "--duration", "5"],
                environment: ["PULSE_SERVER": server.address])
            #expect(try await calling.exitStatus(within: 20) == 0)
            #expect(calling.events("sound").contains { $0["state"] as? String == "ready" }, "\(calling.transcript)")
            #expect(try await listener.loudSamples(above: 1000) > 4000)
            await answering.stop()
            await server.stop()
        }

        /// The phone rings on a device of its own, and the level meters tell of the call's.
        @Test func ringingHasItsOwnDeviceAndLevelsAreTold() async throws {
            let server = try await Server()
            try await Self.control(server, "load-module", "module-null-sink", "sink_name=bell", "rate=48000", "channels=1")
            let listener = try Listener(to: "bell", of: server)
            let answering = try Subprocess(
                Bench.handset,
                [
                    "answer", "--listen", "127.0.0.1:0", "--calls", "1", "--delay", "9", "--ring-device", "bell,mic", "--device", "spk,mic",
                    "--levels", "0.2", "--json", "--volume", "-6",
                ], environment: ["PULSE_SERVER": server.address])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let calling = try Bench.handset(
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--play", Bench.english, "--duration", "4"])
            #expect(try await calling.exitStatus(within: 30) == 0)
            #expect(try await answering.exitStatus(within: 10) == 0)
            #expect(try await listener.loudSamples(above: 500) > 4000)
            let levels = answering.events("level")
            #expect(levels.count >= 10 && levels.contains { ($0["heard"] as? Double ?? -96) > -40 }, "\(answering.transcript)")
            #expect(answering.events("voice").contains { $0["state"] as? String == "on" })
            await server.stop()
        }

        /// The whole way: a call of the command with `--device`.
        @Test func aCallThroughTheSoundServerIsHeard() async throws {
            let server = try await Server()
            let answering = try Bench.handset(["answer", "--play", Bench.english, "--listen", "127.0.0.1:0", "--calls", "1"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let listener = try Listener(to: "spk", of: server)
            let calling = try Subprocess(
                Bench.handset,
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--json", "--device", "default", "--duration", "4"],
                environment: ["PULSE_SERVER": server.address])
            #expect(try await calling.exitStatus(within: 15) == 0)
            #expect(calling.events("warning").isEmpty, "\(calling.transcript)")
            #expect(try await listener.loudSamples(above: 1000) > 4000)
            await answering.stop()
            await server.stop()
        }
    }
}
