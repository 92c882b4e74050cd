// SPDX-License-Identifier: Apache-2.0

import Essentials
import Handset
import Media
import SDP

/// MEDIA-OPTIONS, with their defaults.
package struct MediaSettings: Sendable {
    package enum DTMFMethod: String, Sendable {
        case auto
        case rfc4733
        case info
        case inBand = "inband"
    }

    package var playFile: String?
    /// `null`, `default` or a name of the sound server.
    package var device: String
    package var loops: Bool
    package var recordFile: String?
    package var recordChannels: RecordingChannels
    package var program: ProgramSettings?
    package var sound: SoundSettings
    /// Encoding names as in SDP, in order of preference.
    package var codecs: [String]
    /// Of Opus, in bit/s.
    package var bitRate: Int
    package var redundancy: Redundancy
    /// Of Opus.
    package var complexity: Int
    package var correctsErrors: Bool
    /// Nothing is sent in silence.
    package var isDiscontinuous: Bool
    /// Hz; nil: as wide as the bridge.
    package var audioRate: Int?
    /// Milliseconds a packet.
    package var packetTime: Int
    package var dtmfMethod: DTMFMethod
    package var statisticsEvery: Interval?
    /// A page about each call.
    package var reportFile: String?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        playFile = invocation.value("--play")
        loops = invocation.has("--loop")
        device = invocation.value("--device") ?? "null"
        recordFile = invocation.value("--record")
        recordChannels = invocation.value("--record-channels").flatMap(RecordingChannels.init) ?? .heard
        program = invocation.value("--program").map { ProgramSettings(parsing: $0, rate: invocation.integer("--program-rate") ?? 16_000) }
        sound = try SoundSettings(invocation)
        codecs = Self.codecs(invocation)
        bitRate = (invocation.integer("--bitrate") ?? 32) * 1000
        redundancy = Self.redundancy(invocation.value("--redundancy"))
        complexity = invocation.integer("--complexity") ?? 8
        correctsErrors = invocation.value("--fec") != "off"
        isDiscontinuous = invocation.value("--dtx") == "on"
        audioRate = invocation.value("--audio-rate").flatMap { Int($0) }
        packetTime = invocation.integer("--ptime") ?? 20
        dtmfMethod = invocation.value("--dtmf-method").flatMap(DTMFMethod.init) ?? .auto
        statisticsEvery = invocation.value("--statistics").flatMap(Seconds.parse)
        reportFile = invocation.value("--report")
        if loops, playFile == nil { throw .usage("--loop needs --play.") }
        if invocation.has("--record-channels"), recordFile == nil { throw .usage("--record-channels needs --record.") }
        if invocation.has("--program-rate"), program == nil { throw .usage("--program-rate needs --program.") }
        if let every = statisticsEvery, every < .milliseconds(100) { throw .usage("--statistics takes 0.1 seconds or more.") }
    }

    /// Throws if a file cannot be played or recorded, before anybody is called for it. `numbers`: the recordings bear the
    /// numbers of the calls.
    package func checkFiles(numbers: Bool) throws(CommandFailure) {
        do {
            if let playFile { try TextFile.checkReadable(playFile) }
            if let reportFile { try TextFile.checkWritable(numbers ? Self.numbered(reportFile, 1) : reportFile) }
            if let recordFile { try TextFile.checkWritable(numbers ? Self.numbered(recordFile, 1) : recordFile) }
        } catch { throw .failed("\(error).") }
        if let playFile, TextFile.isFile(playFile) { try Self.checkSound(playFile) }
    }

    /// Throws if the file begins as none that can be played. What lies behind the first MiB is seen when it is played.
    private static func checkSound(_ path: String) throws(CommandFailure) {
        guard let head = try? TextFile.read(path) else { return }
        do throws(WAVError) {
            _ = try WAVAudio(parsing: head)
        } catch {
            if error.code == .missingData, head.count >= TextFile.limit { return }
            throw .failed("\(path): \(error.words).")
        }
    }

    private static func redundancy(_ value: String?) -> Redundancy {
        switch value {
        case nil, "off": .off
        case "auto": .automatic
        case let count?: Int(count).map { .packets($0) } ?? .off
        }
    }

    package static func codecs(_ invocation: Invocation) -> [String] {
        invocation.value("--codecs").map { $0.split(separator: ",").map { $0.uppercased() } } ?? ["OPUS", "G722", "PCMU", "PCMA"]
    }

    /// The file of the call with this number, from 1: `talk.wav`, `talk-2.wav` (`answer` numbers from the first on).
    package static func numbered(_ path: String, _ number: Int) -> String {
        let slash = path.lastIndex(of: "/")
        guard let dot = path.lastIndex(of: "."), slash.map({ $0 < dot }) ?? true, dot != path.startIndex else { return "\(path)-\(number)" }
        return "\(path[..<dot])-\(number)\(path[dot...])"
    }
}
