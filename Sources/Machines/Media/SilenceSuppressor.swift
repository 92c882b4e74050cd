// SPDX-License-Identifier: Apache-2.0
//
// Whether a packet is speech, and what takes its place where it is not (RFC 3389). The noise of the room is the least level of
// late; speech stands out of it:
//
//     level  ┤    ╭─╮  ╭╮                  speech: level > floor + 8 dB, and 240 ms after that
//     floor  ┤────╯ ╰──╯╰──────────        else comfort noise: at once, when its level changes, once a second
//
// Taking the room for speech costs bandwidth, taking speech for the room costs words: every doubt is speech.

/// Silence suppression of one sending stream.
struct SilenceSuppressor {
    enum Verdict: Equatable {
        case speech
        /// Send this level, in −dBov.
        case noise(UInt8)
        /// The peer knows the level: send nothing.
        case nothing
    }

    private static let margin = 8.0
    private static let hangover = 240
    /// What is quieter is never speech, what is louder always; dBov.
    private static let certainSilence = -70.0
    private static let certainSpeech = -30.0
    /// No room is taken to be quieter: between the words of a recording there is nothing at all.
    private static let lowestFloor = -65.0
    private static let refresh = 1000
    private static let changeInterval = 200

    /// dBov.
    private var floor = -60.0
    private var noise = -60.0
    private var sinceSpeech = 1_000_000
    private var sinceNoise = Int.max / 2
    private var told = 0.0
    private var isResting = false

    /// Judges a packet of `samples` that lasts `milliseconds`.
    mutating func judge(_ samples: [Int16], milliseconds: Int) -> Verdict {
        let level = Samples.level(samples)
        // Falls at once, rises 2 dB a second: a voice does not become the room.
        floor = level < floor ? max(level, Self.lowestFloor) : min(floor + Double(milliseconds) * 0.002, max(level, Self.lowestFloor))
        let isSpeech = level > Self.certainSilence && (level > floor + Self.margin || level > Self.certainSpeech)
        sinceSpeech = isSpeech ? 0 : min(sinceSpeech + milliseconds, 1_000_000)
        if isSpeech || sinceSpeech < Self.hangover {
            isResting = false
            return .speech
        }
        let clamped = max(level, -90)
        noise = isResting ? noise + (clamped - noise) / 8 : clamped
        sinceNoise = min(sinceNoise + milliseconds, 1_000_000)
        let isDue =
            !isResting || sinceNoise >= Self.refresh
            || sinceNoise >= Self.changeInterval && (noise - told).magnitude >= 3
        guard isDue else { return .nothing }
        isResting = true
        sinceNoise = 0
        told = noise
        return .noise(noise <= -90 ? 127 : UInt8(min(max(-noise, 0), 127)))
    }
}
