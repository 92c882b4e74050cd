// SPDX-License-Identifier: Apache-2.0

/// A mistake that calling apps really make: an entry of docs/callkit.md. Up to 98 the raw value is the number after `P-`; above 200 stand
/// remarks that have no such number.
public enum Pitfall: Int, Hashable, Sendable, Codable, CaseIterable {
    case actionUnanswered = 1
    case actionAbandoned = 2
    case actionCompletedAfterTimeout = 3
    case actionCompletedTwice = 4
    case actionUuidConfused = 5
    case actionNotImplemented = 6
    case actionMuteFailedByState = 7
    case actionHoldAlwaysFails = 8
    case actionHoldSlow = 9
    case actionDtmfBlocked = 10
    case actionFulfilledBeforeReady = 11
    case requestUnknownCall = 12
    case requestAfterEnd = 13
    case requestErrorIgnored = 14
    case requestSuccessMistaken = 15
    case requestBeforeBegin = 16
    case requestBackground = 17
    case uuidReused = 18
    case uuidNotUUID = 19
    case uuidCase = 20
    case providerMultiple = 21
    case providerRecreated = 22
    case providerDelegateLate = 23
    case providerNoDelegate = 24
    case providerResetIgnored = 25
    case providerDeadAfterReset = 26
    case providerNotInvalidated = 27
    case configNoVoipMode = 28
    case configZeroGroups = 29
    case configHoldButOneGroup = 30
    case configHandleTypes = 31
    case configHandleMismatch = 32
    case configOpaqueIcon = 33
    case configRingtoneStale = 34
    case outgoingNeverConnected = 35
    case outgoingConnectedEarly = 36
    case outgoingSlowFulfil = 37
    case outgoingNoStart = 38
    case outgoingUpdateMissing = 39
    case outgoingSecondWithoutHold = 40
    case endOrphan = 41
    case endMediaReleasedEarly = 42
    case endElsewhereMissed = 43
    case endElsewhereHangsUp = 44
    case endTimerKillsEnded = 45
    case endRingForever = 46
    case endWrongCall = 47
    case endDeclineAsHangup = 48
    case endTapAssumed = 49
    case audioBeforeActivate = 50
    case audioSelfActivated = 51
    case audioPriorityRefused = 52
    case audioNoCategory = 53
    case audioStoppedByOtherEnd = 54
    case audioNotStopped = 55
    case audioLostAfterUnhold = 56
    case audioAfterSwap = 57
    case audioDefaultToSpeaker = 58
    case audioRouteForced = 59
    case audioStartedWhileSuspended = 60
    case mutePingPong = 61
    case muteNotReported = 62
    case muteWrongCall = 63
    case groupHeldMembers = 64
    case groupUnholdMakesConference = 65
    case groupFalseSuccess = 66
    case holdWhileRinging = 67
    case pushNotReported = 68
    case pushReportedLate = 69
    case pushCancelByPush = 70
    case pushFilteredByApp = 71
    case pushCompletionMissing = 72
    case pushDeliveryStopped = 73
    case pushDuplicate = 74
    case pushProtectedData = 75
    case pushSlowLaunch = 76
    case pushGatedOnBegin = 77
    case pushRegistryLost = 78
    case pushTokenFormat = 79
    case pushTokenMixup = 80
    case pushWrongEnvironment = 81
    case pushWrongHeaders = 82
    case pushStaleStored = 83
    case reportErrorIgnored = 84
    case reportDoubleUI = 85
    case reportUnknownCall = 86
    case answerHandlersLate = 87
    case answerBypassed = 88
    case historyNotHandled = 89
    case historyVideoConfused = 90
    case historyOpaqueHandle = 91
    case directoryUnsorted = 92
    case directoryDuplicate = 93
    case directoryNoCountryCode = 94
    case directoryIncrementalMisuse = 95
    case directoryUnknownCode = 96
    case directoryNotCompleted = 97
    case regionForbidden = 98
    case actionCompletedAfterEnd = 201
    case actionDateClamped = 202
    case actionEndFailed = 203
    case actionUnknown = 204
    case outgoingOrder = 205
    case outgoingWrongDirection = 206
    case configRingtoneMissing = 207
    case audioCategoryDuringCall = 208
    case directoryEntryRefused = 209
    case pushUnknownType = 210

    /// How bad it is on Apple's systems.
    public enum Severity: Int, Hashable, Sendable, Codable, Comparable {
        case info = 0
        case warning = 1
        /// Wrong for the person.
        case error = 2
        /// The process is killed, delivery stops, the call is lost.
        case fatal = 3

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Who can see it.
    public enum Witness: Int, Hashable, Sendable, Codable {
        /// The service, from what the API is used for.
        case service = 0
        /// The service, where the app adopted the probe.
        case probe = 1
        /// A push server.
        case pushServer = 2
        /// Nobody at run time: the compiler or a crash.
        case compiler = 3
    }

    /// `P-50`; nil for a remark without number.
    public var label: String? { rawValue <= 98 ? "P-\(rawValue)" : nil }
    /// The stable dotted code.
    public var code: String { row.code }
    /// The rules of docs/callkit.md that it breaks.
    public var rules: String { row.rules }
    public var severity: Severity { row.severity }
    public var witness: Witness { row.witness }
    /// What to do, in one sentence.
    public var advice: String { row.advice }

    private var row: PitfallTable.Row { PitfallTable.rows.first { $0.pitfall == self } ?? PitfallTable.rows[0] }
}

/// A pitfall that was met.
public struct Diagnostic: Hashable, Sendable, Codable {
    public var pitfall: Pitfall
    /// Empty where no app is to blame.
    public var bundle: String
    public var call: UUIDValue?
    public var at: WallTime
    /// What was seen, in one sentence.
    public var seen: String

    public init(_ pitfall: Pitfall, bundle: String, call: UUIDValue?, at: WallTime, seen: String) {
        self.pitfall = pitfall
        self.bundle = bundle
        self.call = call
        self.at = at
        self.seen = seen
    }
}

extension Diagnostic: CustomStringConvertible {
    /// One line: code, number, rules, app, call, what was seen, what to do.
    public var description: String {
        let number = pitfall.label.map { " (\($0))" } ?? ""
        let who = (bundle.isEmpty ? "" : " \(bundle)") + (call.map { " call \($0)" } ?? "")
        return "\(pitfall.code)\(number) [\(pitfall.rules)]\(who): \(seen) \(pitfall.advice)"
    }
}
