// SPDX-License-Identifier: Apache-2.0
//
// One conversation with a speech program, as a machine: octets and what was heard in, octets and effects out. Its speech is
// queued by the world between here and the port (`ProgramLink`), which tells how far it was played:
//
//     written ─────────────┐ mark "a"        ┌ mark "b"
//     ██████████████████████░░░░░░░░░░░░░░░░░░░░░░░░
//     └────── consumed ─────┘└─── queued ─────┘         flush: consumed jumps to written, marks in between are given back

import Essentials

/// What a program port is: the program, its rate, its limits.
public struct ProgramSettings: Sendable, Hashable {
    public enum Target: Sendable, Hashable {
        /// Run by the shell; frames go through its standard input and output.
        case command(String)
        /// A Unix socket on which the program listens.
        case socket(path: String)
    }

    public var target: Target
    /// Samples a second of what it hears and says: 8000...48000.
    public var rate: Int
    /// How much speech may be queued; when there is more, the program is not read until some was played.
    public var speechLimit = Interval.milliseconds(10_000)
    /// Octets that may wait for the program to read them: beyond, what it should hear is dropped and counted.
    public var outputLimit = 1 << 18
    /// Marks that are not reached yet.
    public var markLimit = 1024

    public init(_ target: Target, rate: Int = 16_000) {
        self.target = target
        self.rate = min(max(rate, 8000), 48_000)
    }

    /// Reads what stands after `--program`: `unix:PATH`, or a command.
    public init(parsing text: String, rate: Int = 16_000) {
        let isSocket = text.hasPrefix("unix:")
        self.init(isSocket ? .socket(path: String(text.dropFirst(5))) : .command(text), rate: rate)
    }
}

/// What a program port counts.
public struct ProgramFigures: Sendable, Hashable {
    /// Samples that were given to the program to hear.
    public var heard: UInt64 = 0
    /// Samples that it did not get, because it did not read, or the machine was too slow.
    public var heardLost: UInt64 = 0
    /// Samples of speech that were played.
    public var spoken: UInt64 = 0
    /// Samples of speech that were thrown away by flushes.
    public var flushed: UInt64 = 0
    /// Marks that were reached.
    public var marks: UInt64 = 0
    /// Marks not taken because too many waited.
    public var marksLost: UInt64 = 0
    /// Times that the program had to wait because enough speech was queued.
    public var timesFull: UInt64 = 0

    public init() {}
}

/// The conversation with one program.
public struct ProgramSession: Sendable {
    public enum Effect: Sendable, Hashable {
        /// Put these samples behind what is queued.
        case speak([Int16])
        /// Throw away what is queued.
        case flush
        /// A mark was reached.
        case marked(String)
        /// A control line of the program.
        case said(String)
    }

    private struct Mark: Sendable {
        var position: UInt64
        var name: String
    }

    public let settings: ProgramSettings
    public private(set) var figures = ProgramFigures()
    private var reader = ProgramFrameReader()
    private var effects: [Effect] = []
    private var firstEffect = 0
    private var marks: [Mark] = []
    /// Samples given to be said, and those that were played or flushed, since the beginning.
    private var written: UInt64 = 0
    private var consumed: UInt64 = 0
    /// Up to where a flush was asked for that is not done yet.
    private var flushPosition: UInt64?
    /// The call's time in samples.
    public private(set) var clock: UInt64 = 0
    private var output: [UInt8] = []
    private var isFull = false

    public init(_ settings: ProgramSettings) { self.settings = settings }

    /// Samples of speech that are queued.
    public var queued: UInt64 { written - consumed }
    /// Whether everything that was said has been played.
    public var isQuiet: Bool { queued == 0 && firstEffect == effects.count }
    private var speechLimit: UInt64 {
        UInt64(max(settings.speechLimit.nanoseconds, 0) / 1_000_000) * UInt64(settings.rate) / 1000
    }

    /// Whether the program may be read. False: enough is queued.
    public var wantsInput: Bool { queued < speechLimit }

    // MARK: From the program

    /// Takes octets of the program, as much as `wantsInput` allowed.
    public mutating func receive(_ bytes: some Collection<UInt8>) throws(ProgramFrameError) {
        reader.append(bytes)
        while let frame = try reader.next() { take(frame) }
        if !wantsInput, !isFull { figures.timesFull += 1 }
        isFull = !wantsInput
    }

