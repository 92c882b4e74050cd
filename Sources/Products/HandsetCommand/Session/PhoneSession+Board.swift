// SPDX-License-Identifier: Apache-2.0
//
// What the interactive phone shows beside its events, and the typed lines that no control command has.

import Essentials
import Handset
import PhoneCore

/// What a session at a terminal has more than others.
struct Display: Sendable {
    var board: BoardKeeper
    var terminal: Terminal
    var kept: KeptAccount?

    /// Shows the account that places calls.
    func choose(_ account: String) {
        board.change { $0.choose(account) }
        terminal.setStatus { [board] columns in board.status(columns) }
    }
}

extension PhoneSession {
    /// Shows registration and calls on a board from now on.
    func show(on board: BoardKeeper, _ terminal: Terminal, _ kept: KeptAccount?) {
        display = Display(board: board, terminal: terminal, kept: kept)
    }

    /// Puts an event on the board. The call's number is what the event before may have given it.
    func noteOnBoard(_ event: PhoneEvent, _ now: MonotonicTime) {
        guard let display else { return }
        let call = event.call.flatMap { shown[$0] }
        if case .registration(let id, let state) = event, let name = lines.name(id) { display.board.change { $0.note(state, of: name) } }
        display.board.change { $0.note(event, number: call?.number, remote: call?.remote ?? "", at: now) }
        if case .callState(_, .incoming, _, _) = event { display.terminal.ring() }
        // The status is asked for anew.
        display.terminal.setStatus { [board = display.board] columns in board.status(columns) }
    }

    /// Carries out a typed line of the interactive phone; false: it is a control command or wrong.
    func typedAtTerminal(_ line: String) -> Bool {
        guard let display else { return false }
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map { $0.lowercased() }
        switch words.first {
        case "calls", "list":
            for line in display.board.now.list(at: loop.now) { display.terminal.print(line.printable) }
        case "remember": remember(display)
        case "forget":
            let isGone = display.kept?.memory.forget() ?? false
            display.terminal.print(isGone ? "What was remembered is forgotten." : "No account is remembered.")
        case "help", "?": for line in PhoneLine.help.split(separator: "\n") { display.terminal.print(String(line)) }
        default: return false
        }
        return true
    }

    private func remember(_ display: Display) {
        guard let kept = display.kept, !kept.accounts.isEmpty else { return display.terminal.print("There is no account to remember.") }
        // The secret service may take its time, and the loop has none.
        BackgroundThread.start {
            do throws(CommandFailure) {
                let warning = try kept.memory.remember(kept.accounts)
                if let warning { display.terminal.print("warning: \(warning.printable)") }
                let names = kept.accounts.map(\.address.printable).joined(separator: ", ")
                display.terminal.print("\(names) is remembered: handset phone offers it without options.")
            } catch { display.terminal.print(error.sentence.printable) }
        }
    }

    /// A command was carried out: what no event tells.
    func noteCommand(_ command: ControlCommand, _ id: CallID?) {
        guard let display, let number = id.flatMap({ shown[$0]?.number }) else { return }
        switch command.action {
        case .mute: display.board.change { $0.noteMute(number, true) }
        case .unmute: display.board.change { $0.noteMute(number, false) }
        default: return
        }
        display.terminal.setStatus { [board = display.board] columns in board.status(columns) }
    }
}

extension PhoneEvent {
    /// The call that the event is about.
    var call: CallID? {
        switch self {
        case .incomingCall(let id, _), .callState(let id, _, _, _), .media(let id, _), .hold(let id, _, _), .holdFailed(let id, _),
            .ended(let id, _), .statistics(let id, _, _):
            id
        default: nil
        }
    }
}
