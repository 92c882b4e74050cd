// SPDX-License-Identifier: Apache-2.0

/// The direction of a stream as seen by the one who writes it (RFC 8866 §6.7).
public enum Direction: String, Sendable, Hashable, CaseIterable {
    case sendrecv, sendonly, recvonly, inactive

    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendrecv : .sendonly) : (receives ? .recvonly : .inactive)
    }

    public var sends: Bool { self == .sendrecv || self == .sendonly }
    public var receives: Bool { self == .sendrecv || self == .recvonly }

    /// The same stream as seen from the other side.
    public var reversed: Direction { Direction(sends: receives, receives: sends) }

    /// What is in both: a stream flows only where both allow it. `other` is seen from the same side.
    public func intersection(_ other: Direction) -> Direction {
        Direction(sends: sends && other.sends, receives: receives && other.receives)
    }
}
