// SPDX-License-Identifier: Apache-2.0
//
// Conferences of calls, mixed by the bridge: each member hears all others, and never itself.
//
//     call 1 ◀──▶ call 2
//        ▲          ▲         each line is two connections of the bridge
//        └─▶ call 3 ┘

import Essentials
import Media
import SIPAgent

/// One conference of a phone. Never reused within a phone's life.
public struct ConferenceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { String(rawValue) }
}

/// The conferences of a phone, each with its members in the order of their coming.
struct Conferences {
    var members: [ConferenceID: [CallID]] = [:]
    private var last: UInt64 = 0

    var isEmpty: Bool { members.isEmpty }

    mutating func makeID() -> ConferenceID {
        last &+= 1
        return ConferenceID(rawValue: last)
    }

    func conference(of call: CallID) -> ConferenceID? {
        members.isEmpty ? nil : members.first { $0.value.contains(call) }?.key
    }
}

extension PhoneCore {
    /// Joins answered calls: everybody hears everybody else. Calls on hold are taken off hold.
    ///
    /// - Throws: `.wrongState` for fewer than two calls, one that is not answered, or one in a conference already; `.limit`
    ///   beyond `PhoneConfiguration.maximumConferenceMembers`.
    @discardableResult
    public func conference(_ ids: [CallID], now: MonotonicTime) throws(PhoneError) -> ConferenceID {
        guard ids.count >= 2, Set(ids).count == ids.count else {
            throw PhoneError(.wrongState, "A conference needs two calls or more.")
        }
        try requireSeats(ids.count)
        for id in ids { try requireFree(id) }
        let conference = conferences.makeID()
        conferences.members[conference] = []
        for id in ids { enter(id, conference, now: now) }
        emit(.conference(conference, ids))
        drainAgent(now: now)
        return conference
    }

    /// One more call for a conference.
    public func join(_ id: CallID, _ conference: ConferenceID, now: MonotonicTime) throws(PhoneError) {
        guard let members = conferences.members[conference] else {
            throw PhoneError(.wrongState, "There is no such conference, or it is over.")
        }
        try requireSeats(members.count + 1)
        try requireFree(id)
        enter(id, conference, now: now)
        emit(.conference(conference, members + [id]))
        drainAgent(now: now)
    }

    /// Takes a call out of its conference; it goes on as a call of its own. With one member left the conference is over.
    public func part(_ id: CallID, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        guard let conference = conferences.conference(of: id) else {
            throw PhoneError(.wrongState, "The call is in no conference.")
        }
        connect(call.port, conferences.members[conference] ?? [], besides: id, joins: false)
        leaveConference(id)
        drainAgent(now: now)
    }

    /// The conference that a call is in.
    public func conference(of id: CallID) -> ConferenceID? { conferences.conference(of: id) }

    /// The members of a conference in the order of their coming; empty for one that is over.
    public func members(of conference: ConferenceID) -> [CallID] { conferences.members[conference] ?? [] }

    private func requireSeats(_ count: Int) throws(PhoneError) {
        guard count <= configuration.maximumConferenceMembers else {
            throw PhoneError(.limit, "A conference may have \(configuration.maximumConferenceMembers) calls, not more.")
        }
    }

    private func requireFree(_ id: CallID) throws(PhoneError) {
        let call = try require(id)
        guard case .established = call.phase else { throw PhoneError(.wrongState, "Only answered calls can be in a conference.") }
        guard conferences.conference(of: id) == nil else { throw PhoneError(.wrongState, "A call is in a conference already.") }
    }

    private func enter(_ id: CallID, _ conference: ConferenceID, now: MonotonicTime) {
        guard let call = calls[id] else { return }
        connect(call.port, conferences.members[conference] ?? [], besides: id, joins: true)
        conferences.members[conference, default: []].append(id)
        if call.wantsHold { try? resume(id, now: now) }
    }

    private func connect(_ port: PortID, _ members: [CallID], besides id: CallID, joins: Bool) {
        for other in members where other != id {
            guard let peer = calls[other]?.port else { continue }
            order(joins ? .connect(from: port, to: peer) : .disconnect(from: port, to: peer))
            order(joins ? .connect(from: peer, to: port) : .disconnect(from: peer, to: port))
        }
    }

    /// The call is over, or has parted: the others go on.
    func leaveConference(_ id: CallID) {
        guard let conference = conferences.conference(of: id) else { return }
        let left = (conferences.members[conference] ?? []).filter { $0 != id }
        conferences.members[conference] = left.count > 1 ? left : nil
        emit(.conference(conference, left.count > 1 ? left : []))
    }

    /// Another call takes the place of a member.
    func replaceInConference(_ old: CallID, by new: CallID) {
        guard let conference = conferences.conference(of: old), let port = calls[new]?.port, let oldPort = calls[old]?.port,
            let index = conferences.members[conference]?.firstIndex(of: old)
        else { return }
        let others = (conferences.members[conference] ?? []).filter { $0 != old }
        connect(oldPort, others, besides: old, joins: false)
        connect(port, others, besides: new, joins: true)
        conferences.members[conference]?[index] = new
        emit(.conference(conference, conferences.members[conference] ?? []))
    }
}
