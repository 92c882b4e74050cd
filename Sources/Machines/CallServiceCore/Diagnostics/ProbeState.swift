// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What an app told of its media and signalling.
struct ProbeState: Sendable {
    /// The app adopted the audio part of the probe.
    var tellsAudio = false
    var isAudioRunning = false
    var tellsMedia = false
    var media: [UUIDValue] = []
    var everMedia: [UUIDValue] = []
    var microphones: [(call: UUIDValue, isSending: Bool)] = []
    var legs: [(call: UUIDValue, state: SignallingState)] = []
    var texts: [String] = []
    var personActedAt: MonotonicTime?
    /// Audio was started or activated too early: strict mode withholds the next activation (AUD-3).
    var isActivationLost = false
    var lastEnd: MonotonicTime?
    var lastMute: (call: UUIDValue, at: MonotonicTime)?

    func hadMedia(_ call: UUIDValue) -> Bool { everMedia.contains(call) }
    func leg(_ call: UUIDValue) -> SignallingState? { legs.last { $0.call == call }?.state }
    func isStillRinging(_ call: UUIDValue) -> Bool {
        switch leg(call) {
        case .inviting, .ringing: true
        default: false
        }
    }
    func personActed(within window: Interval, at now: MonotonicTime) -> Bool {
        personActedAt.map { now - $0 <= window } ?? false
    }
}

/// What is looked at a moment after a change.
enum ProbeCheck: Hashable, Sendable {
    case reset
    case audioStopped
    case audioAfterResume(UUIDValue)
    case newCallHasAudio(UUIDValue)
    case microphone(UUIDValue)
    case orphan(UUIDValue)
    case elsewhere(UUIDValue)
    case refusedReport(UUIDValue)
}
