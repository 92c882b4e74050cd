// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The way between a program port and its program. Called on the thread that ticks: nothing here waits or allocates.
public protocol ProgramLink: AnyObject {
    /// Samples a second that the program hears and says, 8000...48000.
    var rate: Int { get }
    /// What the program is to hear next.
    func hear(_ samples: Span<Int16>)
    /// Puts the program's next samples, `count` at most, to the front of `samples`; gives how many there were.
    func speak(_ count: Int, into samples: inout [Int16]) -> Int
    /// The port was closed: nothing follows.
    func close()
}

/// What a program port tells.
public enum ProgramEvent: Sendable, Hashable {
    /// The program runs, or its socket is open; `process` is its number.
    case started(process: Int32?)
    /// It could not be started, or broke the rules of the conversation.
    case failed(reason: String)
    /// Playing reached a mark of the program.
    case marked(String)
    /// A control line of the program (docs/events.md).
    case said(String)
    /// It ended by itself, or closed its socket, and all that it had said was played. `status`: of its end, or 128 and the
    /// number of the signal.
    case ended(status: Int32?, ProgramFigures)
}

/// A program that hears what is joined to the port, and speaks.
final class ProgramPort: BridgePort {
    private var link: (any ProgramLink)?
    private var speech: Resampler?
    private var hearing: Resampler?
    private var chunk: [Int16] = []
    private var heard: [Int16] = []
    /// Inputs that the resampler still holds of speech that is over.
    private var tail = 0

    override var consumes: Bool { link != nil }

    func open(_ link: any ProgramLink, speech: ResamplerFilter?, hearing: ResamplerFilter?) {
        self.link?.close()
        self.link = link
        self.speech = speech.map { Resampler($0) }
        self.hearing = hearing.map { Resampler($0) }
        let frame = link.rate / 100 + 1
        chunk = [Int16](repeating: 0, count: 2 * max(frame, output.count) + 64)
        heard = chunk
    }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let link else { return silence() }
        let needed = min(chunk.count, speech?.inputNeeded(for: output.count) ?? output.count)
        let count = min(max(link.speak(needed, into: &chunk), 0), needed)
        guard count > 0 || tail > 0 else { return silence() }
        for index in count..<needed { chunk[index] = 0 }
        isSilent = false
        if speech == nil {
            Samples.copy(chunk, 0..<needed, to: &output)
            return
        }
        tail = count > 0 ? speech?.filter.tapsPerPhase ?? 0 : tail - needed
        let made = speech?.process(chunk, 0..<needed, into: &output) ?? 0
        for index in made..<max(made, output.count) { output[index] = 0 }
    }

    private func silence() {
        if !isSilent { Samples.clear(&output) }
        isSilent = true
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let link else { return }
        guard hearing != nil else { return link.hear(frame.span) }
        let count = hearing?.process(frame.span, into: &heard) ?? 0
        let samples = heard
        link.hear(samples.span.extracting(0..<min(count, samples.count)))
    }

    override func close(now: MonotonicTime, _ outbox: MediaOutbox) {
        link?.close()
        link = nil
    }
}
