// SPDX-License-Identifier: Apache-2.0

/// What the service says to an app.
///
/// Order is meaning: the state changes first, then `callChanged`, then what is to be performed (OBS-4).
public enum ServiceMessage: Hashable, Sendable, Codable {
    /// The answer to `hello`: the calls there are, everybody's.
    case welcome(calls: [CallSnapshot], settings: ServiceSwitches)

    // MARK: Provider

    /// The provider is registered: `providerDidBegin`.
    case providerBegan(ProviderID)
    /// The service lost everything: `providerDidReset`. With `registersAgain` the API module registers the provider anew.
    case providerReset(ProviderID, registersAgain: Bool)

    // MARK: Answers

    /// nil, or a code of `CXErrorCodeIncomingCallError`.
    case reported(RequestID, call: UUIDValue, code: Int?)
    /// nil, or an error; `missingVoIPBackgroundMode` is of `CXError`, everything else of `CXErrorCodeRequestTransactionError`.
    case requested(RequestID, code: Int?)
    /// nil, or a code of `AVAudioSession.ErrorCode`.
    case sessionAnswer(RequestID, code: Int?)
    /// nil, or a code of `CXErrorCodeNotificationServiceExtensionError`.
    case voipPayloadAnswer(RequestID, code: Int?)
    /// nil, or a code of `CXErrorCodeCallDirectoryManagerError`.
    case directoryAnswer(RequestID, code: Int?)
    /// A raw value of `CXCallDirectoryManager.EnabledStatus`, and nil or an error code as above.
    case directoryStatus(RequestID, status: Int, code: Int?)

    // MARK: Actions

    /// A transaction begins, with all its actions: what `provider(_:execute:)` is asked. No answer: who executes it himself completes the
    /// actions, and the `perform`s that follow are for nobody.
    case transactionBegan(ProviderID, TransactionDescription)
    /// An action of a transaction that began, now to be performed; with its new `timeoutDate`.
    case perform(ProviderID, transaction: UUIDValue, ActionDescription)
    /// `timedOutPerforming`.
    case timedOut(ProviderID, ActionDescription)
    /// The action's call is gone: it needs no answer any more, and there is no `timedOut` (ACT-10).
    case dropped(action: UUIDValue)

    // MARK: Calls

    /// `callObserver(_:callChanged:)`; with `hasEnded`, the call's last.
    case callChanged(CallSnapshot)

    // MARK: Audio

    case didActivate(ProviderID)
    case didDeactivate(ProviderID)
    /// `interruptionNotification`, type began, with a raw value of `InterruptionReason`.
    case interruptionBegan(reason: UInt)
    case interruptionEnded(shouldResume: Bool)
    /// `routeChangeNotification`: a raw value of `RouteChangeReason`, and the route from now on.
    case routeChanged(reason: UInt, AudioRoute)
    case mediaServicesLost
    case mediaServicesReset

    // MARK: Push

    case pushToken(type: String, Octets)
    case pushTokenInvalidated(type: String)
    /// The payload is JSON. The handler's return is told by `pushHandlerReturned`, its completion by `pushCompleted`.
    case push(UInt64, type: String, payload: Octets, mustReport: Bool)

    // MARK: The rest

    /// `NSUserActivity` with a call intent: call back, redial, or the video button.
    case activity(UInt64, ActivityDescription)
    case diagnostic(Diagnostic)
    /// Strict mode: here Apple's system kills the process.
    case terminate(Diagnostic)
    /// Run this extension and write its store, then `directoryChanged`, or say what went wrong by `observed`.
    case loadDirectory(RequestID, extensionIdentifier: String, isIncremental: Bool)
}

/// What an app's API module must know of the service's settings.
public struct ServiceSwitches: Hashable, Sendable, Codable {
    public var mode: DiagnosticMode = .report
    /// The completion of a request is queued before the actions (TXN-2).
    public var completionComesFirst = true

    public init() {}
}

/// What becomes of diagnostics (LNX-13).
public enum DiagnosticMode: Int, Hashable, Sendable, Codable {
    /// As Apple would: what is fatal there ends the process here.
    case strict = 0
    case report = 1
    case silent = 2
}

/// Where sound comes from and goes to: names as in `AVAudioSession.Port`.
public struct AudioRoute: Hashable, Sendable, Codable {
    public var input: String
    public var output: String

    public init(input: String = "builtInMic", output: String = "builtInReceiver") {
        self.input = input
        self.output = output
    }
}

/// A wish that reaches an app as an activity (`NSUserActivity` with an intent).
public struct ActivityDescription: Hashable, Sendable, Codable {
    /// The kinds, by the intent's class name.
    public enum Kind: Int, Hashable, Sendable, Codable {
        /// `INStartCallIntent`.
        case startCall = 0
        /// `INStartAudioCallIntent`.
        case startAudioCall = 1
        /// `INStartVideoCallIntent`.
        case startVideoCall = 2
    }

    public var kind: Kind
    /// As it was in the call's own handle (REC-4).
    public var handle: Handle
    public var isVideo: Bool

    public init(kind: Kind, handle: Handle, isVideo: Bool) {
        self.kind = kind
        self.handle = handle
        self.isVideo = isVideo
    }
}
