// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
@preconcurrency import Intents
import SpeakerboxLike
import Synchronization
import Testing

/// Signalling that a test plays itself.
final class ScriptedSignalling: Signalling, @unchecked Sendable {
    var onEvent: ((SignallingEvent) -> Void)?
    private let orders = Mutex<[String]>([])

    func take() -> [String] {
        orders.withLock { orders in
            defer { orders = [] }
            return orders
        }
    }
    private func note(_ order: String) { orders.withLock { $0.append(order) } }

    func connect() { note("connect") }
    func invite(_ call: UUID, to address: String) { note("invite \(address)") }
    func answer(_ call: UUID) { note("answer") }
    func decline(_ call: UUID) { note("decline") }
    func hangUp(_ call: UUID) { note("hang up") }
    func setHeld(_ call: UUID, _ isHeld: Bool) { note(isHeld ? "hold" : "resume") }
    func setMuted(_ call: UUID, _ isMuted: Bool) { note(isMuted ? "mute" : "unmute") }
    func send(_ digits: String, in call: UUID) { note("digits \(digits)") }
    func startAudio() { note("audio on") }
    func stopAudio() { note("audio off") }
}

/// The app in a system, with signalling that the test plays.
final class Bench: @unchecked Sendable {
    let system = CallSystem()
    let process: SimulatedApp
    let signalling = ScriptedSignalling()
    let app: SpeakerboxApp

    init(isForeground: Bool = true) async {
        process = system.launch("app.speakerbox") { $0.isForeground = isForeground }
        let (system, signalling) = (system, signalling)
        app = process.run {
            SpeakerboxApp(signalling: signalling, schedule: { seconds, work in system.after(seconds, work) })
        }
        await system.settle()
    }

    /// News from the network, on the main queue as the app expects it.
    func happens(_ event: SignallingEvent) async {
        await MainActor.run { process.run { signalling.onEvent?(event) } }
        await system.settle()
    }

    func inApp(_ work: @escaping @Sendable (SpeakerboxApp) -> Void) async {
        await MainActor.run { process.run { work(app) } }
        await system.settle()
    }
}

/// The example app does everything right: no diagnostic in any of these.
@Suite struct AppTests {
    private func bench(isForeground: Bool = true, _ body: (Bench) async throws -> Void) async throws {
        let bench = await Bench(isForeground: isForeground)
        try await body(bench)
        await bench.system.advance(by: .seconds(120))
        #expect(bench.system.diagnostics.map(\.description) == [])
        #expect(bench.system.calls.isEmpty && bench.app.liveCalls.isEmpty)
        bench.app.close()
    }

    @Test func anIncomingCallIsAnsweredOnTheScreenAndEndedByTheOtherSide() async throws {
        try await bench { bench in
            let call = UUID()
            await bench.happens(.invited(call, from: "ada"))
            #expect(bench.system.shown(call)?.name == "ada")
            try await bench.system.user.accept(call)
            #expect(bench.signalling.take() == ["answer"])
            await bench.happens(.connected(call))
            #expect(bench.signalling.take() == ["audio on"])
            await bench.system.advance(by: .seconds(60))
            await bench.happens(.ended(call, .remote))
            #expect(bench.signalling.take() == ["audio off"])
            #expect(bench.system.history.map(\.outcome) == [.connected])
        }
    }

    @Test func aPushIsReportedBeforeItsInvitationComes() async throws {
        try await bench(isForeground: false) { bench in
            let call = UUID()
            bench.system.push(["call": call.uuidString, "from": "ada"], to: "app.speakerbox")
            await bench.system.settle()
            #expect(bench.signalling.take() == ["connect"])
            try await bench.system.user.accept(call)
            #expect(bench.system.shown(call)?.state == .answering)
            #expect(bench.signalling.take() == [])
            await bench.system.advance(by: .seconds(2))
            await bench.happens(.invited(call, from: "ada"))
            await bench.happens(.connected(call))
            #expect(bench.signalling.take() == ["answer", "audio on"])
            try await bench.system.user.end(call)
            #expect(bench.signalling.take() == ["hang up", "audio off"])
        }
    }

    @Test("T-197: the invitation never comes after the answer: the call fails before the action times out")
    func noInvitation() async throws {
        try await bench(isForeground: false) { bench in
            let call = UUID()
            bench.system.push(["call": call.uuidString, "from": "ada"], to: "app.speakerbox")
            await bench.system.settle()
            try await bench.system.user.accept(call)
            await bench.system.advance(by: .seconds(21))
            #expect(bench.system.history.map(\.reason) == [.failed])
        }
    }

