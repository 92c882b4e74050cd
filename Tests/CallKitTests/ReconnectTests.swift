// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
import AppLink
@preconcurrency import CallKit
import CallServiceCore
import CallServiceHost
import Foundation
import Networking
import Synchronization
import Testing

/// An app's end of the socket, while the service behind it goes and comes (PRV-6). Real sockets, real time.
@Suite struct ReconnectTests {
    /// A call service in this process, behind a socket.
    private struct Service {
        let host: CallServiceHost
        let loop: EventLoop

        init(_ folder: String) async throws {
            loop = try EventLoop(name: "service")
            host = CallServiceHost(
                .init(files: CallServiceFiles(socket: folder + "/run/s.sock", state: folder + "/state", apps: folder + "/apps")), loop: loop
            )
            try await host.start()
        }

        func stop() async {
            await host.stop()
            loop.stop()
        }
    }

    /// An app that keeps what it is told, and fulfils what it is asked. Its first `providerDidBegin` may come before it has a delegate, and
    /// is missed then (PRV-3): no test waits for that one.
    private final class App: NSObject, CXProviderDelegate, CXCallObserverDelegate, @unchecked Sendable {
        let events = Events()
        let link: AppLink
        let provider: CXProvider
        let observer: CXCallObserver
        let controller: CXCallController

        init(_ folder: String) {
            let link = AppLink(
                AppDescriptor(bundle: "org.example.talk", displayName: "Talk"), onDiagnostic: { _ in }, onTermination: { _ in })
            self.link = link
            SocketConnection.keep(link, at: folder + "/run/s.sock")
            (provider, observer, controller) = AppLink.$local.withValue(link) {
                (CXProvider(configuration: CXProviderConfiguration()), CXCallObserver(), CXCallController())
            }
            super.init()
            let queue = DispatchQueue(label: "app")
            provider.setDelegate(self, queue: queue)
            observer.setDelegate(self, queue: queue)
        }

        func providerDidReset(_ provider: CXProvider) { events.add("reset") }
        func providerDidBegin(_ provider: CXProvider) { events.add("begin") }
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
            events.add("answer")
            action.fulfill()
        }
        func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
            events.add("end")
            action.fulfill()
        }
        func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { events.add("didActivate") }
        func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) { events.add("didDeactivate") }
        func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall) { if call.hasEnded { events.add("ended") } }

        /// Waits until it was told all of these since `start`, in this order.
        func hears(_ wanted: [String], from start: Int = 0) async -> Bool {
            for _ in 0..<1000 {
                let all = events.all
                var rest = wanted[...]
                for event in all.dropFirst(start) where event == rest.first { rest = rest.dropFirst() }
                if rest.isEmpty { return true }
                try? await Task.sleep(for: .milliseconds(10))
            }
            return false
        }

        func report(_ call: UUID) async throws {
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: "ana")
            try await provider.reportNewIncomingCall(with: call, update: update)
        }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/handset-again-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    @Test func aServiceThatBeginsAnewResetsTheAppAndTakesItsReportsAgain() async throws {
        try await withFolder { folder in
            let first = try await Service(folder)
            let app = App(folder)
            let call = UUID()
            try await app.report(call)
            #expect(await first.host.perform(.accept(UUIDValue(call))) == nil)
            #expect(await app.hears(["answer", "didActivate"]))
            #expect(app.observer.calls.map(\.uuid) == [call])
            var before = app.events.all.count
            await first.stop()
            #expect(await app.hears(["ended", "didDeactivate", "reset"], from: before), "\(app.events.all)")
            #expect(app.observer.calls.isEmpty)

            // Without a service each question is answered, and at once.
            await #expect(throws: CXErrorCodeIncomingCallError.self) { try await app.report(UUID()) }
            await #expect(throws: CXErrorCodeRequestTransactionError.self) {
                try await app.controller.request(CXTransaction(action: CXEndCallAction(call: call)))
            }

            before = app.events.all.count
            let second = try await Service(folder)
            #expect(await app.hears(["begin"], from: before), "the provider is registered anew by itself")
            let next = UUID()
            try await app.report(next)
            #expect(await second.host.perform(.accept(UUIDValue(next))) == nil)
            #expect(await app.hears(["answer", "didActivate"], from: before), "\(app.events.all)")
            #expect(await second.host.screen.calls.map(\.uuid) == [UUIDValue(next)], "nothing of the old one is left")
            await second.stop()
            app.provider.invalidate()
        }
    }

    /// While the service goes and comes, reports are made all the time: each is answered, and none comes before the greeting.
    @Test func questionsInTheMiddleOfARestartAreAllAnswered() async throws {
        try await withFolder { folder in
            var service = try await Service(folder)
            let app = App(folder)
            try await app.report(UUID())
            let isOver = Mutex(false)
            let answered = Mutex(0)
            let reports = Task { [app] in
                while !isOver.withLock({ $0 }) {
                    try? await app.report(UUID())
                    answered.withLock { $0 += 1 }
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
            for round in 1...3 {
                let before = app.events.all.count
                await service.stop()
                #expect(await app.hears(["reset"], from: before))
                // However fast the service is there again: some questions are asked while there is none.
                let wanted = answered.withLock { $0 } + 3
                for _ in 0..<2000 where answered.withLock({ $0 }) < wanted { try await Task.sleep(for: .milliseconds(5)) }
                #expect(answered.withLock { $0 } >= wanted, "round \(round)")
                service = try await Service(folder)
                #expect(await app.hears(["begin"], from: before))
            }
            isOver.withLock { $0 = true }
            await reports.value
            try await app.report(UUID())
            await service.stop()
            app.provider.invalidate()
        }
    }

    /// Whatever a service says that cannot be read is as good as its loss, and the next one is taken.
    @Test func nonsenseOfAServiceIsALoss() async throws {
        try await withFolder { folder in
            let first = try await Service(folder)
            let app = App(folder)
            try await app.report(UUID())
            await first.stop()
            #expect(await app.hears(["reset"]))
            // Something else listens there, and talks.
            let stranger = try Process.run(
                URL(filePath: "/usr/bin/python3"),
                arguments: [
                    "-c",
                    """
                    import socket, sys
                    s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
                    c, _ = s.accept(); c.recv(1); c.sendall(b'\\0\\0\\0\\2\\xff\\xff'); c.recv(65536)
                    """, folder + "/run/s.sock",
                ])
            for _ in 0..<1000 where stranger.isRunning { try await Task.sleep(for: .milliseconds(10)) }
            #expect(!stranger.isRunning, "the app heard the nonsense and left")
            if stranger.isRunning { stranger.terminate() }
            let before = app.events.all.count
            let second = try await Service(folder)
            #expect(await app.hears(["begin"], from: before))
            try await app.report(UUID())
            await second.stop()
            app.provider.invalidate()
        }
    }
}
