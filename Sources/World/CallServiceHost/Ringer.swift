// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import CallServiceCore
import Essentials
import Media
import MediaRuntime
import Networking

/// How incoming calls ring.
public struct RingSettings: Sendable {
    /// A sound device, named as in docs/devices.md. It is open only while a call rings.
    public var device = "default"
    /// The system's ringtone where an app has none; the default is the ringing of Europe (ETSI TR 101 041): 425 Hz, one second in five.
    public var tone = Tone(frequency: 425, level: -16, onMilliseconds: 1000, offMilliseconds: 4000)
    /// A WAV file in the tone's place, repeated.
    public var file: String?
    /// Octets of a sound file.
    public var maximumFile = 64 << 20
    public var devices: SoundDeviceFactory = { SoundDevices.open($0, rate: $1) }

    public init() {}
}

/// What is heard while a call rings.
public enum RingerEvent: Sendable, Hashable {
    /// It rings, with that file or with the tone.
    case began(call: UUIDValue, file: String?)
    case ended
    /// The file cannot be played: the tone is heard instead.
    case fileFailed(reason: String)
    /// Nothing is heard: no such device, no sound server. Told once for each call.
    case deviceFailed(reason: String)
}

/// Rings while the screen says so. Belongs to the loop.
final class Ringer {
    private struct Sound {
        var ringing: Ringing
        var device: PortID
        var source: PortID
        var isTone: Bool
        var isFailing = false
    }

    private let settings: RingSettings
    private let tell: (RingerEvent) -> Void
    private let box = Box()
    private let runtime: MediaRuntime
    private var sound: Sound?
    private var nextPort: UInt32 = 1

    /// The runtime speaks to what is made after it.
    private final class Box { weak var ringer: Ringer? }

    init(_ settings: RingSettings, loop: EventLoop, _ tell: @escaping (RingerEvent) -> Void) {
        self.settings = settings
        self.tell = tell
        var configuration = MediaRuntimeConfiguration()
        configuration.devices = settings.devices
        configuration.playerFileLimit = settings.maximumFile
        let box = box
        runtime = MediaRuntime(
            loop: loop, configuration: configuration, random: RandomSource(SystemRandomNumberGenerator())
        ) { [box] in box.ringer?.hear($0) }
        box.ringer = self
    }

    /// What rings from now on; nil: nothing.
    func ring(_ ringing: Ringing?) {
        guard ringing != sound?.ringing else { return }
        let wasRinging = sound != nil
        silence()
        guard let ringing else {
            if wasRinging { tell(.ended) }
            return
        }
        let device = port()
        runtime.perform(.openDevice(device, name: settings.device))
        let file = ringing.path ?? settings.file
        sound = Sound(ringing: ringing, device: device, source: play(file, to: device), isTone: file == nil)
        tell(.began(call: ringing.call, file: file))
    }

    func stop() {
        silence()
        runtime.stop()
    }

    private func port() -> PortID {
        defer { nextPort &+= 1 }
        return PortID(rawValue: nextPort)
    }

    private func play(_ file: String?, to device: PortID) -> PortID {
        let source = port()
        if let file {
            runtime.perform(.openPlayer(source, path: file, loops: true))
            runtime.perform(.startPlayer(source))
        } else {
            runtime.perform(.openTone(source, settings.tone))
        }
        runtime.perform(.connect(from: source, to: device))
        return source
    }

    private func silence() {
        guard let sound else { return }
        runtime.perform(.closePort(sound.source))
        runtime.perform(.closePort(sound.device))
        self.sound = nil
    }

    private func hear(_ event: MediaEvent) {
        guard let sound else { return }
        switch event {
        case .fileFailed(sound.source, let reason) where !sound.isTone:
            tell(.fileFailed(reason: reason))
            runtime.perform(.closePort(sound.source))
            self.sound?.isTone = true
            self.sound?.source = play(nil, to: sound.device)
        case .fileFailed(sound.device, let reason), .deviceChanged(sound.device, .failed(let reason)):
            guard !sound.isFailing else { return }
            self.sound?.isFailing = true
            tell(.deviceFailed(reason: reason))
        case .deviceChanged(sound.device, .ready): self.sound?.isFailing = false
        default: break
        }
    }
}
