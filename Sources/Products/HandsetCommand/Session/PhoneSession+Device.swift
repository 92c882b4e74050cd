// SPDX-License-Identifier: Apache-2.0
//
// `--device`: the loudspeaker and the microphone are open while a call has media, and joined to every call.

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
        phone.assumeIsolated { $0.order(.closePort(port)) }
    }

    /// How the device is now; a call goes on without it, silent.
    func deviceChanged(_ state: SoundDeviceState) {
        switch state {
        case .opening, .ready: break
        case .degraded(let reason):
            context.events.print(
                .warning(code: "sound.device.half", text: "Half of the sound device \(media.device) works: \(reason).", call: nil))
        case .failed(let reason):
            context.events.print(
                .warning(
                    code: "sound.device.failed", text: "There is no sound: the device \(media.device) cannot be used (\(reason)).",
                    call: nil))
        }
    }
}
