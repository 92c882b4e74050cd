// SPDX-License-Identifier: Apache-2.0
//
// Commands by identifier: what `Account` and `Call` use, and what a handler on the phone's isolation calls directly.

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent

extension Phone {
    public func register(_ account: AccountID) throws(PhoneError) {
        defer { drain() }
        try core.register(account, now: loop.now)
    }

    public func unregister(_ account: AccountID) throws(PhoneError) {
        defer { drain() }
        try core.unregister(account, now: loop.now)
    }

    public func answer(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.answer(call, now: loop.now)
    }

    public func reject(_ call: CallID, status: Int = 486) throws(PhoneError) {
        defer { drain() }
        try core.reject(call, status: status, now: loop.now)
    }

    /// Ends the call; one that is over is left alone.
    public func hangUp(_ call: CallID, reason: Reason? = nil) {
        defer { drain() }
        try? core.hangUp(call, reason: reason, now: loop.now)
    }

    public func hold(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.hold(call, now: loop.now)
    }

    public func resume(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.resume(call, now: loop.now)
    }

    /// Asks the other side to make an offer anew.
    public func requestOffer(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.requestOffer(call, now: loop.now)
    }

    public func setMuted(_ call: CallID, _ isMuted: Bool) throws(PhoneError) {
        defer { drain() }
        try core.setMuted(call, isMuted, now: loop.now)
    }

    public func sendDigits(_ digits: String, on call: CallID, method: DigitMethod = .auto) throws(PhoneError) {
        defer { drain() }
        try core.sendDigits(digits, on: call, method: method, now: loop.now)
    }

    public func requestStatistics(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.requestStatistics(call)
    }

    public func state(of call: CallID) -> CallState { core.state(of: call) }

    /// Who is at the other side; nil for a call that is over.
    public func remote(of call: CallID) -> URI? { core.remote(of: call) }

    /// Whose call it is; nil: a direct one, or over.
    public func account(of call: CallID) -> AccountID? { core.account(of: call) }

    public func port(of call: CallID) throws(PhoneError) -> PortID { try core.port(of: call) }

    /// Calls that are not over.
    public var callCount: Int { core.callCount }
}
