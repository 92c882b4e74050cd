// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetCommand
import Media
import Testing

@Suite struct SoundCommandTests {
    @Test(arguments: [
        (#"{"command":"play","file":"a.wav"}"#, SoundCommand.play(file: "a.wav", loops: false)),
        (#"{"command":"tone","frequency":440}"#, .tone(frequency: 440, second: 0, level: -13)),
        (#"{"command":"record","file":"a.wav"}"#, .record(file: "a.wav", .heard)),
        (#"{"command":"program","run":"x","rate":8000}"#, .program("x", rate: 8000)),
        (#"{"command":"connect","from":1,"to":"p7"}"#, .connect(from: "1", to: "p7")),
        (#"{"command":"gain","db":-3.5}"#, .gain(port: "device", decibels: -3.5)),
        (#"{"command":"levels"}"#, .levels(port: "device", milliseconds: 200)),
        (#"{"command":"voice","echo":0,"noise":false}"#, .voice(VoiceProcessing())),
        (
            #"{"command":"voice","echo":128,"gain":true}"#,
            .voice(VoiceProcessing(echoCancellation: .tail(128), suppressesNoise: true, controlsGain: true))
        ),
        (#"{"command":"voice"}"#, .voice(VoiceProcessing(echoCancellation: .automatic, suppressesNoise: true))),
    ])
    func everyLineIsRead(line: String, command: SoundCommand) throws {
        #expect(try ControlCommand(parsing: line).action == .sound(command))
    }

    @Test(arguments: [
        #"{"command":"play"}"#, #"{"command":"tone","frequency":5}"#, #"{"command":"tone"}"#,
        #"{"command":"record","file":"a","channels":"x"}"#,
        #"{"command":"program","run":"x","rate":7999}"#, #"{"command":"gain","db":25}"#, #"{"command":"gain"}"#,
        #"{"command":"voice","echo":1001}"#,
        #"{"command":"connect","from":"1"}"#, #"{"command":"levels","ms":-1}"#,
    ])
    func whatIsWrongIsSaid(line: String) {
        let failure = #expect(throws: ControlCommand.Failure.self) { try ControlCommand(parsing: line) }
        #expect(failure?.command.isEmpty == false && failure?.text.isEmpty == false)
    }

    @Test(arguments: [
        ("play a.wav", SoundCommand.play(file: "a.wav", loops: false)), ("record r.wav 2", .record(file: "r.wav", .mixed)),
        ("device alsa:default", .device("alsa:default")), ("volume -6", .volume(port: "device", decibels: -6)),
        ("gain 3.5", .gain(port: "device", decibels: 3.5)), ("levels", .levels(port: "device", milliseconds: 1000)),
        ("levels off", .levels(port: "device", milliseconds: 0)),
    ])
    func aPersonMayTypeIt(line: String, command: SoundCommand) throws {
        #expect(try PhoneLine.parse(line)?.get().action == .sound(command))
    }

    static func settings(_ options: String...) throws -> MediaSettings {
        guard case .run(let invocation) = try Invocation.parse(["call", "sip:a@b"] + options) else { throw UsageError("help") }
        return try MediaSettings(invocation)
    }

    @Test func theOptionsSayWhatIsDoneWithTheMicrophone() throws {
        let usual = try Self.settings().sound
        #expect(usual.voiceProcessing == VoiceProcessing(echoCancellation: .automatic, suppressesNoise: true, controlsGain: false))
        let own = try Self.settings("--echo-tail", "0", "--noise-suppression", "off", "--gain-control", "on", "--volume", "-6").sound
        #expect(own.voiceProcessing == VoiceProcessing(controlsGain: true) && own.volume == -6)
        #expect(try Self.settings("--echo-tail", "200").sound.echoCancellation == .tail(200))
        #expect(try Self.settings("--program", "unix:/run/x", "--program-rate", "24000").program?.rate == 24_000)
    }

    @Test(arguments: [
        ["--record-channels", "split"], ["--program-rate", "8000"], ["--echo-tail", "1001"], ["--bridge-rate", "11025"],
        ["--levels", "0.01"],
        ["--device-rate", "7000"], ["--volume", "25"],
    ])
    func whatCannotBeIsWrongUsage(options: [String]) {
        #expect(throws: (any Error).self) {
            guard case .run(let invocation) = try Invocation.parse(["call", "sip:a@b"] + options) else { return }
            _ = try MediaSettings(invocation)
        }
    }
}
