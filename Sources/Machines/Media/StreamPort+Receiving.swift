// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP

extension StreamPort {
    /// How long the current source must be silent before another SSRC takes over with its first packet.
    static let sourceChangeSilence = Interval.milliseconds(100)

    /// Takes a datagram from the RTP or the RTCP socket.
    func receive(
        _ bytes: Span<UInt8>, kind: PacketKind, from address: SocketAddress, at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        if kind == .rtcp || stream?.multiplexesRTCP == true && RTPPacket.looksLikeRTCP(bytes) {
            receiveReports(bytes, from: address, at: now, outbox)
            return
        }
        let packet: RTPPacket
        do {
            packet = try RTPPacket(parsing: bytes)
        } catch {
            return drop(.packetNotRTP, outbox)
        }
        guard stream != nil else { return drop(.packetOnClosedDirection, outbox) }
        // On a port that is not multiplexed RTCP may come astray: it is never taken for audio.
        if case .nothing = meanings[Int(packet.payloadType)] { return drop(.packetOfUnknownPayloadType, outbox) }
        guard packet.payloadRange.count <= configuration.maximumPayload else { return drop(.packetTooLarge, outbox) }
        guard admits(packet, from: address, at: now, outbox) else { return }
        lastPacketAt = now
        if isSilenceTold {
            isSilenceTold = false
            outbox.tell(.streamResumed(id))
        }
        take(packet, bytes, at: now, outbox)
    }

    private func drop(_ reason: MediaCounter, _ outbox: MediaOutbox) {
        outbox.count(reason)
        statistics.packetsDropped += 1
    }

    private func admits(
        _ packet: RTPPacket, from address: SocketAddress, at now: MonotonicTime, _ outbox: MediaOutbox
    ) -> Bool {
        let expected = source.map { (ssrc: $0.ssrc, next: $0.nextSequenceNumber) }
        switch lock.judge(
            address, ssrc: packet.ssrc, sequenceNumber: packet.sequenceNumber, expected: expected, at: now)
        {
        case .accepted: return true
        case .locked(let moved):
            if moved { outbox.count(.sourceMoved) }
            outbox.tell(.sourceLocked(id, address))
            return true
        case .refused:
            refusedFrom = address
            refusedSince = now
            drop(.packetFromOtherSource, outbox)
            return false
        }
    }

    private func take(_ packet: RTPPacket, _ bytes: Span<UInt8>, at now: MonotonicTime, _ outbox: MediaOutbox) {
        let meaning = meanings[Int(packet.payloadType)]
        if case .event = meaning {
            receiveEvent(packet, bytes, at: now, outbox)
            // Some gateways send events with an SSRC of their own: that changes no audio source.
            if let source, source.ssrc != packet.ssrc { return count(packet) }
        }
        guard isOfSource(packet, at: now, outbox) else { return }
        let sequence: Int64
        switch source?.update(packet.sequenceNumber) ?? .refused {
        case .accepted(let extended): sequence = extended
        case .restarted(let extended):
            outbox.count(.sequenceRestarted)
            receiver.restart()
            pattern.restart()
            lastTransit = nil
            sequence = extended
        case .duplicate:
            outbox.count(.packetDuplicated)
            statistics.packetsDuplicated += 1
            return
        case .refused: return drop(.sequenceRestarted, outbox)
        }
        count(packet)
        if let source { pattern.advance(to: source.highest, in: source) }
        if case .redundant = meaning { return takeBlocks(packet, bytes, sequence, at: now, outbox) }
        take(packet.timestamp, sequence, bytes.extracting(packet.payloadRange), meaning, at: now, outbox)
    }

