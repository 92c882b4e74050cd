// SPDX-License-Identifier: Apache-2.0
//
// More than one call at a time.

import PhoneCore

extension Call {
    /// Answers the call and holds every other one.
    public func answerHolding() async throws(PhoneError) { try await phone.answerHolding(id) }

    /// Answers the call and ends every other one.
    public func answerEnding() async throws(PhoneError) { try await phone.answerEnding(id) }

    /// Goes back to this held call and holds every other one.
    public func swap() async throws(PhoneError) { try await phone.swap(to: id) }
}

extension Phone {
    /// Answers a call that rings and holds every other one.
    public func answerHolding(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.answerHolding(call, now: loop.now)
    }

    /// Answers a call that rings and ends every other one.
    public func answerEnding(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.answerEnding(call, now: loop.now)
    }

    /// Holds the calls that are up and goes back to a held one: the named one, else the newest.
    public func swap(to call: CallID? = nil) throws(PhoneError) {
        defer { drain() }
        try core.swap(to: call, now: loop.now)
    }
}
