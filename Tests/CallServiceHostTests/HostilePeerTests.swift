// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Essentials
import Foundation
import Testing

/// What stands at the other end of the socket may be anything: it ends its own connection, and nobody else's.
@Suite struct HostilePeerTests {
    /// SplitMix64: the same octets in every run.
    private struct Octets {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    private func isRefused(_ peer: Peer) -> String? { peer.wait { if case .refused(let code) = $0 { code } else { nil } } }

    @Test func garbageOfManyKindsHarmsNobodyElse() async throws {
        let service = try await Service()
        let app = try Peer.app(service.socket, "good")
        #expect(app.hears(.providerBegan(1)))
        var random = Octets(state: 7)
        let hello = Wire.frame(ToService.app(.hello(AppDescriptor(bundle: "org.example.bad", displayName: "bad"))))
        for round in 0..<200 {
            let stranger = try Peer(service.socket)
            var octets = hello
            switch round % 4 {
            case 0: octets = (0..<Int(random.next() % 300)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            case 1: octets[Int(random.next() % UInt64(octets.count))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
            case 2: octets.removeLast(Int(random.next() % UInt64(octets.count)))
            default: octets += octets[..<Int(random.next() % UInt64(octets.count))]
            }
            // The service may have ended the connection already: that is what it is for.
            stranger.client.send(octets: octets)
            stranger.client.close()
            #expect(stranger.waitForEnd(), "round \(round)")
        }
        app.report(callA)
        #expect(app.hears(.reported(1, call: callA, code: nil)))
        let codes = Set(service.events.withLock { $0 }.compactMap(\.code))
        #expect(codes.isSuperset(of: ["wire.too-long", "wire.unsupported", "wire.bad-message"]), "\(codes.sorted())")
        #expect(await service.host.screen.calls.map(\.uuid) == [callA])
        await service.stop()
    }

    @Test func aMessageMayComeInSingleOctets() async throws {
        let service = try await Service()
        let slow = try Peer(service.socket)
        for octet in Wire.frame(ToService.app(.hello(AppDescriptor(bundle: "org.example.slow", displayName: "slow")))) {
            slow.client.send(octets: [octet])
        }
        #expect(slow.wait { if case .app(.welcome) = $0 { true } else { nil } } == true)
        await service.stop()
    }

    @Test func whoDoesNotGreetIsRefused() async throws {
        let service = try await Service()
        let rude = try Peer(service.socket)
        rude.client.send(.app(.foreground(true)))
        #expect(isRefused(rude) == "service.no-hello" && rude.waitForEnd())
        let polite = try Peer.app(service.socket, "one")
        polite.client.send(.app(.goodbye))
        #expect(isRefused(polite) == "service.goodbye" && polite.waitForEnd())
        await service.stop()
    }

    @Test func moreConnectionsThanTheLimitAreRefusedAndRoomIsGivenBack() async throws {
        let service = try await Service { $0.maximumPeers = 3 }
        let screens = try (0..<3).map { _ in try Peer.screen(service.socket) }
        for screen in screens { #expect(screen.wait { if case .screen = $0 { true } else { nil } } == true) }
        let fourth = try Peer.screen(service.socket)
        #expect(isRefused(fourth) == "service.too-many-peers" && fourth.waitForEnd())
        screens[0].client.close()
        #expect(screens[0].waitForEnd())
        // The service sees the end a moment later than its other end does.
        var taken = false
        for _ in 0..<100 where !taken {
            let next = try Peer.screen(service.socket)
            taken = next.wait { if case .screen = $0 { true } else if case .refused = $0 { false } else { nil } } == true
        }
        #expect(taken)
        await service.stop()
    }

    @Test func moreAppsThanTheLimitAreRefused() async throws {
        let service = try await Service { $0.service.maximumApps = 1 }
        let one = try Peer.app(service.socket, "one")
        #expect(one.hears(.providerBegan(1)))
        let two = try Peer.app(service.socket, "two")
        #expect(isRefused(two) == "service.too-many-apps" && two.waitForEnd())
        one.report(callA)
        #expect(one.hears(.reported(1, call: callA, code: nil)))
        await service.stop()
    }

    /// A screen that never reads is let go of, instead of being remembered for ever.
    @Test func whoDoesNotReadIsLetGo() async throws {
        let service = try await Service { $0.outputLimit = 4096 }
        let app = try Peer.app(service.socket, "one")
        #expect(app.hears(.providerBegan(1)))
        let deaf = try CallServiceClient(path: service.socket)
        deaf.send(.openScreen)
        let name = String(repeating: "x", count: 1000)
        for number in 0..<2000 {
            app.client.send(.app(.reportUpdated(1, call: callA, CallUpdate(localizedCallerName: "\(number)" + name))))
            if number == 0 { app.report(callA) }
        }
        #expect(app.hears(.reported(1, call: callA, code: nil)))
        // Its end is closed by the service: reading comes to an end, though less was read than was said.
        var states = 0
        deaf.receive { message in
            if case .screen = message { states += 1 }
            return true
        }
        #expect((1..<2000).contains(states), "\(states) states")
        #expect(await service.host.screen.calls.map(\.uuid) == [callA])
        await service.stop()
    }

    /// Another user's process, that could reach the socket because somebody opened the folder and the socket to all.
    @Test(.enabled(if: getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")))
    func aSecondUserCannotSpeakToTheFirstOnesService() async throws {
        let service = try await Service()
        let app = try Peer.app(service.socket, "one")
        #expect(app.hears(.providerBegan(1)))
        let knock = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX)
            try: s.connect(sys.argv[1])
            except PermissionError: print("no way"); sys.exit()
            print(s.recv(1000)[-18:].decode("latin-1"), end="")
            """
        func asAnother() throws -> String {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/setpriv")
            process.arguments = [
                "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c", knock, service.socket,
            ]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        #expect(try asAnother() == "no way", "the folder and the socket are the user's own")
        for path in [service.folder.path, service.folder.path + "/run", service.socket] {
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
        }
        #expect(try asAnother().hasSuffix("service.other-user"), "the kernel says who it is")
        #expect(service.events.withLock { $0 }.compactMap(\.code) == ["service.other-user"])
        app.report(callA)
        #expect(app.hears(.reported(1, call: callA, code: nil)))
        await service.stop()
    }
}
