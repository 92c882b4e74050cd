// SPDX-License-Identifier: Apache-2.0

import Essentials
import Networking
import Synchronization
import Testing

private actor Counter {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var count = 0
    private(set) var wasOnLoop = true

    init(loop: EventLoop) { self.loop = loop }

    func add() -> Int {
        wasOnLoop = wasOnLoop && loop.isCurrent
        count += 1
        return count
    }

    func addLater(after interval: Interval) {
        loop.schedule(at: loop.now + interval) { [weak self] in
            self?.assumeIsolated { _ = $0.add() }
        }
    }
}

@Suite struct EventLoopTests {
    @Test func `an actor on the loop runs on its thread, called from any task`() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let counter = Counter(loop: loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<200 { _ = await counter.add() } }
            }
        }
        #expect(await counter.count == 1600)
        #expect(await counter.wasOnLoop)
    }

    @Test func `a task that prefers the loop stays on it over suspensions`() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let counter = Counter(loop: loop)
        let stayed = await Task(executorPreference: loop) {
            var stayed = loop.isCurrent
            for _ in 0..<100 {
                _ = await counter.add()
                stayed = stayed && loop.isCurrent
                await Task.yield()
                stayed = stayed && loop.isCurrent
            }
            return stayed
        }.value
        #expect(stayed)
    }

    @Test func `closures from one thread run in order`() throws {
        try withLoop { loop in
            let inbox = Inbox<Int>()
            for index in 0..<1000 { loop.execute { inbox.put(index) } }
            for index in 0..<1000 { #expect(inbox.take() == index) }
        }
    }

    @Test func `a timer of the thread fires at or after its time, a cancelled one never`() throws {
        try withLoop { loop in
            let fired = Inbox<(MonotonicTime, Int)>()
            let due = loop.now + .milliseconds(15)
            loop.execute {
                let cancelled = loop.schedule(at: loop.now + .milliseconds(5)) { fired.put((loop.now, 1)) }
                loop.schedule(at: due) { fired.put((loop.now, 2)) }
                #expect(loop.cancel(cancelled))
                #expect(!loop.cancel(cancelled))
            }
            let (time, name) = try #require(fired.take())
            #expect(name == 2)
            #expect(time >= due)
        }
    }

    @Test func `ends of turn run after the jobs of the turn`() throws {
        try withLoop { loop in
            let order = Inbox<String>()
            loop.execute {
                loop.atEndOfTurn { order.put("end") }
                loop.execute { order.put("job") }
                order.put("first")
            }
            #expect(order.take() == "first")
            #expect(order.take() == "job")
            #expect(order.take() == "end")
        }
    }

    @Test func `stop ends the thread`() throws {
        let loop = try EventLoop(name: "test")
        loop.stop()
        loop.join()
        loop.execute { Issue.record("ran after the end") }
    }
}

@Suite struct ManualLoopTests {
    @Test func `an hour of timers runs in virtual time, in order`() throws {
        let loop = try EventLoop.manual()
        let log = OnLoop(value: Log())
        loop.execute {
            for second in [3600, 1, 32, 5, 4, 600] {
                loop.schedule(at: .zero + .seconds(Int64(second))) { log.value.entries.append((second, loop.now)) }
            }
        }
        loop.run(until: .zero + .seconds(Int64(3600)))
        #expect(log.value.entries.map(\.0) == [1, 4, 5, 32, 600, 3600])
        #expect(log.value.entries.allSatisfy { $0.1 == .zero + .seconds(Int64($0.0)) })
        #expect(loop.now == .zero + .seconds(Int64(3600)))
        #expect(loop.pendingTimers == 0)
    }

    @Test func `an actor works in virtual time on the calling thread`() throws {
        let loop = try EventLoop.manual(startingAt: MonotonicTime(nanoseconds: 7))
        let counter = Counter(loop: loop)
        let seen = Inbox<Int>()
        Task(executorPreference: loop) {
            await counter.addLater(after: .seconds(Int64(10)))
            seen.put(await counter.count)
        }
        loop.run(for: .zero)
        #expect(seen.take(seconds: 0) == 0)
        loop.run(for: .seconds(Int64(9)))
        Task(executorPreference: loop) { seen.put(await counter.count) }
        loop.run(for: .zero)
        #expect(seen.take(seconds: 0) == 0)
        loop.run(for: .milliseconds(1001))
        Task(executorPreference: loop) { seen.put(await counter.count) }
        loop.run(for: .zero)
        #expect(seen.take(seconds: 0) == 1)
    }

    @Test func `a moved deadline fires once, at its last place`() throws {
        let loop = try EventLoop.manual()
        let log = OnLoop(value: Log())
        loop.execute {
            let timer = LoopTimer(loop: loop) { log.value.entries.append((0, loop.now)) }
            log.value.timer = timer
            timer.set(.zero + .seconds(Int64(1)))
            timer.set(.zero + .seconds(Int64(3)))
            timer.set(.zero + .seconds(Int64(2)))
        }
        loop.run(until: .zero + .seconds(Int64(10)))
        #expect(log.value.entries.map(\.1) == [.zero + .seconds(Int64(2))])
    }

    /// Compares the wheel with a sorted list over many random schedules, cancellations and rounds.
    @Test(arguments: 0..<20) func `the wheel fires like a sorted list`(seed: UInt64) throws {
        let loop = try EventLoop.manual()
        let log = OnLoop(value: Log())
        let expected = Mutex<[Int]>([])
        loop.execute {
            var random = SplitMix64(seed: seed)
            var armed: [(tick: Int64, id: Int, token: TimerToken)] = []
            for id in 0..<500 {
                let tick = Int64.random(in: 1...20_000, using: &random)
                let token = loop.schedule(at: .zero + .milliseconds(tick)) { log.value.entries.append((id, loop.now)) }
                armed.append((tick, id, token))
                if id % 3 == 0, let victim = armed.indices.randomElement(using: &random) {
                    #expect(loop.cancel(armed[victim].token))
                    armed.remove(at: victim)
                }
            }
            let order = armed.sorted { ($0.tick, $0.id) < ($1.tick, $1.id) }.map(\.id)
            expected.withLock { $0 = order }
        }
        loop.run(until: .zero + .milliseconds(20_000))
        #expect(log.value.entries.map(\.0) == expected.withLock { $0 })
        #expect(loop.pendingTimers == 0)
    }

    @Test func `a timer may cancel another that is due in the same tick`() throws {
        let loop = try EventLoop.manual()
        let log = OnLoop(value: Log())
        loop.execute {
            let time = MonotonicTime.zero + .milliseconds(3)
            loop.schedule(at: time) {
                if let victim = log.value.victim { loop.cancel(victim) }
                log.value.entries.append((1, loop.now))
            }
            log.value.victim = loop.schedule(at: time) { log.value.entries.append((2, loop.now)) }
            loop.schedule(at: time) { log.value.entries.append((3, loop.now)) }
        }
        loop.run(for: .milliseconds(10))
        #expect(log.value.entries.map(\.0) == [1, 3])
    }
}

private final class Log {
    var entries: [(Int, MonotonicTime)] = []
    var timer: LoopTimer?
    var victim: TimerToken?
}
