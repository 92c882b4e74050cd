// SPDX-License-Identifier: Apache-2.0
//
// The world's side of the media engine: sockets on the loop, the engine on a real-time thread, files on a third.
//
//      perform ──▶ sockets, files │ orders ──▶ media thread ──▶ packets ──▶ sockets
//      onEvent ◀────────────────────────────── events

import CPosix
import Essentials
import Media
import Networking

/// Runs the media of a phone. Belongs to the loop; threads start with the first port and sleep while none is open.
///
/// On a manual loop nothing has a thread: the engine ticks by the loop's timer, in virtual time, and files are read and
/// written on the spot.
public final class MediaRuntime {
    let loop: EventLoop
    let configuration: MediaRuntimeConfiguration
    private let random: RandomSource
    private let onEvent: (MediaEvent) -> Void

    var running: Running?
    private var pairs: PortPairs
    private var streams: [PortID: StreamSockets] = [:]
    private var backlog: [MediaOrder] = []
    private var events: [MediaEvent] = []
    private var isDeliveryPlanned = false
    private var isStopped = false
    private var devices = DeviceWatch()
    var programs: [PortID: ProgramConnection] = [:]
    private var manualTimer: TimerToken?
    /// When a packet that was not sent is told again at the earliest.
    private var nextTrouble = MonotonicTime.zero
    private var isRealTime = false
    public internal(set) var counters = Counters<MediaRuntimeCounter>()

    /// What exists once the first port was opened.
    struct Running {
        let media: MediaWorker
        let files: FileWorker
        var signals: [cposix_signal]
        let output: cposix_signal
        var threads: [UInt] = []
    }

    /// `random` must not be used by anyone else: it goes to the media thread. `onEvent` is called on the loop, never from
    /// inside `perform`.
    public init(
        loop: EventLoop, configuration: MediaRuntimeConfiguration = MediaRuntimeConfiguration(), random: sending RandomSource,
        onEvent: @escaping (MediaEvent) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.random = random
        self.onEvent = onEvent
        var options = DatagramOptions()
        options.reportsErrors = false
        options.codePoint = configuration.codePoint
        options.batch = 8
        options.receiveBuffer = 1 << 18
        pairs = PortPairs(address: configuration.address, ports: configuration.ports, options: options)
    }

    /// Does its part of a command and hands the engine its own; the order is kept.
    public func perform(_ command: MediaCommand) {
        guard !isStopped else { return }
        switch command {
        case .openStream(let port, _): openStream(port, command)
        case .openPlayer(let port, let path, let loops):
            guard let running = start(port) else { return }
            order(.command(command))
            running.files.submit(.read(port, path: path, loops: loops, limit: configuration.playerFileLimit))
            afterFileJob()
        case .openRecorder(let port, let path):
            guard let running = start(port) else { return }
            order(.command(command))
            running.files.submit(.record(port, path: path, rate: configuration.engine.bridgeRate, channels: 1))
            afterFileJob()
        case .openSplitRecorder(let port, _, let path):
            guard let running = start(port) else { return }
            order(.command(command))
            running.files.submit(.record(port, path: path, rate: configuration.engine.bridgeRate, channels: 2))
            afterFileJob()
        case .openTone(let port, _), .openEcho(let port):
            guard start(port) != nil else { return }
            order(.command(command))
        case .openDevice(let port, let name): openDevice(port, name)
        case .openProgram(let port, let settings): openProgram(port, settings)
        case .tellProgram(let port, let text): programs[port]?.tell(text)
        case .processVoice(let port, let wanted): processVoice(port, wanted)
        case .closePort(let port):
            guard running != nil else { return }
            // Before its call's last figures, with which a phone may end.
            programs[port]?.close()
            order(.command(command))
        case .configureStream, .connect, .disconnect, .tap, .setGain, .setVolume, .reportLevels, .startPlayer, .sendDigits,
            .reportStatistics:
            guard running != nil else { return }
            order(.command(command))
        }
    }

