// SPDX-License-Identifier: Apache-2.0
//
// Ports that live as long as a call: what it hears from a file, where it is recorded, its echo.

import Media
import PhoneCore

extension Phone {
    /// Records what comes from the call's `port` into a WAV file until the call ends; gives the recorder.
    @discardableResult
    public func record(_ call: CallID, _ port: PortID, to path: String) -> PortID {
        let recorder = makeCompanion(of: call)
        order(.openRecorder(recorder, path: path))
        order(.connect(from: port, to: recorder))
        return recorder
    }

    /// Plays a WAV file into the call's `port` from its first sample on; gives the player.
    @discardableResult
    public func play(_ path: String, loops: Bool = false, into call: CallID, _ port: PortID) -> PortID {
        let player = makeCompanion(of: call)
        order(.openPlayer(player, path: path, loops: loops))
        order(.connect(from: player, to: port))
        order(.startPlayer(player))
        return player
    }

    /// Gives back to the call what comes from it.
    public func echo(_ call: CallID, _ port: PortID) {
        let echo = makeCompanion(of: call)
        order(.openEcho(echo))
        order(.connect(from: port, to: echo))
        order(.connect(from: echo, to: port))
    }

    /// Plays a tone into the call's `port` until the call ends.
    public func play(_ tone: Tone, into call: CallID, _ port: PortID) {
        let source = makeCompanion(of: call)
        order(.openTone(source, tone))
        order(.connect(from: source, to: port))
    }

    /// A new port that is closed when the call ends.
    private func makeCompanion(of call: CallID) -> PortID {
        let port = makePort()
        companions[call, default: []].append(port)
        return port
    }

    /// Closes the ports that lived for a call.
    func closeCompanions(of call: CallID) {
        for port in companions.removeValue(forKey: call) ?? [] { order(.closePort(port)) }
    }
}
