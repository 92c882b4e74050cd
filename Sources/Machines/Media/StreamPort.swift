// SPDX-License-Identifier: Apache-2.0
//
// One RTP stream of a call as a port of the bridge. A received packet goes through these gates, each with a counter:
//
//     RTP? → payload type known? → source lock → SSRC → sequence (RFC 3550 A.1) ─┬─ telephone-event → EventReceiver
//                                                                                └─ audio, noise → StreamReceiver

import Essentials
import RTP

final class StreamPort: BridgePort {
    /// What a payload type means here: nothing, an event, noise, blocks of the others, or the codec of that index.
    enum Meaning { case nothing, event, noise, redundant, speech(Int) }

    let configuration: MediaConfiguration
    var stream: StreamConfiguration?
    var meanings = [Meaning](repeating: .nothing, count: 128)
    var sender: StreamSender
    var receiver: StreamReceiver
    var lock: SourceLock
    var reports: RTCPSession
    var events = EventReceiver()
    var detector: ToneDetector?
    var statistics = StreamStatistics()

    // The peer's source.
    var source: SourceState?
    var nextOfOtherSource: (ssrc: UInt32, sequenceNumber: UInt16)?
    var lastOfSourceAt = MonotonicTime.zero
    var hasLeft = false
    var lostBefore: UInt64 = 0
    var lastPacketAt: MonotonicTime?
    var expectsSince: MonotonicTime?
    var isSilenceTold = false
    /// When a gap was last told as `trouble(.quiet)`.
    private var quietToldAt = MonotonicTime.zero
    var lastWasNoise = false
    /// Lost packets that came as copies with later ones (RFC 2198).
    var packetsRestored: UInt64 = 0

    // Of quality.
    var pattern = LossPattern()
    var spread = TransitSpread()
    /// How many packets should have come since the last one: the stream is silent, and the peer neither rests nor is gone.
    var overdue: Int64 = 0
    var recent = RecentSeconds()
    var watch = QualityWatch()
    var lastSecondAt = MonotonicTime.zero
    var sentBefore: UInt64 = 0
    /// Ticks since anything but silence was in the peer's packets, and whether anything ever was.
    var quietTicks = 0
    var hasHeardSound = false
    /// Grows while somebody speaks although we are muted.
    var spokenMuted = 0
    /// Mean power of late, as `Samples.power` has it.
    var receivedPower = 0.0
    var sentPower = 0.0
    /// Where packets came from last that were refused, and when.
    var refusedFrom: SocketAddress?
    var refusedSince: MonotonicTime?
    private let muted: [Int16]

    // Interarrival jitter in timestamp units (RFC 3550 A.8).
    var jitter = 0.0
    var lastTransit: Double?

    var reportAddress: SocketAddress?
    private var receiverEncoding: [NegotiatedCodec] = []

    init(id: PortID, frameSize: Int, identity: StreamIdentity, configuration: MediaConfiguration, random: RandomSource) {
        self.configuration = configuration
        sender = StreamSender(port: id, identity: identity, maximumPayload: configuration.maximumPayload)
        receiver = StreamReceiver(configuration.jitterBuffer, seed: identity.ssrc)
        lock = SourceLock(configuration.sourceLock)
        muted = [Int16](repeating: 0, count: frameSize)
        reports = RTCPSession(identity, interval: configuration.reportInterval, random: random)
        super.init(id: id, frameSize: frameSize)
    }

    override var consumes: Bool { true }
    override var isMuted: Bool { stream.map { $0.isMuted || !$0.sends } ?? true }

    /// Whether the peer's audio is wanted.
    var receives: Bool { stream?.receives ?? false }

    /// Where RTP goes; nil: nowhere.
    var destination: SocketAddress? {
        guard let stream, stream.sends else { return nil }
        return lock.destination
    }

    // MARK: Configuration

    /// Takes what was negotiated; the codec registry has been asked by the caller for every entry.
    func configure(
        _ new: StreamConfiguration, codec: any AudioCodec, receivable: [(NegotiatedCodec, any AudioCodec)],
        filters: ResamplerFilters, now: MonotonicTime
    ) {
        let bridgeRate = output.count * 100
        let wasReceiving = receives
        if new.remote != stream?.remote || stream == nil { lock.signal(new.remote, now: now) }
        if new.remoteRTCP != stream?.remoteRTCP || stream == nil { reportAddress = new.remoteRTCP }
        stream = new
        // The rate comes from the peer's description: no number there may become too large to reckon with.
        let eventClock = new.sendEventPayloadType == nil ? codec.clockRate : min(max(new.sendEventClockRate, 1000), 384_000)
        sender.configure(
            new.codec, codec, packetTime: new.packetTime,
            event: new.sendEventPayloadType.map { .init(payloadType: $0 & 127, clockRate: eventClock) },
            filter: filters.filter(from: bridgeRate, to: codec.sampleRate), redundancy: new.redundancy,
            noiseType: new.sendComfortNoisePayloadType.map { $0 & 127 })
        let encoding = receivable.map(\.0)
        if encoding != receiverEncoding {
            receiverEncoding = encoding
            receiver.configure(
                receivable.map { negotiated, codec in
                    StreamReceiver.Receivable(
                        payloadType: negotiated.payloadType & 127, codec: codec, decoder: codec.makeDecoder(negotiated),
                        filter: filters.filter(from: codec.sampleRate, to: bridgeRate))
                })
        }
        setMeanings(new)
        events.clockRate = eventClock
        let detects = configuration.detectsTones && new.receiveEventPayloadTypes.isEmpty
        if !detects { detector = nil } else if detector == nil { detector = ToneDetector(rate: bridgeRate) }
        if new.receives, !wasReceiving {
            receiver.restart()
            expectsSince = now
            isSilenceTold = false
        } else if !new.receives {
            expectsSince = nil
        }
    }

