// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A call of the system as a snapshot: of this app, of another one, or of the cellular line.
public class CXCall: NSObject {
    public let uuid: UUID
    public let isOutgoing: Bool
    public let isOnHold: Bool
    public let hasConnected: Bool
    public let hasEnded: Bool

    init(uuid: UUID, isOutgoing: Bool, isOnHold: Bool, hasConnected: Bool, hasEnded: Bool) {
        self.uuid = uuid
        self.isOutgoing = isOutgoing
        self.isOnHold = isOnHold
        self.hasConnected = hasConnected
        self.hasEnded = hasEnded
    }

    /// Whether both are one call, whatever their states.
    public func isEqual(to call: CXCall) -> Bool { uuid == call.uuid }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CXCall).map(isEqual(to:)) ?? false }

    public override var hash: Int { uuid.hashValue }
}

/// Why a call ended, when its end is reported by the app. There is no case zero.
public enum CXCallEndedReason: Int, Sendable {
    /// An error while connecting or in the call.
    case failed = 1
    /// The other side ended it on purpose.
    case remoteEnded = 2
    /// It neither began to connect nor was ended by anybody: time ran out.
    case unanswered = 3
    case answeredElsewhere = 4
    case declinedElsewhere = 5
}
