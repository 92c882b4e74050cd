// SPDX-License-Identifier: Apache-2.0

import Handset
import Media

/// What a control line asks of the bridge. A port is named by the number of a call, by `device`, or as `done` named it (`p7`).
package enum SoundCommand: Sendable, Equatable {
    case play(file: String, loops: Bool)
    case tone(frequency: Double, second: Double, level: Double)
    case record(file: String, RecordingChannels)
    case program(String, rate: Int)
    case echo
    case close(port: String)
    case connect(from: String, to: String)
    case disconnect(from: String, to: String)
    case gain(port: String, decibels: Double)
    case volume(port: String, decibels: Double)
    /// Every so many milliseconds; 0: no longer.
    case levels(port: String, milliseconds: Int)
    case device(String)
    case voice(VoiceProcessing)

    /// The command of this name; nil: it is none of these.
    static func parse(_ name: String, _ object: JSONValue) throws(ControlCommand.Failure) -> SoundCommand? {
        func needed(_ member: String) throws(ControlCommand.Failure) -> String {
            if case .integer(let number)? = object[member] { return "\(number)" }
            guard let text = object[member]?.text, !text.isEmpty else {
                throw ControlCommand.Failure(command: name, text: "\(name) needs \"\(member)\"")
            }
            return text
        }
        func number(_ member: String, _ range: ClosedRange<Double>, else usual: Double?) throws(ControlCommand.Failure) -> Double {
            guard let value = object[member]?.number ?? (object[member] == nil ? usual : nil), range.contains(value) else {
                throw ControlCommand.Failure(
                    command: name, text: "\"\(member)\" is \(Int(range.lowerBound)) to \(Int(range.upperBound))")
            }
            return value
        }
        switch name {
        case "play": return .play(file: try needed("file"), loops: object["loop"] == .bool(true))
        case "tone":
            return .tone(
                frequency: try number("frequency", 20...20_000, else: nil), second: try number("second", 0...20_000, else: 0),
                level: try number("level", -63...0, else: -13))
        case "record":
            let word = object["channels"]?.text ?? "heard"
            guard let channels = RecordingChannels(rawValue: word) else {
                throw ControlCommand.Failure(command: name, text: "\"channels\" is heard, mixed or split")
            }
            return .record(file: try needed("file"), channels)
        case "program": return .program(try needed("run"), rate: Int(try number("rate", 8000...48_000, else: 16_000)))
        case "echo": return .echo
        case "close": return .close(port: try needed("port"))
        case "connect": return .connect(from: try needed("from"), to: try needed("to"))
        case "disconnect": return .disconnect(from: try needed("from"), to: try needed("to"))
        case "gain":
            return .gain(port: object["port"] == nil ? "device" : try needed("port"), decibels: try number("db", -100...24, else: nil))
        case "volume":
            return .volume(port: object["port"] == nil ? "device" : try needed("port"), decibels: try number("db", -100...24, else: nil))
        case "levels":
            return .levels(
                port: object["port"] == nil ? "device" : try needed("port"), milliseconds: Int(try number("ms", 0...60_000, else: 200)))
        case "device": return .device(try needed("name"))
        case "voice": return .voice(try voice(name, object))
        default: return nil
        }
    }

    private static func voice(_ name: String, _ object: JSONValue) throws(ControlCommand.Failure) -> VoiceProcessing {
        let echo: VoiceProcessing.EchoCancellation
        switch object["echo"] {
        case .string("auto")?, nil: echo = .automatic
        case let tail?:
            guard let milliseconds = tail.number, (0...1000).contains(milliseconds) else {
                throw ControlCommand.Failure(command: name, text: "\"echo\" is auto or 0 to 1000")
            }
            echo = .init(tailMilliseconds: Int(milliseconds))
        }
        return VoiceProcessing(
            echoCancellation: echo, suppressesNoise: object["noise"] != .bool(false), controlsGain: object["gain"] == .bool(true))
    }
}
