// SPDX-License-Identifier: Apache-2.0
//
// The sound of incoming calls, on a device of its own if there is one.

import Essentials
import Media
import PhoneCore

/// How incoming calls ring.
public struct Ringing: Sendable {
    /// The device, named as in `Bridge.openDevice`; it need not be the one of the calls.
    public var device: String
    /// The default is the ringing of Europe (ETSI TR 101 041): 425 Hz, one second in five.
    public var tone: Tone
    /// A WAV file in its place, repeated.
    public var file: String?

    public init(
        device: String = "default", tone: Tone = Tone(frequency: 425, level: -16, onMilliseconds: 1000, offMilliseconds: 4000),
        file: String? = nil
    ) {
        self.device = device
        self.tone = tone
        self.file = file
    }
}

/// What rings now.
struct Ring {
    var calls: Set<CallID> = []
    var ports: [PortID] = []
    var isPlanned = false
}

extension Phone {
    /// Rings while a call waits to be answered. One that is answered in the same turn makes no sound.
    func noteRinging(_ event: PhoneEvent) {
        guard settings.ringing != nil else { return }
        switch event {
        case .incomingCall(let id, let call): if call.replaces == nil { ring.calls.insert(id) }
        case .callState(let id, let state, _, _): if state != .incoming, state != .early { ring.calls.remove(id) }
        case .ended(let id, _): ring.calls.remove(id)
        default: return
        }
        if ring.calls.isEmpty { return stopRinging() }
        guard ring.ports.isEmpty, !ring.isPlanned else { return }
        ring.isPlanned = true
        loop.atEndOfTurn { [weak self] in self?.assumeIsolated { $0.startRinging() } }
    }

    private func startRinging() {
        ring.isPlanned = false
        guard let ringing = settings.ringing, !ring.calls.isEmpty, ring.ports.isEmpty else { return }
        let (device, sound) = (makePort(), makePort())
        order(.openDevice(device, name: ringing.device))
        if let file = ringing.file {
            order(.openPlayer(sound, path: file, loops: true))
            order(.startPlayer(sound))
        } else {
            order(.openTone(sound, ringing.tone))
        }
        order(.connect(from: sound, to: device))
        ring.ports = [device, sound]
    }

    private func stopRinging() {
        for port in ring.ports { order(.closePort(port)) }
        ring.ports = []
    }
}
