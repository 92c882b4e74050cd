// SPDX-License-Identifier: Apache-2.0
//
// One INVITE session (RFC 3261 §13–§15): what the user sees of it, and what the protocol still owes.
//
//   UAC   calling ──2xx, offer was ours──────────────► established ─┐
//            │  └───2xx with offer─► answering ─ACK───────┘         │
//            └ refused, timed out, hung up ─────────────────────────┼─► over ─ tail done ─► removed
//   UAS   ringing ──accept─► awaitingACK ──ACK──► established ──────┘
//            └ rejected, cancelled, hung up ────────────────────────┘
//
// `over` is told to the user at once; the tail (CANCEL and its 487, the ACK that a BYE waits for, BYE and its answer)
// goes on and ends by the limits of the transactions.

import Essentials
import SIP

final class InviteSession {
    enum Phase: Sendable, Hashable {
        /// UAC: the INVITE has no final answer.
        case calling
        /// UAC: the 2xx brought the offer; `acknowledge` brings the answer and the ACK.
        case answering
        /// UAS: the INVITE has no final answer.
        case ringing
        /// UAS: our 2xx waits for its ACK.
        case awaitingACK
        case established
        /// Over for the user.
        case over
    }

    /// A re-INVITE or the INVITE of the peer that is being served.
    struct ServerInvite {
        let transaction: TransactionID
        let request: SIPMessage
        let isInitial: Bool
        /// Our 2xx, given again until the ACK comes; nil: no final answer yet.
        var success: SIPMessage?
        var interval = Interval.zero
        /// The request had no offer, so the 2xx has it and the ACK the answer.
        var offerIsOurs: Bool
    }

    let id: SessionID
    let account: AccountID?
    let isOutgoing: Bool
    var phase: Phase
    var wasEstablished = false

    /// UAC: the INVITE, until its final answer.
    var invite: ClientRequest?
    /// UAC: whether the INVITE carried our offer.
    var offerWasSent = false
    /// UAC: the transaction that was answered 2xx, whose ACK waits for `acknowledge`.
    var acceptedInvite: TransactionID?
    /// UAC: dialogs of provisional responses, in the order of their coming (§13.2.2.4).
    var earlyDialogs: [Dialog] = []
    /// The dialog of the session: UAC from the first 2xx on, UAS from the INVITE on.
    var dialog: Dialog?
    /// UAS: what of the peer is being served.
    var serverInvite: ServerInvite?
    /// Our re-INVITE in progress.
    var reinvite: ClientRequest?
    var reinviteRetries = 0
    /// The user wants a re-INVITE, but not now: glare, or a transaction in progress.
    var reinviteIsWanted = false
    /// Our re-INVITE tells a new address after a change of the network, and how often it was sent again.
    var isMoving = false
    var moveRetries = 0
    /// The session timer that is agreed; nil: none.
    var sessionTimer: SessionTimer?
    /// The Min-SE that a 422 named, for later requests.
    var minimumInterval: UInt32?
    /// UAS: its reliable provisional responses; nil: ordinary ones.
    var ringing: ReliableRinging?
    /// UAC: remote tags of early dialogs in which offer and answer were exchanged reliably.
    var agreedEarly: [String] = []
    /// An UPDATE or PRACK of the peer whose offer waits for the user's answer.
    var serverUpdate: ServerUpdate?
    /// Our UPDATE that refreshes the session.
    var update: ClientRequest?
    /// The peer's Allow names UPDATE, as far as was looked.
    var peerAllowsUpdate = false
    var peerRefusedUpdate = false
    /// UAC: our Contact does not name us.
    var isAnonymous = false
    /// Our requests that are not finished, the INVITE among them.
    var openRequests = 0
    /// A BYE is owed as soon as it may be sent (§15: not before the ACK of our 2xx).
    var owesBye = false
    /// The BYE went out or came.
    var byeDone = false
    /// The user hung up, and is to know if nobody heard of it.
    var tellsLostBye = false
    /// Told to the peer in our BYE or CANCEL (RFC 3326); nil: nothing.
    var endHeaders: [(HeaderName, String)] = []
    /// The session that ends when this one is answered (RFC 3891).
    var replaces: SessionID?
    /// REFERs that came in its dialog.
    var referrals = 0
    /// How fast the peer's requests come.
    var referralPace = RequestPace()
    var changePace = RequestPace()
    var notePace = RequestPace()
    /// The source whose count of unanswered INVITEs this session is in.
    var countedSource: IPAddress?

    init(id: SessionID, account: AccountID?, isOutgoing: Bool) {
        self.id = id
        self.account = account
        self.isOutgoing = isOutgoing
        phase = isOutgoing ? .calling : .ringing
    }

    /// Nothing is owed any more.
    var isFinished: Bool {
        phase == .over && openRequests == 0 && serverInvite == nil && !owesBye
    }
}

/// An INVITE of ours that was answered 2xx, kept until its transaction ends: every copy of a 2xx gets its ACK again
/// (B-038), and every further fork its ACK and BYE (§13.2.2.4).
final class AcceptedInvite {
    struct Leg {
        let remoteTag: String
        /// The ACK while its way is being looked for; before that it may wait for `acknowledge`.
        var ack: MessageBuilder?
        /// The ACK as it was sent.
        var sentACK: SIPMessage?
        var target: SignallingTarget?
        /// The ACK is too large for a datagram and waits for this connection; without it, it goes as one after all.
        var connection: (flow: FlowID, ack: MessageBuilder, datagrams: SignallingTarget)?
    }

    let request: ClientRequest
    /// The number of the INVITE that was answered: the request may have gone on to another server with the next one.
    let sequence: UInt32
    var legs: [Leg] = []

    init(request: ClientRequest) {
        self.request = request
        sequence = request.sequence
    }
}
