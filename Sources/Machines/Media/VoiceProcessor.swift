// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What is to be done with the sound of a microphone before anybody hears it.
public struct VoiceProcessing: Sendable, Hashable {
    /// How the echo of the loudspeaker is taken out.
    public enum EchoCancellation: Sendable, Hashable {
        case off
        /// The best that this system has, which finds the delay of the echo by itself.
        case automatic
        /// A linear canceller that covers echoes up to this long after the device's own delay: 10...1000 ms.
        case tail(Int)

        /// 0 is off, a number a tail in milliseconds.
        public init(tailMilliseconds: Int) { self = tailMilliseconds <= 0 ? .off : .tail(min(max(tailMilliseconds, 10), 1000)) }
    }

    public var echoCancellation: EchoCancellation
    public var suppressesNoise: Bool
    /// Whether a quiet voice is made louder, and a loud one quieter.
    public var controlsGain: Bool

    public init(echoCancellation: EchoCancellation = .off, suppressesNoise: Bool = false, controlsGain: Bool = false) {
        self.echoCancellation = echoCancellation
        self.suppressesNoise = suppressesNoise
        self.controlsGain = controlsGain
    }

    public static let off = VoiceProcessing()

    /// Nothing is to be done.
    public var isOff: Bool { self == .off }
}

/// Takes echo and noise out of what a microphone heard. Called on the thread that ticks: nothing here waits or allocates.
///
/// Each tick first `near` is called with what the microphone heard, then `far` with what the loudspeaker is given.
public protocol VoiceProcessor: AnyObject, Sendable {
    /// A frame of 10 ms for the loudspeaker, just before it is played.
    func far(_ frame: Span<Int16>)
    /// Works on a frame of 10 ms of the microphone in place. `delay`: milliseconds from `far` to the moment at which the echo of
    /// that frame is among what the microphone gives, as far as the device knows.
    func near(_ frame: inout [Int16], delay: Int)
    /// Which library does it; for people.
    var name: String { get }
}

/// How the voice processing of a device is.
public enum VoiceProcessingState: Sendable, Hashable {
    case off
    case on(by: String)
    /// It is off, although it was wanted.
    case unavailable(reason: String)
}
