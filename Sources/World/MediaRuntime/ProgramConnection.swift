// SPDX-License-Identifier: Apache-2.0
//
// A speech program and its conversation. Lives on the loop; sound goes to and comes from the media thread by a ring:
//
//      program ◀── socket ──▶ ProgramSession ◀── ProgramRing ──▶ program port of the bridge

import CPosix
import Essentials
import Media
import Networking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Belongs to the loop. `pump` carries what there is, both ways: after each tick, and when the program writes.
final class ProgramConnection {
    let ring: ProgramRing
    private let loop: EventLoop
    private let grace: Interval
    private let emit: (ProgramEvent) -> Void
    /// Called once, when nothing of the program is left.
    private let onGone: () -> Void
    private var session: ProgramSession
    private var descriptor: Int32
    /// nil: there is none, or it has ended.
    private var process: Int32?
    private var status: Int32?
    private var isReading = false
    /// The program says nothing more.
    private var hasEnded = false
    private var isTold = false
    private var isClosed = false
    private var piece: [Int16]
    private var bytes = [UInt8](repeating: 0, count: 1 << 14)

    /// Starts the program or connects to it.
    init(
        _ settings: ProgramSettings, loop: EventLoop, grace: Interval, emit: @escaping (ProgramEvent) -> Void,
        onGone: @escaping () -> Void
    ) throws(SystemFile.Failure) {
        var number: Int32 = 0
        let fd: Int32
        switch settings.target {
        case .command(let command): fd = unsafe cposix_program_start(command, &number)
        case .socket(let path): fd = unsafe cposix_program_connect(path)
        }
        guard fd >= 0 else { throw SystemFile.Failure(-fd) }
        descriptor = fd
        process = number > 0 ? number : nil
        session = ProgramSession(settings)
        self.loop = loop
        self.grace = grace
        self.emit = emit
        self.onGone = onGone
        let limit = Int(max(settings.speechLimit.nanoseconds, 0) / 1_000_000) * settings.rate / 1000
        // One read may go beyond the limit by what it holds.
        ring = ProgramRing(rate: settings.rate, limit: min(limit, 1 << 25) + (1 << 16))
        piece = [Int16](repeating: 0, count: settings.rate / 50)
        emit(.started(process: process))
        session.tell("{\"event\":\"program\",\"state\":\"started\",\"rate\":\(settings.rate)}")
        read()
        if process != nil { watchProcess() }
    }

    func tell(_ text: String) {
        session.tell(text)
        write()
    }

    // MARK: Both ways

    func pump() {
        guard descriptor >= 0 else { return checkEnd() }
        while true {
            let count = ring.takeHeard(into: &piece)
            guard count > 0 else { break }
            let samples = piece
            session.heard(samples.span.extracting(0..<count))
        }
        session.lost(ring.takeMissed())
        let progress = ring.progress
        session.advance(spoken: progress.spoken, flushed: progress.flushed)
        carryOut()
        write()
        if !isReading, !hasEnded, session.wantsInput { read() }
        checkEnd()
    }

    private func read() {
        isReading = true
        loop.watch(descriptor, for: .readable) { [weak self] _ in self?.takeInput() }
    }

    private func pause() {
        guard isReading else { return }
        isReading = false
        loop.unwatch(descriptor)
    }

