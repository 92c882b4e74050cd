// SPDX-License-Identifier: Apache-2.0

import Media

/// A speech program of a simulated world: a closure in place of a process, over the same octets.
public final class SimulatedProgram: ProgramLink {
    /// What the program answers to a frame.
    public typealias Script = (ProgramFrame) -> [ProgramFrame]

    public let rate: Int
    /// What happened, as the phone is told it.
    public private(set) var events: [ProgramEvent] = []
    public var figures: ProgramFigures { session.figures }
    private let script: Script
    private var session: ProgramSession
    private var reader = ProgramFrameReader()
    private var queue: [Int16] = []
    private var spoken: UInt64 = 0
    private var flushed: UInt64 = 0

    init(_ settings: ProgramSettings, _ script: @escaping Script) {
        rate = settings.rate
        self.script = script
        session = ProgramSession(settings)
        session.tell("{\"event\":\"program\",\"state\":\"started\",\"rate\":\(settings.rate)}")
    }

    // MARK: The port

    public func hear(_ samples: Span<Int16>) { session.heard(samples) }

    public func speak(_ count: Int, into samples: inout [Int16]) -> Int {
        let there = min(count, queue.count)
        for index in 0..<there { samples[index] = queue[index] }
        queue.removeFirst(there)
        spoken += UInt64(there)
        return there
    }

    public func close() {}

    // MARK: The phone

    func tell(_ text: String) { session.tell(text) }

    /// Lets the program hear and speak; gives what it has to tell, and whether it broke the rules.
    func pump() -> [ProgramEvent] {
        var told: [ProgramEvent] = []
        session.advance(spoken: spoken, flushed: flushed)
        var bytes: [UInt8] = []
        session.drain { octets in
            reader.append(octets)
            return octets.count
        }
        while let frame = (try? reader.next()) ?? nil { for answer in script(frame) { answer.encode(into: &bytes) } }
        do throws(ProgramFrameError) { try session.receive(bytes) } catch { told.append(.failed(reason: "no frame")) }
        while let effect = session.nextEffect() {
            switch effect {
            case .speak(let samples): queue += samples
            case .flush:
                flushed += UInt64(queue.count)
                queue = []
            case .marked(let name): told.append(.marked(name))
            case .said(let text): told.append(.said(text))
            }
        }
        events += told
        return told
    }
}
