// SPDX-License-Identifier: Apache-2.0

import Media
import PhoneCore
import SIP
import SIPAgent

/// What happens on one call.
public enum CallEvent: Sendable {
    case state(CallState, status: Int, reason: String)
    case media(CallMedia)
    case hold(by: HoldSide, isHeld: Bool)
    case holdFailed(Cause)
    case digitReceived(Character, DigitMethod, milliseconds: Int)
    case digitSent(Character, DigitMethod, milliseconds: Int)
    case digitFailed(Cause)
    case notice(CallNotice)
    /// News of a transfer; `Phone.call(_:)` gives its other call.
    case transfer(TransferEvent)
    case statistics(StreamStatistics, isFinal: Bool)
    case warning(Cause)
    /// The last event of a call but its final statistics.
    case ended(CallEnd)
}

/// A call. Every method may be used from any task or thread.
public final class Call: Sendable {
    public let id: CallID
    public let direction: CallDirection
    /// The call's port of the phone's bridge.
    public let port: PortID
    /// For an incoming call: who calls.
    public let incoming: IncomingCall?
    let phone: Phone
    let channel = EventChannel<CallEvent>()

    init(id: CallID, direction: CallDirection, port: PortID, incoming: IncomingCall?, phone: Phone) {
        self.id = id
        self.direction = direction
        self.port = port
        self.incoming = incoming
        self.phone = phone
    }

    /// The events of the call (the first sequence made begins with those so far); ends after the final statistics.
    public var events: AsyncStream<CallEvent> { channel.stream() }

    /// The state now.
    public var state: CallState { get async { await phone.state(of: id) } }

    /// Answers an incoming call.
    public func answer() async throws(PhoneError) { try await phone.answer(id) }

    /// Refuses an incoming call: 486 is busy, 603 declines on all devices.
    public func reject(status: Int = 486) async throws(PhoneError) { try await phone.reject(id, status: status) }

    /// Ends the call in whatever state it is; it is over for the user at once. A call that is over is left alone.
    ///
    /// - Parameter reason: told to the other side (RFC 3326).
    public func hangUp(reason: Reason? = nil) async { await phone.hangUp(id, reason: reason) }

    /// Puts the call on hold; before the answer: as soon as it is answered.
    public func hold() async throws(PhoneError) { try await phone.hold(id) }

    public func resume() async throws(PhoneError) { try await phone.resume(id) }

    /// Asks the other side to make an offer anew, by a re-INVITE without one; events tell what changes.
    public func requestOffer() async throws(PhoneError) { try await phone.requestOffer(id) }

    /// Keeps our sound from the peer, or lets it through.
    public func setMuted(_ isMuted: Bool) async throws(PhoneError) { try await phone.setMuted(id, isMuted) }

    /// Sends digits: 0–9, `*`, `#`, A–D; `,` waits half a second.
    public func sendDTMF(_ digits: String, method: DigitMethod = .auto) async throws(PhoneError) {
        try await phone.sendDigits(digits, on: id, method: method)
    }
}
