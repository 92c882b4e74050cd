// SPDX-License-Identifier: Apache-2.0
//
// The devices that ports stand for: opened on the loop, handed to the media thread, watched while they are open.

import Essentials
import Media
import Networking

/// Makes the device of a name at a rate; nil: this runtime has none.
public typealias SoundDeviceFactory = @Sendable (_ name: String, _ rate: Int) -> any SoundDevice

/// The open devices of a runtime and the state last told of each. Belongs to the loop.
struct DeviceWatch {
    /// How often a device is asked for its state: soon enough for a person, too seldom to be felt.
    static let period = Interval.milliseconds(200)

    private var devices: [PortID: (device: any SoundDevice, told: SoundDeviceState)] = [:]

    var isEmpty: Bool { devices.isEmpty }

    mutating func add(_ port: PortID, _ device: any SoundDevice) { devices[port] = (device, .opening) }

    mutating func remove(_ port: PortID) -> (any SoundDevice)? { devices.removeValue(forKey: port)?.device }

    /// The states that are new since they were last asked for, in the order of ports.
    mutating func changes() -> [(PortID, SoundDeviceState)] {
        var result: [(PortID, SoundDeviceState)] = []
        for port in devices.keys.sorted() {
            guard let entry = devices[port] else { continue }
            let state = entry.device.state
            guard state != entry.told else { continue }
            devices[port]?.told = state
            result.append((port, state))
        }
        return result
    }

    /// Closes all.
    mutating func close() {
        for port in devices.keys.sorted() { devices[port]?.device.close() }
        devices = [:]
    }
}