    @Test("T-198: declined before the invitation comes: it is declined on arrival, and nothing rings a second time")
    func declinedEarly() async throws {
        try await bench(isForeground: false) { bench in
            let call = UUID()
            bench.system.push(["call": call.uuidString, "from": "ada"], to: "app.speakerbox")
            await bench.system.settle()
            try await bench.system.user.decline(call)
            _ = bench.signalling.take()
            await bench.happens(.invited(call, from: "ada"))
            #expect(bench.signalling.take() == ["decline"])
            #expect(bench.system.history.map(\.outcome) == [.declined])
        }
    }

    @Test func aPushForACallThatIsOverIsReportedAndEnded() async throws {
        try await bench(isForeground: false) { bench in
            bench.system.push(["call": UUID().uuidString, "from": "ada", "expires": 1.0], to: "app.speakerbox")
            await bench.system.settle()
            #expect(bench.system.history.map(\.outcome) == [.missed])
        }
    }

    @Test func nobodyAnswersForTheTimeOfRinging() async throws {
        try await bench { bench in
            await bench.happens(.invited(UUID(), from: "ada"))
            await bench.system.advance(by: .seconds(46))
            #expect(bench.signalling.take() == ["decline"])
            #expect(bench.system.history.map(\.reason) == [.unanswered])
        }
    }

