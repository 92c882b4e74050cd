// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallDirectory
import CallServiceCore
import Essentials
import Foundation
import Synchronization

/// A phone's call service for a test: one machine, a virtual clock, apps as parts of this process.
///
/// Nothing happens by itself: `settle()` lets callbacks run, `advance(by:)` lets time pass. Callbacks come on the queues that the app gave, so the
/// order is that of a device. Tests may run side by side: each has its own system.
public final class CallSystem: Sendable {
    struct Timer: Sendable {
        var at: MonotonicTime
        var number: Int
        var work: @Sendable () -> Void
    }

    package struct State {
        package var machine: CallServiceMachine
        var now = MonotonicTime.zero
        var outbox: [CallServiceEffect] = []
        var isPumping = false
        var timers: [Timer] = []
        var nextTimer = 0
        var apps: [AppID: SimulatedApp] = [:]
        var installed: [String: @Sendable (SimulatedApp) -> Void] = [:]
        var descriptors: [String: AppDescriptor] = [:]
        var launched: [String] = []
        var diagnostics: [Diagnostic] = []
        var screens: [ScreenState] = []
        var enabledDirectories: [String: Bool] = [:]
    }

    package let state: Mutex<State>
    /// What is on its way to the apps' queues.
    let deliveries = Deliveries()
    /// Where the lists of call directory extensions stand during the test.
    public let directoryFolder: String

    /// What the wall clock says at the beginning: noon of the first of June 2026, UTC.
    public static let start = Date(timeIntervalSince1970: 1_780_315_200)