    /// Closes every port, sends what is left (RTCP BYE), writes the files to their end, ends the threads. Waits for them:
    /// a frame of 10 ms and what the disk needs. No event follows.
    public func stop() {
        guard !isStopped else { return }
        isStopped = true
        events = []
        if let manualTimer { loop.cancel(manualTimer) }
        guard let running else { return }
        self.running = nil
        backlog.append(.stop)
        var media = running.threads.first
        while let next = backlog.first {
            if running.media.submit(next) { backlog.removeFirst() } else if media == nil { _ = running.media.cycle(at: loop.now) }
        }
        if let handle = media { cposix_thread_join(handle) } else { _ = running.media.cycle(at: loop.now) }
        media = nil
        sendPackets(running.media)
        // Before the files: a device may be made of them.
        devices.close()
        // A recording that was asked for and not yet begun has no engine any more: its sink is closed here.
        running.files.submit(.stop)
        if running.threads.count > 1 { cposix_thread_join(running.threads[1]) } else { _ = running.files.process() }
        loop.unwatch(running.output.reader)
        for signal in running.signals { cposix_signal_close(signal) }
        for port in streams.keys.sorted() { streams[port]?.close() }
        streams = [:]
        endPrograms()
    }

    /// How the media thread has kept its time; nil before it started.
    public var figures: MediaThreadFigures? { running?.media.figures(isRealTime: isRealTime) }

    // MARK: Start

    func start(_ port: PortID) -> Running? {
        if let running { return running }
        do throws(NetworkError) {
            let made = try makeRunning()
            running = made
            return made
        } catch {
            emit(.fileFailed(port, reason: error.reason))
            return nil
        }
    }

    private func makeRunning() throws(NetworkError) -> Running {
        var signals: [cposix_signal] = []
        for _ in 0..<3 {
            var signal = cposix_signal()
            let status = unsafe cposix_signal_open(&signal)
            guard status == 0 else {
                for signal in signals { cposix_signal_close(signal) }
                throw NetworkError(.exhausted, "The system has no room for the media threads.", context: "media", errorNumber: -status)
            }
            signals.append(signal)
        }
        let media = MediaWorker(
            configuration: configuration, random: random, wake: signals[0], output: signals[1], files: signals[2])
        let files = FileWorker(signal: signals[2], output: signals[1])
        var running = Running(media: media, files: files, signals: signals, output: signals[1])
        loop.watch(signals[1].reader, for: .readable) { [self] _ in takeOutput() }
        guard !loop.isManual else { return running }
        var granted: Int32 = 0
        let first = startThread("handset-media", realTime: configuration.realTime ? 20 : 0, &granted) { media.run() }
        isRealTime = granted != 0
        let second = first == nil ? nil : startThread("handset-files", realTime: 0, &granted) { files.run() }
        guard let first, let second else {
            // Without its threads nothing was handed to anyone; what was opened is given back.
            if let first {
                _ = media.submit(.stop)
                cposix_thread_join(first)
            }
            loop.unwatch(signals[1].reader)
            for signal in signals { cposix_signal_close(signal) }
            throw NetworkError(.exhausted, "The system gives no thread for media.", context: "media")
        }
        running.threads = [first, second]
        return running
    }