    @Test func anOutgoingCallFromTheAppAndItsButtons() async throws {
        try await bench { bench in
            await bench.inApp { $0.call("bob") }
            let call = try #require(bench.app.liveCalls.first)
            #expect(bench.signalling.take() == ["invite bob", "audio on"])
            await bench.happens(.ringing(call))
            await bench.happens(.connected(call))
            #expect(bench.system.shown(call)?.state == .active)
            await bench.inApp { $0.mute(call, true) }
            #expect(bench.system.isMuted(call))
            try await bench.system.user.mute(call, false)
            #expect(!bench.app.isMuted(call))
            try await bench.system.user.press("4#", in: call)
            await bench.inApp { $0.hold(call, true) }
            #expect(bench.system.shown(call)?.state == .held)
            try await bench.system.user.resume(call)
            #expect(!bench.app.isHeld(call))
            await bench.inApp { $0.end(call) }
            #expect(
                bench.signalling.take() == [
                    "mute", "unmute", "digits 4", "digits #", "hold", "audio off", "resume", "audio on", "hang up", "audio off",
                ])
        }
    }

    @Test(arguments: [true, false])
    func aSecondCallIsTakenInsteadOrBeside(isHeld: Bool) async throws {
        try await bench { bench in
            let (first, second) = (UUID(), UUID())
            await bench.happens(.invited(first, from: "ada"))
            try await bench.system.user.accept(first)
            await bench.happens(.connected(first))
            await bench.happens(.invited(second, from: "bob"))
            _ = bench.signalling.take()
            if isHeld { try await bench.system.user.holdAndAccept(second) } else { try await bench.system.user.endAndAccept(second) }
            await bench.happens(.connected(second))
            #expect(bench.signalling.take() == [isHeld ? "hold" : "hang up", "answer"])
            try await bench.system.user.end(second)
            if isHeld {
                #expect(bench.system.shown(first)?.state == .active)
                try await bench.system.user.end(first)
            }
        }
    }

    @Test func aMobileCallComesAndGoes() async throws {
        try await bench { bench in
            let call = UUID()
            await bench.happens(.invited(call, from: "ada"))
            try await bench.system.user.accept(call)
            await bench.happens(.connected(call))
            let mobile = try await bench.system.user.cellularCallComes()
            _ = bench.signalling.take()
            try await bench.system.user.holdAndAccept(mobile)
            #expect(bench.signalling.take() == ["hold", "audio off"])
            try await bench.system.user.end(mobile)
            #expect(bench.signalling.take() == ["resume", "audio on"])
            try await bench.system.user.end(call)
        }
    }

    @Test func anInterruptionStopsTheSoundAndTheSoundComesBackOnlyWhereItIsStillOurs() async throws {
        try await bench { bench in
            let call = UUID()
            await bench.happens(.invited(call, from: "ada"))
            try await bench.system.user.accept(call)
            await bench.happens(.connected(call))
            _ = bench.signalling.take()
            try await bench.system.user.act(.interruption(began: true, shouldResume: false))
            await bench.inApp { _ in }
            #expect(bench.signalling.take() == ["audio off"])
            try await bench.system.user.act(.interruption(began: false, shouldResume: true))
            await bench.inApp { _ in }
            #expect(bench.signalling.take() == ["audio on"])
            try await bench.system.user.act(.interruption(began: true, shouldResume: false))
            try await bench.system.user.hold(call)
            _ = bench.signalling.take()
            try await bench.system.user.act(.interruption(began: false, shouldResume: true))
            await bench.inApp { _ in }
            #expect(bench.signalling.take() == [])
            try await bench.system.user.end(call)
        }
    }

    @Test func callingBackFromTheHistory() async throws {
        try await bench { bench in
            let app = bench.app
            bench.process.run { CallActivities.handle { app.handle($0) } }
            await bench.happens(.invited(UUID(), from: "ada"))
            await bench.happens(.ended(try #require(app.liveCalls.first), .remote))
            _ = bench.signalling.take()
            try await bench.system.user.redial(try #require(bench.system.history.last))
            await bench.system.settle()
            #expect(bench.signalling.take() == ["invite ada", "audio on"])
            let call = try #require(app.liveCalls.first)
            await bench.happens(.connected(call))
            await bench.happens(.ended(call, .remote))
        }
    }

    @Test("T-151: where calls cannot be reported in time, no call token is uploaded: the server has that of alerts")
    func alertsInsteadOfCallPushes() async throws {
        let system = CallSystem()
        let process = system.launch("app.speakerbox")
        let signalling = ScriptedSignalling()
        var limits = SpeakerboxApp.Limits()
        limits.takesCallPushes = false
        let uploads = Mutex<[String]>([])
        let app = process.run { SpeakerboxApp(signalling: signalling, limits: limits) }
        app.uploadToken = { token in uploads.withLock { $0.append("call \(token ?? "none")") } }
        app.uploadAlertToken = { token in uploads.withLock { $0.append("alert \(token)") } }
        await system.settle()
        app.registered(alertToken: Data([0x00, 0x0f, 0xa0, 0xff]))
        #expect(uploads.withLock { $0 } == ["alert 000fa0ff"])
        let call = UUID()
        #expect(system.push(["call": call.uuidString], to: "app.speakerbox") == .unregistered)
        app.alertOpened()
        #expect(signalling.take() == ["connect"])
        await MainActor.run { process.run { signalling.onEvent?(.invited(call, from: "ada")) } }
        await system.settle()
        #expect(system.shown(call)?.state == .ringing)
        #expect(system.diagnostics.map(\.description) == [])
        app.close()
    }

    @Test("T-167: a late End for a call whose remote end was reported is completed, and nobody hangs up twice")
    func lateEnd() async throws {
        try await bench { bench in
            let call = UUID()
            await bench.happens(.invited(call, from: "ada"))
            await bench.happens(.ended(call, .remote))
            _ = bench.signalling.take()
            await bench.inApp { $0.provider($0.provider, perform: CXEndCallAction(call: call)) }
            #expect(bench.signalling.take() == [])
        }
    }

    @Test("T-190: calling back during a live call: the same peer is no second call, another one is")
    func callBackDuringACall() async throws {
        try await bench { bench in
            let app = bench.app
            bench.process.run { CallActivities.handle { app.handle($0) } }
            await bench.happens(.invited(UUID(), from: "bob"))
            await bench.happens(.ended(try #require(app.liveCalls.first), .remote))
            let call = UUID()
            await bench.happens(.invited(call, from: "ada"))
            try await bench.system.user.accept(call)
            await bench.happens(.connected(call))
            let bob = try #require(bench.system.history.first)
            _ = bench.signalling.take()
            bench.system.takePitfalls()
            try await bench.system.user.redial(bob)
            await bench.system.settle()
            #expect(bench.signalling.take() == ["hold", "invite bob"])
            #expect(bench.system.takePitfalls() == [.outgoingSecondWithoutHold])
            try await bench.system.user.redial(bob)
            await bench.system.settle()
            #expect(bench.signalling.take() == [])
            for live in app.liveCalls { await bench.happens(.ended(live, .remote)) }
            bench.system.takePitfalls()
        }
    }
}
