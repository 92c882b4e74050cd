// SPDX-License-Identifier: Apache-2.0

/// An address that a call is made to or comes from (`CXHandle`).
public struct Handle: Hashable, Sendable, Codable {
    /// Raw values as in `CXHandle.HandleType`.
    public enum Kind: Int, Hashable, Sendable, Codable, CaseIterable {
        case generic = 1
        case phoneNumber = 2
        case emailAddress = 3
    }

    public var kind: Kind
    public var value: String

    public init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }
}

/// What changed of a call (`CXCallUpdate`): nil is "never set", and counts for nothing.
public struct CallUpdate: Hashable, Sendable, Codable {
    public var remoteHandle: Handle?
    public var localizedCallerName: String?
    public var supportsHolding: Bool?
    public var supportsGrouping: Bool?
    public var supportsUngrouping: Bool?
    public var supportsDTMF: Bool?
    public var hasVideo: Bool?

    public init(
        remoteHandle: Handle? = nil, localizedCallerName: String? = nil, supportsHolding: Bool? = nil, supportsGrouping: Bool? = nil,
        supportsUngrouping: Bool? = nil, supportsDTMF: Bool? = nil, hasVideo: Bool? = nil
    ) {
        self.remoteHandle = remoteHandle
        self.localizedCallerName = localizedCallerName
        self.supportsHolding = supportsHolding
        self.supportsGrouping = supportsGrouping
        self.supportsUngrouping = supportsUngrouping
        self.supportsDTMF = supportsDTMF
        self.hasVideo = hasVideo
    }

    /// This update with what `other` sets.
    public func merged(with other: CallUpdate) -> CallUpdate {
        CallUpdate(
            remoteHandle: other.remoteHandle ?? remoteHandle, localizedCallerName: other.localizedCallerName ?? localizedCallerName,
            supportsHolding: other.supportsHolding ?? supportsHolding, supportsGrouping: other.supportsGrouping ?? supportsGrouping,
            supportsUngrouping: other.supportsUngrouping ?? supportsUngrouping, supportsDTMF: other.supportsDTMF ?? supportsDTMF,
            hasVideo: other.hasVideo ?? hasVideo)
    }
}

/// Why a call ended, said by its app (`CXCallEndedReason`, same raw values).
public enum CallEndedReason: Int, Hashable, Sendable, Codable, CaseIterable {
    case failed = 1
    case remoteEnded = 2
    case unanswered = 3
    case answeredElsewhere = 4
    case declinedElsewhere = 5
}

/// What an observer sees of a call (`CXCall`): of every app's calls, and without name or address.
public struct CallSnapshot: Hashable, Sendable, Codable {
    public var uuid: UUIDValue
    public var isOutgoing: Bool
    public var isOnHold: Bool
    public var hasConnected: Bool
    public var hasEnded: Bool

    public init(uuid: UUIDValue, isOutgoing: Bool, isOnHold: Bool = false, hasConnected: Bool = false, hasEnded: Bool = false) {
        self.uuid = uuid
        self.isOutgoing = isOutgoing
        self.isOnHold = isOnHold
        self.hasConnected = hasConnected
        self.hasEnded = hasEnded
    }
}

/// What an app's provider can (`CXProviderConfiguration`).
public struct ProviderConfiguration: Hashable, Sendable, Codable {
    /// The file's name, as the app set it.
    public var ringtoneSound: String?
    /// Where that file was found among the app's resources; nil: it is not there, so the system's ringtone is played.
    public var ringtonePath: String?
    /// PNG.
    public var iconTemplateImage: Octets?
    public var maximumCallGroups = 2
    public var maximumCallsPerCallGroup = 5
    public var includesCallsInRecents = true
    public var supportsVideo = false
    /// In ascending order.
    public var supportedHandleTypes: [Handle.Kind] = []
    public var supportsAudioTranslation = false

    public init() {}
}

/// The program that speaks: the first thing an app says.
public struct AppDescriptor: Hashable, Sendable, Codable {
    /// The bundle identifier: names the app in history, push and settings.
    public var bundle: String
    public var displayName: String
    /// `UIBackgroundModes` holds `voip`.
    public var hasVoIPBackgroundMode = true
    public var isForeground = true
    /// When the process started; nil: just now. The launch budget counts from here (PUSH-13).
    public var launchedAt: WallTime?
    /// False where the deployment forbids CallKit (SRV-6).
    public var mayUseCallKit = true
    /// Holds the entitlement of the notification service extension's route (PUSH-17).
    public var mayFilterNotifications = false
    /// This process spoke to the service before, and the connection broke.
    public var isReconnecting = false

    public init(bundle: String, displayName: String) {
        self.bundle = bundle
        self.displayName = displayName
    }
}

/// What is wanted of a call (`CXCallAction`'s subclasses).
public enum ActionKind: Hashable, Sendable, Codable {
    case start(handle: Handle, contactIdentifier: String?, isVideo: Bool)
    case answer
    case end
    case setHeld(Bool)
    case setMuted(Bool)
    case setGroup(with: UUIDValue?)
    case playDTMF(digits: String, type: ToneType)
    case setTranslating(Bool, localLanguage: String, remoteLanguage: String)
    /// A `CXAction` or `CXCallAction` itself: never valid.
    case bare

    /// Raw values as in `CXPlayDTMFCallAction.ActionType`.
    public enum ToneType: Int, Hashable, Sendable, Codable {
        case singleTone = 1
        case softPause = 2
        case hardPause = 3
    }
}

/// An action on its way: asked for by an app, or to be performed by one.
public struct ActionDescription: Hashable, Sendable, Codable {
    /// Names the action, not the call (ACT-8).
    public var uuid: UUIDValue
    public var call: UUIDValue
    public var kind: ActionKind
    /// When it must be complete: at its making, and again at its delivery (ACT-2).
    public var timeoutDate: WallTime
    /// It was complete, or part of another transaction, when it was asked for.
    public var isSpent = false

    public init(uuid: UUIDValue, call: UUIDValue, kind: ActionKind, timeoutDate: WallTime = WallTime(microseconds: 0)) {
        self.uuid = uuid
        self.call = call
        self.kind = kind
        self.timeoutDate = timeoutDate
    }
}

/// Actions that are asked for, and delivered, together (`CXTransaction`).
public struct TransactionDescription: Hashable, Sendable, Codable {
    public var uuid: UUIDValue
    public var actions: [ActionDescription]

    public init(uuid: UUIDValue, actions: [ActionDescription]) {
        self.uuid = uuid
        self.actions = actions
    }
}

/// How an app completed an action.
public enum ActionOutcome: Hashable, Sendable, Codable {
    /// The date is that of the dated forms; nil: now. `engine` is a `CXTranslationEngine`'s raw value, of a translating action only.
    case fulfilled(at: WallTime?, engine: Int?)
    case failed
}
