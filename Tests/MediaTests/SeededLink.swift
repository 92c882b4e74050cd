// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media

/// A stream of G.711 over a link that follows from one seed: loss, jitter, stalls, a clock that drifts, other sources and payload types.
/// The last seconds are calm: only the clock goes on drifting.
struct SeededLink {
    enum Kind: String, CaseIterable, Sendable {
        case loss, bursts, jitter, queue, stalls, drift, sources, payloadTypes, all
    }

    struct Packet {
        /// When it comes, in nanoseconds.
        var at: Int64
        var index: Int
        var type: UInt8
        var sequence: UInt16
        var timestamp: UInt32
        var ssrc: UInt32
    }

    static let calm = 12

    let kind: Kind
    let seed: UInt64
    let seconds: Int
    /// Parts in a million by which the sender's clock is slow (positive: packets come ever later).
    let drift: Double
    let sound: LinkSound
    private(set) var packets: [Packet] = []
    private(set) var lost = 0
    /// How often the stream became another: its source, or its payload type.
    private(set) var changes = 0
    /// Frames of 10 ms that stalls lasted.
    private(set) var stalledFrames = 0
    /// Milliseconds between the fastest and the slowest packet.
    private(set) var spread = 0.0

    init(_ kind: Kind, seed: UInt64, seconds: Int = 30, drift: Double? = nil, sound: LinkSound? = nil) {
        self.kind = kind
        self.seed = seed
        self.seconds = seconds
        self.sound = sound ?? (seed % 3 == 2 ? .hum : .voice)
        var random = SplitMix64(seed: seed &* 977 &+ 5)
        func share() -> Double { Double.random(in: 0..<1, using: &random) }
        let isAll = kind == .all
        self.drift = drift ?? (kind == .drift || isAll ? share() * 600 - 300 : 0)
        let loss = kind == .loss || isAll ? share() * 0.2 : 0
        let jitter = kind == .jitter || kind == .queue || isAll ? share() * 60 : 0
        let queues = kind == .queue || kind == .stalls
        var (ssrc, sequence, timestamp) = (UInt32(7), UInt16(truncatingIfNeeded: seed &* 31), UInt32(truncatingIfNeeded: seed &* 77_777))
        var (isBad, lastOut, stallUntil, type) = (false, 0.0, 0.0, UInt8(0))
        packets.reserveCapacity(seconds * 51)
        let time = 20 * (1 + self.drift / 1_000_000)
        for index in 0..<Int(Double(seconds * 1000) / time) {
            let sent = Double(index) * time
            let isCalm = sent >= Double(seconds - Self.calm) * 1000
            if kind == .sources || isAll, index % 500 == 250, !isCalm {
                ssrc += 1
                sequence = UInt16(truncatingIfNeeded: random.next())
                timestamp = UInt32(truncatingIfNeeded: random.next())
                changes += 1
            }
            if kind == .payloadTypes || isAll, index % 300 == 150, !isCalm {
                type ^= 8
                changes += 1
            }
            let packet = Packet(at: 0, index: index, type: type, sequence: sequence, timestamp: timestamp, ssrc: ssrc)
            sequence &+= 1
            timestamp &+= 160
            if kind == .bursts || isAll { isBad = isBad ? share() > 0.3 : share() < 0.02 }
            if !isCalm, share() < loss || isBad {
                lost += 1
                continue
            }
            var way = 30.0
            if jitter > 0, !isCalm { way += share() * jitter }
            if kind == .stalls || isAll, !isCalm, share() < 0.005 {
                let length = 60 + share() * 200
                stallUntil = sent + length
                stalledFrames += Int(length) / 10 + 2
            }
            var out = max(sent + way, stallUntil)
            if queues { out = max(out, lastOut + 0.1) }
            lastOut = max(lastOut, out)
            spread = max(spread, out - sent - 30)
            put(packet, at: Int64(out * 1_000_000))
        }
    }

    /// Puts a packet in its place in the order of arrival; equal times stay in the order of sending.
    private mutating func put(_ packet: Packet, at time: Int64) {
        var place = packets.count
        while place > 0, packets[place - 1].at > time { place -= 1 }
        packets.insert(packet, at: place)
        packets[place].at = time
    }

    /// What became of the stream.
    struct Outcome: Equatable {
        var concealed: UInt64 = 0
        var late: UInt64 = 0
        /// Frames concealed in the calm, after its first second.
        var concealedInCalm: UInt64 = 0
        /// Milliseconds in the buffer: the most at any time, and the most in the last second.
        var most = 0.0
        var left = 0.0
        /// Follows from each sample that was played.
        var sum: UInt64 = 0
    }

