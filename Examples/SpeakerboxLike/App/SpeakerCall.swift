// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import Foundation

/// One call of the app.
final class SpeakerCall {
    let uuid: UUID
    let address: String
    let isOutgoing: Bool
    /// The invitation is here: not yet, for a call that a push told of.
    var isInvited: Bool
    /// The other side of an outgoing call is known to be reached.
    var isReached = false
    var isConnected = false
    var isHeld = false
    var isMuted = false
    /// The person accepted, and signalling is not ready.
    var answer: CXAnswerCallAction?
    /// The person declined before the invitation came.
    var isDeclined = false

    init(uuid: UUID, address: String, isOutgoing: Bool, isInvited: Bool) {
        self.uuid = uuid
        self.address = address
        self.isOutgoing = isOutgoing
        self.isInvited = isInvited
    }
}
