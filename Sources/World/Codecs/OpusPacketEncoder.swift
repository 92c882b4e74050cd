// SPDX-License-Identifier: Apache-2.0

import COpus
import Media

/// One direction of a stream: samples to Opus packets.
@safe final class OpusPacketEncoder: AudioEncoder {
    /// nil: there was no memory for it; then nothing is sent.
    private let state: OpaquePointer?
    private let settings: OpusSettings
    private let corrects: Bool
    private let isDiscontinuous: Bool
    /// Percent that is expected: our setting, or what the peer reports.
    private var loss = 0
    /// Percent that the encoder is set to.
    private var setLoss = 0
    /// Copies that go with each packet (RFC 2198).
    private var copies = 0

    /// Octets of a packet: one Opus frame is no longer (RFC 6716 §3.4), and a packet has to fit into a datagram.
    private static let longestPacket = 1275

    init(_ sampleRate: Int, _ settings: OpusSettings, _ peer: OpusParameters) {
        self.settings = settings
        corrects = settings.usesForwardErrorCorrection && peer.takesForwardErrorCorrection
        isDiscontinuous = settings.isDiscontinuous || peer.prefersDiscontinuous
        var error: Int32 = 0
        unsafe state = opus_encoder_create(Int32(sampleRate), 1, OPUS_APPLICATION_VOIP, &error)
        set(OPUS_SET_BITRATE_REQUEST, min(settings.bitRate, peer.maximumBitRate ?? .max))
        set(OPUS_SET_COMPLEXITY_REQUEST, settings.complexity)
        set(OPUS_SET_SIGNAL_REQUEST, Int(OPUS_SIGNAL_VOICE))
        set(OPUS_SET_DTX_REQUEST, isDiscontinuous ? 1 : 0)
        set(OPUS_SET_VBR_REQUEST, peer.isConstantBitRate ? 0 : 1)
        set(OPUS_SET_INBAND_FEC_REQUEST, corrects ? 1 : 0)
        let rate = min(settings.maximumRate, peer.maximumPlaybackRate ?? .max)
        if rate < 48_000 { set(OPUS_SET_MAX_BANDWIDTH_REQUEST, Int(Self.bandwidth(forRate: rate))) }
        expect(settings.expectedLoss)
    }

    deinit { if let state = unsafe state { unsafe opus_encoder_destroy(state) } }

    func encode(_ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>) -> Int {
        guard let state = unsafe state, samples.count > 0 else { return 0 }
        let room = Int32(min(payload.count, Self.longestPacket))
        let made = unsafe payload.withUnsafeMutableBufferPointer { target in
            guard let octets = target.baseAddress else { return Int32(0) }
            return unsafe samples.withUnsafeBufferPointer { source in
                guard let first = source.baseAddress else { return Int32(0) }
                return unsafe opus_encode(state, first, Int32(source.count), octets, room)
            }
        }
        // With DTX a packet of one or two octets need not be sent.
        guard made > 0, !(isDiscontinuous && made <= 2) else { return 0 }
        return Int(made)
    }

    func reset() { if let state = unsafe state { unsafe copus_encoder_reset(state) } }

    /// What the peer reports raises the protection at once and lowers it slowly.
    func noteLoss(_ fraction: Double) {
        guard fraction >= 0, fraction <= 1 else { return }
        let percent = Int((fraction * 100).rounded(.up))
        expect(min(30, max(settings.expectedLoss, percent, loss - max(1, loss / 4))))
    }

    /// With copies a packet is missing only if all packets with it are lost: the bits of the encoder's own correction are
    /// better spent on the voice.
    func noteRedundancy(_ packets: Int) {
        guard packets != copies else { return }
        copies = packets
        if corrects { set(OPUS_SET_INBAND_FEC_REQUEST, packets == 0 ? 1 : 0) }
        expect(loss)
    }

    private func expect(_ percent: Int) {
        loss = percent
        var missing = Double(percent) / 100
        for _ in 0..<min(copies, 8) { missing *= Double(percent) / 100 }
        let rest = Int((missing * 100).rounded())
        guard rest != setLoss, corrects else { return }
        setLoss = rest
        set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, rest)
    }

    private func set(_ request: Int32, _ value: Int) {
        guard let state = unsafe state else { return }
        _ = unsafe copus_encoder_set(state, request, Int32(clamping: value))
    }

    /// RFC 7587 §6.1: the widest band that a receiver of this rate can play.
    private static func bandwidth(forRate rate: Int) -> Int32 {
        switch rate {
        case ..<12_000: OPUS_BANDWIDTH_NARROWBAND
        case ..<16_000: OPUS_BANDWIDTH_MEDIUMBAND
        case ..<24_000: OPUS_BANDWIDTH_WIDEBAND
        case ..<48_000: OPUS_BANDWIDTH_SUPERWIDEBAND
        default: OPUS_BANDWIDTH_FULLBAND
        }
    }
}
