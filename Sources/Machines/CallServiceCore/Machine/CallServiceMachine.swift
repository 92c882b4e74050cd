// SPDX-License-Identifier: Apache-2.0
//
//   app ── AppMessage ──▶ ┌────────────────────┐ ── ServiceMessage ──▶ app
//   person ─ UserCommand ▶│ CallServiceMachine │ ── ScreenState ─────▶ call screen
//   push channel ───────▶ │                    │ ── HistoryEntry, Diagnostic, launch
//   clock ── advance ───▶ └────────────────────┘
//
// Each input changes the calls, then tells observers, then delivers actions, then gives or takes audio, then draws the screen.

import Essentials

/// The call service of one user: owns the list of calls, arbitrates, gives audio, and says what apps do wrong.
public struct CallServiceMachine {
    public let settings: CallServiceSettings
    /// What the clock on the wall said when the monotonic clock stood at zero.
    public var wallClock: WallTime
    public internal(set) var counters = Counters<CallServiceCounter>()
    /// The newest last.
    public internal(set) var history: [HistoryEntry] = []
    public internal(set) var screen = ScreenState()
    public internal(set) var isDoNotDisturb = false
    /// Names by address, as a person's contacts give them; numbers are compared in directory form.
    public var contacts: [(address: String, name: String)] = []

    let random: RandomSource
    var now = MonotonicTime.zero
    var apps: [App] = []
    var calls: [Call] = []
    var transactions: [PendingTransaction] = []
    var plans: [Plan] = []
    var deadlines: [Deadline] = []
    var effects: [CallServiceEffect] = []
    var audio = AudioState()
    var pushes = PushState()
    var activities: [PendingActivity] = []
    var directories: [Directory] = []
    var blockedNumbers: [Int64] = []
    var blockedAddresses: [String] = []
    var nextApp: UInt32 = 1
    var nextNumber: UInt64 = 1

    struct Directory {
        var identifier: String
        var index: (any CallDirectoryIndex)?
        var isEnabled: Bool
        /// Who asked for the load that is under way.
        var loading: (app: AppID, request: RequestID)?
    }

    struct PendingActivity: Sendable {
        var number: UInt64
        var bundle: String
        var description: ActivityDescription
        var app: AppID?
    }

    public init(settings: CallServiceSettings = CallServiceSettings(), random: RandomSource, wallClock: WallTime) {
        self.settings = settings
        self.random = random
        self.wallClock = wallClock
    }

    // MARK: In

    /// A connection was opened. `hello` is expected next.
    public mutating func connect(now: MonotonicTime) -> AppID {
        begin(now)
        let id = AppID(rawValue: nextApp)
        nextApp &+= 1
        guard apps.count < settings.maximumApps else {
            counters.increment(.appsRefused)
            effects.append(.close(id, code: "service.too-many-apps"))
            return id
        }
        apps.append(App(id: id, connectedAt: now, startedAt: now))
        return id
    }

    public mutating func receive(_ message: AppMessage, from app: AppID, now: MonotonicTime) {
        begin(now)
        guard let index = index(of: app) else { return }
        if apps[index].descriptor == nil {
            guard case .hello(let descriptor) = message else {
                counters.increment(.messagesBeforeHello)
                effects.append(.close(app, code: "service.no-hello"))
                return
            }
            greet(descriptor, at: index)
        } else {
            handle(message, from: app)
        }
        settle()
    }

    /// The connection is gone, for whatever reason: the app's calls end, others go on (END-6).
    public mutating func disconnect(_ app: AppID, now: MonotonicTime) {
        begin(now)
        lose(app)
        settle()
    }

    /// Does what a person did at the call screen, or what happened around the phone.
    public mutating func perform(_ command: UserCommand, now: MonotonicTime) -> UserCommandRefusal? {
        begin(now)
        let refusal = obey(command)
        settle()
        return refusal
    }

    /// The time has come to look at deadlines.
    public mutating func advance(to now: MonotonicTime) {
        begin(now)
        settle()
    }

    /// When `advance` is to be called at the latest; nil: nothing waits for time.
    public var nextDeadline: MonotonicTime? { deadlines.map(\.at).min() }

    /// The service loses everything, as if its process had ended and begun again (PRV-6).
    public mutating func restart(now: MonotonicTime) {
        begin(now)
        resetEverything()
        settle()
    }

