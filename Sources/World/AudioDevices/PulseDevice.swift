// SPDX-License-Identifier: Apache-2.0

import CPulse
import Media
import Synchronization

/// A loudspeaker and a microphone of a PulseAudio server.
final class PulseDevice: SoundDevice {
    /// What is asked of the server for the loudspeaker, in milliseconds.
    private static let latency: UInt32 = 20

    /// The C side, by its address: an `OpaquePointer` is not Sendable. 0: it could not be opened, or is closed.
    private let handle: Atomic<UInt>
    private let failure: String

    init(sink: String?, source: String?, rate: Int, server: String?) {
        var reason = [CChar](repeating: 0, count: 256)
        let made = unsafe Self.optional(server) { server in
            unsafe Self.optional(sink) { sink in
                unsafe Self.optional(source) { source in
                    unsafe reason.withUnsafeMutableBufferPointer { buffer -> OpaquePointer? in
                        guard let place = buffer.baseAddress else { return nil }
                        return unsafe cpulse_open(
                            server, "Handset", sink, source, UInt32(clamping: rate), Self.latency, place, buffer.count)
                    }
                }
            }
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
            guard let base = samples.baseAddress else { return }
            unsafe cpulse_play(device, base, samples.count)
        }
    }

    func capture(_ frame: inout [Int16]) -> Bool {
        guard let device = unsafe device else {
            Samples.clear(&frame)
            return false
        }
        return unsafe frame.withUnsafeMutableBufferPointer { samples in
            guard let base = samples.baseAddress else { return false }
            return unsafe cpulse_capture(device, base, samples.count) > 0
        }
    }

    var delayMilliseconds: Int { unsafe device.map { unsafe Int(cpulse_delay($0)) } ?? 0 }

    // MARK: Any thread

    var state: SoundDeviceState {
        guard let device = unsafe device else { return .failed(reason: failure.isEmpty ? "it is closed" : failure) }
        let (playback, capture) = unsafe (cpulse_playback_state(device), cpulse_capture_state(device))
        switch (playback, capture) {
        case (CPULSE_FAILED, CPULSE_FAILED): return .failed(reason: unsafe reason(device))
        case (CPULSE_FAILED, CPULSE_READY), (CPULSE_READY, CPULSE_FAILED): return .degraded(reason: unsafe reason(device))
        case (CPULSE_READY, CPULSE_READY): return .ready
        default: return .opening
        }
    }

    @unsafe private func reason(_ device: OpaquePointer) -> String {
        var reason = [CChar](repeating: 0, count: 256)
        unsafe reason.withUnsafeMutableBufferPointer { buffer in
            if let place = buffer.baseAddress { unsafe cpulse_reason(device, place, buffer.count) }
        }
        return SoundDevices.text(reason)
    }

    var figures: SoundDeviceFigures {
        var result = SoundDeviceFigures()
        guard let device = unsafe device else { return result }
        let figures = unsafe cpulse_figures_of(device)
        result.underruns = figures.underruns
        result.dropped = figures.dropped
        result.adjusted = figures.adjusted
        result.played = figures.played
        result.captured = figures.captured
        return result
    }

    func close() {
        let address = handle.exchange(0, ordering: .acquiringAndReleasing)
        if let device = unsafe OpaquePointer(bitPattern: address) { unsafe cpulse_close(device) }
    }

    @unsafe private static func optional<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let text else { return body(nil) }
        return unsafe text.withCString { unsafe body($0) }
    }
}
