// SPDX-License-Identifier: Apache-2.0
//
// The media thread's work. It owns the engine; everything reaches it and leaves it by rings:
//
//      loop ── orders, packets ──▶ [ take, receive, tick, publish ] ──▶ packets, notices ── one wake ──▶ loop
//                                   every 10 ms, or asleep while no port is open

import CPosix
import Essentials
import Media
import Synchronization

/// What the loop wants of the media thread, in order.
enum MediaOrder: Sendable {
    case command(MediaCommand)
    case player(PortID, WAVAudio, loops: Bool)
    case recorder(PortID, RecordingSink)
    case device(PortID, any SoundDevice, rate: Int)
    case program(PortID, ProgramRing)
    case processor(PortID, (any VoiceProcessor)?)
    case stop
}

/// What the media thread tells the loop, in order.
enum MediaNotice: Sendable {
    case event(MediaEvent)
    /// Every packet of the port is in the ring: its sockets may be closed.
    case closed(PortID)
}

/// `@unchecked Sendable`: fields below "media thread only" are touched by the thread that calls `run` (or, on a manual
/// loop, `cycle`); everything else is a ring, an atomic or constant.
final class MediaWorker: @unchecked Sendable {
    static let frame: Int64 = 10_000_000

    private let orders = SPSCRing<MediaOrder>(capacity: 1024)
    private let notices = SPSCRing<MediaNotice>(capacity: 1024)
    let inbound: PacketRing
    let outbound: PacketRing
    private let isAsleep = Atomic<Bool>(false)
    private let wake: cposix_signal
    private let output: cposix_signal
    private let files: cposix_signal
    private let catchUpLimit: Int64

    private let ticks = Atomic<UInt64>(0)
    private let skipped = Atomic<UInt64>(0)
    private let dropped = Atomic<UInt64>(0)
    private let worstLateness = Atomic<Int64>(0)

    // MARK: media thread only

    private let engine: MediaEngine
    private var open: Set<PortID> = []
    private var recorders: Set<PortID> = []
    private var programs: Set<PortID> = []
    private var waiting: [MediaNotice] = []
    private var hasOutput = false
    private var isStopped = false

    init(
        configuration: MediaRuntimeConfiguration, random: RandomSource, wake: cposix_signal, output: cposix_signal,
        files: cposix_signal
    ) {
        engine = MediaEngine(configuration: configuration.engine, random: random)
        inbound = PacketRing(capacity: configuration.packetRing)
        outbound = PacketRing(capacity: configuration.packetRing)
        catchUpLimit = configuration.catchUpLimit.nanoseconds
        self.wake = wake
        self.output = output
        self.files = files
    }

    // MARK: From the loop

    /// False if the ring is full: give it again later.
    func submit(_ order: MediaOrder) -> Bool {
        guard orders.push(order) else { return false }
        // Pairs with the fence in `sleepUntilWoken`: either the thread sees the order or we see that it sleeps.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if isAsleep.load(ordering: .relaxed) { cposix_signal_raise(wake) }
        return true
    }

    func nextNotice() -> MediaNotice? { notices.pop() }

    func figures(isRealTime: Bool) -> MediaThreadFigures {
        var figures = MediaThreadFigures()
        figures.ticks = ticks.load(ordering: .relaxed)
        figures.skipped = skipped.load(ordering: .relaxed)
        figures.packetsDropped = dropped.load(ordering: .relaxed)
        figures.worstLateness = Interval(nanoseconds: worstLateness.load(ordering: .relaxed))
        figures.isRealTime = isRealTime
        return figures
    }

    // MARK: The thread

    /// The thread's body, until `.stop`.
    func run() {
        var deadline = cposix_monotonic()
        while true {
            takeOrders(now: MonotonicTime(nanoseconds: cposix_monotonic()))
            if isStopped || open.isEmpty && waiting.isEmpty {
                tellLoop()
                if isStopped { return }
                sleepUntilWoken()
                deadline = cposix_monotonic()
                continue
            }
            takePackets()
            let now = cposix_monotonic()
            noteLateness(now - deadline)
            if now - deadline > catchUpLimit {
                skipped.wrappingAdd(UInt64((now - deadline) / Self.frame), ordering: .relaxed)
                deadline = now
            }
            repeat {
                tick(at: MonotonicTime(nanoseconds: deadline))
                deadline += Self.frame
            } while deadline <= now
            tellLoop()
            cposix_sleep_until(deadline)
        }
    }

