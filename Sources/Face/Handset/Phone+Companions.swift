// SPDX-License-Identifier: Apache-2.0
//
// Ports that live as long as a call: what it hears from a file, where it is recorded, its echo.

import Media
import PhoneCore

/// What of a call is recorded.
public enum RecordingChannels: String, Sendable, CaseIterable {
    /// What the other side says: what would go to the loudspeaker.
    case heard
    /// Both sides in one channel.
    case mixed
    /// What we say left, what the other side says right.
    case split
}

extension Phone {
    /// Records the call into a WAV file until it ends; gives the recorder.
    @discardableResult
    public func record(_ call: CallID, _ port: PortID, to path: String, channels: RecordingChannels = .heard) -> PortID {
        let recorder = makeCompanion(of: call)
        switch channels {
        case .heard:
            order(.openRecorder(recorder, path: path))
            order(.connect(from: port, to: recorder))
        case .mixed:
            order(.openRecorder(recorder, path: path))
            order(.tap(recorder, of: port))
            order(.connect(from: port, to: recorder))
        case .split:
            let right = makeCompanion(of: call)
            order(.openSplitRecorder(recorder, right: right, path: path))
            order(.tap(recorder, of: port))
            order(.connect(from: port, to: right))
        }
        return recorder
    }

    /// Lets a program hold the call: it hears what comes from the call's `port`, and what it says goes there. Gives its port.
    @discardableResult
    public func attach(_ program: ProgramSettings, to call: CallID, _ port: PortID) -> PortID {
        let link = makeCompanion(of: call)
        order(.openProgram(link, program))
        order(.connect(from: port, to: link))
        order(.connect(from: link, to: port))
        return link
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
    @discardableResult
    public func echo(_ call: CallID, _ port: PortID) -> PortID {
        let echo = makeCompanion(of: call)
        order(.openEcho(echo))
        order(.connect(from: port, to: echo))
        order(.connect(from: echo, to: port))
        return echo
    }

    /// Plays a tone into the call's `port` until the call ends.
    @discardableResult
    public func play(_ tone: Tone, into call: CallID, _ port: PortID) -> PortID {
        let source = makeCompanion(of: call)
        order(.openTone(source, tone))
        order(.connect(from: source, to: port))
        return source
    }

    /// Closes a port that lives as long as a call before that is over.
    public func closeCompanion(_ port: PortID, of call: CallID) {
        companions[call]?.removeAll { $0 == port }
        order(.closePort(port))
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
