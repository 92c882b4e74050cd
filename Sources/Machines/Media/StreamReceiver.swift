// SPDX-License-Identifier: Apache-2.0
//
// From packets to one frame every 10 ms. All positions are on the timeline of the peer's timestamps:
//
//     ── played ──┤· · queue · ·┤ playhead                     newest packet ┤
//                 │ decoded     │ next to decode   ▓▓▓  ▓▓▓▓▓▓ ▓▓▓           │
//                 └ position                          └ a gap: concealed, or noise if the peer rests
//
// The delay of a stream is `now − time of position`, measured above the base of the `DelayEstimator`:
//   too small for the target   a concealed frame goes in, the playhead waits (at once)
//   run dry                    likewise, until a packet comes; what was lost meanwhile is taken off the wait
//   too large                  a quiet frame is left out (slowly); far too large: packets are skipped

/// The receiving half of a stream, from accepted packets to samples of the bridge.
struct StreamReceiver {
    /// A payload type that may arrive.
    struct Receivable {
        var payloadType: UInt8
        var codec: any AudioCodec
        var decoder: any AudioDecoder
        /// From the codec's rate to the bridge's; nil: they are equal.
        var filter: ResamplerFilter?
    }

    struct Figures {
        var framesPlayed: UInt64 = 0
        var framesConcealed: UInt64 = 0
        var packetsRecovered: UInt64 = 0
        var packetsLate: UInt64 = 0
        var packetsUndecodable: UInt64 = 0
        var framesInserted: UInt64 = 0
        var framesOmitted: UInt64 = 0
        var skips: UInt64 = 0
        var jumps: UInt64 = 0
        var overflows: UInt64 = 0
    }

    let settings: JitterBufferSettings
    var receivables: [Receivable] = []
    var figures = Figures()
    var buffer: JitterBuffer
    var estimator: DelayEstimator

    // The timeline; positions in timestamp units.
    var isRunning = false
    var isWaiting = true
    var clock: Int64 = 8000
    var playhead: Int64 = 0
    var newestEnd: Int64 = 0
    var lastTimestamp: Int64 = 0
    var highestSequence: Int64 = -1
    var dryUnits: Int64 = 0
    /// The peer said that it rests (comfort noise, an event), or has not begun.
    var isResting = true

    // Decoded samples that were not played yet: `queued` of them from `head` on.
    var rate = 8000
    var queue: [Int16] = []
    var head = 0
    var queued = 0
    var scratch: [Int16] = []
    var concealer = Concealer(rate: 8000)
    var noise: ComfortNoise
    var resampler: Resampler?
    private var filterInUse: ResamplerFilter?
    /// The index of the receivable that was decoded last.
    var lastSpeech: Int?

    // For leaving out frames.
    var delayWindow = DelayWindow()
    var speechLevel: Int32 = 0
    var framesSinceOmission = 0
    /// Concealed samples that make no whole frame yet.
    var concealedRest = 0

    init(_ settings: JitterBufferSettings, seed: UInt32) {
        self.settings = settings
        buffer = JitterBuffer(capacity: settings.capacity)
        estimator = DelayEstimator(settings)
        noise = ComfortNoise(seed: seed)
    }

    /// What may arrive from now on. Packets that wait belong to the codecs before and go.
    mutating func configure(_ receivables: [Receivable]) {
        self.receivables = receivables
        lastSpeech = nil
        buffer.removeAll()
        isRunning = false
        isWaiting = true
        guard let first = receivables.first else { return }
        setRate(of: first)
        clock = Int64(max(first.codec.clockRate, 1))
    }

    /// Forgets the timeline: another source, or a pause on our side.
    mutating func restart() {
        buffer.removeAll()
        estimator.restart()
        isRunning = false
        isWaiting = true
        dryUnits = 0
    }

    func microseconds(_ units: Int64) -> Int64 { units / clock * 1_000_000 + units % clock * 1_000_000 / clock }
    func units(microseconds: Int64) -> Int64 { microseconds * clock / 1_000_000 }

    /// Where on the timeline the next sample to be played lies.
    var position: Int64 { playhead - Int64(queued) * clock / Int64(rate) }

    /// What was received and not played, in milliseconds.
    var bufferedMilliseconds: Double {
        isRunning ? max(0, Double(newestEnd - position) * 1000 / Double(clock)) : 0
    }

    // MARK: Packets

