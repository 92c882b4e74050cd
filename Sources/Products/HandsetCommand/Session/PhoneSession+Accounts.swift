// SPDX-License-Identifier: Apache-2.0
//
// The accounts of a session: their names, which one places calls, and what their registrations mean for the command.

import Handset
import PhoneCore
import SIPAgent

/// The accounts of a phone in the order of the command line.
struct Lines {
    /// Their addresses.
    var names: [String] = []
    /// Those that the phone has; the next one is just being added.
    var accounts: [Account] = []
    /// The one that places calls where none is named.
    var current = 0
    /// What was last told of each registration.
    var registrations: [AccountID: CommandEvent.Registration] = [:]
    /// Why a registration is not there: refused, or (`--once`) failed.
    var failures: [AccountID: String] = [:]
    /// Those that ever were.
    var registered: Set<AccountID> = []
    /// How many register at all.
    var registering = 0

    var account: Account? { accounts.indices.contains(current) ? accounts[current] : nil }
    var name: String { names.indices.contains(current) ? names[current] : "" }

    /// The first event of an account may come before the phone has handed it out.
    func name(_ id: AccountID) -> String? {
        let place = accounts.firstIndex { $0.id == id } ?? accounts.count
        return names.indices.contains(place) ? names[place] : nil
    }

    /// The account that a person means: its number from 1, its address, or as much of that as fits one account only.
    func index(of text: String) -> Int? {
        if let number = Int(text), names.indices.contains(number - 1) { return number - 1 }
        let wanted = CallBoard.bare(text)
        if let exact = names.firstIndex(where: { CallBoard.bare($0) == wanted }) { return exact }
        let fits = names.indices.filter { CallBoard.short(names[$0]) == wanted }
        return fits.count == 1 ? fits.first : nil
    }
}

extension PhoneSession {
    /// The account that a control line names, else the current one; nil: the phone has none.
    func account(_ name: String?) throws(PhoneError) -> Account? {
        guard let name else { return lines.account }
        guard let place = lines.index(of: name), lines.accounts.indices.contains(place) else {
            throw PhoneError(.noSuchAccount, "There is no account \(name), or several fit.")
        }
        return lines.accounts[place]
    }

    /// Takes an account as the one that places calls, or (nil) tells of all of them.
    func choose(_ name: String?) throws(PhoneError) {
        if let name {
            guard let place = lines.index(of: name) else {
                throw PhoneError(.noSuchAccount, "There is no account \(name), or several fit.")
            }
            lines.current = place
            display?.choose(lines.names[place])
        } else {
            for account in lines.accounts {
                guard let state = lines.registrations[account.id] else { continue }
                context.events.print(.registration("\(account.configuration.addressOfRecord)", state))
            }
        }
    }

    func registration(_ id: AccountID, _ state: RegistrationState, _ phone: Phone) {
        let detail = phone.assumeIsolated { $0.registrationDetail(of: id) }
        let shown = CommandEvent.Registration(state, detail)
        lines.registrations[id] = shown
        context.events.print(.registration(lines.name(id) ?? "", shown))
        let isOnce = context.invocation.has("--once") && context.invocation.subcommand == .register
        switch state {
        case .registered:
            lines.registered.insert(id)
            lines.failures[id] = nil
        case .refused(let cause): lines.failures[id] = cause.sentence
        case .failed(let cause, _): if isOnce { lines.failures[id] = cause.sentence }
        case .registering, .unregistering, .unregistered: return
        }
        if isOnce {
            guard lines.registered.count + lines.failures.count >= lines.names.count else { return }
            return finish(firstFailure.map { .failed($0) } ?? .completed)
        }
        // Without a registration nobody can reach `register` and `answer`: a refused password is not tried again.
        let isNeeded = [.register, .answer].contains(context.invocation.subcommand)
        if isNeeded, lines.failures.count == lines.names.count, let firstFailure { finish(.failed(firstFailure)) }
    }

    var firstFailure: String? {
        for account in lines.failures.keys.sorted() {
            guard let sentence = lines.failures[account] else { continue }
            return lines.names.count > 1 ? "\(lines.name(account) ?? ""): \(sentence)" : sentence
        }
        return nil
    }
}
