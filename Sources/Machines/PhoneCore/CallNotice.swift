// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// What the caller should hear before the answer (RFC 3960).
public enum Ringback: String, Sendable, Hashable {
    /// Nothing: the other side does not ring yet, has answered, or the call is over.
    case off
    /// The other side rings and sends no sound: the application plays its own ringback tone.
    case local
    /// Sound from the other side or its network is arriving: the application plays nothing besides.
    case early
}

/// What happens on a call besides its state and its media.
public enum CallNotice: Sendable {
    /// Outgoing, before the answer: what the caller should hear. Tells each change; `off` comes with the answer or the end.
    case ringback(Ringback)
    /// Incoming, behind `incomingCall`: another call is up (call waiting).
    case waiting
    /// Who the other side is, and how the call came here: with an incoming call where more than From is known, and whenever it
    /// changes (RFC 4916, or an assertion of the account's server).
    case identity(CallerIdentity)
    /// Incoming: the caller asks the phone to answer by itself, and whether it will.
    case autoAnswer(AutoAnswerRequest, isAllowed: Bool)
    /// The call could not be completed over IP and goes on, as the same call, through the account's gateway to the telephone
    /// network; `cause` says what was in the way.
    case continued(to: URI, cause: Cause)
    /// What a warning with this code told of is over.
    case mended(code: String)
}
