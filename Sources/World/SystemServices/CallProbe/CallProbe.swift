// SPDX-License-Identifier: Apache-2.0

import Foundation

#if os(Linux)
    import AppLink
    import CallServiceCore
#endif

/// Tells the call service what the app's media and signalling do. Each function says one thing at the moment when it happens.
public enum CallProbe {
    /// How far a call's leg is.
    public enum Signalling: Int, Sendable {
        /// An invitation went out or came.
        case inviting = 0
        /// The other side rings.
        case ringing = 1
        /// Accepted on both sides.
        case connected = 2
        /// Ended by a hang-up of ours.
        case hungUp = 3
        /// Ended by a refusal of ours.
        case declined = 4
        /// Ended by the other side, or by a failure.
        case ended = 5
        /// Taken or declined on another device.
        case elsewhere = 6
    }

    /// The audio unit, engine or sound device was started.
    public static func audioStarted() { tell(.audioStarted) }
    public static func audioStopped() { tell(.audioStopped) }
    /// The system refused to start audio.
    public static func audioStartFailed(_ error: any Error) { tell(.audioStartFailed(code: (error as NSError).code)) }
    /// Packets of that call's media flow.
    public static func mediaStarted(_ call: UUID) { tell(.mediaStarted(call)) }
    public static func mediaStopped(_ call: UUID) { tell(.mediaStopped(call)) }
    /// The media objects of that call are gone.
    public static func mediaReleased(_ call: UUID) { tell(.mediaReleased(call)) }
    /// Whether the microphone is sent to that call.
    public static func microphone(_ call: UUID, isSending: Bool) { tell(.microphone(call, isSending)) }
    public static func signalling(_ call: UUID, _ state: Signalling) { tell(.signalling(call, state)) }
    /// The app plays a ringing tone of its own for that call.
    public static func ringsBySound(_ call: UUID) { tell(.ringing(call, isScreen: false)) }
    /// The app shows a ringing screen of its own for that call.
    public static func ringsByScreen(_ call: UUID) { tell(.ringing(call, isScreen: true)) }
    public static func ringingStopped(_ call: UUID) { tell(.ringingStopped(call)) }
    /// The app's own limit of the ringing time acted on that call.
    public static func ringTimerFired(_ call: UUID) { tell(.ringTimerFired(call)) }
    /// The state of that call was changed in the completion of a request.
    public static func changedInCompletion(_ call: UUID) { tell(.changedInCompletion(call)) }
    /// The app shows its calls as merged.
    public static func saidMerged(_ call: UUID) { tell(.saidMerged(call)) }
    /// The text by which a call was looked up.
    public static func lookedUp(_ text: String) { tell(.lookedUp(text)) }
    /// What the signalling calls that call: its Call-ID, or the id in the push.
    public static func identity(_ call: UUID, _ text: String) { tell(.identity(call, text)) }
    /// The end of that call was taken for the person's tap.
    public static func assumedTap(_ call: UUID) { tell(.assumedTap(call)) }
    /// The push under way was dropped by the app.
    public static func pushDropped(because reason: String) { tell(.pushDropped(reason)) }
    /// The push under way says that a call was cancelled.
    public static func pushWasCancel() { tell(.pushWasCancel) }
    /// Storage was read on the way of a push; not available before the first unlock after a start.
    public static func readProtectedData(isAvailable: Bool) { tell(.readProtectedData(isAvailable)) }
    /// A report waits for `providerDidBegin`.
    public static func waitsForBegin() { tell(.waitsForBegin) }
    /// An answer came before the layers that take it were there.
    public static func answerLost(_ call: UUID) { tell(.answerLost(call)) }
    /// The person touched the app: what follows at once is their wish.
    public static func personActed() { tell(.personActed) }
    /// The token in the form in which it goes to the app's server.
    public static func tokenUploaded(_ text: String) { tell(.tokenUploaded(text)) }

    enum Fact {
        case audioStarted, audioStopped
        case audioStartFailed(code: Int)
        case mediaStarted(UUID), mediaStopped(UUID), mediaReleased(UUID)
        case microphone(UUID, Bool)
        case signalling(UUID, Signalling)
        case ringing(UUID, isScreen: Bool), ringingStopped(UUID), ringTimerFired(UUID)
        case changedInCompletion(UUID), saidMerged(UUID), lookedUp(String), identity(UUID, String), assumedTap(UUID)
        case pushDropped(String), pushWasCancel, readProtectedData(Bool), personActed, waitsForBegin, answerLost(UUID), tokenUploaded(
            String)
    }

    #if !os(Linux)
        private static func tell(_ fact: Fact) {}
    #endif
}

#if os(Linux)
    extension CallProbe {
        private static func tell(_ fact: Fact) {
            let link = AppLink.current
            if case .tokenUploaded(let text) = fact { return link.send(.tokenUploaded(text)) }
            link.send(.probe(event(fact, push: link.pushUnderWay)))
        }

        private static func event(_ fact: Fact, push: UInt64) -> ProbeEvent {
            switch fact {
            case .audioStarted: .audioStarted
            case .audioStopped: .audioStopped
            case .audioStartFailed(let code): .audioStartFailed(code: code)
            case .mediaStarted(let call): .mediaStarted(call: UUIDValue(call))
            case .mediaStopped(let call): .mediaStopped(call: UUIDValue(call))
            case .mediaReleased(let call): .mediaReleased(call: UUIDValue(call))
            case .microphone(let call, let isSending): .microphone(call: UUIDValue(call), isSending: isSending)
            case .signalling(let call, let state):
                .signalling(call: UUIDValue(call), SignallingState(rawValue: state.rawValue) ?? .ended)
            case .ringing(let call, let isScreen): .ringing(call: UUIDValue(call), isScreen ? .screen : .sound)
            case .ringingStopped(let call): .ringingStopped(call: UUIDValue(call))
            case .ringTimerFired(let call): .ringTimerFired(call: UUIDValue(call))
            case .changedInCompletion(let call): .changedInCompletion(call: UUIDValue(call))
            case .saidMerged(let call): .saidMerged(call: UUIDValue(call))
            case .lookedUp(let text): .lookedUp(text: text)
            case .identity(let call, let text): .identity(call: UUIDValue(call), text: text)
            case .assumedTap(let call): .assumedTap(call: UUIDValue(call))
            case .pushDropped(let reason): .pushDropped(push: push, reason: reason)
            case .pushWasCancel: .pushWasCancel(push: push)
            case .readProtectedData(let isAvailable): .readProtectedData(isAvailable: isAvailable)
            case .waitsForBegin: .waitsForBegin
            case .personActed: .personActed
            case .answerLost(let call): .answerLost(call: UUIDValue(call))
            case .tokenUploaded: .waitsForBegin
            }
        }
    }
#endif
