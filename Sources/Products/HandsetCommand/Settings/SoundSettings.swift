// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media

/// What the options say of loudspeaker and microphone.
package struct SoundSettings: Sendable {
    package var ringDevice: String?
    package var deviceRate: Int?
    package var bridgeRate: Int?
    package var echoCancellation: VoiceProcessing.EchoCancellation
    package var suppressesNoise: Bool
    package var controlsGain: Bool
    /// In dB.
    package var microphoneGain: Int
    package var volume: Int
    package var levelsEvery: Interval?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        ringDevice = invocation.value("--ring-device")
        deviceRate = invocation.integer("--device-rate")
        bridgeRate = invocation.integer("--bridge-rate")
        switch invocation.value("--echo-tail") {
        case nil, "auto": echoCancellation = .automatic
        case let tail?:
            guard let milliseconds = Int(tail), (0...1000).contains(milliseconds) else {
                throw .usage("--echo-tail takes auto, or 0 to 1000 milliseconds.")
            }
            echoCancellation = .init(tailMilliseconds: milliseconds)
        }
        suppressesNoise = invocation.value("--noise-suppression") != "off"
        controlsGain = invocation.value("--gain-control") == "on"
        microphoneGain = invocation.integer("--microphone-gain") ?? 0
        volume = invocation.integer("--volume") ?? 0
        levelsEvery = invocation.value("--levels").flatMap(Seconds.parse)
        if let levelsEvery, levelsEvery < .milliseconds(50) { throw .usage("--levels takes 0.05 seconds or more.") }
    }

    package var voiceProcessing: VoiceProcessing {
        VoiceProcessing(echoCancellation: echoCancellation, suppressesNoise: suppressesNoise, controlsGain: controlsGain)
    }

    /// Silence and files are as they are: nothing works on them.
    package static func isReal(_ device: String) -> Bool { device != "null" && !device.hasPrefix("file:") }
}
