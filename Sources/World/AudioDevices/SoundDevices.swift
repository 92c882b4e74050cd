// SPDX-License-Identifier: Apache-2.0

import CALSA
import CPulse
import Media

/// Opens sound devices by name, and lists them.
public enum SoundDevices {
    /// The device of a name.
    ///
    /// - Parameters:
    ///   - name: `null` is silence; `default` the sound server's own choice, also when the user changes it; `alsa:NAME` an ALSA
    ///     device; anything else the name of a loudspeaker (sink) and a microphone (source) of the sound server. Where the two differ:
    ///     `SINK,SOURCE` and `alsa:OUTPUT|INPUT`.
    ///   - rate: samples a second that are played and heard.
    ///   - server: the sound server's address; nil: the usual one (`PULSE_SERVER`).
    /// - Returns: a device that is `opening`, or `failed` with the reason at once.
    public static func open(_ name: String, rate: Int, server: String? = nil) -> any SoundDevice {
        if name == "null" { return NullDevice() }
        #if canImport(AVFAudio) && canImport(Darwin)
            if name == "default" { return AppleVoiceDevice(rate: rate) }
        #endif
        if name.hasPrefix("alsa:") {
            // ALSA's own names have commas in them.
            let parts = name.dropFirst(5).split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return ALSADevice(output: parts[0], input: parts.count == 2 ? parts[1] : parts[0], rate: rate)
        }
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

    /// Why a sound system lists nothing.
    public struct Unavailable: Error, Sendable, Hashable {
        public var reason: String
    }

    /// The devices of the sound server. Waits for it, two seconds at most: not for a loop's thread.
    public static func pulse(server: String? = nil) throws(Unavailable) -> [SoundDeviceInfo] {
        var infos = [cpulse_info](repeating: cpulse_info(), count: 256)
        var reason = [CChar](repeating: 0, count: 256)
        let count = unsafe infos.withUnsafeMutableBufferPointer { places in
            unsafe reason.withUnsafeMutableBufferPointer { words -> Int32 in
                guard let base = places.baseAddress, let text = words.baseAddress else { return -1 }
                guard let server else { return unsafe cpulse_list(nil, base, places.count, text, words.count) }
                return unsafe cpulse_list(server, base, places.count, text, words.count)
            }
        }
        guard count >= 0 else { throw Unavailable(reason: text(reason)) }
        return infos.prefix(Int(count)).map { info in
            SoundDeviceInfo(
                name: text(info.name), description: text(info.description), direction: info.is_input != 0 ? .input : .output,
                backend: "pulse", isDefault: info.is_default != 0)
        }
    }

    /// The devices of ALSA.
    public static func alsa() throws(Unavailable) -> [SoundDeviceInfo] {
        var infos = [calsa_info](repeating: calsa_info(), count: 256)
        var reason = [CChar](repeating: 0, count: 256)
        let count = unsafe infos.withUnsafeMutableBufferPointer { places in
            unsafe reason.withUnsafeMutableBufferPointer { words -> Int32 in
                guard let base = places.baseAddress, let text = words.baseAddress else { return -1 }
                return unsafe calsa_list(base, places.count, text, words.count)
            }
        }
        guard count >= 0 else { throw Unavailable(reason: text(reason)) }
        return infos.prefix(Int(count)).map { info in
            SoundDeviceInfo(
                name: "alsa:" + text(info.name), description: text(info.description),
                direction: info.is_input != 0 ? .input : .output, backend: "alsa", isDefault: false)
        }
    }

    static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The text in an array of C's.
    private static func text<Characters>(_ characters: Characters) -> String {
        var copy = characters
        return unsafe withUnsafeBytes(of: &copy) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
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