    /// The blocks of a redundant payload (RFC 2198): the packet's own audio, then the copies of what was lost before it.
    private func takeBlocks(
        _ packet: RTPPacket, _ bytes: Span<UInt8>, _ sequence: Int64, at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        let blocks: RedundantPayload
        do {
            blocks = try RedundantPayload(parsing: bytes, at: packet.payloadRange)
        } catch {
            return drop(.redundancyMalformed, outbox)
        }
        guard let own = blocks.primary(in: bytes) else { return }
        switch meanings[Int(own.payloadType)] {
        case .nothing, .redundant: drop(.packetOfUnknownPayloadType, outbox)
        case .event:
            if let event = try? TelephoneEvent(parsing: bytes, at: own.range) { receiveEvent(event, packet, at: now, outbox) }
            take(packet.timestamp, sequence, bytes.extracting(own.range), .event, at: now, outbox)
        case let meaning: take(packet.timestamp, sequence, bytes.extracting(own.range), meaning, at: now, outbox)
        }
        guard receives, let source, blocks.count > 1 else { return }
        for index in 0..<blocks.count - 1 {
            guard let copy = blocks.block(index, in: bytes), !copy.range.isEmpty, copy.timestampOffset > 0 else { continue }
            let lost = sequence - Int64(copy.age)
            guard case .speech(let codec) = meanings[Int(copy.payloadType)], !source.wasReceived(lost) else { continue }
            let audio = bytes.extracting(copy.range)
            // Its place tells the packet that it was only if no pause lies between.
            guard Int64(copy.timestampOffset) == receiver.duration(of: audio, codec: codec) * Int64(copy.age) else { continue }
            let isTaken = receiver.insertRedundant(
                audio, sequence: lost, timestamp: packet.timestamp &- copy.timestampOffset, codec: codec, at: now.nanoseconds / 1000)
            if isTaken { packetsRestored += 1 }
        }
    }

    /// Takes the audio of a packet, with or without its wrapping.
    private func take(
        _ timestamp: UInt32, _ sequence: Int64, _ payload: Span<UInt8>, _ meaning: Meaning, at now: MonotonicTime,
        _ outbox: MediaOutbox
    ) {
        var content = JitterBuffer.Content.event
        var isEvent = false
        switch meaning {
        case .speech(let index):
            content = .speech(index)
            lastWasNoise = false
            measureJitter(timestamp, receiver.receivables[index].codec.clockRate, at: now)
            if payload.isEmpty { return }
        case .noise:
            lastWasNoise = true
            content = .noise(payload.isEmpty ? 127 : payload[0] & 0x7f)
        case .event, .nothing, .redundant: isEvent = true
        }
        guard receives else { return outbox.count(.packetOnClosedDirection) }
        insert(isEvent ? payload.extracting(0..<0) : payload, sequence, timestamp, content, at: now, outbox)
    }

    private func insert(
        _ payload: Span<UInt8>, _ sequence: Int64, _ timestamp: UInt32, _ content: JitterBuffer.Content,
        at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        let before = receiver.figures
        let result = receiver.insert(
            payload, sequence: sequence, timestamp: timestamp, content: content, at: now.nanoseconds / 1000)
        switch result {
        case .stored: break
        case .late: outbox.count(.packetLate)
        case .duplicate: outbox.count(.packetDuplicated)
        case .overflow: outbox.count(.packetOverflowedBuffer)
        }
        let after = receiver.figures
        if after.overflows != before.overflows { outbox.count(.packetOverflowedBuffer) }
        if after.jumps != before.jumps { outbox.count(.timestampJumped) }
        if after.packetsUndecodable != before.packetsUndecodable { outbox.count(.packetUndecodable) }
    }

    private func count(_ packet: RTPPacket) {
        statistics.packetsReceived += 1
        statistics.octetsReceived += UInt64(packet.payloadRange.count)
    }

