// SPDX-License-Identifier: Apache-2.0

import CSpeexDSP
import CWebRTCAudioProcessing
import Media
import Synchronization

/// Makes voice processors of the libraries that this system has.
public enum VoiceProcessors {
    /// What does `wanted` at `rate` samples a second (8000...48000).
    ///
    /// `automatic` cancellation, noise and gain are webrtc-audio-processing's; a tail is speexdsp's. Where a library is not
    /// installed the other takes its place: an automatic canceller then covers 200 ms, a tail is as the other one finds it.
    public static func make(
        _ wanted: VoiceProcessing, rate: Int
    ) -> (processor: (any VoiceProcessor)?, state: VoiceProcessingState) {
        guard !wanted.isOff else { return (nil, .off) }
        var reasons: [String] = []
        let prefersSpeex = if case .tail = wanted.echoCancellation { true } else { false }
        for isSpeex in [prefersSpeex, !prefersSpeex] {
            do throws(Missing) {
                let processor = isSpeex ? try speex(wanted, rate) : try webRTC(wanted, rate)
                return (processor, .on(by: processor.name))
            } catch { reasons.append(error.reason) }
        }
        return (nil, .unavailable(reason: reasons.joined(separator: "; ")))
    }

    struct Missing: Error { var reason: String }

    private static func webRTC(_ wanted: VoiceProcessing, _ rate: Int) throws(Missing) -> any VoiceProcessor {
        try WebRTCVoiceProcessor(wanted, rate: rate)
    }

    private static func speex(_ wanted: VoiceProcessing, _ rate: Int) throws(Missing) -> any VoiceProcessor {
        try SpeexVoiceProcessor(wanted, rate: rate)
    }

    static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// webrtc-audio-processing. The C side is kept by its address: an `OpaquePointer` is not Sendable.
final class WebRTCVoiceProcessor: VoiceProcessor {
    private let handle: UInt
    let name = "webrtc-audio-processing"

    init(_ wanted: VoiceProcessing, rate: Int) throws(VoiceProcessors.Missing) {
        var reason = [CChar](repeating: 0, count: 256)
        let made = unsafe reason.withUnsafeMutableBufferPointer { buffer -> OpaquePointer? in
            guard let place = buffer.baseAddress else { return nil }
            return unsafe cwebrtcap_open(
                Int32(clamping: rate), wanted.echoCancellation == .off ? 0 : 1, wanted.suppressesNoise ? 1 : 0,
                wanted.controlsGain ? 1 : 0, place, buffer.count)
        }
        handle = UInt(bitPattern: made)
        if handle == 0 { throw VoiceProcessors.Missing(reason: VoiceProcessors.text(reason)) }
    }

    deinit { if let pointer = unsafe OpaquePointer(bitPattern: handle) { unsafe cwebrtcap_close(pointer) } }

    func far(_ frame: Span<Int16>) {
        guard let pointer = unsafe OpaquePointer(bitPattern: handle) else { return }
        unsafe frame.withUnsafeBufferPointer { samples in
            if let base = samples.baseAddress { unsafe cwebrtcap_far(pointer, base, samples.count) }
        }
    }

    func near(_ frame: inout [Int16], delay: Int) {
        guard let pointer = unsafe OpaquePointer(bitPattern: handle) else { return }
        unsafe frame.withUnsafeMutableBufferPointer { samples in
            if let base = samples.baseAddress { unsafe cwebrtcap_near(pointer, base, samples.count, Int32(clamping: delay)) }
        }
    }
}

/// speexdsp.
final class SpeexVoiceProcessor: VoiceProcessor {
    /// What an automatic canceller covers.
    static let automaticTail = 200

    private let handle: UInt
    let name = "speexdsp"

    init(_ wanted: VoiceProcessing, rate: Int) throws(VoiceProcessors.Missing) {
        let tail =
            switch wanted.echoCancellation {
            case .off: 0
            case .automatic: Self.automaticTail
            case .tail(let milliseconds): min(max(milliseconds, 10), 1000)
            }
        var reason = [CChar](repeating: 0, count: 256)
        let made = unsafe reason.withUnsafeMutableBufferPointer { buffer -> OpaquePointer? in
            guard let place = buffer.baseAddress else { return nil }
            return unsafe cspeexdsp_open(
                Int32(clamping: rate), Int32(tail), wanted.suppressesNoise ? 1 : 0, wanted.controlsGain ? 1 : 0, place, buffer.count)
        }
        handle = UInt(bitPattern: made)
        if handle == 0 { throw VoiceProcessors.Missing(reason: VoiceProcessors.text(reason)) }
    }

    deinit { if let pointer = unsafe OpaquePointer(bitPattern: handle) { unsafe cspeexdsp_close(pointer) } }

    func far(_ frame: Span<Int16>) {
        guard let pointer = unsafe OpaquePointer(bitPattern: handle) else { return }
        unsafe frame.withUnsafeBufferPointer { samples in
            if let base = samples.baseAddress { unsafe cspeexdsp_far(pointer, base, samples.count) }
        }
    }

    func near(_ frame: inout [Int16], delay: Int) {
        guard let pointer = unsafe OpaquePointer(bitPattern: handle) else { return }
        unsafe frame.withUnsafeMutableBufferPointer { samples in
            if let base = samples.baseAddress { unsafe cspeexdsp_near(pointer, base, samples.count, Int32(clamping: delay)) }
        }
    }
}
