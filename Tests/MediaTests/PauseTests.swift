// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

/// What stops for a while and goes on again tells nothing of the network: the delay after it is the delay before it.
@Suite struct PauseTests {
    enum Kind: String, CaseIterable { case digits, peerHolds, weHold, comfortNoise }

    @Test("after digits, a hold of either side or a rest the delay is what it was", arguments: Kind.allCases, [0, 1])
    func unchanged(kind: Kind, phase: Int) {
        let pair = Pair(bridgeRate: 8000)
        // Two seconds of voice, four in which something happens, six of voice again.
        let voice = Signals.voice(rate: 8000, seconds: 12, seed: UInt64(phase + 1))
        let quiet = [Int16](repeating: 0, count: 4 * 8000)
        pair.left.play(Array(voice[..<16_000]) + quiet + Array(voice[48_000...]), rate: 8000)
        pair.right.record()
        pair.configure { if kind == .comfortNoise { $0.sendComfortNoisePayloadType = 13 } }
        pair.run(milliseconds: 2300 + 10 * phase)
        func change(_ party: Party, _ other: Party, _ edit: @escaping (inout StreamConfiguration) -> Void) {
            party.configure(remote: other.address.description, now: pair.now, edit)
        }
        switch kind {
        case .digits: pair.left.engine.handle(.sendDigits(.stream, "123#", milliseconds: 100, inBand: false), now: pair.now)
        case .peerHolds: change(pair.left, pair.right) { $0.sends = false }
        case .weHold: change(pair.right, pair.left) { $0.receives = false }
        case .comfortNoise: break
        }
        pair.run(milliseconds: 3000)
        switch kind {
        case .peerHolds: change(pair.left, pair.right) { $0.sends = true }
        case .weHold: change(pair.right, pair.left) { $0.receives = true }
        case .digits, .comfortNoise: break
        }
        pair.run(milliseconds: 7000)
        let recorded = pair.right.recording.samples
        func lag(_ second: Int) -> Int {
            let from = second * 8000
            let said = stride(from: from, to: from + 8000, by: 8).map { voice[$0] }
            let found = (0...640).map { lag in
                Signals.correlation(said[...], stride(from: from + lag, to: from + lag + 8000, by: 8).map { recorded[$0] }[...])
            }
            let best = found.max() ?? 0
            #expect(best > 0.98, "second \(second): \(best)")
            return found.firstIndex(of: best) ?? 0
        }
        let lags = [0, 1, 6, 8, 10].map(lag)
        #expect(Set(lags).count == 1, "\(lags)")
    }
}