    /// The lists of an extension, as they are from now on. The order in which extensions are first named is their order of worth.
    public mutating func setDirectory(_ identifier: String, index: (any CallDirectoryIndex)?, isEnabled: Bool) {
        if let place = directories.firstIndex(where: { $0.identifier == identifier }) {
            directories[place].index = index
            directories[place].isEnabled = isEnabled
        } else {
            directories.append(Directory(identifier: identifier, index: index, isEnabled: isEnabled))
        }
    }

    /// Entries of an earlier run of the service, oldest first.
    public mutating func restore(history entries: [HistoryEntry]) {
        history = Array(entries.suffix(settings.historyLength))
        nextNumber = max(nextNumber, (entries.map(\.number).max() ?? 0) &+ 1)
    }

    // MARK: Out

    /// The next thing to be done, oldest first; nil: nothing.
    public mutating func nextEffect() -> CallServiceEffect? { effects.isEmpty ? nil : effects.removeFirst() }

    /// Every effect there is.
    public mutating func drain() -> [CallServiceEffect] {
        defer { effects = [] }
        return effects
    }

    // MARK: Views

    /// The calls there are, as every observer sees them.
    public var snapshots: [CallSnapshot] { calls.map { $0.snapshot() } }
    /// The app whose audio session is active.
    public var audioOwner: AppID? { audio.owner }
    /// Actions that are not complete.
    public var pendingActions: Int { transactions.reduce(0) { $0 + $1.actions.count } + plans.reduce(0) { $0 + $1.steps.count } }
    /// Deadlines that still run.
    public var pendingDeadlines: Int { deadlines.count }
    public func isMuted(_ call: UUIDValue) -> Bool { calls.first { $0.uuid == call }?.isMuted ?? false }
    /// The number that a call's conference shares.
    public func group(of call: UUIDValue) -> UInt64? { calls.first { $0.uuid == call }?.group }
    public func owner(of call: UUIDValue) -> AppID? { calls.first { $0.uuid == call }?.owner }

    // MARK: Ground

    /// Lets the clock run to `now`: each deadline fires at its own moment.
    mutating func begin(_ now: MonotonicTime) {
        while let index = dueDeadline(at: now) {
            let deadline = deadlines.remove(at: index)
            self.now = max(self.now, deadline.at)
            fire(deadline.kind)
            settle()
        }
        self.now = max(self.now, now)
    }

    private func dueDeadline(at now: MonotonicTime) -> Int? {
        var best: Int?
        for (index, deadline) in deadlines.enumerated() where deadline.at <= now {
            guard let known = best else {
                best = index
                continue
            }
            if (deadline.at, deadline.number) < (deadlines[known].at, deadlines[known].number) { best = index }
        }
        return best
    }

    /// Delivers, gives audio and draws until nothing changes any more.
    mutating func settle() {
        deliver()
        keepOneGroup()
        updateAudio()
        updateScreen()
    }

    mutating func schedule(_ kind: Deadline.Kind, after interval: Interval) {
        deadlines.append(Deadline(at: now + interval, number: number(), kind: kind))
    }

    mutating func cancel(_ isIt: (Deadline.Kind) -> Bool) { deadlines.removeAll { isIt($0.kind) } }

    mutating func number() -> UInt64 {
        defer { nextNumber &+= 1 }
        return nextNumber
    }

    /// A version 4 UUID (RFC 9562 §5.4).
    func makeUUID() -> UUIDValue {
        UUIDValue(
            high: random.next() & 0xffff_ffff_ffff_0fff | 0x4000, low: random.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
    }

    var wall: WallTime { wallTime(of: now) }
    func wallTime(of time: MonotonicTime) -> WallTime { WallTime(microseconds: wallClock.microseconds &+ time.nanoseconds / 1000) }

    func index(of app: AppID) -> Int? { apps.firstIndex { $0.id == app } }
    func index(ofCall uuid: UUIDValue) -> Int? { calls.firstIndex { $0.uuid == uuid } }

    mutating func send(_ message: ServiceMessage, to app: AppID) {
        guard index(of: app) != nil else { return }
        effects.append(.send(app, message))
    }

    /// Tells every app's observer.
    mutating func announce(_ snapshot: CallSnapshot) {
        for app in apps where app.descriptor != nil { effects.append(.send(app.id, .callChanged(snapshot))) }
    }
}
