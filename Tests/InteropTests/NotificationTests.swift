// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Foundation
import Synchronization
import Testing

/// `handset-callservice` as its user starts it, in a folder of the test's own.
struct CallServiceProcess {
    /// The program that was built with this test.
    static let executable = URL(filePath: Bench.handset).deletingLastPathComponent().path + "/handset-callservice"

    let program: Subprocess
    let socket: String

    init(in folder: String, _ arguments: [String] = ["--ring-device", "null"], bus: String = "") async throws {
        socket = folder + "/handset/callservice.sock"
        program = try Subprocess(
            Self.executable, arguments,
            environment: [
                "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder + "/state", "XDG_CONFIG_HOME": folder + "/config",
                "HANDSET_CALLSERVICE": socket, "DBUS_SESSION_BUS_ADDRESS": bus,
            ])
        _ = try await program.wait(within: 10, for: "listening") { $0.hasPrefix("listening ") ? true : nil }
    }

    /// Waits for a line that begins like this.
    func says(_ text: String, from start: Int = 0) async throws {
        _ = try await program.wait(within: 10, for: text, from: start) { $0.hasPrefix(text) ? true : nil }
    }
}

/// An app over the service's socket that does what it is asked to do.
final class WillingApp: Sendable {
    let client: CallServiceClient
    let performed = Mutex<[ActionKind]>([])

