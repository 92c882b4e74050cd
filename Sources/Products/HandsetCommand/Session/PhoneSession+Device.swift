// SPDX-License-Identifier: Apache-2.0
//
// `--device`: the loudspeaker and the microphone are open while a call has media, and joined to every call.

import Essentials
import Handset
import Media
import PhoneCore

extension PhoneSession {
    /// Joins a call to the sound device; the first one opens it.
    func joinDevice(_ callPort: PortID, _ phone: Phone) {
        guard media.device != "null" else { return }
        devicePort = phone.assumeIsolated { [name = media.device, open = devicePort] phone in
            let device: PortID
            if let open {
                device = open
            } else {
                device = phone.makePort()
                phone.order(.openDevice(device, name: name))
            }
            phone.order(.connect(from: callPort, to: device))
            phone.order(.connect(from: device, to: callPort))
            return device
        }
    }

    /// Nobody listens: the microphone is closed with the last call.
    func leaveDevice() {
        guard shown.isEmpty, let phone, let port = devicePort else { return }
        devicePort = nil
        deviceTries = 0
        phone.assumeIsolated { $0.order(.closePort(port)) }
    }

    /// How the device is now; a call goes on without it, silent, and it is tried again for as long as there are calls.
    func deviceChanged(_ port: PortID, _ state: SoundDeviceState, _ phone: Phone) {
        guard port == devicePort else { return }
        switch state {
        case .opening: break
        case .ready:
            guard deviceTries > 0 else { return }
            deviceTries = 0
            context.events.print(.warning(code: "sound.device.returned", text: "The sound device \(media.device) works again.", call: nil))
        case .degraded(let reason):
            context.events.print(
                .warning(code: "sound.device.half", text: "Half of the sound device \(media.device) works: \(reason).", call: nil))
        case .failed(let reason):
            if deviceTries == 0 {
                context.events.print(
                    .warning(
                        code: "sound.device.failed", text: "There is no sound: the device \(media.device) cannot be used (\(reason)).",
                        call: nil))
            }
            // After 1, 2, 4, 8, 16 and then every 30 s.
            let wait = Interval.seconds(Int64(min(30, 1 << min(deviceTries, 5))))
            deviceTries += 1
            loop.schedule(at: loop.now + wait) { [weak self] in self?.assumeIsolated { $0.reopenDevice(port, phone) } }
        }
    }

    /// Opens the device that failed once more, and joins every call to it.
    private func reopenDevice(_ failed: PortID, _ phone: Phone) {
        guard devicePort == failed else { return }
        phone.assumeIsolated { $0.order(.closePort(failed)) }
        devicePort = nil
        for call in shown.values.sorted(by: { $0.number < $1.number }) { if let port = call.port { joinDevice(port, phone) } }
    }
}