    /// One frame, for a loop with a virtual clock. False while no port is open and all is told: nothing needs to be called then.
    func cycle(at now: MonotonicTime) -> Bool {
        takeOrders(now: now)
        takePackets()
        let isActive = !open.isEmpty && !isStopped
        if isActive { tick(at: now) } else if !waiting.isEmpty { publish() }
        tellLoop()
        return isActive || !waiting.isEmpty
    }

    private func noteLateness(_ lateness: Int64) {
        if lateness > worstLateness.load(ordering: .relaxed) { worstLateness.store(lateness, ordering: .relaxed) }
    }

    private func sleepUntilWoken() {
        isAsleep.store(true, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if orders.isEmpty { cposix_signal_wait(wake, -1) }
        isAsleep.store(false, ordering: .relaxed)
    }

    private func takePackets() {
        while inbound.pop({ head, packet in
            engine.receive(packet, on: head.portID, kind: head.packetKind, from: head.remote, at: head.arrival)
        }) {}
    }

    private func tick(at now: MonotonicTime) {
        engine.tick(now: now)
        let count = ticks.wrappingAdd(1, ordering: .relaxed).newValue
        publish()
        // Files are written every second frame: half the wake-ups, and still within 20 ms of being played.
        if !recorders.isEmpty, count & 1 == 0 { cposix_signal_raise(files) }
        // The loop carries what programs hear and say.
        if !programs.isEmpty { hasOutput = true }
    }

    private func takeOrders(now: MonotonicTime) {
        while !isStopped, let order = orders.pop() {
            switch order {
            case .command(let command): take(command, now: now)
            case .player(let port, let audio, let loops):
                if open.contains(port) { engine.openPlayer(port, samples: audio.samples, rate: audio.rate, loops: loops) }
            case .recorder(let port, let sink):
                if open.contains(port) { engine.openRecorder(port, sink: sink) } else { sink.close() }
                cposix_signal_raise(files)
            case .device(let port, let device, let rate):
                if open.contains(port) { engine.openDevice(port, device: device, rate: rate) }
                if device is FileDevice, open.contains(port) { recorders.insert(port) }
            case .program(let port, let ring):
                guard open.contains(port) else { break }
                programs.insert(port)
                engine.openProgram(port, link: ring)
            case .processor(let port, let processor): if open.contains(port) { engine.setProcessor(port, processor) }
            case .stop:
                for port in open.sorted() { close(port, now: now) }
                isStopped = true
            }
            publish()
        }
    }

    private func take(_ command: MediaCommand, now: MonotonicTime) {
        switch command {
        case .openStream(let port, _), .openPlayer(let port, _, _), .openTone(let port, _), .openEcho(let port),
            .openDevice(let port, _), .openProgram(let port, _):
            open.insert(port)
        case .openSplitRecorder(let port, let right, _):
            open.insert(port)
            open.insert(right)
            recorders.insert(port)
        case .openRecorder(let port, _):
            open.insert(port)
            recorders.insert(port)
        case .closePort(let port): return close(port, now: now)
        case .configureStream, .connect, .disconnect, .tap, .setGain, .setVolume, .reportLevels, .startPlayer, .sendDigits,
            .reportStatistics, .tellProgram, .processVoice:
            break
        }
        engine.handle(command, now: now)
    }

    private func close(_ port: PortID, now: MonotonicTime) {
        engine.handle(.closePort(port), now: now)
        publish()
        open.remove(port)
        programs.remove(port)
        if recorders.remove(port) != nil { cposix_signal_raise(files) }
        notify(.closed(port))
    }

    // MARK: To the loop

    /// Moves what the engine has into the rings. An event waits in the engine while the ring is full.
    private func publish() {
        while let packet = engine.nextPacket() {
            hasOutput = true
            let isTaken = outbound.push(packet.bytes.span, port: packet.port, kind: packet.kind, remote: packet.to, time: .zero)
            if !isTaken { dropped.wrappingAdd(1, ordering: .relaxed) }
        }
        var told = 0
        while told < waiting.count, notices.push(waiting[told]) { told += 1 }
        if told > 0 {
            waiting.removeFirst(told)
            hasOutput = true
        }
        while waiting.isEmpty, notices.hasRoom, let event = engine.nextEvent() { notify(.event(event)) }
    }

    private func notify(_ notice: MediaNotice) {
        hasOutput = true
        if !waiting.isEmpty || !notices.push(notice) { waiting.append(notice) }
    }

    private func tellLoop() {
        guard hasOutput else { return }
        hasOutput = false
        cposix_signal_raise(output)
    }
}
