// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The DTMF state of one call.
struct CallDigits {
    struct Waiting {
        let digit: Character
        /// Whether another way may be taken when INFO is refused.
        let isAuto: Bool
    }

    struct Tone {
        let digit: Character
        let milliseconds: Int
        let due: MonotonicTime
    }

    /// What is to go out by INFO, one after another, and what waits for its answer.
    var queue: [Waiting] = []
    var current: Waiting?
    /// The form that the peer takes, as far as we know.
    var form = InfoDigit.Form.relay
    var triedForms: Set<InfoDigit.Form> = []
    /// The peer's Allow does not name INFO, or it refused one: digits go as tones.
    var isInfoUseless = false
    /// Tones that were heard and wait whether the same digit comes by another way too.
    var tones: [Tone] = []
    /// Digits that came by RFC 4733 or INFO, and until when their tones are taken for the same key.
    var signalled: [(digit: Character, until: MonotonicTime)] = []

    /// How long a tone waits for its digit.
    static let toneWait = Interval.milliseconds(400)
    /// How long after a digit its tone may come.
    static let toneWindow = Interval.milliseconds(1500)
    private static let memory = 32

    /// A digit came by RFC 4733 or INFO: its tone, heard before or after, is the same key.
    mutating func note(_ digit: Character, milliseconds: Int, now: MonotonicTime) {
        if let index = tones.firstIndex(where: { $0.digit == digit }) {
            tones.remove(at: index)
            return
        }
        signalled.removeAll { $0.until <= now }
        if signalled.count < Self.memory {
            signalled.append((digit, now + Self.toneWindow + .milliseconds(Int64(min(max(milliseconds, 0), 10_000)))))
        }
    }

    /// A tone was heard: true, it may be a key of its own and waits until `tones` says so.
    mutating func hear(_ digit: Character, milliseconds: Int, now: MonotonicTime) -> Bool {
        signalled.removeAll { $0.until <= now }
        if let index = signalled.firstIndex(where: { $0.digit == digit }) {
            signalled.remove(at: index)
            return false
        }
        guard tones.count < Self.memory else { return false }
        tones.append(Tone(digit: digit, milliseconds: milliseconds, due: now + Self.toneWait))
        return true
    }
}