    /// Takes a packet whose source and sequence number were accepted. `now` in microseconds.
    mutating func insert(
        _ payload: Span<UInt8>, sequence: Int64, timestamp: UInt32, content: JitterBuffer.Content, at now: Int64
    ) -> JitterBuffer.Insertion {
        var duration: Int64 = 0
        if case .speech(let index) = content {
            let codec = receivables[index].codec
            guard let samples = receivables[index].decoder.sampleCount(of: payload), samples > 0 else {
                figures.packetsUndecodable += 1
                return .stored
            }
            if isRunning, Int64(codec.clockRate) != clock { restart() }
            clock = Int64(max(codec.clockRate, 1))
            duration = Int64(samples) * clock / Int64(max(codec.sampleRate, 1))
        }
        if !isRunning { begin(timestamp) }
        var extended = lastTimestamp + Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: lastTimestamp)))
        if case .speech = content {
            if isJump(extended, sequence, at: now) {
                figures.jumps += 1
                restart()
                begin(timestamp)
                extended = lastTimestamp
            }
            _ = estimator.observe(transit: now - microseconds(extended), at: now)
        }
        var insertion = buffer.insert(
            payload, sequence: sequence, timestamp: extended, content: content, duration: duration)
        if insertion == .overflow {
            // Far more came than may wait: what is there is older than any delay that is allowed.
            figures.overflows += 1
            restart()
            begin(timestamp)
            extended = lastTimestamp
            _ = estimator.observe(transit: now - microseconds(extended), at: now)
            insertion = buffer.insert(
                payload, sequence: sequence, timestamp: extended, content: content, duration: duration)
        }
        guard insertion == .stored else {
            if insertion == .late { figures.packetsLate += 1 }
            return insertion
        }
        placeOnTimeline(sequence, extended, duration)
        return insertion
    }

    /// How long a payload of the receivable `index` lasts, in timestamp units; 0: it is none of its payloads.
    func duration(of payload: Span<UInt8>, codec index: Int) -> Int64 {
        guard receivables.indices.contains(index), let samples = receivables[index].decoder.sampleCount(of: payload) else { return 0 }
        let codec = receivables[index].codec
        return Int64(samples) * Int64(codec.clockRate) / Int64(max(codec.sampleRate, 1))
    }

    /// Takes a packet found in the redundancy (RFC 2198) of a later one, which was inserted before: it enters the buffer as
    /// if it had come late. `sequence` is that of the carrier less its place; the duration must be known to be right.
    /// - Returns: false if nothing was missing there, or its time is over.
    mutating func insertRedundant(
        _ payload: Span<UInt8>, sequence: Int64, timestamp: UInt32, codec index: Int, at now: Int64
    ) -> Bool {
        guard isRunning, sequence >= buffer.next, !buffer.holds(sequence), receivables.indices.contains(index) else { return false }
        guard let samples = receivables[index].decoder.sampleCount(of: payload), samples > 0 else { return false }
        let codec = receivables[index].codec
        guard Int64(codec.clockRate) == clock else { return false }
        let duration = Int64(samples) * clock / Int64(max(codec.sampleRate, 1))
        let extended = lastTimestamp + Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: lastTimestamp)))
        _ = estimator.observe(transit: now - microseconds(extended), at: now)
        let insertion = buffer.insert(
            payload, sequence: sequence, timestamp: extended, content: .speech(index), duration: duration)
        guard insertion == .stored else { return false }
        placeOnTimeline(sequence, extended, duration)
        return true
    }

    private mutating func placeOnTimeline(_ sequence: Int64, _ extended: Int64, _ duration: Int64) {
        if sequence > highestSequence {
            highestSequence = sequence
            lastTimestamp = extended
        }
        newestEnd = max(newestEnd, extended + duration)
        if isWaiting {
            playhead = min(playhead, extended)
        } else if dryUnits > 0 {
            // What was concealed while nothing was there counts for what is missing, and delays what is not.
            playhead += max(0, min(dryUnits, extended - playhead))
        }
        dryUnits = 0
    }

    private mutating func begin(_ timestamp: UInt32) {
        isRunning = true
        isWaiting = true
        lastTimestamp = Int64(timestamp)
        playhead = lastTimestamp
        newestEnd = lastTimestamp
        highestSequence = -1
        dryUnits = 0
        delayWindow = DelayWindow()
    }

    /// Whether a packet in sequence has a timestamp that fits no delay: the peer's clock jumped or stood.
    private func isJump(_ extended: Int64, _ sequence: Int64, at now: Int64) -> Bool {
        guard let base = estimator.base, sequence > highestSequence else { return false }
        let lateness = now - microseconds(extended) - base
        return lateness > settings.maximumDelay.nanoseconds / 1000 + 500_000 || lateness < -1_000_000
    }

    // MARK: Rates

    mutating func setRate(of receivable: Receivable) {
        let newRate = max(receivable.codec.sampleRate, 8000)
        if newRate != rate || queue.isEmpty {
            rate = newRate
            queue = [Int16](repeating: 0, count: rate * 3 / 10)
            scratch = [Int16](repeating: 0, count: rate / 4)
            head = 0
            queued = 0
            concealer = Concealer(rate: rate)
        }
        if filterInUse !== receivable.filter {
            filterInUse = receivable.filter
            resampler = receivable.filter.map { Resampler($0) }
        }
    }
}

/// The least delay of the last 160 to 320 ms: late ticks make the delay look larger than it is.
struct DelayWindow {
    private var current = Int64.max
    private var before = Int64.max
    private var count = 0

    mutating func add(_ delay: Int64) {
        current = min(current, delay)
        count += 1
        if count == 16 {
            count = 0
            before = current
            current = .max
        }
    }

    /// nil: not enough is known.
    var least: Int64? { before == .max ? nil : min(before, current) }
}