    /// - Parameters:
    ///   - settings: deadlines, limits and switches of the service; registration of a provider takes a millisecond.
    ///   - seed: of all that is random.
    public init(settings: CallServiceSettings = CallSystem.usualSettings, seed: UInt64 = 1) {
        let random = RandomSource(SplitMix64(seed: seed))
        state = Mutex(
            State(machine: CallServiceMachine(settings: settings, random: random, wallClock: WallTime(CallSystem.start))))
        directoryFolder = FileManager.default.temporaryDirectory.appending(path: "handset-directories-\(UUID().uuidString)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: directoryFolder) }

    /// The service's defaults, and a provider that is registered a millisecond after it was made, as no device does it in the same instant.
    public static var usualSettings: CallServiceSettings {
        var settings = CallServiceSettings()
        settings.registrationDelay = .milliseconds(1)
        return settings
    }

    // MARK: Apps

    /// Starts an app. `configure` may change what it says of itself before it speaks.
    public func launch(_ bundle: String, configure: (inout AppDescriptor) -> Void = { _ in }) -> SimulatedApp {
        var descriptor = state.withLock { $0.descriptors[bundle] } ?? AppDescriptor(bundle: bundle, displayName: bundle)
        descriptor.launchedAt = WallTime(now)
        configure(&descriptor)
        let id = state.withLock { $0.machine.connect(now: $0.now) }
        let app = SimulatedApp(id: id, system: self, descriptor: descriptor)
        state.withLock { $0.apps[id] = app }
        app.link.connect(InProcessConnection(system: self, app: id))
        return app
    }

    /// What is done when the system starts that app, for a push or a call from the history: `main` makes its registry and provider.
    public func install(
        _ bundle: String, configure: (inout AppDescriptor) -> Void = { _ in }, main: @escaping @Sendable (SimulatedApp) -> Void
    ) {
        var descriptor = AppDescriptor(bundle: bundle, displayName: bundle)
        descriptor.isForeground = false
        configure(&descriptor)
        state.withLock { [descriptor] state in
            state.installed[bundle] = main
            state.descriptors[bundle] = descriptor
        }
    }

    /// The apps that the system started, in order.
    public var launched: [String] { state.withLock { $0.launched } }

    // MARK: Time

    /// The time on the wall.
    public var now: Date {
        state.withLock { CallSystem.start.addingTimeInterval(Double($0.now.nanoseconds) / 1e9) }
    }

    /// Lets every callback run that is due, and a millisecond pass.
    public func settle() async { await advance(by: .milliseconds(1)) }

    /// Lets every callback run that is due now. No time passes.
    public func runCallbacks() async {
        repeat {
            await deliveries.settled()
            pump()
        } while state.withLock { !$0.outbox.isEmpty }
        await deliveries.settled()
    }

    /// Lets time pass, from one deadline to the next; between them every callback runs.
    public func advance(by duration: Duration) async {
        await runCallbacks()
        let end = state.withLock { $0.now + Interval(duration) }
        while let next = nextDeadline(until: end) {
            pass(to: next)
            await runCallbacks()
        }
        pass(to: end)
        await runCallbacks()
    }

    private func nextDeadline(until end: MonotonicTime) -> MonotonicTime? {
        state.withLock { state in
            let next = ([state.machine.nextDeadline].compactMap { $0 } + state.timers.map(\.at)).min()
            return next.flatMap { $0 <= end && $0 > state.now ? $0 : nil }
        }
    }

    private func pass(to time: MonotonicTime) {
        let due = state.withLock { state in
            state.now = max(state.now, time)
            let due = state.timers.filter { $0.at <= time }.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
            state.timers.removeAll { $0.at <= time }
            return due
        }
        feed { $0.machine.advance(to: $0.now) }
        for timer in due { timer.work() }
    }

    /// Runs `work` on the main queue after so many seconds of this system's time: the timer of an app that must not wait for real time.
    public func after(_ seconds: Double, _ work: @escaping @Sendable () -> Void) {
        schedule(after: seconds) { [deliveries] in
            deliveries.began()
            DispatchQueue.main.async {
                work()
                deliveries.ended()
            }
        }
    }

    func schedule(after seconds: Double, _ work: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.nextTimer += 1
            state.timers.append(Timer(at: state.now + .seconds(seconds), number: state.nextTimer, work: work))
        }
    }

    // MARK: The machine

    /// Gives the machine something, then hands out what it wants done, in order, from whichever thread comes first.
    @discardableResult
    func feed<Answer: Sendable>(_ input: (inout State) -> Answer) -> Answer {
        let answer = state.withLock { state in
            let answer = input(&state)
            state.outbox.append(contentsOf: state.machine.drain())
            return answer
        }
        pump()
        return answer
    }

    private func pump() {
        while let effect = takeEffect() {
            carryOut(effect)
            state.withLock { $0.isPumping = false }
        }
    }

    private func takeEffect() -> CallServiceEffect? {
        state.withLock { state in
            guard !state.isPumping, !state.outbox.isEmpty else { return nil }
            state.isPumping = true
            return state.outbox.removeFirst()
        }
    }

    private func carryOut(_ effect: CallServiceEffect) {
        switch effect {
        case .send(let app, let message): state.withLock { $0.apps[app] }?.link.receive(message)
        case .close(let app, _): state.withLock { $0.apps.removeValue(forKey: app) }?.link.disconnect()
        case .screen(let screen): state.withLock { $0.screens.append(screen) }
        case .history: break
        case .diagnostic(let diagnostic): state.withLock { $0.diagnostics.append(diagnostic) }
        case .launch(let bundle): launchInstalled(bundle)
        case .terminate(let app, let diagnostic): state.withLock { $0.apps[app] }?.die(of: diagnostic)
        }
    }

    private func launchInstalled(_ bundle: String) {
        let main = state.withLock { state in
            state.launched.append(bundle)
            return state.installed[bundle]
        }
        guard let main else { return }
        let app = launch(bundle)
        // An app's start runs on its main queue.
        app.link.deliver(on: nil) { main(app) }
    }

    func forget(_ app: AppID) {
        _ = state.withLock { $0.apps.removeValue(forKey: app) }
        feed { $0.machine.disconnect(app, now: $0.now) }
    }
}

/// A function call where a device has a message between processes.
private struct InProcessConnection: ServiceConnection {
    let system: CallSystem
    let app: AppID

    func send(_ message: AppMessage) {
        if case .directoryChanged(let identifier) = message { system.readDirectory(identifier) }
        system.feed { $0.machine.receive(message, from: app, now: $0.now) }
    }

    var now: Date { system.now }

    func after(_ seconds: Double, _ work: @escaping @Sendable () -> Void) { system.schedule(after: seconds, work) }
}
