// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Essentials
import Foundation
import Networking
import Synchronization
import Testing

let callA = UUIDValue(high: 0xA, low: 0xA)
let callB = UUIDValue(high: 0xB, low: 0xB)

/// A service at a socket of its own, in a folder that goes with it.
final class Service: Sendable {
    let folder: URL
    let host: CallServiceHost
    let loop: EventLoop
    let events = Mutex<[CallServiceHostEvent]>([])

    init(_ change: (inout CallServiceHost.Settings) -> Void = { _ in }, folder: URL? = nil) async throws {
        self.folder = folder ?? FileManager.default.temporaryDirectory.appending(path: "handset-callservice-\(UUID().uuidString.prefix(8))")
        var settings = CallServiceHost.Settings(
            files: CallServiceFiles(
                socket: self.folder.path + "/run/callservice.sock", state: self.folder.path + "/state", apps: self.folder.path + "/apps"))
        change(&settings)
        loop = try EventLoop(name: "service")
        let box = Box()
        host = CallServiceHost(settings, loop: loop) { event in box.service.withLock { $0?.events.withLock { $0.append(event) } } }
        box.service.withLock { $0 = self }
        try await host.start()
    }

    private final class Box: Sendable { let service = Mutex<Service?>(nil) }

    var socket: String { folder.path + "/run/callservice.sock" }

    func stop(removing: Bool = true) async {
        await host.stop()
        loop.stop()
        if removing { try? FileManager.default.removeItem(at: folder) }
    }
}

/// A process's end of the socket, with everything it heard.
final class Peer: Sendable {
    let client: CallServiceClient
    private let messages = Mutex<[FromService]>([])
    private let heard = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ path: String) throws {
        client = try CallServiceClient(path: path)
        let thread = Thread { [client, messages = Reference(self)] in
            client.receive { message in
                messages.peer?.take(message)
                return messages.peer != nil
            }
            messages.peer?.ended.signal()
        }
        thread.start()
    }

    private final class Reference: Sendable {
        private let weakPeer: Mutex<Weak>
        private struct Weak: Sendable { weak var peer: Peer? }
        init(_ peer: Peer) { weakPeer = Mutex(Weak(peer: peer)) }
        var peer: Peer? { weakPeer.withLock { $0.peer } }
    }

    private func take(_ message: FromService) {
        messages.withLock { $0.append(message) }
        heard.signal()
    }

    /// The first message that fits, among those heard and those to come within ten seconds.
    func wait<Value>(for pick: (FromService) -> Value?) -> Value? {
        let end = DispatchTime.now() + 10
        while true {
            if let value = messages.withLock({ $0 }).lazy.compactMap(pick).first { return value }
            guard heard.wait(timeout: end) == .success else { return nil }
        }
    }

    func waitForEnd() -> Bool { ended.wait(timeout: .now() + 10) == .success }

    func hears(_ message: ServiceMessage) -> Bool { wait { $0 == .app(message) ? true : nil } ?? false }

    /// An app with a provider.
    static func app(_ path: String, _ name: String) throws -> Peer {
        let peer = try Peer(path)
        peer.client.send(.app(.hello(AppDescriptor(bundle: "org.example.\(name)", displayName: name))))
        peer.client.send(.app(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "voiceChat"))))
        peer.client.send(.app(.registerProvider(1, ProviderConfiguration())))
        return peer
    }

    static func screen(_ path: String) throws -> Peer {
        let peer = try Peer(path)
        peer.client.send(.openScreen)
        return peer
    }

    func report(_ call: UUIDValue) {
        client.send(.app(.reportNewIncomingCall(1, 1, call: call, CallUpdate(remoteHandle: Handle(.generic, "ana")))))
    }

    /// Fulfils the next action of that kind.
    func perform(_ kind: ActionKind) -> Bool {
        let action = wait { message -> ActionDescription? in
            if case .app(.perform(_, _, let action)) = message, action.kind == kind { return action }
            return nil
        }
        guard let action else { return false }
        return client.send(.app(.completeAction(action.uuid, .fulfilled(at: nil, engine: nil))))
    }
}

@Suite struct HostTests {
    @Test func aCallIsTakenOverTheSocket() async throws {
        let service = try await Service()
        let screen = try Peer.screen(service.socket)
        let app = try Peer.app(service.socket, "one")
        #expect(app.hears(.providerBegan(1)))
        app.report(callA)
        #expect(app.hears(.reported(1, call: callA, code: nil)))
        #expect(screen.wait { if case .screen(let state) = $0, state.ringing?.call == callA { true } else { nil } } == true)
        screen.client.send(.user(1, .accept(callA)))
        #expect(app.perform(.answer))
        #expect(app.hears(.didActivate(1)))
        #expect(screen.wait { $0 == .userAnswer(1, nil) ? true : nil } == true)
        await service.stop()
        #expect(app.waitForEnd())
    }

    @Test func aProcessThatDiesLosesItsCallsAndOthersGoOn() async throws {
        let service = try await Service()
        let one = try Peer.app(service.socket, "one")
        let two = try Peer.app(service.socket, "two")
        // Both are known to the service before there is a call.
        #expect(two.hears(.providerBegan(1)))
        one.report(callA)
        #expect(two.hears(.callChanged(CallSnapshot(uuid: callA, isOutgoing: false))))
        two.report(callB)
        #expect(two.hears(.reported(1, call: callB, code: nil)))
        one.client.close()
        #expect(two.hears(.callChanged(CallSnapshot(uuid: callA, isOutgoing: false, hasEnded: true))))
        let screen = try Peer.screen(service.socket)
        #expect(screen.wait { if case .screen(let state) = $0 { state.calls.map(\.uuid) } else { nil } } == [callB])
        screen.client.send(.user(1, .decline(callB)))
        #expect(two.perform(.end))
        #expect(two.hears(.callChanged(CallSnapshot(uuid: callB, isOutgoing: false, hasEnded: true))))
        await service.stop()
    }

