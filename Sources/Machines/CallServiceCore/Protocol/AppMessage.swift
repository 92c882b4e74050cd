// SPDX-License-Identifier: Apache-2.0

/// Numbers a provider within its app's connection: the app counts them from 1.
public typealias ProviderID = UInt32

/// Numbers a question within its app's connection; the answer carries it again.
public typealias RequestID = UInt64

/// What an app says to the service. The first message of a connection is `hello`; anything before it ends the connection.
public enum AppMessage: Hashable, Sendable, Codable {
    case hello(AppDescriptor)
    /// The app went to the foreground or the background.
    case foreground(Bool)

    // MARK: Provider (`CXProvider`)

    /// A provider was made, or registers again after a reset. Answered by `providerBegan`.
    case registerProvider(ProviderID, ProviderConfiguration)
    case configureProvider(ProviderID, ProviderConfiguration)
    /// The configuration object was changed since it was assigned, and not assigned again (PRV-7): seen by the API module.
    case configurationStale(ProviderID)
    case invalidateProvider(ProviderID)
    /// The provider was released without `invalidate()` (PRV-5).
    case providerReleased(ProviderID)

    // MARK: Reports

    /// Answered by `reported`.
    case reportNewIncomingCall(RequestID, ProviderID, call: UUIDValue, CallUpdate)
    case reportUpdated(ProviderID, call: UUIDValue, CallUpdate)
    /// A nil time is now, here and below.
    case reportEnded(ProviderID, call: UUIDValue, at: WallTime?, CallEndedReason)
    case reportStartedConnecting(ProviderID, call: UUIDValue, at: WallTime?)
    case reportConnected(ProviderID, call: UUIDValue, at: WallTime?)

    // MARK: Requests and actions

    /// Answered by `requested`.
    case request(RequestID, TransactionDescription)
    case completeAction(UUIDValue, ActionOutcome)
    /// The app let go of the action without completing it (P-2): seen by the API module.
    case actionAbandoned(UUIDValue)
    /// The action met a default `perform` (ACT-9); the API module fails it as well.
    case actionNotImplemented(UUIDValue)
    /// The app completed an action in `timedOutPerforming`, after it, or a second time, and the API module did not pass it on.
    case completionIgnored(UUIDValue, ActionOutcome)

    // MARK: Audio session (`AVAudioSession`)

    /// Answered by `sessionAnswer`: nil, or a code of `AVAudioSession.ErrorCode`.
    case setActive(RequestID, Bool, options: UInt)
    case sessionCategory(SessionCategory)
    /// `overrideOutputAudioPort`. Answered by `sessionAnswer`.
    case overrideOutput(RequestID, speaker: Bool)
    /// `setPreferredInput` with a port's `uid`; nil gives the choice back.
    case preferInput(RequestID, uid: String?)

    // MARK: Push (`PKPushRegistry`)

    /// A registry exists, with or without a delegate; `types` are raw values of `PKPushType` in ascending order.
    case registerPush(types: [String], hasDelegate: Bool)
    /// The registry was released (PUSH-1).
    case pushRegistryReleased
    /// The delegate's method returned. `isImplemented` is false where the default met the push.
    case pushHandlerReturned(UInt64, isImplemented: Bool)
    /// The completion closure of a push was called.
    case pushCompleted(UInt64)
    /// The class method of iOS 14.5 (PUSH-17). Answered by `voipPayloadAnswer`.
    case reportVoIPPayload(RequestID, Octets)
    /// Text that the app sends its server as token (PUSH-3): seen by the probe.
    case tokenUploaded(String)

    // MARK: The rest

