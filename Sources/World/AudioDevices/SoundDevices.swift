// SPDX-License-Identifier: Apache-2.0

import Media

/// Opens sound devices by name.
public enum SoundDevices {
    /// The device of a name.
    ///
    /// - Parameters:
    ///   - name: `null` is silence; `default` the sound server's own choice; anything else the name of a loudspeaker (sink) and
    ///     a microphone (source), or `SINK,SOURCE` where they differ.
    ///   - rate: samples a second of the bridge.
    ///   - server: the sound server's address; nil: the usual one (`PULSE_SERVER`).
    /// - Returns: a device that is `opening`, or `failed` with the reason at once.
    public static func open(_ name: String, rate: Int, server: String? = nil) -> any SoundDevice {
        if name == "null" { return NullDevice() }
        let (sink, source) = names(name)
        return PulseDevice(sink: sink, source: source, rate: rate, server: server)
    }

    /// The sink and the source that a name means; nil: the server's choice.
    package static func names(_ name: String) -> (sink: String?, source: String?) {
        if name == "default" { return (nil, nil) }
        let parts = name.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map {
            $0.isEmpty || $0 == "default" ? nil : String($0)
        }
        return (parts.first ?? nil, parts.count == 2 ? parts[1] : parts.first ?? nil)
    }
}

/// A device that plays into nothing and hears nothing.
public final class NullDevice: SoundDevice {
    public init() {}
    public func play(_ frame: Span<Int16>) {}
    public func capture(_ frame: inout [Int16]) -> Bool {
        Samples.clear(&frame)
        return false
    }
    public var state: SoundDeviceState { .ready }
    public var figures: SoundDeviceFigures { SoundDeviceFigures() }
    public func close() {}
}
