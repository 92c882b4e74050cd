// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Foundation
import Testing

/// One seeded life of a call service: random apps, a random person, pushes, interruptions, crashes.
final class RandomLife {
    let seed: UInt64
    var dice: SplitMix64
    let system: TestSystem
    var apps: [TestApp] = []
    /// Actions that were delivered and are not over, by app.
    var open: [AppID: [UUIDValue]] = [:]
    var everPerformed: Set<[UInt64]> = []
    var nextCall: UInt64 = 1
    var faults: [String] = []

    init(seed: UInt64) {
        self.seed = seed
        dice = SplitMix64(seed: seed)
        var settings = CallServiceSettings()
        settings.activatesBeforeFulfil = Bool.random(using: &dice)
        settings.deliversOneByOne = Bool.random(using: &dice)
        settings.completionComesFirst = Bool.random(using: &dice)
        settings.omitsActivateAfterRemoteEnd = Bool.random(using: &dice)
        settings.doNotDisturbOnlySilences = Bool.random(using: &dice)
        settings.secondStart = [.hold, .hold, .dropOnConnect, .refuse].randomElement(using: &dice) ?? .hold
        settings.registrationDelay = Bool.random(using: &dice) ? .zero : .milliseconds(20)
        system = TestSystem(settings, seed: seed)
    }