    /// The app took an activity from history, the screen or Siri (`ServiceMessage.activity`).
    case activityHandled(UInt64)
    /// What the app's own media and signalling do.
    case probe(ProbeEvent)
    /// A pitfall which only the API module can see, with what was seen, in words.
    case observed(Pitfall, call: UUIDValue?, seen: String)
    /// Reload the extension of that identifier. Answered by `directoryAnswer`.
    case reloadDirectory(RequestID, extensionIdentifier: String)
    /// Answered by `directoryStatus`.
    case directoryStatus(RequestID, extensionIdentifier: String)
    /// The extension of `loadDirectory` ran: nil, its store is written; else a code of `CXErrorCodeCallDirectoryManagerError`, and the old
    /// store stands. The service then answers whoever asked for the reload.
    case directoryLoaded(RequestID, code: Int?)
    /// The store of that extension was written anew by the app's process; the service reads it again.
    case directoryChanged(extensionIdentifier: String)
    /// The last words before the process closes by itself. Its calls end as they do when it dies.
    case goodbye
}

/// What the app set of its audio session: names as in `AVAudioSession`, such as `playAndRecord` and `voiceChat`.
public struct SessionCategory: Hashable, Sendable, Codable {
    public var category: String
    public var mode: String
    /// Bits of `AVAudioSession.CategoryOptions`.
    public var options: UInt

    public init(category: String = "soloAmbient", mode: String = "default", options: UInt = 0) {
        self.category = category
        self.mode = mode
        self.options = options
    }

    /// `defaultToSpeaker`.
    public static let defaultToSpeaker: UInt = 0x8
}

/// What an app tells of itself so that pitfalls in its media and signalling are seen. Voluntary: a service without it still works.
public enum ProbeEvent: Hashable, Sendable, Codable {
    /// The audio unit (sound device, engine) was started or stopped: of the process, not of a call.
    case audioStarted
    case audioStopped
    /// An audio start was refused by the system.
    case audioStartFailed(code: Int)
    /// Packets of that call's media flow, or do so no longer.
    case mediaStarted(call: UUIDValue)
    case mediaStopped(call: UUIDValue)
    /// The call's media objects are gone.
    case mediaReleased(call: UUIDValue)
    /// Whether that call's microphone samples are sent.
    case microphone(call: UUIDValue, isSending: Bool)
    /// The call's leg as signalling has it.
    case signalling(call: UUIDValue, SignallingState)
    /// The app rings by itself for that call, or shows a ringing screen of its own.
    case ringing(call: UUIDValue, RingingForm)
    case ringingStopped(call: UUIDValue)
    /// A timer of the app that ends ringing acted on that call.
    case ringTimerFired(call: UUIDValue)
    /// The app changed that call's own state, or opened media for it, in the completion closure of a request.
    case changedInCompletion(call: UUIDValue)
    /// The app says its calls are merged.
    case saidMerged(call: UUIDValue)
    /// The text by which the app looked a call up; compared by octets.
    case lookedUp(text: String)
    /// The call's identity as the signalling knows it (Call-ID, or the id in a push): one call, two UUIDs are seen by it.
    case identity(call: UUIDValue, text: String)
    /// The app took the end of that call for the person's tap (rated, counted as declined).
    case assumedTap(call: UUIDValue)
    /// A push dropped by the app for a reason of its own.
    case pushDropped(push: UInt64, reason: String)
    /// A push told of a cancelled call.
    case pushWasCancel(push: UInt64)
    /// The push path read storage; `isAvailable` false: it is locked until first unlock.
    case readProtectedData(isAvailable: Bool)
    /// A report waits for `providerDidBegin`.
    case waitsForBegin
    /// The person used a control of the app just now: what the app asks for in the next moment is their wish (AUD-8).
    case personActed
    /// The layers that take an answer were not there yet when it came.
    case answerLost(call: UUIDValue)
}

/// How far a call's leg is, by its protocol.
public enum SignallingState: Int, Hashable, Sendable, Codable {
    /// An invitation went out or came.
    case inviting = 0
    /// The other side rings (180).
    case ringing = 1
    /// Accepted on both sides (200 and ACK).
    case connected = 2
    /// Ended, by a hang-up of ours (BYE, CANCEL).
    case hungUp = 3
    /// Ended, by a refusal of ours (4xx–6xx).
    case declined = 4
    /// Ended by the other side or by a failure.
    case ended = 5
    /// Taken or declined on another device.
    case elsewhere = 6
}

/// How an app rings by itself.
public enum RingingForm: Int, Hashable, Sendable, Codable {
    case sound = 0
    case screen = 1
}
