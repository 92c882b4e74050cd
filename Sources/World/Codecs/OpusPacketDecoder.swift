// SPDX-License-Identifier: Apache-2.0

import COpus
import Media

/// One direction of a stream: Opus packets to samples. Stereo is mixed down by the decoder.
@safe final class OpusPacketDecoder: AudioDecoder {
    /// nil: there was no memory for it; then nothing is decodable.
    private let state: OpaquePointer?
    private let sampleRate: Int
    private var kept: [UInt8]

    init(_ sampleRate: Int) {
        self.sampleRate = sampleRate
        kept = [UInt8](repeating: 0, count: max(0, Int(opus_decoder_get_size(1))))
        var error: Int32 = 0
        unsafe state = opus_decoder_create(Int32(sampleRate), 1, &error)
    }

    deinit { if let state = unsafe state { unsafe opus_decoder_destroy(state) } }

    func sampleCount(of payload: Span<UInt8>) -> Int? {
        let count = unsafe payload.withUnsafeBufferPointer { octets in
            guard let first = octets.baseAddress else { return Int32(0) }
            return unsafe opus_packet_get_nb_samples(first, Int32(clamping: octets.count), Int32(sampleRate))
        }
        return count > 0 ? Int(count) : nil
    }

    func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int {
        guard !payload.isEmpty else { return 0 }
        return run(payload, samples.count, correcting: false, into: &samples)
    }

    var concealsItself: Bool { true }

    /// The state of a decoder is one block of memory, and copying the block copies the decoder (libopus, `opus_decoder_create`).
    func keepState() {
        guard let state = unsafe state else { return }
        let block = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(state), count: kept.count)
        unsafe kept.withUnsafeMutableBytes { unsafe $0.copyMemory(from: block) }
    }

    func restoreState() -> Bool {
        guard let state = unsafe state else { return false }
        let block = unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(state), count: kept.count)
        unsafe kept.withUnsafeBytes { unsafe block.copyMemory(from: $0) }
        return true
    }

    func tellsOfLost(_ next: Span<UInt8>) -> Bool { Self.carriesCopy(next) }

    func conceal(_ count: Int, into samples: inout MutableSpan<Int16>) -> Bool {
        guard isWhole(count), count <= samples.count else { return false }
        return run(Span(), count, correcting: false, into: &samples) == count
    }

    func recover(_ count: Int, from next: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Bool {
        guard isWhole(count), count <= samples.count, Self.carriesCopy(next), sampleCount(of: next) == count else { return false }
        return run(next, count, correcting: true, into: &samples) == count
    }

    func reset() { if let state = unsafe state { unsafe copus_decoder_reset(state) } }

    /// libopus conceals in steps of 2.5 ms, 120 ms at most.
    private func isWhole(_ count: Int) -> Bool {
        count > 0 && count % (sampleRate / 400) == 0 && count <= sampleRate * 120 / 1000
    }

    private func run(
        _ payload: Span<UInt8>, _ count: Int, correcting: Bool, into samples: inout MutableSpan<Int16>
    ) -> Int {
        guard let state = unsafe state, count > 0 else { return 0 }
        let made = unsafe samples.withUnsafeMutableBufferPointer { target in
            guard let first = target.baseAddress else { return Int32(0) }
            return unsafe payload.withUnsafeBufferPointer { octets in
                unsafe opus_decode(
                    state, octets.isEmpty ? nil : octets.baseAddress, Int32(clamping: octets.count), first, Int32(clamping: count),
                    correcting ? 1 : 0)
            }
        }
        return max(0, Int(made))
    }

    /// Whether a packet of one frame has a copy of the one before: the flag stands behind the voice flags of the frame's
    /// 20 ms parts (RFC 6716 §4.2.3, §4.2.4). CELT has no copies; packets of several frames are not looked into.
    static func carriesCopy(_ payload: Span<UInt8>) -> Bool {
        guard payload.count > 1 else { return false }
        let configuration = payload[0] >> 3
        guard configuration < 16, payload[0] & 3 == 0 else { return false }
        // Configurations 0...11 are SILK with 10, 20, 40 and 60 ms in turn; 12...15 are hybrid with 10 and 20 ms.
        let parts: UInt8 = configuration >= 12 || configuration & 3 < 2 ? 1 : configuration & 3
        return payload[1] >> (7 - parts) & 1 == 1
    }
}
