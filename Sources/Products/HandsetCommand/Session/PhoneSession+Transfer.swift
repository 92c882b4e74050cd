// SPDX-License-Identifier: Apache-2.0

import Handset
import PhoneCore
import SIP
import SIPAgent

extension PhoneSession {
    /// What the session keeps of transfers and conferences.
    struct Transfers {
        /// Transfers that wait for `accept-transfer` or `reject-transfer`, in the order of their coming.
        var undecided: [(transfer: TransferID, call: CallID?)] = []
    }

    /// News of a transfer.
    func transferChanged(_ id: CallID?, _ event: TransferEvent) {
        transfers.undecided.removeAll { $0.transfer == event.id }
        if event.state == .requested { transfers.undecided.append((event.id, id)) }
        let direction =
            switch event.role {
            case .transferor: "outgoing"
            case .transferee: "incoming"
            case .target: "replaced"
            }
        context.events.print(
            .transfer(
                id.flatMap(reference),
                .init(
                    direction: direction, state: event.state.rawValue, status: event.status > 0 ? event.status : nil,
                    reason: event.cause?.sentence ?? (event.reason.isEmpty ? nil : event.reason),
                    target: event.target.map { "\($0)" }, by: event.referredBy.map { "\($0)" },
                    with: event.otherCall.flatMap(reference)?.call, cause: event.cause?.code)))
    }

    func conferenceChanged(_ members: [CallID]) {
        context.events.print(.conference(members: members.compactMap { reference($0)?.call }))
    }

    /// Carries out the commands of transfers and conferences; false: it is none of them.
    func carryOutTransfer(_ command: ControlCommand, _ id: CallID?, _ phone: Phone) throws -> Bool {
        switch command.action {
        case .refer(let peer, let target):
            let account = try account(command.account)
            _ = try phone.assumeIsolated { try $0.refer(from: account, peer, to: target) }
        case .acceptTransfer, .rejectTransfer:
            let found = command.call == nil ? transfers.undecided.last : transfers.undecided.last { $0.call == id }
            guard let transfer = found?.transfer else { throw PhoneError(.wrongState, "No transfer waits for a decision.") }
            try phone.assumeIsolated { phone in
                if case .rejectTransfer(let status) = command.action {
                    try phone.rejectTransfer(transfer, status: status)
                } else {
                    try phone.acceptTransfer(transfer)
                }
            }
        case .conference(let names): try join(names, phone)
        case .transfer(let target):
            guard let id else { throw PhoneError(.noSuchCall, "There is no such call.") }
            _ = try phone.assumeIsolated { try $0.transfer(id, to: target) }
        case .attended(let name):
            let other = shown.first { "\($0.value.number)" == name }?.key
            guard let other, let first = id, first != other || command.call == nil else {
                throw PhoneError(.noSuchCall, "There is no such call.")
            }
            // Without a name the call that is transferred is the newest but for the one that it is joined with.
            let newest = shown.filter { $0.key != other }.max { $0.value.number < $1.value.number }?.key
            let call = command.call == nil ? newest : first
            guard let call else { throw PhoneError(.noSuchCall, "There is no other call.") }
            _ = try phone.assumeIsolated { try $0.transfer(call, with: other) }
        case .part:
            guard let id else { throw PhoneError(.noSuchCall, "There is no such call.") }
            try phone.assumeIsolated { try $0.part(id) }
        default: return false
        }
        return true
    }

    /// Joins the named calls, or all that are answered; calls that come later to a conference join it.
    private func join(_ names: [String], _ phone: Phone) throws {
        var ids: [CallID] = []
        for name in names {
            guard let id = shown.first(where: { "\($0.value.number)" == name })?.key else {
                throw PhoneError(.noSuchCall, "There is no call \(name).")
            }
            ids.append(id)
        }
        if names.isEmpty { ids = shown.filter(\.value.isEstablished).sorted { $0.value.number < $1.value.number }.map(\.key) }
        try phone.assumeIsolated { [ids] phone in
            let live = names.isEmpty ? ids.filter { phone.state(of: $0) == .confirmed } : ids
            var known: ConferenceID?
            for id in live where known == nil { known = phone.conference(of: id) }
            guard let conference = known else {
                _ = try phone.conference(live)
                return
            }
            for id in live where phone.conference(of: id) != conference { try phone.join(id, conference) }
        }
    }
}