    /// Judges the SSRC; another one takes over when the current has stopped (RFC 3550 A.1: a state of its own).
    private func isOfSource(_ packet: RTPPacket, at now: MonotonicTime, _ outbox: MediaOutbox) -> Bool {
        guard let current = source else {
            source = SourceState(ssrc: packet.ssrc, sequenceNumber: packet.sequenceNumber)
            lastOfSourceAt = now
            return true
        }
        if current.ssrc == packet.ssrc {
            nextOfOtherSource = nil
            lastOfSourceAt = now
            return true
        }
        let isConfirmed =
            nextOfOtherSource?.ssrc == packet.ssrc
            && nextOfOtherSource?.sequenceNumber == packet.sequenceNumber
        guard isConfirmed || hasLeft || now - lastOfSourceAt >= Self.sourceChangeSilence else {
            nextOfOtherSource = (packet.ssrc, packet.sequenceNumber &+ 1)
            drop(.packetOfOtherSSRC, outbox)
            return false
        }
        lostBefore += UInt64(current.lost)
        source = SourceState(ssrc: packet.ssrc, sequenceNumber: packet.sequenceNumber)
        lastOfSourceAt = now
        nextOfOtherSource = nil
        hasLeft = false
        lastTransit = nil
        receiver.restart()
        pattern.restart()
        outbox.count(.ssrcChanged)
        return true
    }

    /// RFC 3550 A.8.
    private func measureJitter(_ timestamp: UInt32, _ clockRate: Int, at now: MonotonicTime) {
        let arrival = Double(now.nanoseconds) * Double(clockRate) / 1e9
        let unwrapped = Double(timestamp)
        let transit = arrival - unwrapped
        defer { lastTransit = transit }
        guard let lastTransit else { return }
        let difference = (transit - lastTransit).magnitude
        // A wrap of the timestamp, or a jump of ten seconds and more, is no jitter.
        guard difference < Double(clockRate) * 10 else { return }
        jitter += (difference - jitter) / 16
        spread.add(difference)
    }

    private func receiveEvent(
        _ packet: RTPPacket, _ bytes: Span<UInt8>, at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        let event: TelephoneEvent
        do {
            event = try TelephoneEvent(parsing: bytes, at: packet.payloadRange)
        } catch {
            return drop(.eventMalformed, outbox)
        }
        receiveEvent(event, packet, at: now, outbox)
    }

    private func receiveEvent(
        _ event: TelephoneEvent, _ packet: RTPPacket, at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        // Flash and the signals of lines and modems mean nothing to a phone.
        guard event.code < 16 else { return drop(.eventUnknown, outbox) }
        let keys = events.receive(event, ssrc: packet.ssrc, timestamp: packet.timestamp, at: now)
        if let key = keys.first { tell(key, outbox) }
        if let key = keys.second { tell(key, outbox) }
    }

    // MARK: RTCP

    private func receiveReports(
        _ bytes: Span<UInt8>, from address: SocketAddress, at now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        guard lock.admitsReport(from: address.ip) || address.ip == reportAddress?.ip else { return drop(.reportFromOtherSource, outbox) }
        var reader = RTCPReader()
        do {
            while let packet = try reader.next(in: bytes) { take(packet, bytes, at: now, outbox) }
        } catch {
            drop(reader.offset == 0 ? .packetNotRTCP : .reportMalformed, outbox)
        }
    }

    private func take(_ packet: RTCPPacket, _ bytes: Span<UInt8>, at now: MonotonicTime, _ outbox: MediaOutbox) {
        switch packet {
        case .senderReport(let ssrc, let information, let blocks):
            if ssrc == source?.ssrc { reports.noteSenderReport(information, at: now) }
            take(blocks, bytes, at: now)
        case .receiverReport(_, let blocks):
            take(blocks, bytes, at: now)
        case .goodbye(let goodbye):
            guard let source, goodbye.names(source.ssrc, in: bytes), !hasLeft else { return }
            hasLeft = true
            // Should packets come all the same, `streamResumed` takes it back.
            isSilenceTold = true
            outbox.tell(.remoteLeft(id))
        case .other(type: ExtendedReport.packetType, let range):
            if let report = ExtendedReport(parsing: bytes, at: range) { reports.note(report, in: bytes, at: now) }
        case .sourceDescription, .other:
            break
        }
    }

    private func take(_ blocks: ReportBlocks, _ bytes: Span<UInt8>, at now: MonotonicTime) {
        for index in 0..<blocks.count {
            guard let block = blocks.block(index, in: bytes) else { continue }
            reports.note(block, at: now)
            if block.ssrc == sender.ssrc { sender.noteLoss(Double(block.fractionLost) / 256) }
        }
    }
}