    private func setMeanings(_ new: StreamConfiguration) {
        for index in 0..<128 { meanings[index] = .nothing }
        // Payload type 13 is comfort noise unless it was negotiated as something else (RFC 3551 §6).
        meanings[13] = .noise
        for type in new.comfortNoisePayloadTypes { meanings[Int(type & 127)] = .noise }
        for type in new.receiveEventPayloadTypes { meanings[Int(type & 127)] = .event }
        for type in new.receiveRedundancyPayloadTypes { meanings[Int(type & 127)] = .redundant }
        // The chosen codec comes first and keeps its payload type if two claim one.
        for (index, receivable) in receiver.receivables.enumerated().reversed() {
            meanings[Int(receivable.payloadType)] = .speech(index)
        }
    }

    // MARK: Ticks

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        if receives {
            let before = receiver.figures
            isSilent = !receiver.pull(into: &output, at: now.nanoseconds / 1000)
            noteFigures(before, outbox)
            noteHeard(silent: isSilent)
            if detector != nil, let key = detector?.process(output) {
                outbox.tell(.digitReceived(id, key.digit, milliseconds: key.milliseconds, inBand: true))
            }
        } else if !isSilent {
            Samples.clear(&output)
            isSilent = true
        }
        if let key = events.advance(to: now) { tell(key, outbox) }
        watchSilence(now, outbox)
        watchQuality(now, outbox)
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        let isMuted = stream?.isMuted ?? false
        noteSpoken(frame, silent: isSilent, isMuted: isMuted)
        sender.consume(isMuted ? muted : frame, to: destination, outbox)
        if stream != nil, reports.isDue(at: now) { sendReport(isGoodbye: false, now, outbox) }
    }

    override func close(now: MonotonicTime, _ outbox: MediaOutbox) {
        outbox.tell(.statistics(id, currentStatistics()))
        if stream != nil { sendReport(isGoodbye: true, now, outbox) }
    }

    private func noteFigures(_ before: StreamReceiver.Figures, _ outbox: MediaOutbox) {
        let after = receiver.figures
        if after.skips != before.skips { outbox.count(.bufferSkipped) }
        if after.packetsLate != before.packetsLate { outbox.count(.packetLate) }
        if after.packetsUndecodable != before.packetsUndecodable { outbox.count(.packetUndecodable) }
    }

    private func watchSilence(_ now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let expectsSince, !isSilenceTold, !lastWasNoise, !hasLeft else { return }
        let since = max(expectsSince, lastPacketAt ?? expectsSince)
        let quietReport = configuration.quietReport
        if let lastPacketAt, quietReport > .zero, now - max(quietToldAt, lastPacketAt) >= quietReport {
            quietToldAt = now
            outbox.tell(.trouble(id, .quiet))
        }
        guard now - since >= configuration.silenceReport else { return }
        isSilenceTold = true
        outbox.tell(.streamSilent(id, now - since))
    }

    func tell(_ key: EventReceiver.Key, _ outbox: MediaOutbox) {
        outbox.tell(.digitReceived(id, key.digit, milliseconds: key.milliseconds, inBand: false))
    }

    // MARK: Reports

    private func sendReport(isGoodbye: Bool, _ now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let stream else { return }
        let to: SocketAddress?
        if stream.multiplexesRTCP {
            to = lock.destination
        } else if let locked = lock.locked, let address = reportAddress, locked.ip != address.ip {
            // Behind a NAT the signalled address leads nowhere: by convention RTCP is one port above RTP.
            to = SocketAddress(locked.ip, locked.port &+ 1)
        } else {
            to = reportAddress
        }
        guard let to, to.port != 0, !to.ip.isUnspecified else { return }
        let extended = extendedReport(stream.extendedReports, at: now)
        let bytes = reports.makeReport(sender, &source, jitter: jitter, isGoodbye: isGoodbye, extended: extended, at: now)
        outbox.send(report: bytes, port: id, kind: stream.multiplexesRTCP ? .rtp : .rtcp, to: to)
    }

    /// The figures up to now.
    func currentStatistics() -> StreamStatistics {
        var result = statistics
        result.packetsSent = sender.packetsSent
        result.octetsSent = sender.octetsSent
        result.packetsLost = lostBefore + UInt64(source?.lost ?? 0)
        result.packetsLate = receiver.figures.packetsLate
        result.packetsDropped += receiver.figures.packetsUndecodable
        result.framesPlayed = receiver.figures.framesPlayed
        result.framesConcealed = receiver.figures.framesConcealed
        result.packetsRecovered = receiver.figures.packetsRecovered
        result.packetsRestored = packetsRestored
        result.redundancy = sender.redundancy.depth
        result.redundancyOctetsSent = sender.redundancy.octets
        result.jitterMilliseconds = jitter * 1000 / Double(receiver.clock)
        result.roundTripMilliseconds = reports.roundTrip?.milliseconds
        result.remoteFractionLost = reports.remoteFractionLost
        result.bufferMilliseconds = receiver.bufferedMilliseconds
        describeQuality(&result)
        return result
    }
}
