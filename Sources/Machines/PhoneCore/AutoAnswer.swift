// SPDX-License-Identifier: Apache-2.0
//
// A caller that asks the called phone to answer by itself (RFC 5373, and what devices understood before it). It happens only
// where the user allows it, and never while another call is up.

import Essentials
import SIP
import SIPAgent

/// Whether a call may be answered because the caller asks for that.
public enum AutoAnswer: String, Sendable, Hashable, CaseIterable {
    /// Never.
    case off
    /// Where the call comes from the account's own server.
    case trusted
    /// Whoever calls.
    case any
}

/// The caller's wish that the phone answers by itself.
public struct AutoAnswerRequest: Sendable, Hashable {
    /// The field that says so: `Answer-Mode`, `Priv-Answer-Mode`, `Call-Info` or `Alert-Info`.
    public var field: String
    /// How long to ring first.
    public var delay: Interval
    /// The caller wants this or nothing (RFC 5373 §4.4).
    public var isRequired: Bool

    /// What an INVITE asks for; nil: nothing of the kind.
    init?(_ invite: SIPMessage) {
        delay = .zero
        isRequired = false
        if let mode = invite.privilegedAnswerMode, mode.isAutomatic {
            field = "Priv-Answer-Mode"
            isRequired = mode.isRequired
        } else if let mode = invite.answerMode, mode.isAutomatic {
            field = "Answer-Mode"
            isRequired = mode.isRequired
        } else if let seconds = Self.answerAfter(invite) {
            field = "Call-Info"
            delay = .seconds(Int64(seconds))
        } else if Self.alertAsks(invite) {
            field = "Alert-Info"
        } else {
            return nil
        }
    }

    private static let longestDelay = 60

    /// `Call-Info: <sip:…>;answer-after=0`.
    private static func answerAfter(_ invite: SIPMessage) -> Int? {
        for value in invite.values(.callInfo) {
            for part in value.split(separator: ";").dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace }.lowercased() }
                if pair.count == 2, pair[0] == "answer-after", pair[1].utf8.count <= 4, let seconds = Int(pair[1]), seconds >= 0 {
                    return min(seconds, longestDelay)
                }
            }
        }
        return nil
    }

    /// `Alert-Info: <…>;info=alert-autoanswer`, `Alert-Info: Auto Answer` and their kin.
    private static func alertAsks(_ invite: SIPMessage) -> Bool {
        guard let value = invite.first(.alertInfo)?.lowercased() else { return false }
        let letters = value.filter { $0.isLetter }
        return letters.contains("autoanswer") || letters.contains("ringanswer") || letters.contains("answerafter")
    }
}

extension PhoneCore {
    /// Whether the wish is granted while `others` calls are up; nil: there is none.
    func autoAnswer(_ invite: IncomingInvite, others: Int) -> (request: AutoAnswerRequest, isAllowed: Bool)? {
        guard let request = AutoAnswerRequest(invite.message) else { return nil }
        let isPermitted =
            switch configuration.autoAnswer {
            case .off: false
            case .trusted: invite.isFromServer
            case .any: true
            }
        return (request, isPermitted && others == 0)
    }

    /// Rings, and answers by itself after the time that the caller gave.
    func answerByItself(_ call: Call, _ request: AutoAnswerRequest, now: MonotonicTime) {
        if request.delay > .zero {
            autoAnswers.arm(call.id, at: now + request.delay)
        } else {
            answerDue(call.id, now: now)
        }
    }

    func answerDue(_ id: CallID, now: MonotonicTime) {
        guard let call = calls[id], case .ringing = call.phase else { return }
        call.acceptHeaders = [("Answer-Mode", "Auto")]
        try? answer(id, now: now)
    }
}