    /// What is wrong with the outcome of this link, in words; empty: nothing.
    func complaints(about outcome: Outcome) -> [String] {
        var complaints: [String] = []
        // A packet, a tick, and a packet more where the one behind a loss helps.
        if outcome.most > spread + 50 { complaints.append("\(outcome.most) ms waited at a spread of \(spread) ms") }
        if outcome.left > 45 { complaints.append("\(outcome.left) ms are left after \(Self.calm) s of calm") }
        if outcome.concealedInCalm > 0 { complaints.append("\(outcome.concealedInCalm) frames concealed in the calm") }
        // A packet that is lost or too late is two frames, and so is one before a new source is taken; how late packets come is
        // seen when the first do.
        let causes = 2 * (lost + Int(outcome.late) + changes) + stalledFrames + (kind == .jitter || kind == .queue || kind == .all ? 12 : 2)
        if outcome.concealed > causes { complaints.append("\(outcome.concealed) frames concealed, with causes for \(causes)") }
        return complaints
    }

    /// - Parameter untold: one in that many packets is lost on its way without being counted, a fault of the network's model.
    func run(_ settings: JitterBufferSettings = JitterBufferSettings(), losing untold: Int? = nil) -> Outcome {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000) {
            $0.jitterBuffer = settings
            $0.detectsTones = false
        }
        let sink = Sum()
        party.engine.openRecorder(.recorder, sink: sink)
        party.engine.handle(.connect(from: .stream, to: .recorder), now: .zero)
        party.configure(remote: "192.0.2.2:5000") {
            $0.sends = false
            $0.remoteRTCP = nil
        }
        let source = Party.socketAddress("192.0.2.2:5000")
        var outcome = Outcome()
        var next = 0
        var concealedBefore: UInt64 = 0
        for tick in 1...seconds * 100 {
            let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000 + 3_300_000)
            while next < packets.count, packets[next].at <= now.nanoseconds {
                defer { next += 1 }
                if let untold, next % untold == untold - 1 { continue }
                let at = MonotonicTime(nanoseconds: packets[next].at)
                party.engine.receive(sound.bytes(packets[next]), on: .stream, kind: .rtp, from: source, at: at)
            }
            party.engine.tick(now: now)
            while party.engine.nextPacket() != nil {}
            while party.engine.nextEvent() != nil {}
            let figures = party.statistics
            outcome.most = max(outcome.most, figures.bufferMilliseconds)
            if tick >= (seconds - 1) * 100 { outcome.left = max(outcome.left, figures.bufferMilliseconds) }
            if tick == (seconds - Self.calm + 1) * 100 { concealedBefore = figures.framesConcealed }
        }
        let figures = party.statistics
        outcome.concealed = figures.framesConcealed
        outcome.late = figures.packetsLate
        outcome.concealedInCalm = figures.framesConcealed - concealedBefore
        outcome.sum = sink.sum
        return outcome
    }

    private final class Sum: RecorderSink {
        var sum: UInt64 = 14_695_981_039_346_656_037
        func write(_ part: Span<Int16>, rate: Int) {
            var index = 0
            while index < part.count {
                sum = (sum ^ UInt64(UInt16(bitPattern: part[index]))) &* 1_099_511_628_211
                index += 7
            }
        }
        func close() {}
    }
}

/// What is said over a link, coded once: ten seconds that begin anew.
struct LinkSound: Sendable {
    /// Speech with pauses, and a sound without any quiet, in which a change of the delay must find the pitch.
    static let voice = LinkSound(Signals.voice(rate: 8000, seconds: 10))
    static let hum = LinkSound(
        (0..<80_000).map { index in
            // A saw tooth of 122 to 195 Hz.
            Int16(bitPattern: UInt16(truncatingIfNeeded: index * (1000 + index / 16_000 * 150))) / 5
        })

    /// Whole packets with room for the header, of μ-law and of A-law.
    private let packets: [[[UInt8]]]

    init(_ samples: [Int16]) {
        packets = [G711(.mu), G711(.a)].map { codec in
            let encoder = codec.makeEncoder(.pcmu)
            return stride(from: 0, to: samples.count, by: 160).map { start in
                var payload = [UInt8](repeating: 0, count: 160)
                var room = payload.mutableSpan
                _ = encoder.encode(samples.span.extracting(start..<start + 160), into: &room)
                return [UInt8](repeating: 0, count: 12) + payload
            }
        }
    }

    func bytes(_ packet: SeededLink.Packet) -> [UInt8] {
        let kind = packets[packet.type == 0 ? 0 : 1]
        var bytes = kind[packet.index % kind.count]
        bytes[0] = 0x80
        bytes[1] = packet.type
        bytes[2] = UInt8(packet.sequence >> 8)
        bytes[3] = UInt8(packet.sequence & 255)
        for place in 0..<4 {
            bytes[4 + place] = UInt8(truncatingIfNeeded: packet.timestamp >> UInt32(24 - 8 * place))
            bytes[8 + place] = UInt8(truncatingIfNeeded: packet.ssrc >> UInt32(24 - 8 * place))
        }
        return bytes
    }
}
