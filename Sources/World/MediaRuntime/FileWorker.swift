// SPDX-License-Identifier: Apache-2.0
//
// The third thread: reads what is to be played, writes what is recorded. It sleeps until it is woken, so that neither
// the loop nor the media thread ever waits for a disk.

import CPosix
import Media
import Synchronization

/// What the loop asks of the file thread.
enum FileJob: Sendable {
    case read(PortID, path: String, loops: Bool, limit: Int)
    case record(PortID, path: String, rate: Int, channels: Int)
    /// A sound device made of files: what its microphone hears, and where its loudspeaker goes; empty: nowhere.
    case device(PortID, input: String, output: String, rate: Int, limit: Int)
    case stop
}

/// What the file thread found.
enum FileResult: Sendable {
    case audio(PortID, WAVAudio, loops: Bool)
    case sink(PortID, RecordingSink)
    case device(PortID, FileDevice)
    case failed(PortID, reason: String)
}

/// The file thread's work. State lies in the mutex, which only it and the loop take, for moments.
final class FileWorker: Sendable {
    private struct Shared {
        var jobs: [FileJob] = []
        var results: [FileResult] = []
    }

    private let shared = Mutex(Shared())
    private let recordings = Mutex(Recordings())
    /// Raised when there is something to do.
    let signal: cposix_signal
    /// Raised when there are results.
    private let output: cposix_signal

    init(signal: cposix_signal, output: cposix_signal) {
        self.signal = signal
        self.output = output
    }

    func submit(_ job: FileJob) {
        shared.withLock { $0.jobs.append(job) }
        cposix_signal_raise(signal)
    }

    func takeResults() -> [FileResult] {
        shared.withLock { shared in
            defer { shared.results = [] }
            return shared.results
        }
    }

    /// The thread's body: until `.stop`, after which every recording has been written to its end.
    func run() {
        while process() { cposix_signal_wait(signal, -1) }
    }

    /// Does what there is to do; false after `.stop`.
    func process() -> Bool {
        let jobs = shared.withLock { shared in
            defer { shared.jobs = [] }
            return shared.jobs
        }
        var isStopped = false
        var results: [FileResult] = []
        for job in jobs {
            switch job {
            case .read(let port, let path, let loops, let limit):
                results.append(Self.read(port, path, loops, limit))
            case .record(let port, let path, let rate, let channels):
                do throws(SystemFile.Failure) {
                    results.append(.sink(port, try record(port, path, rate, channels)))
                } catch {
                    results.append(.failed(port, reason: "\(path): \(error.reason)"))
                }
            case .device(let port, let input, let output, let rate, let limit):
                results.append(device(port, input, output, rate, limit))
            case .stop: isStopped = true
            }
        }
        results += recordings.withLock { $0.flush() }
        if !results.isEmpty {
            shared.withLock { $0.results += results }
            cposix_signal_raise(output)
        }
        return !isStopped
    }

    private func record(_ port: PortID, _ path: String, _ rate: Int, _ channels: Int) throws(SystemFile.Failure) -> RecordingSink {
        let sink = RecordingSink(rate: rate * channels)
        try recordings.withLock { recordings throws(SystemFile.Failure) in
            try recordings.open(port, path, rate, channels, sink)
        }
        return sink
    }

    private func device(_ port: PortID, _ input: String, _ output: String, _ rate: Int, _ limit: Int) -> FileResult {
        var audio: WAVAudio?
        if !input.isEmpty {
            switch Self.read(port, input, false, limit) {
            case .audio(_, let read, _): audio = read
            case let other: return other
            }
        }
        guard !output.isEmpty else { return .device(port, FileDevice(audio, nil, rate: rate)) }
        do throws(SystemFile.Failure) {
            return .device(port, FileDevice(audio, try record(port, output, rate, 1), rate: rate))
        } catch { return .failed(port, reason: "\(output): \(error.reason)") }
    }

    private static func read(_ port: PortID, _ path: String, _ loops: Bool, _ limit: Int) -> FileResult {
        let content: [UInt8]
        do throws(SystemFile.Failure) {
            let file = try SystemFile(path: path, writes: false)
            content = try file.readAll(limit: limit)
        } catch { return .failed(port, reason: "\(path): \(error.reason)") }
        do throws(WAVError) {
            let audio = try WAVAudio(parsing: content)
            guard (8000...192_000).contains(audio.rate) else {
                return .failed(port, reason: "\(path): its rate of \(audio.rate) Hz is out of 8000...192000")
            }
            return .audio(port, audio, loops: loops)
        } catch { return .failed(port, reason: "\(path): \(error.words)") }
    }
}

/// The open recordings. Each flush writes the samples first and then a head that counts them, so that the file is
/// valid whenever it is looked at.
private struct Recordings {
    /// A WAV file counts in 32 bits.
    private static let sizeLimit = 0xffff_ffff - 64

    private final class Recording {
        let port: PortID
        let path: String
        let file: SystemFile
        let sink: RecordingSink
        let channels: Int
        var rate: Int
        var octets = 0
        var hasFailed = false

        init(
            _ port: PortID, _ path: String, _ rate: Int, _ channels: Int, _ sink: RecordingSink
        ) throws(SystemFile.Failure) {
            file = try SystemFile(path: path, writes: true)
            self.port = port
            self.path = path
            self.rate = rate
            self.sink = sink
            self.channels = channels
            try file.write(WAVEncoder(rate: rate, channels: channels).header(sampleCount: 0), at: 0)
        }
    }

    private var open: [Recording] = []
    private var bytes: [UInt8] = []

    mutating func open(
        _ port: PortID, _ path: String, _ rate: Int, _ channels: Int, _ sink: RecordingSink
    ) throws(SystemFile.Failure) {
        open.append(try Recording(port, path, rate, channels, sink))
    }

    /// Writes what has come, and lets go of what is closed.
    mutating func flush() -> [FileResult] {
        var results: [FileResult] = []
        for recording in open {
            let isLast = recording.sink.isClosed
            bytes.removeAll(keepingCapacity: true)
            recording.sink.take(into: &bytes)
            if !bytes.isEmpty, !recording.hasFailed {
                do throws(SystemFile.Failure) {
                    try append(recording)
                } catch {
                    recording.hasFailed = true
                    results.append(.failed(recording.port, reason: "\(recording.path): \(error.reason)"))
                }
            }
            if isLast { open.removeAll { $0 === recording } }
        }
        return results
    }

    private func append(_ recording: Recording) throws(SystemFile.Failure) {
        guard recording.octets + bytes.count <= Self.sizeLimit else {
            throw SystemFile.Failure(reason: "a WAV file cannot be larger than 4 GiB")
        }
        if recording.sink.rate > 0 { recording.rate = recording.sink.rate }
        try recording.file.write(bytes, at: WAVEncoder.headerSize + recording.octets)
        recording.octets += bytes.count
        let encoder = WAVEncoder(rate: recording.rate, channels: recording.channels)
        try recording.file.write(encoder.header(sampleCount: recording.octets / 2), at: 0)
    }
}
