// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media

/// The conference bridge of a phone: any port may be heard by any other.
///
///     let recorder = await phone.bridge.openRecorder("call.wav")
///     await phone.bridge.connect(call.port, recorder)
public struct Bridge: Sendable {
    let phone: Phone

    /// `from` is heard by `to` from now on. Joining what is joined changes nothing.
    public func connect(_ from: PortID, _ to: PortID) async { await phone.order(.connect(from: from, to: to)) }

    /// `from` is no longer heard by `to`.
    public func disconnect(_ from: PortID, _ to: PortID) async { await phone.order(.disconnect(from: from, to: to)) }

    /// Both hear each other.
    public func join(_ one: PortID, _ other: PortID) async {
        await connect(one, other)
        await connect(other, one)
    }

    /// A player of a WAV file (16 bit or G.711, 8–48 kHz). It starts with `start`; a file that cannot be read is told by
    /// `PhoneEvent.port(.fileFailed)`.
    public func openPlayer(_ path: String, loops: Bool = false) async -> PortID {
        await open { .openPlayer($0, path: path, loops: loops) }
    }

    /// A recorder into a WAV file, mono, 16 bit, at the bridge's rate; every frame is written as it is heard.
    public func openRecorder(_ path: String) async -> PortID { await open { .openRecorder($0, path: path) } }

    public func openTone(_ tone: Tone) async -> PortID { await open { .openTone($0, tone) } }

    /// A port that gives back what it hears.
    public func openEcho() async -> PortID { await open { .openEcho($0) } }

    /// A recorder of two channels into a WAV file: `left` is joined to what the first channel is to hold, `right` likewise.
    public func openSplitRecorder(_ path: String) async -> (left: PortID, right: PortID) {
        let (left, right) = (await phone.makePort(), await phone.makePort())
        await phone.order(.openSplitRecorder(left, right: right, path: path))
        return (left, right)
    }

    /// A program that hears and speaks (docs/program-port.md). What it does is told by `PhoneEvent.port(.program)`.
    public func openProgram(_ program: ProgramSettings) async -> PortID { await open { .openProgram($0, program) } }

    /// Tells a program an event: one JSON object.
    public func tell(_ program: PortID, _ text: String) async { await phone.order(.tellProgram(program, text)) }

    /// The loudspeaker and the microphone: `default`, `null` (silence), `alsa:NAME`, `file:IN.wav,OUT.wav` or a name of the sound
    /// server (docs/devices.md). What becomes of it is told by `PhoneEvent.port(.deviceChanged)`.
    public func openDevice(_ name: String = "default") async -> PortID { await open { .openDevice($0, name: name) } }

    /// Starts a player from its first sample.
    public func start(_ player: PortID) async { await phone.order(.startPlayer(player)) }

    /// Sets the gain of what `port` gives to the bridge, in dB; −infinity mutes it.
    public func setGain(_ port: PortID, decibels: Double) async { await phone.order(.setGain(port, decibels: decibels)) }

    /// Sets the volume of what `port` hears, in dB.
    public func setVolume(_ port: PortID, decibels: Double) async { await phone.order(.setVolume(port, decibels: decibels)) }

    /// Has the levels of `port` told by `PhoneEvent.port(.levels)` every so often (10 ms or more); zero: no longer.
    public func reportLevels(_ port: PortID, every period: Interval) async {
        await phone.order(.reportLevels(port, every: period))
    }

    /// `port` hears from now on what `other` hears: what is said to the other side of a call, for the call's port.
    public func tap(_ port: PortID, of other: PortID) async { await phone.order(.tap(port, of: other)) }

    /// What is to be done with the sound of a device's microphone. What does it, or why nothing can, is told by
    /// `PhoneEvent.port(.voiceProcessing)`.
    public func processVoice(_ device: PortID, _ wanted: VoiceProcessing) async {
        await phone.order(.processVoice(device, wanted))
    }

    public func close(_ port: PortID) async { await phone.order(.closePort(port)) }

    private func open(_ command: @Sendable (PortID) -> MediaCommand) async -> PortID {
        let port = await phone.makePort()
        await phone.order(command(port))
        return port
    }
}