    func fault(_ text: String) { if faults.count < 5 { faults.append(text) } }
    func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &dice) }

    // MARK: Apps

    func launch(_ name: String) {
        let app = system.app(
            name, describe: { $0.isForeground = self.roll(3) > 0 },
            configure: { configuration in
                configuration.maximumCallGroups = 1 + self.roll(3)
                configuration.supportsVideo = self.roll(2) == 0
                configuration.supportedHandleTypes = [.generic]
            })
        app.decide = { _ in nil }
        app.onMessage = { [unowned self, unowned app] message in self.hear(message, app) }
        app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
        apps.append(app)
    }

    private func hear(_ message: ServiceMessage, _ app: TestApp) {
        switch message {
        case .perform(_, _, let action):
            if !everPerformed.insert([UInt64(app.id.rawValue), action.uuid.high, action.uuid.low]).inserted {
                fault("an action was delivered twice")
            }
            open[app.id, default: []].append(action.uuid)
            // Most actions are completed at once, some later, few never.
            if roll(4) > 0 { complete(action, app) }
        case .timedOut(_, let action):
            if !(open[app.id] ?? []).contains(action.uuid) { fault("an action timed out that was over") }
            open[app.id]?.removeAll { $0 == action.uuid }
        case .dropped(let action): open[app.id]?.removeAll { $0 == action }
        case .push(let number, _, _, _):
            if roll(4) > 0 { app.report(newCall()) }
            app.say(.pushHandlerReturned(number, isImplemented: true))
            if roll(4) > 0 { app.say(.pushCompleted(number)) }
        default: break
        }
    }

    private func complete(_ action: ActionDescription, _ app: TestApp) {
        guard (open[app.id] ?? []).contains(action.uuid) else { return }
        open[app.id]?.removeAll { $0 == action.uuid }
        app.complete(action, roll(8) == 0 ? .failed : .fulfilled(at: nil, engine: nil))
    }

    func newCall() -> UUIDValue {
        defer { nextCall += 1 }
        return UUIDValue(high: 0xCA11, low: nextCall)
    }

    func anyCall() -> UUIDValue {
        let calls = system.machine.snapshots
        guard !calls.isEmpty, roll(20) > 0 else { return UUIDValue(high: 0xCA11, low: UInt64(roll(Int(nextCall) + 2))) }
        return calls[roll(calls.count)].uuid
    }

    // MARK: Steps

    func run(steps: Int) {
        for name in ["one", "two", "three"].prefix(1 + roll(3)) { launch(name) }
        for _ in 0..<steps {
            switch roll(10) {
            case 0...2: appActs(apps[roll(apps.count)])
            case 3...5: personActs()
            case 6: worldActs()
            case 7:
                let app = apps[roll(apps.count)]
                if let action = app.held.first { complete(action, app) }
            default: system.pass(.milliseconds([1, 50, 900, 5100, 20_000][roll(5)]))
            }
            check()
        }
        wind()
    }

    private func appActs(_ app: TestApp) {
        let call = anyCall()
        switch roll(14) {
        case 0, 1, 2: app.report(newCall())
        case 3: app.start(roll(8) == 0 ? call : newCall())
        case 4: app.ended(call, CallEndedReason.allCases[roll(5)])
        case 5: app.connecting(call)
        case 6: app.connected(call)
        case 7: app.request((call, .answer))
        case 8: app.request((call, .end))
        case 9: app.request((call, .setHeld(roll(2) == 0)))
        case 10: app.request((call, .setMuted(roll(2) == 0)), (call, .playDTMF(digits: "1", type: .singleTone)))
        case 11: app.request((call, .setGroup(with: roll(3) == 0 ? nil : anyCall())))
        case 12:
            app.request((call, .setHeld(true)), (newCall(), .start(handle: Handle(.generic, "x"), contactIdentifier: nil, isVideo: false)))
        default: _ = app.setActive(roll(2) == 0)
        }
    }

    private func personActs() {
        let call = anyCall()
        let commands: [UserCommand] = [
            .accept(call), .accept(call), .accept(call), .decline(call), .endAndAccept(call), .holdAndAccept(call), .holdAndAccept(call),
            .endHeldAndAccept(call), .end(call), .hold(call, true), .hold(call, false), .swap, .merge, .split(call),
            .mute(call, roll(2) == 0), .keys(call, "12#"), .speaker(roll(2) == 0), .video(call), .redial(UInt64(roll(200))),
        ]
        system.person(commands[roll(commands.count)])
    }

    private func worldActs() {
        switch roll(9) {
        case 0: system.person(.cellularIncoming(newCall(), name: "mother"))
        case 1: system.person(.cellularOutgoing(newCall(), name: "mother"))
        case 2: system.person(.cellularRemoteEnded(anyCall()))
        case 3: system.person(.interruption(began: roll(2) == 0, shouldResume: true))
        case 4: system.person(.headset(isPresent: roll(2) == 0))
        case 5: system.person(.doNotDisturb(roll(3) == 0))
        case 6: _ = system.push("org.example.\(apps[roll(apps.count)].name)", #"{"call":"\#(roll(5))"}"#)
        case 7:
            let place = roll(apps.count)
            let name = apps[place].name
            apps[place].crash()
            open[apps[place].id] = nil
            apps.remove(at: place)
            check()
            launch(name)
        default:
            guard roll(4) == 0 else { return }
            for app in apps { open[app.id] = [] }
            system.machine.restart(now: system.now)
            system.pump()
        }
    }

    // MARK: Invariants

    func check() {
        let owners = apps.filter(\.isAudioActive)
        if owners.count > 1 { fault("audio is active for \(owners.map(\.name))") }
        if let owner = owners.first, system.machine.audioOwner != owner.id {
            fault("the session is active for an app that does not own it")
        }
        let known = system.machine.snapshots
        for app in apps {
            if app.calls.sorted(by: { $0.uuid < $1.uuid }) != known.sorted(by: { $0.uuid < $1.uuid }) {
                fault("\(app.name) sees other calls than the service")
            }
            for (first, second) in zip(app.activations, app.activations.dropFirst()) where first == second {
                fault("didActivate and didDeactivate do not alternate")
            }
        }
        guard system.machine.pendingActions == 0 else { return }
        let active = Set(system.machine.screen.calls.filter { $0.state == .active }.map(\.group))
        if active.count > 1 { fault("\(active.count) groups are active at once") }
    }

    /// Everybody goes home: nothing may be left.
    private func wind() {
        for app in apps {
            for action in app.held { complete(action, app) }
            app.decide = { [unowned self, unowned app] action in
                self.open[app.id]?.removeAll { $0 == action.uuid }
                return .fulfilled(at: nil, engine: nil)
            }
            app.onMessage = { [unowned self, unowned app] message in
                switch message {
                case .timedOut(_, let action): self.open[app.id]?.removeAll { $0 == action.uuid }
                case .dropped(let action): self.open[app.id]?.removeAll { $0 == action }
                default: break
                }
            }
        }
        system.pass(.seconds(700))
        for call in system.machine.snapshots { system.person(.end(call.uuid)) }
        for call in system.machine.snapshots { system.person(.end(call.uuid)) }
        system.pass(.seconds(700))
        check()
        if !system.machine.snapshots.isEmpty { fault("calls are left: \(system.machine.snapshots.count)") }
        if system.machine.pendingActions > 0 { fault("actions are left") }
        if system.machine.pendingDeadlines > 0 { fault("deadlines are left") }
        if system.machine.audioOwner != nil { fault("audio is left with an app") }
        for app in apps where !(open[app.id] ?? []).isEmpty { fault("\(app.name) has actions that nobody ended") }
    }
}

@Suite struct SimulationTests {
    static let runs = 5_000
    static let parts = 10

    /// `HANDSET_SEED=N` runs that seed alone.
    @Test(arguments: 0..<parts) func randomLivesKeepEveryInvariant(part: Int) {
        if let text = ProcessInfo.processInfo.environment["HANDSET_SEED"], let seed = UInt64(text) {
            if part == 0 { live(seed) }
            return
        }
        for number in 0..<(Self.runs / Self.parts) { live(UInt64(part * Self.runs / Self.parts + number)) }
    }

    private func live(_ seed: UInt64) {
        let life = RandomLife(seed: seed)
        life.run(steps: 60)
        #expect(
            life.faults.isEmpty,
            "seed \(seed): \(life.faults); repeat with HANDSET_SEED=\(seed) swift test --filter CallServiceTests.SimulationTests")
    }

    @Test func oneSeedIsOneLife() {
        for seed in [UInt64(3), 77, 4_096] {
            let logs = (0..<2).map { _ in
                let life = RandomLife(seed: seed)
                life.run(steps: 120)
                return life.system.log
            }
            #expect(logs[0] == logs[1] && logs[0].count > 50)
        }
    }
}
