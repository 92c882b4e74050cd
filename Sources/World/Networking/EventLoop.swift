// SPDX-License-Identifier: Apache-2.0
//
// One thread that waits for sockets, timers and jobs, and runs them one after another. A turn:
//
//      wait ──▶ sockets ──▶ timers ──▶ ┌▶ jobs ──▶ ends of turn ─┐ ──▶ wait
//                                      └──── while there are any ┘
//
// What is sent in a turn leaves at its end, in one system call a socket.

import CPosix
import Essentials
import Synchronization

/// The event loop: an executor for actors and tasks, with sockets and a timer wheel. One thread, shared by default.
///
/// An actor whose `unownedExecutor` is the loop runs on the loop's thread, so the handlers given to `watch`,
/// `schedule`, `DatagramSocket` and so on call it without a hop, by `assumeIsolated`:
///
/// ```swift
/// actor Agent {
///     let loop: EventLoop
///     nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///     func start() {
///         driver = SIPTransportDriver(loop: loop) { [weak self] inputs in
///             self?.assumeIsolated { $0.receive(inputs) }
///         }
///     }
/// }
/// ```
///
/// Everything but `execute`, `now`, `stop`, `join` and the executor's own functions must be called on the loop.
///
/// A *manual* loop has no thread and a virtual clock: it runs inside `run(until:)`, so that a test lets an hour pass in
/// a moment. It is the same class: same executor, same wheel.
///
/// `@unchecked Sendable`: fields below "loop only" are touched only by the thread that is recorded in `owner`, which
/// every entry point checks; what crosses threads lies in the mutex or in atomics.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// The loop that all phones of the process share unless they are given another. Never stops.
    public static let shared: EventLoop = {
        // Before the first socket, hence out of reach of the network: a process that cannot have an epoll and a thread now
        // can do nothing that it was started for.
        do { return try EventLoop(name: "handset") } catch { fatalError("\(error)") }
    }()

    enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        /// The thread has been woken and has not looked yet.
        var isWoken = false
        var isStopped = false
    }

    private struct Watcher {
        var generation: UInt32 = 0
        var handler: ((Readiness) -> Void)?
    }

    /// One tick of the wheel.
    private static let tick: Int64 = 1_000_000

    private let inbox = Mutex(Inbox())
    private let owner = Atomic<UInt>(0)
    private let virtualTime: Atomic<Int64>
    public let isManual: Bool
    private let wakeUp: cposix_signal
    private let thread = Atomic<UInt>(0)

    // MARK: loop only

    private var poller: Poller
    private var wheel: TimerWheel
    private var watchers: [Watcher] = []
    private var local: [Work] = []
    private var running: [Work] = []
    private var endsOfTurn: [() -> Void] = []
    private var spareEnds: [() -> Void] = []
    /// What datagrams and streams are received into: made at first use, shared by all sockets of the loop.
    private(set) lazy var receiveBuffer = ReceiveBuffer()
    /// Tells of addresses of this machine that come and go. Loop only; nothing is opened before the first subscriber.
    public private(set) lazy var networkWatcher = NetworkWatcher(loop: self)

    /// Starts a loop with a thread of that name (15 characters count).
    public convenience init(name: String = "handset-loop") throws(NetworkError) {
        try self.init(manualTime: nil)
        var handle: UInt = 0
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let status = unsafe cposix_thread_start(
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().runThread()
            }, context, name, 0, nil, &handle)
        guard status == 0 else {
            unsafe Unmanaged<EventLoop>.fromOpaque(context).release()
            throw NetworkError(errno: -status, context: "the thread of an event loop")
        }
        thread.store(handle, ordering: .releasing)
    }

    private init(manualTime: MonotonicTime?) throws(NetworkError) {
        poller = try Poller()
        wakeUp = poller.wakeUp
        isManual = manualTime != nil
        let start = manualTime?.nanoseconds ?? cposix_monotonic()
        virtualTime = Atomic(start)
        wheel = TimerWheel(startingAt: start / Self.tick)
    }

    /// A loop without a thread whose clock stands at `time` until `run(until:)` moves it.
    public static func manual(startingAt time: MonotonicTime = .zero) throws(NetworkError) -> EventLoop {
        try EventLoop(manualTime: time)
    }

    // MARK: From any thread

    /// The time: CLOCK_MONOTONIC, or the virtual clock of a manual loop.
    public var now: MonotonicTime {
        MonotonicTime(nanoseconds: isManual ? virtualTime.load(ordering: .relaxed) : cposix_monotonic())
    }

    /// Whether the caller runs on the loop.
    public var isCurrent: Bool { owner.load(ordering: .relaxed) == cposix_thread_current() }

    /// Runs `body` on the loop, in order with jobs; nothing runs once the loop is stopped.
    public func execute(_ body: @escaping @Sendable () -> Void) { add(.closure(body)) }

    /// Ends the loop after its present turn. What is queued then is dropped, tasks that wait on it never go on.
    public func stop() {
        inbox.withLock { $0.isStopped = true }
        cposix_signal_raise(wakeUp)
    }

    /// Waits until the thread has ended. Not from the loop itself, and once only.
    public func join() {
        let handle = thread.exchange(0, ordering: .acquiringAndReleasing)
        if handle != 0 { cposix_thread_join(handle) }
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop")
    }

    @available(macOS 26.0, iOS 26.0, tvOS 26.0, visionOS 26.0, *)
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private func add(_ work: Work) {
        if isCurrent {
            local.append(work)
            return
        }
        let mustWake = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            inbox.work.append(work)
            defer { inbox.isWoken = true }
            return !inbox.isWoken
        }
        if mustWake { cposix_signal_raise(wakeUp) }
    }

    // MARK: Timers

    /// Calls `handler` at `time` or up to a tick (1 ms) later. What has passed already fires at the next tick.
    @discardableResult
    public func schedule(at time: MonotonicTime, _ handler: @escaping () -> Void) -> TimerToken {
        checkIsolated()
        let (tick, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: Self.tick)
        return wheel.add(at: tick + (rest > 0 ? 1 : 0), handler)
    }

    /// Takes a timer away in constant time; false if it has fired or been cancelled.
    @discardableResult
    public func cancel(_ token: TimerToken) -> Bool {
        checkIsolated()
        return wheel.cancel(token)
    }

    /// Timers that have been armed and have not fired.
    public var pendingTimers: Int { wheel.count }

    /// Calls `handler` once, when this turn's work is done and before the loop waits.
    public func atEndOfTurn(_ handler: @escaping () -> Void) {
        checkIsolated()
        endsOfTurn.append(handler)
    }

    // MARK: Descriptors

    /// Tells `handler` when `fd` is ready, again each turn while it is. Replaces an earlier handler. Returns 0 or an errno.
    @discardableResult
    package func watch(_ fd: Int32, for interest: Readiness, _ handler: @escaping (Readiness) -> Void) -> Int32 {
        checkIsolated()
        let index = Int(fd)
        while watchers.count <= index { watchers.append(Watcher()) }
        let isKnown = watchers[index].handler != nil
        watchers[index].generation &+= 1
        watchers[index].handler = handler
        return poller.watch(fd, token: token(fd), for: interest, isKnown: isKnown)
    }

    /// Changes what a watched descriptor is watched for.
    package func setInterest(_ fd: Int32, _ interest: Readiness) {
        checkIsolated()
        guard Int(fd) < watchers.count, watchers[Int(fd)].handler != nil else { return }
        _ = poller.watch(fd, token: token(fd), for: interest, isKnown: true)
    }

    /// Must come before the descriptor is closed.
    package func unwatch(_ fd: Int32) {
        checkIsolated()
        guard Int(fd) < watchers.count, watchers[Int(fd)].handler != nil else { return }
        watchers[Int(fd)].handler = nil
        watchers[Int(fd)].generation &+= 1
        poller.forget(fd)
    }

    private func token(_ fd: Int32) -> UInt64 {
        UInt64(watchers[Int(fd)].generation) << 32 | UInt64(UInt32(bitPattern: fd)) &+ 1
    }

    // MARK: The turn

    private func runThread() {
        owner.store(cposix_thread_current(), ordering: .relaxed)
        var isBusy = false
        while !inbox.withLock({ $0.isStopped }) {
            pollOnce(milliseconds: isBusy ? 0 : waitingTime())
            runTimers(until: cposix_monotonic() / Self.tick)
            isBusy = runReady()
        }
        owner.store(0, ordering: .relaxed)
    }

    private func waitingTime() -> Int32? {
        guard let tick = wheel.nextTick else { return nil }
        let left = MonotonicTime(nanoseconds: tick &* Self.tick) - now
        return Int32(clamping: left.millisecondsRoundedUp)
    }

    private func pollOnce(milliseconds: Int32?) {
        let count = poller.wait(milliseconds: milliseconds)
        for index in 0..<count {
            guard let (token, readiness) = poller.event(index) else { continue }
            let fd = Int(token & 0xffff_ffff) - 1
            guard fd >= 0, fd < watchers.count, watchers[fd].generation == UInt32(truncatingIfNeeded: token >> 32) else { continue }
            watchers[fd].handler?(readiness)
        }
    }

    private func runTimers(until tick: Int64) {
        repeat {
            while let handler = wheel.popDue() { handler() }
        } while wheel.step(limit: tick)
        while let handler = wheel.popDue() { handler() }
    }

    /// Runs jobs and ends of turn until there are none, or for so long that sockets must have their turn. True if some are left.
    private func runReady() -> Bool {
        var budget = 64
        while true {
            runJobs()
            if endsOfTurn.isEmpty { break }
            swap(&endsOfTurn, &spareEnds)
            for handler in spareEnds { handler() }
            spareEnds.removeAll(keepingCapacity: true)
            budget -= 1
            if budget == 0 { return true }
        }
        return !local.isEmpty
    }

    private func runJobs() {
        for _ in 0..<64 {
            inbox.withLock { inbox in
                inbox.isWoken = false
                if !inbox.work.isEmpty {
                    local.append(contentsOf: inbox.work)
                    inbox.work.removeAll(keepingCapacity: inbox.work.capacity < 4096)
                }
            }
            if local.isEmpty { return }
            swap(&local, &running)
            for work in running {
                switch work {
                case .closure(let body): body()
                case .job(let job):
                    unsafe job.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
                }
            }
            running.removeAll(keepingCapacity: running.capacity < 4096)
        }
    }

    // MARK: Manual loops

    /// Runs everything that is ready and lets the virtual clock go on to `limit`, timer by timer. Manual loops only.
    /// Sockets are looked at without waiting.
    public func run(until limit: MonotonicTime) {
        precondition(isManual, "this loop has a thread of its own")
        let before = owner.exchange(cposix_thread_current(), ordering: .relaxed)
        precondition(before == 0, "the loop is running already")
        defer { owner.store(0, ordering: .relaxed) }
        drainManually()
        while let tick = wheel.nextTick, tick <= limit.nanoseconds / Self.tick {
            virtualTime.store(max(now.nanoseconds, tick &* Self.tick), ordering: .relaxed)
            runTimers(until: tick)
            drainManually()
        }
        if limit > now { virtualTime.store(limit.nanoseconds, ordering: .relaxed) }
    }

    /// Runs for that long of virtual time. `run(for: .zero)` runs what is ready.
    public func run(for interval: Interval) { run(until: now + interval) }

    private func drainManually() {
        pollOnce(milliseconds: 0)
        while runReady() { pollOnce(milliseconds: 0) }
    }
}
