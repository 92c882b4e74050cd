// SPDX-License-Identifier: Apache-2.0
//
// Transfers as an application sees them, and what the phone keeps of them.

import Essentials
import SIP
import SIPAgent

/// One transfer in which the phone takes part. Never reused within a phone's life.
public struct TransferID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { String(rawValue) }
}

/// Who we are in a transfer (RFC 5589 §1).
public enum TransferRole: String, Sendable, Hashable {
    /// We join the other side of a call with somebody else.
    case transferor
    /// The other side wants us to call somebody else.
    case transferee
    /// Somebody else takes the place of the one we talk with.
    case target
}

/// How far a transfer has come.
public enum TransferState: String, Sendable, Hashable {
    /// Transferee: the user is to decide, by `acceptTransfer` or `rejectTransfer`.
    case requested
    /// The new call is being asked for, or placed.
    case trying
    /// News of the new call: its status.
    case progress
    /// The new call is answered. Transferor: the old one is ended.
    case succeeded
    /// The new call failed.
    case failed
    /// After a failure: the old call is as it was before the transfer.
    case undone
}

/// What becomes of a transfer.
public struct TransferEvent: Sendable {
    public var id: TransferID
    public var role: TransferRole
    public var state: TransferState
    /// The last status of the new call; 0: none yet.
    public var status: Int
    public var reason: String
    /// Who is called by the new call; nil in the role of the target.
    public var target: URI?
    /// Who asked for it (RFC 3892), as they say; nil: not said, or we did.
    public var referredBy: URI?
    /// Transferor: the call to the target, in an attended transfer. Transferee: the new call. Target: the call whose place the
    /// new one takes.
    public var otherCall: CallID?
    /// Why it failed.
    public var cause: Cause?
}

/// How a call is transferred.
public struct TransferOptions: Sendable, Hashable {
    /// Whether the call stays until the new one is answered, so that it can go on if that fails. False: it is ended as soon
    /// as the other side has taken the transfer.
    public var waitsForAnswer: Bool

    public init(waitsForAnswer: Bool = true) { self.waitsForAnswer = waitsForAnswer }
}

/// A transfer that we asked for.
final class OutgoingTransfer {
    enum Phase {
        /// The call is being put on hold (RFC 5589 §6.1).
        case holding
        /// The REFER is out.
        case asked
        /// It failed, and the call is being taken off hold.
        case undoing
    }

    let id: TransferID
    /// nil: the other side is asked outside any call.
    let call: CallID?
    /// The call to the target, whose place the new one takes.
    let other: CallID?
    let target: URI
    let options: TransferOptions
    var phase = Phase.holding
    /// The transfer put the call on hold, and takes it off if it fails.
    var holds = false
    var referral: ReferralID?

    init(id: TransferID, call: CallID?, other: CallID?, target: URI, options: TransferOptions) {
        self.id = id
        self.call = call
        self.other = other
        self.target = target
        self.options = options
    }
}

/// A transfer that the other side asked for.
final class IncomingTransfer {
    let id: TransferID
    let referral: ReferralID
    /// The call that is transferred; nil: none, or it is over.
    var call: CallID?
    let account: AccountID?
    let target: URI
    let replaces: Replaces?
    let referredBy: NameAddress?
    /// nil: the user has not decided.
    var newCall: CallID?
    var isAnswered = false

    init(id: TransferID, referral: ReferralID, call: CallID?, _ incoming: IncomingReferral) {
        self.id = id
        self.referral = referral
        self.call = call
        account = incoming.account
        target = incoming.target
        replaces = incoming.replaces
        referredBy = incoming.referredBy
    }
}

/// The transfers that are not over.
struct Transfers {
    var outgoing: [TransferID: OutgoingTransfer] = [:]
    var incoming: [TransferID: IncomingTransfer] = [:]
    var ofReferral: [ReferralID: TransferID] = [:]
    /// What is still to be told to those who referred us.
    var reports: [(referral: ReferralID, fragment: StatusFragment)] = []
    /// Until when the user may decide, or the one who transferred us may hang up.
    var deadlines = Deadlines<TransferID>()
    private var last: UInt64 = 0

    var isEmpty: Bool { outgoing.isEmpty && incoming.isEmpty && reports.isEmpty && deadlines.isEmpty }

    mutating func makeID() -> TransferID {
        last &+= 1
        return TransferID(rawValue: last)
    }

    func outgoing(of call: CallID) -> OutgoingTransfer? {
        outgoing.isEmpty ? nil : outgoing.values.filter { $0.call == call }.min { $0.id < $1.id }
    }

    /// The transfer whose new call this is.
    func incoming(by newCall: CallID) -> IncomingTransfer? {
        incoming.isEmpty ? nil : incoming.values.first { $0.newCall == newCall }
    }

    mutating func forget(_ transfer: OutgoingTransfer) {
        outgoing[transfer.id] = nil
        if let referral = transfer.referral { ofReferral[referral] = nil }
    }

    mutating func forget(_ transfer: IncomingTransfer) {
        incoming[transfer.id] = nil
        ofReferral[transfer.referral] = nil
        deadlines.disarm(transfer.id)
    }
}
