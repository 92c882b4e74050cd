// SPDX-License-Identifier: Apache-2.0
//
// `--device`: the loudspeaker and the microphone are open while a call has media, and joined to every call.

import Essentials
import Handset
import Media
import PhoneCore

extension PhoneSession {
    /// The device of the calls and what is done with its sound.
    struct Sound {
        var device: String
        var voice: VoiceProcessing
        var microphoneGain: Double
        var volume: Double
        var levels: Int

        init(_ media: MediaSettings) {
            device = media.device
            voice = media.sound.voiceProcessing
            microphoneGain = Double(media.sound.microphoneGain)
            volume = Double(media.sound.volume)
            levels = Int(media.sound.levelsEvery?.milliseconds ?? 0)
        }
    }

    /// Joins a call to the sound device; the first one opens it.
    func joinDevice(_ callPort: PortID, _ phone: Phone) {
        guard sound.device != "null" else { return }
        let device = devicePort ?? openDevice(phone)
        phone.assumeIsolated { phone in
            phone.order(.connect(from: callPort, to: device))
            phone.order(.connect(from: device, to: callPort))
        }
    }

    private func openDevice(_ phone: Phone) -> PortID {
        let port = phone.assumeIsolated { [sound] phone in
            let port = phone.makePort()
            phone.order(.openDevice(port, name: sound.device))
            if SoundSettings.isReal(sound.device) { phone.order(.processVoice(port, sound.voice)) }
            if sound.microphoneGain != 0 { phone.order(.setGain(port, decibels: sound.microphoneGain)) }
            if sound.volume != 0 { phone.order(.setVolume(port, decibels: sound.volume)) }
            if sound.levels > 0 { phone.order(.reportLevels(port, every: .milliseconds(Int64(sound.levels)))) }
            return port
        }
        devicePort = port
        return port
    }

    /// Nobody listens: the microphone is closed with the last call.
    func leaveDevice() {
        guard shown.isEmpty else { return }
        closeDevice()
    }

    private func closeDevice() {
        guard let phone, let port = devicePort else { return }
        devicePort = nil
        hasLostDevice = false
        phone.assumeIsolated { $0.order(.closePort(port)) }
    }

    /// Takes another device for all calls.
    func changeDevice(to name: String, _ phone: Phone) {
        closeDevice()
        sound.device = name
        let ports = shown.filter { $0.value.hasMedia }.sorted { $0.value.number < $1.value.number }
            .compactMap { call in try? phone.assumeIsolated { try $0.port(of: call.key) } }
        for port in ports { joinDevice(port, phone) }
    }

    /// How a device is now; a call goes on without it, silent.
    func deviceChanged(_ port: PortID, _ state: SoundDeviceState) {
        let device = port == devicePort ? sound.device : media.sound.ringDevice ?? sound.device
        switch state {
        case .opening: tell(device, "opening", nil)
        case .ready:
            tell(device, "ready", nil)
            guard hasLostDevice, port == devicePort else { return }
            hasLostDevice = false
            context.events.print(.warning(code: "sound.device.returned", text: "The sound device \(device) works again.", call: nil))
        case .degraded(let reason):
            tell(device, "half", reason)
            context.events.print(
                .warning(code: "sound.device.half", text: "Half of the sound device \(device) works: \(reason).", call: nil))
        case .failed(let reason):
            tell(device, "failed", reason)
            if port == devicePort {
                if hasLostDevice { return }
                hasLostDevice = true
            }
            context.events.print(
                .warning(
                    code: "sound.device.failed", text: "There is no sound: the device \(device) cannot be used (\(reason)).", call: nil))
        }
    }

    private func tell(_ device: String, _ state: String, _ reason: String?) {
        context.events.print(.sound(device: device, state: state, reason: reason))
    }

    func voiceProcessingChanged(_ state: VoiceProcessingState) {
        switch state {
        case .off: context.events.print(.voice(state: "off", by: nil, reason: nil))
        case .on(let name): context.events.print(.voice(state: "on", by: name, reason: nil))
        case .unavailable(let reason):
            context.events.print(.voice(state: "unavailable", by: nil, reason: reason))
            context.events.print(
                .warning(code: "sound.voice.unavailable", text: "The microphone's sound goes out as it is: \(reason).", call: nil))
        }
    }
}