    private mutating func take(_ frame: ProgramFrame) {
        switch frame.kind {
        case .audio:
            let samples = frame.samples
            guard !samples.isEmpty else { return }
            written += UInt64(samples.count)
            effects.append(.speak(samples))
        case .mark:
            guard marks.count < settings.markLimit else {
                figures.marksLost += 1
                return
            }
            marks.append(Mark(position: written, name: String(decoding: frame.payload, as: UTF8.self)))
            reachMarks()
        case .flush:
            flushPosition = written
            effects.append(.flush)
        case .text: effects.append(.said(String(decoding: frame.payload, as: UTF8.self)))
        }
    }

    public mutating func nextEffect() -> Effect? {
        guard firstEffect < effects.count else { return nil }
        let effect = effects[firstEffect]
        firstEffect += 1
        if firstEffect == effects.count {
            effects.removeAll(keepingCapacity: true)
            firstEffect = 0
        }
        return effect
    }

    // MARK: From the port

    /// How much speech was played (`spoken`) and thrown away (`flushed`) since the beginning, in samples.
    public mutating func advance(spoken: UInt64, flushed: UInt64) {
        let thrown = flushed - min(flushed, figures.flushed)
        figures.spoken = spoken
        figures.flushed = flushed
        consumed = min(spoken + flushed, written)
        if let position = flushPosition, consumed >= position {
            flushPosition = nil
            // What lies before the place at which the flush began was played.
            reachMarks(upTo: position - min(thrown, position))
            let given = marks.filter { $0.position <= position }.map(\.name)
            marks.removeAll { $0.position <= position }
            let names = given.map { "\"" + Self.escaped($0) + "\"" }.joined(separator: ",")
            write(.flush, Array("{\"flushed\":\(thrown),\"marks\":[\(names)]}".utf8))
        } else if flushPosition == nil {
            reachMarks()
        }
        if isFull, wantsInput { isFull = false }
    }

    private mutating func reachMarks() { reachMarks(upTo: consumed) }

    private mutating func reachMarks(upTo position: UInt64) {
        var count = 0
        while count < marks.count, marks[count].position <= position {
            figures.marks += 1
            effects.append(.marked(marks[count].name))
            write(.mark, Array(marks[count].name.utf8))
            count += 1
        }
        if count > 0 { marks.removeFirst(count) }
    }

    /// What the port heard; time goes on by as much.
    public mutating func heard(_ samples: Span<Int16>) {
        var first = 0
        while first < samples.count {
            let count = min(samples.count - first, ProgramFrame.payloadLimit / 2)
            hear(samples.extracting(first..<first + count))
            first += count
        }
    }

    private mutating func hear(_ samples: Span<Int16>) {
        defer { clock += UInt64(samples.count) }
        guard output.count + ProgramFrame.headerSize + 2 * samples.count <= settings.outputLimit else {
            figures.heardLost += UInt64(samples.count)
            return
        }
        figures.heard += UInt64(samples.count)
        ProgramFrame.encodeHeader(
            .audio, count: 2 * samples.count, queued: UInt32(clamping: queued), timestamp: clock, into: &output)
        for index in 0..<samples.count {
            output.append(UInt8(truncatingIfNeeded: samples[index]))
            output.append(UInt8(truncatingIfNeeded: samples[index] >> 8))
        }
    }

    /// What was to be heard and found no room on the way here.
    public mutating func lost(_ count: Int) {
        clock += UInt64(max(count, 0))
        figures.heardLost += UInt64(max(count, 0))
    }

    // MARK: To the program

    /// Tells it an event: one JSON object. Too long a text is left out.
    public mutating func tell(_ text: String) {
        let payload = Array(text.utf8)
        guard payload.count <= ProgramFrame.payloadLimit else { return }
        write(.text, payload)
    }

    /// Frames that are no sound go beyond the limit: there are few, and none may be lost. A program that reads nothing at all
    /// is cut off by the world (`isDeaf`).
    private mutating func write(_ kind: ProgramFrame.Kind, _ payload: [UInt8]) {
        ProgramFrame(kind, payload, queued: UInt32(clamping: queued), timestamp: clock).encode(into: &output)
    }

    /// Twice the limit waits: the program does not read at all.
    public var isDeaf: Bool { output.count > 2 * settings.outputLimit }

    /// Octets for the program that wait.
    public var outputCount: Int { output.count }

    /// Hands out the octets for the program; `body` says how many it took.
    public mutating func drain(_ body: ([UInt8]) -> Int) {
        guard !output.isEmpty else { return }
        let count = min(max(body(output), 0), output.count)
        output.removeFirst(count)
    }

    /// A text within quotes of JSON.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 32:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
