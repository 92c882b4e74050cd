// SPDX-License-Identifier: Apache-2.0

import Media

/// What a phone of the demonstration says: a talker of Debian's Asterisk prompts, cut to the timeline.
struct DemoSpeech: Sendable {
    var samples: [Int16]
    /// Where it comes from, for the one who watches.
    var source: String

    /// Speech, silence, speech, as the timeline says; pauses longer than 0.3 s are shortened, so that every second has
    /// something to compare.
    static func compose(_ language: String, timeline: Demonstration.Timeline) throws -> DemoSpeech {
        let (path, talk) = try find(language)
        let rate = Double(Demonstration.rate)
        let first = Int(timeline.speech * rate)
        let rest = Int(timeline.rest * rate)
        let spoken = withoutPauses(talk)
        guard spoken.count >= first + rest else { throw CommandFailure.failed("\(path) is too short for the demonstration.") }
        let silence = [Int16](repeating: 0, count: Int(timeline.silence * rate))
        return DemoSpeech(
            samples: Array(spoken[..<first]) + silence + Array(spoken[first..<first + rest]), source: path)
    }

    private static let folder = "/usr/share/asterisk/sounds"
    private static let voices = ["en": ["en_US_f_Allison", "en"], "it": ["it_IT_m_Carlo", "it"]]

    private static func find(_ language: String) throws -> (String, [Int16]) {
        for voice in voices[language] ?? [] {
            let path = "\(folder)/\(voice)/demo-instruct.wav"
            if let samples = try? DemoFiles.read(path) { return (path, samples) }
        }
        throw CommandFailure.failed(
            "The speech for the demonstration is not installed: scripts/bootstrap --build-only installs asterisk-core-sounds-\(language)-wav."
        )
    }

    /// The talk with its pauses shortened.
    private static func withoutPauses(_ talk: [Int16]) -> [Int16] {
        let block = Demonstration.rate / 100
        var result: [Int16] = []
        var quiet = 0
        for start in stride(from: 0, to: talk.count - block, by: block) {
            let part = talk[start..<start + block]
            let isQuiet = part.allSatisfy { abs(Int($0)) < 300 }
            quiet = isQuiet ? quiet + 1 : 0
            if quiet <= 30 { result += part }
        }
        return result
    }
}
