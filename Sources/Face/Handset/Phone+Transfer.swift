// SPDX-License-Identifier: Apache-2.0

import PhoneCore
import SIPAgent

extension Phone {
    /// Asks the other side of a call to call somebody else; `PhoneEvent.transfer` tells how it goes. When it fails, the call
    /// goes on as it was.
    @discardableResult
    public func transfer(_ call: CallID, to dialled: String, options: TransferOptions = TransferOptions()) throws(PhoneError) -> TransferID
    {
        defer { drain() }
        return try core.transfer(call, to: dialled, options: options, now: loop.now)
    }

    /// Joins the other sides of two answered calls, and leaves them to themselves.
    @discardableResult
    public func transfer(_ call: CallID, with other: CallID) throws(PhoneError) -> TransferID {
        defer { drain() }
        return try core.transfer(call, with: other, now: loop.now)
    }

    /// Asks a phone with which there is no call to call somebody (click to dial).
    @discardableResult
    public func refer(from account: Account?, _ peer: String, to dialled: String) throws(PhoneError) -> TransferID {
        defer { drain() }
        return try core.refer(from: account?.id, peer, to: dialled, now: loop.now)
    }

    /// Follows a transfer whose state is `requested`.
    public func acceptTransfer(_ transfer: TransferID) throws(PhoneError) {
        defer { drain() }
        try core.acceptTransfer(transfer, now: loop.now)
    }

    /// Refuses a transfer whose state is `requested`.
    public func rejectTransfer(_ transfer: TransferID, status: Int = 603) throws(PhoneError) {
        defer { drain() }
        try core.rejectTransfer(transfer, status: status, now: loop.now)
    }

    // MARK: Conferences

    /// Joins answered calls: everybody hears everybody else.
    @discardableResult
    public func conference(_ calls: [CallID]) throws(PhoneError) -> ConferenceID {
        defer { drain() }
        return try core.conference(calls, now: loop.now)
    }

    /// Joins calls, each with all others.
    ///
    ///     let conference = try await phone.conference([one, other])
    ///     try await conference.add(third)
    public func conference(_ calls: [Call]) throws(PhoneError) -> Conference {
        Conference(id: try conference(calls.map(\.id)), phone: self)
    }

    /// One more call for a conference.
    public func join(_ call: CallID, _ conference: ConferenceID) throws(PhoneError) {
        defer { drain() }
        try core.join(call, conference, now: loop.now)
    }

    /// Takes a call out of its conference; it goes on by itself.
    public func part(_ call: CallID) throws(PhoneError) {
        defer { drain() }
        try core.part(call, now: loop.now)
    }

    public func conference(of call: CallID) -> ConferenceID? { core.conference(of: call) }

    /// In the order of their coming; empty for a conference that is over.
    public func members(of conference: ConferenceID) -> [CallID] { core.members(of: conference) }
}

extension Call {
    /// Asks the other side to call `dialled`, and ends this call when that is answered. When it fails, the call goes on as
    /// it was; `CallEvent.transfer` tells.
    public func transfer(to dialled: String, options: TransferOptions = TransferOptions()) async throws(PhoneError) {
        try await phone.transfer(id, to: dialled, options: options)
    }

    /// Joins the other side of this call with that of `other`, and leaves both.
    public func transfer(with other: Call) async throws(PhoneError) { try await phone.transfer(id, with: other.id) }
}

/// Calls that are mixed, each with all others.
public struct Conference: Sendable {
    public let id: ConferenceID
    let phone: Phone

    public func add(_ call: Call) async throws(PhoneError) { try await phone.join(call.id, id) }

    /// The call goes on by itself. With one call left the conference is over.
    public func remove(_ call: Call) async throws(PhoneError) { try await phone.part(call.id) }

    /// In the order of their coming; empty when it is over.
    public var members: [CallID] { get async { await phone.members(of: id) } }
}
