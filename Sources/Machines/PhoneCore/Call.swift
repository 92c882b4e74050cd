// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import SDP
import SIP
import SIPAgent

/// One call as the phone keeps it. A class: it changes with every message, and is too large to be copied each time.
final class Call {
    /// How far the call has come. Each case holds what is valid there only.
    enum Phase {
        /// Outgoing: the RTP sockets are being opened; then this INVITE goes out.
        case openingOutgoing(target: URI, options: CallOptions)
        /// Outgoing: the INVITE is out.
        case inviting
        /// Incoming: the RTP sockets are being opened; then it rings.
        case openingIncoming(invite: IncomingInvite, offer: ExaminedOffer?)
        /// Incoming: it rings. The answer is ready; nil for an INVITE without an offer.
        case ringing(answer: [UInt8]?)
        /// Incoming: 200 is sent, the ACK not yet here.
        case accepting
        /// Answered both ways.
        case established
    }

    /// A change of the session that is under way.
    enum Change {
        case none
        /// Our re-INVITE is out; `holds` is what it asks for.
        case offered(holds: Bool)
        /// Our re-INVITE without an offer is out: the other side makes it.
        case requested
        /// Our re-INVITE met a change of the peer's, and waits for its next try (RFC 3261 §14.1).
        case waiting
        /// We answered a re-INVITE without an offer with ours; the answer comes in the ACK.
        case awaitingAnswerInACK
    }

    /// What one early dialog answered to our offer (RFC 3261 §13.2.2.4).
    struct EarlyAnswer {
        let tag: String?
        let negotiation: OfferAnswer
        let audio: NegotiatedAudio
    }

    let id: CallID
    let account: AccountID?
    let direction: CallDirection
    let port: PortID
    var phase: Phase
    var session: SessionID?
    var remote: NameAddress?
    var local: SocketAddress?
    /// The offer/answer state; for an outgoing call until the answer, the state just after our offer, so that each
    /// early dialog's answer (RFC 3261 §13.2.2.4) is applied to a copy of it.
    var negotiation: OfferAnswer
    var audio: NegotiatedAudio?
    /// The answers of early dialogs, in the order of their coming; the agent bounds how many dialogs there are.
    var earlyAnswers: [EarlyAnswer] = []
    /// The tag of the early dialog whose SDP is in use.
    var mediaTag: String?
    /// Whether the application has been told of the call: an incoming one only when it rings.
    var isAnnounced: Bool
    /// Whether the world has an RTP stream for the call, or is about to open it.
    var hasStream = true
    var change = Change.none
    /// What the user wants; the session follows when a change is possible.
    var wantsHold = false
    /// Our address is another one than the peer knows: a re-INVITE tells it as soon as one may be sent.
    var needsMove = false
    /// The other side is to be asked for its offer as soon as a re-INVITE may be sent.
    var wantsOffer = false
    /// What the last completed negotiation says.
    var isHeldLocally = false
    var isHeldRemotely = false
    var isMuted = false
    var digits = CallDigits()
    /// The methods in the peer's Allow; empty: unknown.
    var peerAllows: [String] = []
    /// Outgoing: who was dialled, and how.
    var target: URI?
    var options = CallOptions()
    /// Outgoing: the call goes through a gateway because it could not be completed over IP.
    var isContinued = false
    /// Who the other side is, where more than From is known.
    var identity: CallerIdentity?
    /// Incoming: an offer of ours went out in a reliable 180, and the answer comes in the PRACK.
    var hasEarlyOffer = false
    /// Incoming: further header fields of our 200.
    var acceptHeaders: [(HeaderName, String)] = []
    /// Outgoing: the sound before the answer.
    var early = EarlySound()
    /// What the application was last told of the media; nil: nothing is negotiated yet.
    var media: CallMedia?
    var lastStatus = 0
    var lastReason = ""
    var answeredAt: MonotonicTime?
    /// Whether a packet of the peer ever came, and whether the application knows that none did.
    var hasHeard = false
    var isToldOfNothing = false
    /// What the application knows to be wrong with the media.
    var warnings: [MediaWarning] = []
    /// The call whose place this one takes (RFC 3891).
    var replaces: CallID?
    /// Since when no packet has come, as the media engine tells; nil: packets come.
    var silentSince: MonotonicTime?
    /// Since when the peer should be sending: answered, and held by nobody. nil: it need not.
    var expectsSince: MonotonicTime?

    init(
        id: CallID, account: AccountID?, direction: CallDirection, port: PortID, phase: Phase, negotiation: OfferAnswer,
        isAnnounced: Bool
    ) {
        self.id = id
        self.account = account
        self.direction = direction
        self.port = port
        self.phase = phase
        self.negotiation = negotiation
        self.isAnnounced = isAnnounced
    }

    /// The direction that our next description should state (RFC 3264 §8.4).
    var wantedDirection: Direction {
        Direction(sends: true, receives: !wantsHold)
    }

    var hasMedia: Bool { media != nil }

    /// Whether our side keeps its sound back: asked for by the user, or agreed.
    var isHeld: Bool { wantsHold || audio?.localHolds ?? false }
}
