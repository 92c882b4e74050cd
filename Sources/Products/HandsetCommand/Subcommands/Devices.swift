// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import Media

extension HandsetCommand {
    /// Lists the devices of the sound server and of ALSA; a system that is not there is a warning.
    static func runDevices(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        var devices: [SoundDeviceInfo] = []
        var reasons: [String] = []
        do throws(SoundDevices.Unavailable) { devices += try SoundDevices.pulse() } catch { reasons.append(error.reason) }
        do throws(SoundDevices.Unavailable) { devices += try SoundDevices.alsa() } catch { reasons.append(error.reason) }
        for device in devices { context.events.print(.device(device)) }
        for reason in reasons { context.events.print(.warning(code: "sound.system.missing", text: "\(reason).", call: nil)) }
        guard devices.isEmpty else { return .success }
        throw .failed("There are no sound devices.")
    }
}
