// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What an offer/answer machine counts.
public enum SDPCounter: Int, CounterName {
    /// Bodies read, and of these the unreadable ones and those over a limit.
    case bodiesRead, bodiesMalformed, bodiesOverLimit
    /// Descriptions with at least one deviation that was taken.
    case leniencies
    case offersMade, offersAnswered, offersRefused, offersNeedingSRTP
    case answersReceived, answersRefused
    /// Lines of the peer's offers that we answered with port 0.
    case linesRejected
    /// Formats passed over because their number or meaning is unknown.
    case formatsIgnored
    /// ptime or maxptime values brought into 10...200.
    case packetTimesClamped
    /// Offers of ours taken back after a failed request.
    case offersWithdrawn
}
