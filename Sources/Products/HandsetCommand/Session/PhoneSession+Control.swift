// SPDX-License-Identifier: Apache-2.0
//
// Control lines: each is answered by an event `done` or `error`.

import Handset
import PhoneCore

extension PhoneSession {
    /// Carries out one line of `--control`.
    func obey(_ line: Result<ControlCommand, ControlCommand.Failure>) {
        switch line {
        case .failure(let failure):
            context.events.print(.error(command: failure.command, text: failure.text, call: nil))
        case .success(let command):
            let id = target(command)
            do {
                let port = try carryOut(command, id)
                noteCommand(command, id)
                context.events.print(.done(command: command.name, call: id.flatMap(reference), port: port))
            } catch let error as PhoneError {
                context.events.print(.error(command: command.name, text: error.reason, call: id.flatMap(reference)))
            } catch {
                context.events.print(.error(command: command.name, text: "\(error)", call: id.flatMap(reference)))
            }
        }
    }

    /// The call that a command means: the one named, else the newest.
    private func target(_ command: ControlCommand) -> CallID? {
        switch command.action {
        // These are of no call, unless they name one.
        case .message(_?, _), .subscribe, .unsubscribe, .publish, .accounts, .use: if command.call == nil { return nil }
        default: break
        }
        if let name = command.call { return shown.first { "\($0.value.number)" == name }?.key }
        return shown.max { $0.value.number < $1.value.number }?.key
    }

    /// Gives the name of the port that it opened, if it did.
    private func carryOut(_ command: ControlCommand, _ id: CallID?) throws -> String? {
        guard let phone else { return nil }
        if case .sound(let sound) = command.action { return try carryOut(sound, id, phone) }
        try carryOut(command, id, phone)
        return nil
    }

    private func carryOut(_ command: ControlCommand, _ id: CallID?, _ phone: Phone) throws {
        switch command.action {
        case .quit: return finish(.completed)
        case .call(let dialled): return try dial(dialled, from: command.account, phone)
        case .accounts: return try choose(nil)
        case .use: return try choose(command.account)
        case .wake: return phone.assumeIsolated { $0.wake() }
        case .message, .subscribe, .unsubscribe, .publish: return try correspond(command, id, phone)
        case .network: return phone.assumeIsolated { $0.networkChanged() }
        default: break
        }
        if try carryOutTransfer(command, id, phone) { return }
        guard let id else { throw PhoneError(.noSuchCall, "There is no such call.") }
        try phone.assumeIsolated { phone in
            switch command.action {
            case .hold: try phone.hold(id)
            case .resume: try phone.resume(id)
            case .requestOffer: try phone.requestOffer(id)
            case .mute: try phone.setMuted(id, true)
            case .unmute: try phone.setMuted(id, false)
            case .dtmf(let digits): try phone.sendDigits(digits, on: id, method: media.dtmfMethod.phoneMethod)
            case .answer: try phone.answer(id)
            case .answerHolding: try phone.answerHolding(id)
            case .answerEnding: try phone.answerEnding(id)
            case .swap: try phone.swap(to: command.call == nil ? nil : id)
            case .reject(let status): try phone.reject(id, status: status)
            case .hangUp: phone.hangUp(id)
            case .statistics: try phone.requestStatistics(id)
            case .quit, .call, .wake, .network, .transfer, .attended, .refer, .acceptTransfer, .rejectTransfer, .conference, .part,
                .message, .subscribe, .unsubscribe, .publish, .accounts, .use, .sound:
                break
            }
        }
    }

    /// Places a call; its first event takes it into the books.
    func dial(_ dialled: String, from name: String? = nil, _ phone: Phone) throws {
        let account = try account(name)
        var options = CallOptions(headers: (call?.headers ?? []).map { .init($0.name, $0.value) })
        features?.apply(to: &options)
        dialling = dialled
        _ = try phone.assumeIsolated { [options] in try $0.call(from: account, to: dialled, options: options) }
    }
}
