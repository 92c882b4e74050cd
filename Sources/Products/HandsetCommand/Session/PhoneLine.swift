// SPDX-License-Identifier: Apache-2.0
//
// What a person types to `handset phone`.

import PhoneCore

/// One typed line as a control command.
enum PhoneLine {
    static let help = """
        call NUMBER|URI   answer [hold|end]   swap   reject [STATUS]   hangup   hold   resume   mute   unmute   dtmf DIGITS   message URI TEXT   quality   help   quit
        transfer NUMBER|URI   attended CALL   accept-transfer   reject-transfer   conference   part
        A number after a command names the call: hold 2. Without one the newest call is meant.
        """

    /// Reads a line; nil for an empty one.
    static func parse(_ line: String) -> Result<ControlCommand, ControlCommand.Failure>? {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        guard let name = words.first?.lowercased() else { return nil }
        let rest = Array(words.dropFirst())
        func command(_ action: ControlCommand.Action, call: String? = rest.first) -> Result<ControlCommand, ControlCommand.Failure> {
            .success(ControlCommand(action, name: name, call: call))
        }
        switch name {
        case "call", "c", "dial":
            guard let target = rest.first else { return .failure(.init(command: name, text: "call whom?")) }
            return command(.call(target), call: nil)
        case "answer", "a":
            switch rest.first {
            case "hold": return command(.answerHolding, call: rest.dropFirst().first)
            case "end": return command(.answerEnding, call: rest.dropFirst().first)
            default: return command(.answer)
            }
        case "swap": return command(.swap)
        case "reject": return command(.reject(status: rest.first.flatMap(Int.init) ?? 486), call: rest.dropFirst().first)
        case "hangup", "h", "bye": return command(.hangUp)
        case "hold": return command(.hold)
        case "resume": return command(.resume)
        case "mute": return command(.mute)
        case "unmute": return command(.unmute)
        case "dtmf":
            guard let digits = rest.first?.uppercased(), digits.allSatisfy({ "0123456789*#ABCD,".contains($0) }) else {
                return .failure(.init(command: name, text: "digits are 0-9 * # A-D and a comma for a pause"))
            }
            return command(.dtmf(digits), call: rest.dropFirst().first)
        case "transfer":
            guard let target = rest.first else { return .failure(.init(command: name, text: "transfer to whom?")) }
            return command(.transfer(to: target), call: rest.dropFirst().first)
        case "attended":
            guard let other = rest.first else { return .failure(.init(command: name, text: "transfer to the other side of which call?")) }
            return command(.attended(with: other), call: rest.dropFirst().first)
        case "accept-transfer": return command(.acceptTransfer)
        case "reject-transfer": return command(.rejectTransfer(status: 603))
        case "conference": return command(.conference(rest), call: nil)
        case "part": return command(.part)
        case "message", "m":
            guard rest.count >= 2 else { return .failure(.init(command: name, text: "message whom, and what?")) }
            return command(.message(to: rest[0], text: rest.dropFirst().joined(separator: " ")), call: nil)
        case "quality", "q": return command(.statistics)
        case "wake": return command(.wake, call: nil)
        case "quit", "exit": return command(.quit, call: nil)
        default: return .failure(.init(command: name, text: "there is no command \"\(name)\"; help lists them"))
        }
    }
}

extension PhoneSession {
    /// Carries out a typed line.
    func type(_ line: String) {
        let word = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).first?.lowercased()
        guard word != "help", word != "?" else { return LineOutput.standardOutput.write(PhoneLine.help) }
        if let command = PhoneLine.parse(line) { obey(command) }
    }
}
