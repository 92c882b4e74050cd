// SPDX-License-Identifier: Apache-2.0
//
// What the status line and the call list of the interactive phone show, kept from the phone's events.

import Essentials
import Handset
import Media
import PhoneCore
import SIPAgent

/// The registration and the calls at a glance. A value: the same events give the same words.
package struct CallBoard: Sendable {
    package struct Entry: Sendable {
        package var number: Int
        package var direction: CallDirection
        package var remote: String
        package var state: CallState
        /// When it was answered.
        package var answered: MonotonicTime?
        package var isHeldHere = false
        package var isHeldThere = false
        package var isMuted = false
    }

    /// A call that is over, for the list.
    package struct Past: Sendable, Equatable {
        package var direction: CallDirection
        package var remote: String
        package var outcome: String
    }

    /// Past calls that are kept.
    private static let pastLimit = 50

    /// An account and how it is registered.
    package struct Line: Sendable, Equatable {
        package var account: String
        package var registration = "not registered"
    }

    /// The accounts in their order; none: direct calls.
    package private(set) var lines: [Line] = []
    /// The account that places calls.
    package private(set) var current = 0
    package private(set) var entries: [Entry] = []
    package private(set) var past: [Past] = []

    package init(accounts: [String] = []) { lines = accounts.map { Line(account: $0) } }

    // MARK: Events

    /// Takes an event of the phone; `number` and `remote` are what the session calls the call that it concerns.
    package mutating func note(_ event: PhoneEvent, number: Int?, remote: String, at now: MonotonicTime) {
        switch event {
        case .callState(_, let state, _, _):
            guard let number, state != .disconnected else { return }
            change(number, remote, state == .incoming ? .incoming : .outgoing) { entry in
                entry.state = state
                if state == .confirmed, entry.answered == nil { entry.answered = now }
            }
        case .hold(_, let side, let isHeld):
            guard let number, let place = place(number) else { return }
            if side == .local { entries[place].isHeldHere = isHeld } else { entries[place].isHeldThere = isHeld }
        case .ended(_, let end):
            guard let number, let place = place(number) else { return }
            let entry = entries.remove(at: place)
            let outcome = end.wasEstablished ? Self.clock(end.duration) : end.cause.sentence
            past.append(Past(direction: entry.direction, remote: entry.remote, outcome: outcome))
            if past.count > Self.pastLimit { past.removeFirst() }
        default: break
        }
    }

    /// The registration of an account changed.
    package mutating func note(_ state: RegistrationState, of account: String) {
        if let place = lines.firstIndex(where: { $0.account == account }) { lines[place].registration = Self.words(state) }
    }

    /// Calls are placed by this account from now on.
    package mutating func choose(_ account: String) {
        if let place = lines.firstIndex(where: { $0.account == account }) { current = place }
    }

    /// A call was muted or is heard again.
    package mutating func noteMute(_ number: Int, _ isMuted: Bool) {
        if let place = place(number) { entries[place].isMuted = isMuted }
    }

    private mutating func change(_ number: Int, _ remote: String, _ direction: CallDirection, _ body: (inout Entry) -> Void) {
        if let place = place(number) { return body(&entries[place]) }
        var entry = Entry(number: number, direction: direction, remote: remote, state: .calling)
        body(&entry)
        entries.append(entry)
        entries.sort { $0.number < $1.number }
    }

    private func place(_ number: Int) -> Int? { entries.firstIndex { $0.number == number } }

    private static func words(_ state: RegistrationState) -> String {
        switch state {
        case .registered: "registered"
        case .refused(let cause): "refused: \(cause.sentence)"
        case .failed(let cause, _): "not registered: \(cause.sentence)"
        case .registering: "registering"
        case .unregistering, .unregistered: "not registered"
        }
    }

    // MARK: Questions

    /// The call that is spoken in: answered, and not held here.
    package var active: Entry? { entries.last { $0.state == .confirmed && !$0.isHeldHere } }

    /// The newest call that is held here.
    package var held: Entry? { entries.last { $0.state == .confirmed && $0.isHeldHere } }

    /// The newest call that rings here.
    package var ringing: Entry? { entries.last { $0.state == .incoming } }

    // MARK: Text

    /// The status line, cut to `columns` characters.
    package func status(at now: MonotonicTime, columns: Int) -> String {
        var parts = lines.isEmpty ? ["direct calls"] : lines.indices.map(accountText)
        for entry in entries { parts.append(Self.line(entry, at: now)) }
        if entries.isEmpty { parts.append("no call") }
        if ringing != nil { parts.append("answer or reject?") }
        let text = " " + parts.joined(separator: " │ ").printable + " "
        return text.count <= columns ? text : String(text.prefix(max(0, columns - 1))) + "…"
    }

    private func accountText(_ place: Int) -> String {
        let line = lines[place]
        let short = Self.short(line.account)
        // Two accounts may have the same user.
        let isAlone = lines.count { Self.short($0.account) == short } == 1
        let mark = lines.count > 1 && place == current ? "*" : ""
        return "\(mark)\(isAlone ? short : Self.bare(line.account)) \(line.registration)"
    }

    /// The call list: what is up, then what was, the newest last.
    package func list(at now: MonotonicTime) -> [String] {
        let old = past.suffix(10).map { "  \($0.direction == .incoming ? "from" : "to  ") \($0.remote)  \($0.outcome)" }
        let lines = old + entries.map { "* \(Self.line($0, at: now)) \($0.direction == .incoming ? "from" : "to") \($0.remote)" }
        return lines.isEmpty ? ["no calls yet"] : lines
    }

    private static func line(_ entry: Entry, at now: MonotonicTime) -> String {
        let state: String =
            switch entry.state {
            case .calling: "calling \(short(entry.remote))"
            case .early: "ringing at \(short(entry.remote))"
            case .incoming: "INCOMING \(short(entry.remote))"
            case .connecting, .confirmed: "\(short(entry.remote)) \(entry.answered.map { clock(now - $0) } ?? "0:00")"
            case .disconnected: "over"
            }
        var marks: [String] = []
        if entry.isHeldHere { marks.append("held") }
        if entry.isHeldThere { marks.append("held by them") }
        if entry.isMuted { marks.append("muted") }
        return "\(entry.number): \(state)" + (marks.isEmpty ? "" : " (\(marks.joined(separator: ", ")))")
    }

    /// The display name, else the user of the address.
    package static func short(_ remote: String) -> String {
        if remote.hasPrefix("\"") {
            let name = remote.dropFirst().prefix { $0 != "\"" }
            if !name.isEmpty { return String(name) }
        }
        var text = Substring(remote).drop { $0 == "<" || $0 == " " }
        for scheme in ["sip:", "sips:", "tel:"] where text.lowercased().hasPrefix(scheme) {
            text = text.dropFirst(scheme.count)
            break
        }
        let user = text.prefix { $0 != "@" && $0 != ">" && $0 != ";" }
        return user.isEmpty ? remote : String(user)
    }

    /// An address without its scheme.
    package static func bare(_ address: String) -> String {
        for scheme in ["sip:", "sips:"] where address.lowercased().hasPrefix(scheme) { return String(address.dropFirst(scheme.count)) }
        return address
    }

    /// `1:05`, `1:00:05`.
    package static func clock(_ interval: Interval) -> String {
        let seconds = max(0, interval.nanoseconds / 1_000_000_000)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return seconds < 3600 ? "\(seconds / 60):\(two(seconds % 60))" : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
