// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

/// Call audio over links of every kind, each from a seed. An optimised build runs 504 links and hours of drift; one for debugging a part.
@Suite struct SeededLinkTests {
    #if DEBUG
        static let seeds: UInt64 = 1
        static let minutes = 1
    #else
        static let seeds: UInt64 = 56
        static let minutes = 60
    #endif

    @Test(
        "over any link the delay stays bounded, nothing is concealed without cause, and no growth stays",
        arguments: SeededLink.Kind.allCases)
    func anyLink(kind: SeededLink.Kind) {
        for seed in 0..<Self.seeds {
            let link = SeededLink(kind, seed: seed)
            let outcome = link.run()
            #expect(link.complaints(about: outcome).isEmpty, "\(kind), seed \(seed): \(link.complaints(about: outcome))")
        }
    }

    @Test("a seed repeats its link to the sample, and another seed is another link", arguments: SeededLink.Kind.allCases)
    func repetition(kind: SeededLink.Kind) {
        let first = SeededLink(kind, seed: 1).run()
        #expect(SeededLink(kind, seed: 1).run() == first, "\(kind), seed 1")
        #expect(SeededLink(kind, seed: 3).run().sum != first.sum || kind == .sources || kind == .payloadTypes, "\(kind), seed 3")
    }

    @Test("an hour with clocks 300 ppm apart brings neither delay nor gaps", arguments: [300.0, -300], [false, true])
    func anHourOfDrift(drift: Double, hums: Bool) {
        let link = SeededLink(.drift, seed: 1, seconds: Self.minutes * 60, drift: drift, sound: hums ? .hum : .voice)
        let outcome = link.run()
        #expect(link.complaints(about: outcome).isEmpty, "\(link.complaints(about: outcome))")
        #expect(outcome.concealed <= 2)
    }

    // MARK: Faults are found

    /// Speech without quiet is shortened only from a tolerance on: with this one, never.
    static var neverShrinks: JitterBufferSettings {
        var settings = JitterBufferSettings()
        settings.tolerance = .milliseconds(1_000_000)
        return settings
    }

    @Test func aDelayThatNeverShrinksIsFound() {
        let link = SeededLink(.stalls, seed: 2, sound: .hum)
        #expect(link.complaints(about: link.run()).isEmpty)
        #expect(link.complaints(about: link.run(Self.neverShrinks)).contains { $0.contains("are left") })
    }

    @Test func aClockThatIsNotFollowedIsFound() {
        let link = SeededLink(.drift, seed: 1, seconds: 300, drift: -300, sound: .hum)
        #expect(link.complaints(about: link.run()).isEmpty)
        #expect(link.complaints(about: link.run(Self.neverShrinks)).contains { $0.contains("waited") })
    }

    @Test func aGapWithoutACauseIsFound() {
        let link = SeededLink(.loss, seed: 1)
        let complaints = link.complaints(about: link.run(losing: 100))
        #expect(complaints.contains { $0.contains("in the calm") } && complaints.contains { $0.contains("with causes for") })
    }

    @Test func aDelayThatIsTooLargeIsFound() {
        var settings = JitterBufferSettings()
        settings.minimumDelay = .milliseconds(120)
        let link = SeededLink(.jitter, seed: 4)
        #expect(link.complaints(about: link.run(settings)).count >= 2)
    }
}