    private func startThread(
        _ name: String, realTime: Int32, _ granted: inout Int32, _ body: @escaping @Sendable () -> Void
    ) -> UInt? {
        let box = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
        var handle: UInt = 0
        let status = unsafe cposix_thread_start(
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().body()
            }, box, name, realTime, &granted, &handle)
        guard status == 0 else {
            unsafe Unmanaged<ThreadBody>.fromOpaque(box).release()
            return nil
        }
        return handle
    }

    // MARK: Streams

    private func openStream(_ port: PortID, _ command: MediaCommand) {
        do throws(NetworkError) {
            guard streams[port] == nil else {
                throw NetworkError(.system, "The port is open already.", context: "media port \(port.rawValue)")
            }
            if running == nil { running = try makeRunning() }
            let sockets = try pairs.open(on: loop)
            streams[port] = sockets
            receive(sockets.rtp, port, .rtp)
            receive(sockets.rtcp, port, .rtcp)
            order(.command(command))
            var local = sockets.rtp.local
            if local.ip.isUnspecified, !configuration.tellsUnspecified { local.ip = primaryAddress(like: local.ip) }
            emit(.streamOpened(port, rtp: local))
        } catch {
            counters.increment(.streamsFailed)
            emit(.streamFailed(port, reason: error.reason))
        }
    }

    private func receive(_ socket: DatagramSocket, _ port: PortID, _ kind: PacketKind) {
        guard let ring = running?.media.inbound else { return }
        socket.onReceive = { [self] packet, from, time in
            // A manual loop lives in its own time, the kernel does not.
            let arrival = loop.isManual ? loop.now : time
            if !ring.push(packet, port: port, kind: kind, remote: from, time: arrival) {
                counters.increment(.packetsDroppedInbound)
            }
        }
    }

    private func sendPackets(_ media: MediaWorker) {
        while media.outbound.pop({ head, packet in
            guard let sockets = streams[head.portID] else { return }
            if !sockets.socket(head.packetKind).sendNow(packet, to: head.remote) { noteTrouble(head.portID) }
        }) {}
    }

    // MARK: Devices

    private func openDevice(_ port: PortID, _ name: String) {
        guard let running = start(port) else { return }
        order(.command(.openDevice(port, name: name)))
        if let files = FileDevice.files(name) {
            running.files.submit(
                .device(
                    port, input: files.input, output: files.output, rate: configuration.engine.bridgeRate,
                    limit: configuration.playerFileLimit))
            return afterFileJob()
        }
        guard let make = configuration.devices else {
            return emit(.deviceChanged(port, .failed(reason: "this program has no sound devices")))
        }
        let rate = configuration.deviceRate ?? configuration.engine.bridgeRate
        add(make(name, rate), port, rate: rate)
    }

    private func add(_ device: any SoundDevice, _ port: PortID, rate: Int) {
        let isFirst = devices.isEmpty
        devices.add(port, device)
        order(.device(port, device, rate: rate))
        if isFirst { watchDevices() }
    }

    private func watchDevices() {
        loop.schedule(at: loop.now + DeviceWatch.period) { [weak self] in
            guard let self, !isStopped, !devices.isEmpty else { return }
            for (port, state) in devices.changes() { emit(.deviceChanged(port, state)) }
            watchDevices()
        }
    }

    private func noteTrouble(_ port: PortID) {
        counters.increment(.packetsNotSent)
        let now = loop.now
        guard now >= nextTrouble else { return }
        nextTrouble = now + .milliseconds(50)
        emit(.trouble(port, .sendFailed))
    }

    // MARK: Between the threads

    func order(_ order: MediaOrder) {
        guard let running else { return }
        if !backlog.isEmpty || !running.media.submit(order) {
            // The media thread empties its ring every 10 ms.
            if backlog.isEmpty { loop.schedule(at: loop.now + .milliseconds(10)) { [self] in submitBacklog() } }
            backlog.append(order)
        }
        if loop.isManual { tickManually() }
    }

    private func submitBacklog() {
        guard let running else { return }
        var sent = 0
        while sent < backlog.count, running.media.submit(backlog[sent]) { sent += 1 }
        backlog.removeFirst(sent)
        if !backlog.isEmpty { loop.schedule(at: loop.now + .milliseconds(10)) { [self] in submitBacklog() } }
    }

    private func takeOutput() {
        guard let running else { return }
        cposix_signal_clear(running.output)
        for result in running.files.takeResults() {
            switch result {
            case .audio(let port, let audio, let loops): order(.player(port, audio, loops: loops))
            case .sink(let port, let sink): order(.recorder(port, sink))
            case .device(let port, let device): add(device, port, rate: configuration.engine.bridgeRate)
            case .failed(let port, let reason):
                counters.increment(.filesFailed)
                emit(.fileFailed(port, reason: reason))
            }
        }
        sendPackets(running.media)
        while let notice = running.media.nextNotice() {
            switch notice {
            case .event(let event): emit(event)
            case .closed(let port):
                sendPackets(running.media)
                streams.removeValue(forKey: port)?.close()
                // The media thread has let go of it.
                if let device = devices.remove(port) {
                    device.close()
                    if device is FileDevice { cposix_signal_raise(running.files.signal) }
                }
            }
        }
        for port in programs.keys.sorted() { programs[port]?.pump() }
        deliver()
    }

    func emit(_ event: MediaEvent) {
        events.append(event)
        guard !isDeliveryPlanned else { return }
        isDeliveryPlanned = true
        loop.atEndOfTurn { [self] in
            isDeliveryPlanned = false
            deliver()
        }
    }

    private func deliver() {
        while !events.isEmpty, !isStopped {
            let batch = events
            events = []
            for event in batch where !isStopped { onEvent(event) }
        }
    }

    // MARK: Manual loops

    /// Ticks every 10 ms of virtual time while a port is open.
    private func tickManually() {
        guard manualTimer == nil else { return }
        manualTimer = loop.schedule(at: loop.now + .milliseconds(10)) { [self] in
            manualTimer = nil
            guard let running else { return }
            let isActive = running.media.cycle(at: loop.now)
            _ = running.files.process()
            takeOutput()
            if isActive { tickManually() }
        }
    }

    private func afterFileJob() {
        guard loop.isManual, let running else { return }
        _ = running.files.process()
        loop.atEndOfTurn { [self] in takeOutput() }
    }
}

/// Carries a closure into a thread.
private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
