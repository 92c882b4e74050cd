// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One connection of one app's process. 0 is the mobile network, which the machine plays itself.
public struct AppID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    static let cellular = AppID(rawValue: 0)
    /// Nobody: the owner of a call whose app is gone (END-7).
    static let nobody = AppID(rawValue: .max)

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "app \(rawValue)" }
}

struct Provider: Sendable {
    var id: ProviderID
    var configuration: ProviderConfiguration
    var hasBegun = false
}

/// What the service knows of one connected app.
struct App: Sendable {
    var id: AppID
    /// nil: it has not said `hello`.
    var descriptor: AppDescriptor?
    var isForeground = false
    var connectedAt: MonotonicTime
    /// Where the launch budget starts: the start of the process.
    var startedAt: MonotonicTime
    var providers: [Provider] = []
    var session = SessionCategory()
    var push = PushRegistration()
    var memory = AppMemory()
    var probe = ProbeState()

    var bundle: String { descriptor?.bundle ?? "" }
    /// Requests go to the provider that was registered last.
    var provider: Provider? { providers.last }
}

/// A registry of an app that runs.
struct PushRegistration: Sendable {
    var types: [String] = []
    var isReady = false
}

/// Names that an app used, for the pitfalls about them; the oldest are forgotten.
struct AppMemory: Sendable {
    enum Fate: Sendable { case completed, timedOut, dropped }

    var endedCalls: [UUIDValue] = []
    var refusedCalls: [UUIDValue] = []
    var refusedReports: [UUIDValue] = []
    var elsewhereCalls: [UUIDValue] = []
    var actions: [(uuid: UUIDValue, fate: Fate)] = []
    /// Every action that was asked for or delivered.
    var actionUUIDs: [UUIDValue] = []
    var heldFailures = 0
    var heldSuccesses = 0
    var mutesInARow = 0
    var priorityRefusals = 0
    var unknownProviderRefusals = 0
    var wasReset = false
    var invalidatedWithCalls = false
    /// The handle of the video activity that came last, while a call was live.
    var videoActivity: Handle?
    /// Calls of an earlier run that the app has not ended yet.
    var leftovers: [UUIDValue] = []
    /// The Ends that were delivered.
    var ends: [End] = []
    /// Which call a push's own name for it led to (PUSH-14).
    var names: [(text: String, call: UUIDValue)] = []

    struct End: Sendable {
        var call: UUIDValue
        var byPerson: Bool
        var wasRinging: Bool
    }
}

extension Array {
    /// Adds to a list that forgets its oldest element.
    mutating func remember(_ element: Element, limit: Int) {
        append(element)
        if count > limit { removeFirst(count - limit) }
    }
}

/// A call as the system has it (callkit §2.7).
struct Call: Sendable {
    enum State: Hashable, Sendable {
        case ringing
        case answering
        case dialing
        case connecting
        case active
        case held
    }

    var uuid: UUIDValue
    var owner: AppID
    var bundle: String
    var provider: ProviderID
    var isOutgoing: Bool
    var state: State
    var update: CallUpdate
    var group: UInt64
    var isMuted = false
    var isTranslating = false
    var createdAt: MonotonicTime
    var startedAt: WallTime
    var startedConnectingAt: WallTime?
    var connectedAt: WallTime?
    var connectedSince: MonotonicTime?
    var wasUpdated = false
    /// Rings without a sound (INC-6).
    var isSilent = false
    /// Another call's remote end left it held (HLD-5).
    var isHeldAfterRemoteEnd = false
    /// Accepted by end-and-accept or hold-and-accept.
    var wasArbitrated = false

    var hasConnected: Bool { connectedAt != nil }
    /// Not merely ringing and not held: it is what the person is doing.
    var isForeground: Bool {
        switch state {
        case .answering, .dialing, .connecting, .active: true
        case .ringing, .held: false
        }
    }
    var isConnectedState: Bool { state == .active || state == .held }
    var supportsHolding: Bool { update.supportsHolding ?? true }
    var supportsGrouping: Bool { update.supportsGrouping ?? true }
    var supportsUngrouping: Bool { update.supportsUngrouping ?? true }
    var supportsDTMF: Bool { update.supportsDTMF ?? true }
    var hasVideo: Bool { update.hasVideo ?? false }

    func snapshot(hasEnded: Bool = false) -> CallSnapshot {
        CallSnapshot(
            uuid: uuid, isOutgoing: isOutgoing, isOnHold: state == .held, hasConnected: hasConnected, hasEnded: hasEnded)
    }
}

/// Who wanted an action.
enum Origin: Hashable, Sendable {
    case app
    /// The person at the call screen.
    case person
    /// The service; with the reason that the call's end gets.
    case service(CallEndedReason?)
}

struct PendingAction: Sendable {
    var description: ActionDescription
    var origin: Origin
    /// A Held of hold-and-accept: its failure ends the call (MUL-6).
    var endsOnFailure = false
    /// After this end the held call is resumed (HLD-3).
    var resumesHeld = false
    /// nil: not delivered yet.
    var deadline: MonotonicTime?
    /// Another call gave way to this one.
    var isArbitrated = false
}

struct PendingTransaction: Sendable {
    var uuid: UUIDValue
    var app: AppID
    var provider: ProviderID
    /// Those that are not complete, in their order.
    var actions: [PendingAction]
    var plan: UInt64?
}

/// Transactions for several apps, one after another (MUL-14).
struct Plan: Sendable {
    struct Step: Sendable {
        var app: AppID
        var provider: ProviderID
        var uuid: UUIDValue
        var actions: [PendingAction]
    }
    var id: UInt64
    var steps: [Step]
}

/// What is to be looked at later.
struct Deadline: Sendable {
    enum Kind: Sendable, Hashable {
        case providerBegins(AppID, ProviderID)
        case actionTimesOut(AppID, UUIDValue)
        case startIsSlow(AppID, UUIDValue)
        case ringsTooLong(UUIDValue)
        case pushCheck(UInt64)
        case pushCompletion(UInt64)
        case launch(String)
        case activity(UInt64)
        case probe(AppID, ProbeCheck)
    }
    var at: MonotonicTime
    var number: UInt64
    var kind: Kind
}

/// What the machine wants done.
public enum CallServiceEffect: Hashable, Sendable {
    case send(AppID, ServiceMessage)
    /// Ends the connection after what was sent; the code says why.
    case close(AppID, code: String)
    case screen(ScreenState)
    case history(HistoryEntry)
    case diagnostic(Diagnostic)
    /// Start this app: something waits for it.
    case launch(bundle: String)
    /// Strict mode: end the process, as Apple's system would.
    case terminate(AppID, Diagnostic)
}
