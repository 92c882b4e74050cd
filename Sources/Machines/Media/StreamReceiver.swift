// SPDX-License-Identifier: Apache-2.0
//
// From packets to one frame every 10 ms. All positions are on the timeline of the peer's timestamps:
//
//     ── played ──┤· · queue · ·┤ playhead                     newest packet ┤
//                 │ decoded     │ next to decode   ▓▓▓  ▓▓▓▓▓▓ ▓▓▓           │
//                 └ position                          └ a gap: concealed, or noise if the peer rests
//
// The delay of a stream is `now − time of position`, a transit like those that the `DelayEstimator` measures:
//   smaller than the target    a pitch period is played once more when the next packet is decoded
//   run dry                    concealed, the playhead waits until a packet comes; what was lost meanwhile is taken off
//   larger than the target     a pitch period is left out; in quiet as much as there is
//   far too large              packets are skipped

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
        /// Microseconds by which speech was made longer and shorter to change the delay.
        var lengthened: UInt64 = 0
        var shortened: UInt64 = 0
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
    /// When the first packet of the timeline came.
    var begunAt: Int64 = 0
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
    var stretcher = Stretcher(rate: 8000)
    var noise: ComfortNoise
    var resampler: Resampler?
    private var filterInUse: ResamplerFilter?
    /// The index of the receivable that was decoded last.
    var lastSpeech: Int?
    /// Where concealment by the codec began, its state being kept; nil: it is not.
    var kept: Int64?
    /// What is decoded next does not continue what was played.
    var hasJoint = false
    /// The last packet that carried a copy of the one before.
    private var lastCopy = Int64.min / 2

    // For changes of the delay.
    var delayWindow = DelayWindow()
    var speechLevel: Int32 = 0
    /// Microseconds to add to the delay (positive) or to take off when the next packet is decoded.
    var correction: Int64 = 0
    /// By how many microseconds the target exceeds the delay that counts; negative: there is more than need be.
    var shortfall: Int64 = 0
    var packetsSinceStretch = 0
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
        restart()
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
        correction = 0
        kept = nil
        hasJoint = false
        lastCopy = .min / 2
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
        if !isRunning { begin(timestamp, at: now) }
        var extended = extend(timestamp)
        if case .speech = content, isJump(extended, sequence, at: now) {
            figures.jumps += 1
            restart()
            begin(timestamp, at: now)
            extended = lastTimestamp
        }
        observe(payload, sequence, extended, content, duration, at: now)
        var insertion = buffer.insert(
            payload, sequence: sequence, timestamp: extended, content: content, duration: duration)
        if insertion == .overflow {
            // Far more came than may wait: what is there is older than any delay that is allowed.
            figures.overflows += 1
            restart()
            begin(timestamp, at: now)
            extended = lastTimestamp
            observe(payload, sequence, extended, content, duration, at: now)
            insertion = buffer.insert(
                payload, sequence: sequence, timestamp: extended, content: content, duration: duration)
        }
        guard insertion == .stored else {
            if insertion == .late { figures.packetsLate += 1 }
            return insertion
        }
        placeOnTimeline(sequence, extended, duration, at: now)
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
        // A copy of something before the beginning, or of another timeline, begins nothing.
        guard isRunning, sequence < highestSequence, sequence >= buffer.next, !buffer.holds(sequence) else { return false }
        let duration = duration(of: payload, codec: index)
        guard duration > 0, Int64(receivables[index].codec.clockRate) == clock else { return false }
        let extended = extend(timestamp)
        estimator.observeCopy(sequence: sequence, transit: now - microseconds(extended))
        let insertion = buffer.insert(
            payload, sequence: sequence, timestamp: extended, content: .speech(index), duration: duration)
        guard insertion == .stored else { return false }
        placeOnTimeline(sequence, extended, duration, at: now)
        return true
    }

    private func extend(_ timestamp: UInt32) -> Int64 {
        lastTimestamp + Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: lastTimestamp)))
    }

    private mutating func observe(
        _ payload: Span<UInt8>, _ sequence: Int64, _ extended: Int64, _ content: JitterBuffer.Content, _ duration: Int64,
        at now: Int64
    ) {
        guard case .speech(let index) = content else { return estimator.pass(sequence: sequence) }
        let transit = now - microseconds(extended)
        let helps = receivables[index].decoder.tellsOfLost(payload)
        // Silence needs no copies: a packet without one changes nothing at once.
        if helps { lastCopy = max(lastCopy, sequence) }
        estimator.isProtected = receivables[index].decoder.concealsItself && sequence - lastCopy < 400
        estimator.observe(sequence: sequence, transit: transit, duration: microseconds(duration), helps: helps)
    }

    private mutating func placeOnTimeline(_ sequence: Int64, _ extended: Int64, _ duration: Int64, at now: Int64) {
        if sequence > highestSequence {
            highestSequence = sequence
            lastTimestamp = extended
        }
        newestEnd = max(newestEnd, extended + duration)
        if isWaiting {
            playhead = min(playhead, extended)
            // What is farther ahead than anything may wait is not waited for.
            newestEnd = min(newestEnd, playhead + units(microseconds: settings.maximumDelay.nanoseconds / 1000 + 500_000))
        } else if dryUnits > 0 {
            // What was concealed while nothing was there counts for what is missing, and delays what is not; but it does not
            // raise the delay above the target: what comes after its time is lost, so that speech is not moved for it.
            let surplus = units(microseconds: now - microseconds(position) - estimator.target)
            playhead += max(0, min(dryUnits, max(extended - playhead, surplus)))
        }
        dryUnits = 0
    }

    private mutating func begin(_ timestamp: UInt32, at now: Int64) {
        isRunning = true
        isWaiting = true
        begunAt = now
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
            stretcher = Stretcher(rate: rate)
        }
        if filterInUse !== receivable.filter {
            filterInUse = receivable.filter
            resampler = receivable.filter.map { Resampler($0) }
        }
    }
}
