// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the app needs of its protocol. Calls are named by the UUID that the system knows them by.
public protocol Signalling: AnyObject {
    /// News, on the main queue.
    var onEvent: ((SignallingEvent) -> Void)? { get set }
    /// Connects and registers; again after each push.
    func connect()
    func invite(_ call: UUID, to address: String)
    func answer(_ call: UUID)
    func decline(_ call: UUID)
    func hangUp(_ call: UUID)
    func setHeld(_ call: UUID, _ isHeld: Bool)
    func setMuted(_ call: UUID, _ isMuted: Bool)
    func send(_ digits: String, in call: UUID)
    /// The sound device is the app's, or no longer.
    func startAudio()
    func stopAudio()
}

public enum SignallingEvent: Sendable {
    /// Calls can come.
    case registered
    /// Somebody calls.
    case invited(UUID, from: String)
    /// The other side of an outgoing call rings.
    case ringing(UUID)
    /// Both sides can talk.
    case connected(UUID)
    case ended(UUID, CallEnding)
}

/// Why a call ended, when nobody here ended it.
public enum CallEnding: Sendable {
    case remote
    case unanswered
    case failed
    case answeredElsewhere
    case declinedElsewhere
}
