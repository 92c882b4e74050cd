// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Every deadline, limit and switch of the service. What Apple does not publish is a choice of ours, and stands here.
public struct CallServiceSettings: Sendable {
    // MARK: Diagnostics

    public var mode: DiagnosticMode = .report

    // MARK: Deadlines (ACT-2: read off the real framework where it is known)

    public var startTimeout = Interval.seconds(600)
    public var answerTimeout = Interval.seconds(60)
    /// Every other action.
    public var actionTimeout = Interval.seconds(5)
    /// A Start that takes longer is told (P-37).
    public var startDeadline = Interval.seconds(5)
    /// A call rings at most that long (INC-3).
    public var maxRingTime = Interval.seconds(120)
    /// Ringing must end so soon after the call was taken elsewhere (P-43).
    public var elsewhereDeadline = Interval.seconds(2)
    /// Audio, microphone and media follow a change of the system's state so soon (P-55, P-56, P-57, P-62).
    public var mediaGrace = Interval.seconds(1)
    /// A call must leave the screen so soon after its leg is gone (P-41).
    public var orphanGrace = Interval.seconds(2)
    /// A call that fails so soon after its answer was answered too early (P-11).
    public var earlyAnswerWindow = Interval.seconds(2)
    /// A person's touch in the app excuses what it does for so long (P-59).
    public var personActedWindow = Interval.seconds(1)
    /// An activity is followed by a Start within that time (P-89).
    public var activityDeadline = Interval.seconds(10)

    // MARK: Push

    /// The second check of a VoIP push (PUSH-6).
    public var pushCheck = Interval.seconds(7)
    /// The completion closure is called within that time (PUSH-9).
    public var pushCompletionDeadline = Interval.seconds(30)
    /// From the start of a process to its report (PUSH-13).
    public var launchBudget = Interval.seconds(5)
    /// So many pushes without a report stop delivery (PUSH-8); nil: 3 in strict mode, none otherwise.
    public var voipFailureLimit: Int?
    /// Octets of a VoIP payload (APN-3).
    public var voipPayloadLength = 5120
    /// The payload's key whose value names the call, for P-19 and P-74.
    public var pushCallKey = "call"

    // MARK: Switches, for both cases of what is not published

    /// Activation comes with the delivered Answer instead of after its fulfilment (INC-2).
    public var activatesBeforeFulfil = false
    /// Actions of one transaction wait for one another (TXN-5).
    public var deliversOneByOne = false
    /// The completion of a request comes before its actions (TXN-2).
    public var completionComesFirst = true
    /// No activation for a call that is resumed after the other one's remote end (HLD-5).
    public var omitsActivateAfterRemoteEnd = false
    /// After a restart the API module registers its providers by itself (PRV-6).
    public var registersAgainAfterReset = true
    /// From `registerProvider` to `providerBegan`.
    public var registrationDelay = Interval.zero
    /// What a second Start does to an active call (OUT-8).
    public var secondStart = SecondStart.hold
    /// Do Not Disturb shows the call without a sound instead of refusing the report (INC-6).
    public var doNotDisturbOnlySilences = false
    /// Calls outlive their app's process and belong to its next run (END-7).
    public var keepsCallsOfLostApps = false

    public enum SecondStart: Sendable, Hashable {
        case hold
        case dropOnConnect
        case refuse
    }

    // MARK: Numbers

    /// Turns an address into a directory number: country code and national number, or nil where it is none.
    public var number: @Sendable (String) -> Int64? = { PhoneNumber.parse($0, countryCode: nil) }

    // MARK: Limits

    public var maximumApps = 64
    public var maximumProviders = 8
    /// Live calls of one app.
    public var maximumCalls = 64
    public var maximumActions = 64
    /// Transactions of one app that are not complete.
    public var maximumTransactions = 256
    /// Characters of a name, address or label.
    public var maximumText = 1024
    /// Pushes that wait for an app to start.
    public var maximumWaitingPushes = 16
    public var historyLength = 1000
    /// Names of calls and actions that are remembered after their end, for each app.
    public var memory = 512

    public init() {}

    var failureLimit: Int? { voipFailureLimit ?? (mode == .strict ? 3 : nil) }

    func timeout(of kind: ActionKind) -> Interval {
        switch kind {
        case .start: startTimeout
        case .answer: answerTimeout
        default: actionTimeout
        }
    }
}

/// Reads a telephone number out of what people write.
public enum PhoneNumber {
    /// `+`, `00` or, with a country code, one leading zero or nothing introduces the number; spaces, dots, hyphens, slashes and brackets count
    /// for nothing. nil: it is no number in international form, or has fewer than 7 or more than 15 digits (ITU-T E.164).
    public static func parse(_ text: String, countryCode: Int?) -> Int64? {
        var digits: [UInt8] = []
        var hasPlus = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "+"):
                guard digits.isEmpty, !hasPlus else { return nil }
                hasPlus = true
            case UInt8(ascii: " "), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "/"): continue
            default: return nil
            }
            guard digits.count <= 20 else { return nil }
        }
        if !hasPlus {
            if digits.starts(with: [0, 0]) {
                digits.removeFirst(2)
            } else if let countryCode {
                if digits.first == 0 { digits.removeFirst() }
                digits = String(countryCode).utf8.map { $0 &- UInt8(ascii: "0") } + digits
            } else {
                return nil
            }
        }
        guard (7...15).contains(digits.count), digits.first != 0 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1) }
    }
}

/// What a machine counts.
public enum CallServiceCounter: Int, CounterName {
    case appsRefused
    case messagesBeforeHello
    case limitsReached
    case transactionsRefused
    case reportsRefused
    case actionsTimedOut
    case actionsDropped
    case unknownCompletions
    case pushesRefused
    case historyDropped
    case callsOfLostApps
}