    @Test func theHistoryOutlivesTheService() async throws {
        let first = try await Service()
        let app = try Peer.app(first.socket, "one")
        app.report(callA)
        app.client.send(.app(.reportEnded(1, call: callA, at: nil, .remoteEnded)))
        #expect(app.hears(.callChanged(CallSnapshot(uuid: callA, isOutgoing: false, hasEnded: true))))
        await first.stop(removing: false)
        // A crash in the middle of a write leaves half an entry.
        let file = first.folder.appending(path: "state/history")
        var content = try Data(contentsOf: file)
        content += [0, 0, 1, 0, 7]
        try content.write(to: file)
        let second = try await Service(folder: first.folder)
        let screen = try Peer.screen(second.socket)
        let history = screen.wait { if case .history(let entries) = $0 { entries } else { nil } }
        #expect(history?.map(\.outcome) == [.missed] && history?.first?.call == callA)
        // What comes now is not taken for the rest of it.
        let again = try Peer.app(second.socket, "one")
        again.report(callB)
        again.client.send(.app(.reportEnded(1, call: callB, at: nil, .remoteEnded)))
        #expect(again.hears(.callChanged(CallSnapshot(uuid: callB, isOutgoing: false, hasEnded: true))))
        await second.stop(removing: false)
        let third = try await Service(folder: first.folder)
        let late = try Peer.screen(third.socket)
        let both = late.wait { if case .history(let entries) = $0 { entries } else { nil } }
        #expect(both?.map(\.call) == [callA, callB])
        await third.stop()
    }

    @Test func anotherUserIsRefused() async throws {
        let service = try await Service { $0.user = getuid() + 1 }
        let app = try Peer.app(service.socket, "one")
        #expect(app.wait { if case .refused(let code) = $0 { code } else { nil } } == "service.other-user")
        #expect(app.waitForEnd())
        let attributes = try FileManager.default.attributesOfItem(atPath: service.socket)
        #expect((attributes[.posixPermissions] as? Int) == 0o600)
        await service.stop()
    }

    @Test func aSecondServiceOfOneSocketIsRefused() async throws {
        let service = try await Service()
        await #expect(throws: NetworkError.self) { try await Service(folder: service.folder) }
        let app = try Peer.app(service.socket, "one")
        #expect(app.hears(.providerBegan(1)))
        await service.stop()
    }

    @Test(
        arguments: [
            ([0, 0, 0, 2, 0xff, 0xff], "wire.unsupported"), ([0xff, 0xff, 0xff, 0xff], "wire.too-long"),
            ([0, 0, 0, 1, 0xf6], "wire.bad-message"),
        ] as [([UInt8], String)])
    func nonsenseEndsItsConnectionOnly(octets: [UInt8], code: String) async throws {
        let service = try await Service()
        let app = try Peer.app(service.socket, "one")
        let stranger = try Peer(service.socket)
        #expect(stranger.client.send(octets: octets))
        #expect(stranger.wait { if case .refused(let code) = $0 { code } else { nil } } == code)
        #expect(stranger.waitForEnd())
        app.report(callA)
        #expect(app.hears(.reported(1, call: callA, code: nil)))
        await service.stop()
    }

    @Test func aScreenIsNoApp() async throws {
        let service = try await Service()
        let screen = try Peer.screen(service.socket)
        screen.client.send(.app(.goodbye))
        #expect(screen.wait { if case .refused(let code) = $0 { code } else { nil } } == "service.wrong-role")
        let app = try Peer.app(service.socket, "one")
        app.client.send(.user(1, .swap))
        #expect(app.wait { if case .refused(let code) = $0 { code } else { nil } } == "service.wrong-role")
        await service.stop()
    }

    @Test func aPushStartsASleepingApp() async throws {
        let service = try await Service()
        let app = try Peer.app(service.socket, "one")
        app.client.send(.app(.registerPush(types: [PushType.voIP], hasDelegate: true)))
        #expect(app.wait { if case .app(.pushToken) = $0 { true } else { nil } } == true)
        app.client.close()
        #expect(app.waitForEnd())
        let proof = service.folder.path + "/started"
        let apps = service.folder.path + "/apps"
        try FileManager.default.createDirectory(atPath: apps, withIntermediateDirectories: true)
        try "/bin/sh\n-c\necho \"$HANDSET_LAUNCHED $HANDSET_CALLSERVICE\" > \(proof).new && mv \(proof).new \(proof)\n".write(
            toFile: apps + "/org.example.one", atomically: true, encoding: .utf8)
        let pusher = try Peer(service.socket)
        pusher.client.send(.deliverPush(1, bundle: "org.example.one", type: PushType.voIP, payload: Octets(Array(#"{"call":"1"}"#.utf8))))
        let verdict: PushVerdict? = pusher.wait { if case .pushAnswer(_, let verdict) = $0 { verdict } else { nil } }
        #expect(verdict == .appStarted)
        // What the started program would do.
        let woken = try Peer.app(service.socket, "one")
        woken.client.send(.app(.registerPush(types: [PushType.voIP], hasDelegate: true)))
        #expect(
            woken.wait { if case .app(.push(_, _, let payload, _)) = $0 { payload } else { nil } } == Octets(Array(#"{"call":"1"}"#.utf8)))
        for _ in 0..<1000 where !FileManager.default.fileExists(atPath: proof) { usleep(10_000) }
        #expect(try String(contentsOfFile: proof, encoding: .utf8) == "background \(service.socket)\n")
        await service.stop()
    }
}