    init(_ path: String, _ name: String, ringtone: String? = nil) throws {
        client = try CallServiceClient(path: path)
        var configuration = ProviderConfiguration()
        configuration.ringtoneSound = ringtone.map { ($0 as NSString).lastPathComponent }
        configuration.ringtonePath = ringtone
        client.send(.app(.hello(AppDescriptor(bundle: "org.example.talk", displayName: name))))
        client.send(.app(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "voiceChat"))))
        client.send(.app(.registerProvider(1, configuration)))
        Thread.detachNewThread { [client, self] in
            client.receive { message in
                if case .app(.perform(_, _, let action)) = message {
                    performed.withLock { $0.append(action.kind) }
                    client.send(.app(.completeAction(action.uuid, .fulfilled(at: nil, engine: nil))))
                }
                return true
            }
        }
    }

    func report(_ call: UUIDValue, from name: String) {
        client.send(
            .app(
                .reportNewIncomingCall(
                    1, 1, call: call, CallUpdate(remoteHandle: Handle(.generic, "sip:ana@example.net"), localizedCallerName: name))))
    }

    func performs(_ kind: ActionKind) async throws {
        for _ in 0..<1000 {
            if performed.withLock({ $0.contains(kind) }) { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Subprocess.Failure(description: "the app was not asked for \(kind)")
    }
}

private let first = UUIDValue(high: 1, low: 1)
private let second = UUIDValue(high: 2, low: 2)

extension Interop {
    /// Notifications with buttons over a real session bus, shown by a server of the test's own.
    @Suite struct NotificationTests {
        private func server(_ bus: SessionBus, _ capabilities: [String] = []) async throws -> Subprocess {
            let server = try Subprocess(
                "/usr/bin/python3", [Bench.peer("notification_server.py")] + capabilities,
                environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
            try await server.wait(for: "came")
            return server
        }

        private func number(_ event: Subprocess.Event) -> Int { Int(event["number"] as? Double ?? -1) }

        @Test func aCallIsShownAnsweredAndTakenAwayByItsNotification() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let bus = try await SessionBus(in: folder)
            let desktop = try await server(bus)
            let service = try await CallServiceProcess(in: folder, bus: bus.address)
            try await service.says("notifications are shown")
            let app = try WillingApp(service.socket, "Talk <b>& more</b>")

            // The person accepts by the button.
            app.report(first, from: "Ana <i>&</i> Berta")
            let shown = try await desktop.wait(
                for: "notify", ["app": "Talk <b>& more</b>", "summary": "Ana <i>&</i> Berta", "actions": "accept decline"])
            #expect(shown["body"] as? String == "Incoming call · Talk &lt;b&gt;&amp; more&lt;/b&gt;", "the body is markup")
            #expect(shown["labels"] as? String == "Accept|Decline" && shown["urgency"] as? Double == 2 && shown["expiry"] as? Double == 0)
            desktop.write("action \(number(shown)) accept")
            try await app.performs(.answer)
            try await desktop.wait(for: "closed", ["number": "\(number(shown))"])

            // A second call has the buttons of one; the first ends, and its notification is changed in place.
            app.report(second, from: "Carla")
            let waiting = try await desktop.wait(for: "notify", ["summary": "Carla"])
            #expect((waiting["actions"] as? String)?.contains("hold-and-accept") == true)
            #expect((waiting["actions"] as? String)?.contains("end-and-accept") == true)
            app.client.send(.app(.reportEnded(1, call: first, at: nil, .remoteEnded)))
            let changed = try await desktop.wait(for: "notify", ["summary": "Carla", "actions": "accept decline"])
            #expect(number(changed) == number(waiting) && changed["replaces"] as? Double == waiting["number"] as? Double)

            // The caller gives up.
            app.client.send(.app(.reportEnded(1, call: second, at: nil, .remoteEnded)))
            try await desktop.wait(for: "closed", ["number": "\(number(waiting))"])
            await service.program.stop()
            await desktop.stop()
            await bus.stop()
        }

        @Test func holdAndAcceptIsAButton() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let bus = try await SessionBus(in: folder)
            let desktop = try await server(bus)
            let service = try await CallServiceProcess(in: folder, bus: bus.address)
            let app = try WillingApp(service.socket, "Talk")
            app.report(first, from: "Ana")
            desktop.write("action \(number(try await desktop.wait(for: "notify", ["summary": "Ana"]))) accept")
            try await app.performs(.answer)
            app.report(second, from: "Carla")
            desktop.write("action \(number(try await desktop.wait(for: "notify", ["summary": "Carla"]))) hold-and-accept")
            try await app.performs(.setHeld(true))
            try await service.says("screen 1 held from Ana")
            #expect(app.performed.withLock { $0 } == [.answer, .setHeld(true), .answer])
            await service.program.stop()
            await desktop.stop()
            await bus.stop()
        }

        @Test func aServerThatGoesAndComesBackShowsTheCallAgain() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let bus = try await SessionBus(in: folder)
            let service = try await CallServiceProcess(in: folder, bus: bus.address)
            // There is none yet: said once, and the service goes on.
            try await service.says("notifications are not shown: no notification server runs on the session bus")
            let app = try WillingApp(service.socket, "Talk")
            app.report(first, from: "Ana")
            try await service.says("screen 1 ringing from Ana")
            // It comes, while the call rings.
            let desktop = try await server(bus)
            try await service.says("notifications are shown")
            try await desktop.wait(for: "notify", ["summary": "Ana"])
            // It goes, and comes back.
            let before = service.program.lines.count
            desktop.write("leave")
            try await service.says("notifications are not shown: the notification server is gone", from: before)
            let lines = desktop.lines.count
            desktop.write("come")
            let again = try await desktop.wait(for: "notify", ["summary": "Ana"], from: lines)
            #expect(again["replaces"] as? Double == 0, "a new server does not know the old number")
            // The person closes it, which declines nothing; the call is still there to be declined.
            desktop.write("close \(number(again)) 2")
            try await service.says("notification dismissed")
            #expect(app.performed.withLock { $0 } == [])
            let told = service.program.lines.filter { $0.hasPrefix("notifications are not shown") }
            #expect(told.count == 2, "\(told)")
            // A bus that goes is no end of the service either.
            await desktop.stop()
            await bus.stop()
            app.client.send(.app(.reportEnded(1, call: first, at: nil, .remoteEnded)))
            try await service.says("screen no call")
            #expect(service.program.isRunning)
            await service.program.stop()
        }

        @Test func withoutABusTheServiceSaysSoAndGoesOn() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let service = try await CallServiceProcess(in: folder)
            try await service.says("notifications are not shown: there is no session bus")
            let app = try WillingApp(service.socket, "Talk")
            app.report(first, from: "Ana")
            try await service.says("screen 1 ringing from Ana (Talk): accept decline")
            await service.program.stop()
        }

        /// A server without markup shows the text as it is; one without buttons is said to have none.
        @Test func aPoorServerGetsPlainTextAndIsToldOf() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let bus = try await SessionBus(in: folder)
            let desktop = try await server(bus, ["body"])
            let service = try await CallServiceProcess(in: folder, bus: bus.address)
            try await service.says("notifications are shown, but without buttons")
            let app = try WillingApp(service.socket, "Talk & more")
            app.report(first, from: String(repeating: "Ana ", count: 100) + "\u{1b}[2J")
            let shown = try await desktop.wait(for: "notify")
            #expect(shown["body"] as? String == "Incoming call · Talk & more")
            #expect((shown["summary"] as? String)?.count == 120 && (shown["summary"] as? String)?.hasSuffix("…") == true)
            await service.program.stop()
            await desktop.stop()
            await bus.stop()
        }

        /// The app's own sound file is heard while its call rings, and nothing after it.
        @Test func theServiceRingsWithTheAppsSound() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let service = try await CallServiceProcess(in: folder, ["--ring-device", "file:,\(folder)/rung.wav", "--no-notifications"])
            let app = try WillingApp(service.socket, "Talk", ringtone: Bench.english)
            app.report(first, from: "Ana")
            try await service.says("ringing with \(Bench.english)")
            try await Task.sleep(for: .seconds(3))
            app.client.send(.app(.reportEnded(1, call: first, at: nil, .remoteEnded)))
            try await service.says("ringing ended")
            try await Task.sleep(for: .seconds(1))
            await service.program.stop()
            let rung = try Sound.read(folder + "/rung.wav")
            // A busy machine begins late and leaves frames out; it does not go on behind the end.
            #expect((8_000...32_000).contains(rung.count), "three seconds, and not the fourth: \(rung.count) samples at 8 kHz")
            let (found, all) = Sound.found(try Sound.read(Bench.english), in: rung, seconds: 1)
            #expect(all > 0 && found == all, "\(found) of \(all) seconds of the sound found")
        }
    }
}