    private func takeInput() {
        guard descriptor >= 0 else { return }
        // As the descriptor stays readable, the loop comes again for more.
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return -Int(EINVAL) }
            return unsafe cposix_read(descriptor, base, buffer.count)
        }
        if count == -Int(EAGAIN) || count == -Int(EINTR) { return }
        guard count > 0 else {
            hasEnded = true
            if isClosed { disconnect() } else { pause() }
            return checkEnd()
        }
        // After the call: what it still writes goes nowhere, but it does not have to wait for that.
        if isClosed { return }
        do throws(ProgramFrameError) {
            try session.receive(bytes[..<count])
        } catch {
            return fail("it wrote what is no frame (docs/program-port.md): \(Self.shown(error.found))")
        }
        carryOut()
        if !session.wantsInput { pause() }
    }

    private func carryOut() {
        while let effect = session.nextEffect() {
            switch effect {
            case .speak(let samples): _ = ring.say(samples)
            case .flush: ring.flush()
            case .marked(let name): emit(.marked(name))
            case .said(let text): emit(.said(text))
            }
        }
    }

    private func write() {
        guard descriptor >= 0 else { return }
        let fd = descriptor
        var isBroken = false
        session.drain { octets in
            let count = unsafe octets.withUnsafeBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return 0 }
                return unsafe cposix_write(fd, base, buffer.count)
            }
            // It does not read any more: what it says is still heard.
            if count < 0, count != -Int(EAGAIN), count != -Int(EINTR) { isBroken = true }
            return isBroken ? octets.count : max(count, 0)
        }
        if session.isDeaf { fail("it does not read what it hears and is told") }
    }

    // MARK: Ends

    private func fail(_ reason: String) {
        guard !isTold else { return }
        isTold = true
        hasEnded = true
        emit(.failed(reason: reason))
        disconnect()
        if let process { cposix_program_end(process, 0) }
    }

    /// Tells the end once everything that was said has been played, and the program's status is known.
    private func checkEnd() {
        guard hasEnded, process == nil || isClosed else { return }
        if !isTold {
            guard session.isQuiet else { return }
            isTold = true
            emit(.ended(status: status, session.figures))
        }
        disconnect()
        if process == nil, isClosed { onGone() }
    }

    private func disconnect() {
        guard descriptor >= 0 else { return }
        pause()
        cposix_close(descriptor)
        descriptor = -1
    }

    /// The port is closed: the program hears the end of its input, and is ended if it stays.
    func close() {
        guard !isClosed else { return }
        pump()
        isClosed = true
        if !isTold {
            isTold = true
            emit(.ended(status: status, session.figures))
        }
        if descriptor >= 0 {
            cposix_shutdown_write(descriptor)
            if !hasEnded { read() }
        }
        hasEnded = true
        guard process != nil else {
            disconnect()
            return onGone()
        }
        end(after: grace, insists: false)
    }

    private func end(after time: Interval, insists: Bool) {
        loop.schedule(at: loop.now + time) { [self] in
            guard let process else { return }
            cposix_program_end(process, insists ? 1 : 0)
            if !insists { end(after: .milliseconds(500), insists: true) }
        }
    }

    private func watchProcess() {
        loop.schedule(at: loop.now + .milliseconds(50)) { [weak self] in
            guard let self, process != nil else { return }
            if takeStatus() {
                if isClosed {
                    disconnect()
                    onGone()
                } else {
                    checkEnd()
                }
            } else {
                watchProcess()
            }
        }
    }

    private func takeStatus() -> Bool {
        guard let number = process else { return true }
        var word: Int32 = 0
        guard unsafe cposix_program_status(number, &word) == 1 else { return false }
        process = nil
        status = word >= 0 ? word : nil
        return true
    }

    /// Ends the program now, and waits for it, `time` at most and a moment more.
    func stop(within time: Interval) {
        if !isClosed {
            isClosed = true
            write()
            if descriptor >= 0 { cposix_shutdown_write(descriptor) }
        }
        var limit = cposix_monotonic() + time.nanoseconds
        // Asked once, then ended; one that the system does not let go of is left behind.
        var asked = 0
        while asked < 6, !takeStatus() {
            if cposix_monotonic() >= limit, let process {
                cposix_program_end(process, asked > 0 ? 1 : 0)
                asked += 1
                limit = cposix_monotonic() + 100_000_000
            }
            cposix_sleep_until(cposix_monotonic() + 5_000_000)
        }
        disconnect()
    }

    private static func shown(_ octets: [UInt8]) -> String {
        "\""
            + octets.map { $0 >= 32 && $0 < 127 ? String(UnicodeScalar($0)) : "\\x" + String(Int($0) + 256, radix: 16).dropFirst() }
            .joined() + "\""
    }
}
