// SPDX-License-Identifier: Apache-2.0

import CALSA
import Media
import Synchronization

/// A loudspeaker and a microphone of ALSA, without a sound server.
final class ALSADevice: SoundDevice {
    /// What waits in the loudspeaker's buffer, in milliseconds.
    private static let latency: UInt32 = 20

    /// The C side, by its address: an `OpaquePointer` is not Sendable. 0: it could not be opened, or is closed.
    private let handle: Atomic<UInt>
    private let failure: String

    init(output: String, input: String, rate: Int) {
        var reason = [CChar](repeating: 0, count: 256)
        let made = unsafe reason.withUnsafeMutableBufferPointer { buffer -> OpaquePointer? in
            guard let place = buffer.baseAddress else { return nil }
            return unsafe calsa_open(output, input, UInt32(clamping: rate), Self.latency, place, buffer.count)
        }
        handle = Atomic(UInt(bitPattern: made))
        failure = unsafe made == nil ? SoundDevices.text(reason) : ""
    }

    deinit { close() }

    private var device: OpaquePointer? { unsafe OpaquePointer(bitPattern: handle.load(ordering: .acquiring)) }

    // MARK: The thread that ticks

    func play(_ frame: Span<Int16>) {
        guard let device = unsafe device else { return }
        unsafe frame.withUnsafeBufferPointer { samples in
            if let base = samples.baseAddress { unsafe calsa_play(device, base, samples.count) }
        }
    }

    func capture(_ frame: inout [Int16]) -> Bool {
        guard let device = unsafe device else {
            Samples.clear(&frame)
            return false
        }
        return unsafe frame.withUnsafeMutableBufferPointer { samples in
            guard let base = samples.baseAddress else { return false }
            return unsafe calsa_capture(device, base, samples.count) > 0
        }
    }

    var delayMilliseconds: Int { unsafe device.map { unsafe Int(calsa_delay($0)) } ?? 0 }

    // MARK: Any thread

    var state: SoundDeviceState {
        guard let device = unsafe device else { return .failed(reason: failure.isEmpty ? "it is closed" : failure) }
        let sides = unsafe (calsa_playback_state(device) == CALSA_FAILED, calsa_capture_state(device) == CALSA_FAILED)
        switch sides {
        case (true, true): return .failed(reason: unsafe reason(device))
        case (true, false), (false, true): return .degraded(reason: unsafe reason(device))
        case (false, false):
            let isReady = unsafe calsa_playback_state(device) == CALSA_READY && calsa_capture_state(device) == CALSA_READY
            return isReady ? .ready : .opening
        }
    }

    @unsafe private func reason(_ device: OpaquePointer) -> String {
        var reason = [CChar](repeating: 0, count: 256)
        unsafe reason.withUnsafeMutableBufferPointer { buffer in
            if let place = buffer.baseAddress { unsafe calsa_reason(device, place, buffer.count) }
        }
        return SoundDevices.text(reason)
    }

    var figures: SoundDeviceFigures {
        var result = SoundDeviceFigures()
        guard let device = unsafe device else { return result }
        let figures = unsafe calsa_figures_of(device)
        result.underruns = figures.underruns
        result.dropped = figures.dropped
        result.adjusted = figures.adjusted
        result.played = figures.played
        result.captured = figures.captured
        return result
    }

    func close() {
        let address = handle.exchange(0, ordering: .acquiringAndReleasing)
        if let device = unsafe OpaquePointer(bitPattern: address) { unsafe calsa_close(device) }
    }
}
