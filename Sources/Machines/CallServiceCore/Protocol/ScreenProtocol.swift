// SPDX-License-Identifier: Apache-2.0

/// What the person at the call screen does. Each is refused with a reason where the screen does not offer it.
public enum UserCommand: Hashable, Sendable, Codable {
    /// Accepts a ringing call where no choice is needed.
    case accept(UUIDValue)
    case decline(UUIDValue)
    case endAndAccept(UUIDValue)
    case holdAndAccept(UUIDValue)
    /// Ends the held call, holds the active one, accepts the new one (MUL-5).
    case endHeldAndAccept(UUIDValue)
    case end(UUIDValue)
    case hold(UUIDValue, Bool)
    case swap
    case merge
    /// Takes the call out of its group.
    case split(UUIDValue)
    case mute(UUIDValue, Bool)
    /// Keys of the pad: one action each (DTMF-1).
    case keys(UUIDValue, String)
    /// Digits after a pause in the dialled number: one action (DTMF-1).
    case pausedDigits(UUIDValue, String, ActionKind.ToneType)
    case speaker(Bool)
    case video(UUIDValue)
    /// Calls back an entry of the history, by its number.
    case redial(UInt64)
    case translate(UUIDValue, Bool, localLanguage: String, remoteLanguage: String)

    // MARK: The world around

    /// A call of the mobile network comes.
    case cellularIncoming(UUIDValue, name: String)
    /// The person calls somebody over the mobile network.
    case cellularOutgoing(UUIDValue, name: String)
    /// The other side of the mobile call hangs up.
    case cellularRemoteEnded(UUIDValue)
    /// An alarm or another recording takes the audio away.
    case interruption(began: Bool, shouldResume: Bool)
    case headset(isPresent: Bool)
    case mediaServicesReset
    case doNotDisturb(Bool)
    /// Blocks a number by the person's own list, or lets it through again.
    case block(String, Bool)
    /// The extension is allowed, or not, by the person (DIR-7).
    case enableDirectory(extensionIdentifier: String, Bool)
}

/// Why the screen could not do it.
public enum UserCommandRefusal: String, Error, Hashable, Sendable, Codable {
    case unknownCall
    case notOffered
    case unknownEntry
    /// The app does not offer that kind of address (CFG-7).
    case noCallBack
}

/// What the call screen shows.
public struct ScreenState: Hashable, Sendable, Codable {
    /// In the order in which they appeared; a waiting incoming call is not among them (MUL-9).
    public var calls: [ScreenCall] = []
    public var isSpeaker = false
    public var route = AudioRoute()
    /// Plays for this call; nil: nothing rings.
    public var ringing: Ringing?

    public init() {}
}

/// A sound to be played for a call that rings.
public struct Ringing: Hashable, Sendable, Codable {
    public var call: UUIDValue
    /// The app's file; nil: the system's ringtone.
    public var path: String?

    public init(call: UUIDValue, path: String? = nil) {
        self.call = call
        self.path = path
    }
}

/// One call on the screen.
public struct ScreenCall: Hashable, Sendable, Codable {
    public enum State: Int, Hashable, Sendable, Codable {
        case ringing = 0
        case answering = 1
        case dialing = 2
        case connecting = 3
        case active = 4
        case held = 5
    }

    public var uuid: UUIDValue
    /// The app's bundle identifier; empty for a call of the mobile network.
    public var bundle: String
    public var appName: String
    /// Contact, the app's name, the list's label or the address, in that order of worth (UPD-3, DIR-10).
    public var name: String
    public var isOutgoing: Bool
    public var state: State
    public var isMuted: Bool
    public var isVideo: Bool
    /// Calls with the same number are one conference.
    public var group: UInt64
    public var connectedAt: WallTime?
    public var offers: [UserOffer]

    public init(
        uuid: UUIDValue, bundle: String, appName: String, name: String, isOutgoing: Bool, state: State, isMuted: Bool, isVideo: Bool,
        group: UInt64, connectedAt: WallTime?, offers: [UserOffer]
    ) {
        self.uuid = uuid
        self.bundle = bundle
        self.appName = appName
        self.name = name
        self.isOutgoing = isOutgoing
        self.state = state
        self.isMuted = isMuted
        self.isVideo = isVideo
        self.group = group
        self.connectedAt = connectedAt
        self.offers = offers
    }
}

/// A button of the call screen.
public enum UserOffer: Int, Hashable, Sendable, Codable, CaseIterable {
    case accept = 0
    case decline = 1
    case endAndAccept = 2
    case holdAndAccept = 3
    case endHeldAndAccept = 4
    case end = 5
    case hold = 6
    case resume = 7
    case swap = 8
    case merge = 9
    case split = 10
    case mute = 11
    case keypad = 12
    case video = 13
}

/// An entry of the call history (REC-1).
public struct HistoryEntry: Hashable, Sendable, Codable {
    /// Raw values as they are written to the history's file.
    public enum Outcome: String, Hashable, Sendable, Codable, CaseIterable {
        case connected
        case missed
        case declined
        case cancelled
        case answeredElsewhere
        case declinedElsewhere
    }

    /// Counts from 1; never used again.
    public var number: UInt64
    public var call: UUIDValue
    public var bundle: String
    public var handle: Handle?
    public var name: String?
    public var isOutgoing: Bool
    public var isVideo: Bool
    public var startedAt: WallTime
    public var connectedAt: WallTime?
    public var endedAt: WallTime
    public var outcome: Outcome
    /// What the app said; nil where the person or the service ended it.
    public var reason: CallEndedReason?

    public init(
        number: UInt64, call: UUIDValue, bundle: String, handle: Handle?, name: String?, isOutgoing: Bool, isVideo: Bool,
        startedAt: WallTime, connectedAt: WallTime?, endedAt: WallTime, outcome: Outcome, reason: CallEndedReason?
    ) {
        self.number = number
        self.call = call
        self.bundle = bundle
        self.handle = handle
        self.name = name
        self.isOutgoing = isOutgoing
        self.isVideo = isVideo
        self.startedAt = startedAt
        self.connectedAt = connectedAt
        self.endedAt = endedAt
        self.outcome = outcome
        self.reason = reason
    }

    /// From connected to ended, in microseconds; zero where it never was connected.
    public var duration: Int64 { connectedAt.map { max(0, endedAt.microseconds - $0.microseconds) } ?? 0 }
}
