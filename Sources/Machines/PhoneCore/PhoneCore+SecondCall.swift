// SPDX-License-Identifier: Apache-2.0
//
// More than one call at a time: waiting, answering with hold or end of the others, swapping, or busy from the start.

import Essentials
import SIP
import SIPAgent

extension PhoneCore {
    /// Answers a call that rings, and puts every other answered call on hold first.
    public func answerHolding(_ id: CallID, now: MonotonicTime) throws(PhoneError) {
        try requireRinging(id)
        try holdOthers(than: id, now: now)
        try answer(id, now: now)
    }

    /// Answers a call that rings, and ends every other call that is answered or being answered first.
    public func answerEnding(_ id: CallID, now: MonotonicTime) throws(PhoneError) {
        try requireRinging(id)
        for other in calls.keys.sorted() where other != id && isAnswered(other) { try hangUp(other, now: now) }
        try answer(id, now: now)
    }

    /// Makes a held call the one that is spoken on, and holds every other one.
    ///
    /// - Parameter id: the held call; nil: the one that was held last created.
    /// - Throws: `.wrongState` where no answered call is held by us.
    public func swap(to id: CallID? = nil, now: MonotonicTime) throws(PhoneError) {
        let held = calls.keys.sorted().last { calls[$0]?.wantsHold == true }
        guard let id = id ?? held else { throw PhoneError(.wrongState, "No call is on hold.") }
        let call = try require(id)
        guard case .established = call.phase, call.wantsHold else {
            throw PhoneError(.wrongState, "Only a call that is on hold can be swapped to.")
        }
        try holdOthers(than: id, now: now)
        try resume(id, now: now)
    }

    private func requireRinging(_ id: CallID) throws(PhoneError) {
        guard case .ringing = try require(id).phase else {
            throw PhoneError(.wrongState, "Only a call that rings can be answered.")
        }
    }

    private func holdOthers(than id: CallID, now: MonotonicTime) throws(PhoneError) {
        for other in calls.keys.sorted() where other != id {
            guard let call = calls[other], case .established = call.phase, !call.wantsHold else { continue }
            try hold(other, now: now)
        }
    }

    private func isAnswered(_ id: CallID) -> Bool {
        switch calls[id]?.phase {
        case .established, .accepting: true
        default: false
        }
    }

    /// Whether a further incoming call finds the line busy by a setting; the limit that says so.
    func isBusy(_ account: AccountID?) -> Bool {
        if calls.isEmpty { return false }
        let settings = account.flatMap { accounts[$0]?.calls }
        if settings?.refusesSecondCall ?? configuration.refusesSecondCall { return true }
        guard let limit = settings?.maximumCalls else { return false }
        return calls.values.reduce(0) { $1.account == account ? $0 + 1 : $0 } >= limit
    }
}
