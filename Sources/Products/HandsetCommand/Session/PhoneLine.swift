// SPDX-License-Identifier: Apache-2.0
//
// What a person types to `handset phone`.

import PhoneCore

/// One typed line as a control command.
package enum PhoneLine {
    package static let help = """
        NUMBER | ADDRESS       call it (or: call NUMBER|ADDRESS [from ACCOUNT])
        answer (a) [hold|end]  take the call that rings; the other one is held or ended
        reject [STATUS]        refuse it                       hangup (h)             end the call
        hold, resume           the call                        swap (s)               between two calls
        mute, unmute           the microphone                  dtmf DIGITS (d)        send digits
        transfer ADDRESS       hand the call on                attended CALL          join the call with another
        accept-transfer, reject-transfer                       conference, part       calls of three and more
        message ADDRESS TEXT   write to somebody
        play FILE, record FILE into or from the call           device NAME            of sound
        volume DB, gain DB     of loudspeaker and microphone   levels                 of both
        quality (q)            packets, loss, score            calls                  what is up and what was
        network                the network changed             wake                   register anew
        accounts, use ACCOUNT  several accounts: which calls   remember, forget       the accounts
        quit
        A number after a command names the call: hold 2. Without one the newest call is meant.
        """

    /// Reads a line; nil for an empty one.
    package static func parse(_ line: String) -> Result<ControlCommand, ControlCommand.Failure>? {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        guard let name = words.first?.lowercased() else { return nil }
        let rest = Array(words.dropFirst())
        func command(_ action: ControlCommand.Action, call: String? = rest.first) -> Result<ControlCommand, ControlCommand.Failure> {
            .success(ControlCommand(action, name: name, call: call))
        }
        func needed(_ what: String, _ action: (String) -> ControlCommand.Action) -> Result<ControlCommand, ControlCommand.Failure> {
            guard let target = rest.first else { return .failure(.init(command: name, text: what)) }
            return command(action(target), call: rest.dropFirst().first)
        }
        switch name {
        case "call", "c", "dial":
            let account = rest.count == 3 && rest[1].lowercased() == "from" ? rest[2] : nil
            return needed("call whom?") { .call($0) }.map { ControlCommand($0.action, name: name, account: account) }
        case "use":
            guard let account = rest.first else { return .failure(.init(command: name, text: "use which account?")) }
            return .success(ControlCommand(.use, name: name, account: account))
        case "accounts": return command(.accounts, call: nil)
        case "answer", "a":
            switch rest.first {
            case "hold": return command(.answerHolding, call: rest.dropFirst().first)
            case "end": return command(.answerEnding, call: rest.dropFirst().first)
            default: return command(.answer)
            }
        case "swap", "s": return command(.swap)
        case "reject": return command(.reject(status: rest.first.flatMap(Int.init) ?? 486), call: rest.dropFirst().first)
        case "hangup", "h", "bye": return command(.hangUp)
        case "hold": return command(.hold)
        case "resume": return command(.resume)
        case "request-offer": return command(.requestOffer)
        case "mute": return command(.mute)
        case "unmute": return command(.unmute)
        case "dtmf", "d":
            guard let digits = rest.first?.uppercased(), digits.allSatisfy({ "0123456789*#ABCD,".contains($0) }) else {
                return .failure(.init(command: name, text: "digits are 0-9 * # A-D and a comma for a pause"))
            }
            return command(.dtmf(digits), call: rest.dropFirst().first)
        case "transfer", "t": return needed("transfer to whom?") { .transfer(to: $0) }
        case "attended": return needed("join with which call?") { .attended(with: $0) }
        case "accept-transfer": return command(.acceptTransfer)
        case "reject-transfer": return command(.rejectTransfer(status: 603))
        case "conference": return command(.conference(rest), call: nil)
        case "part": return command(.part)
        case "message", "m":
            guard rest.count >= 2 else { return .failure(.init(command: name, text: "message whom, and what?")) }
            return command(.message(to: rest[0], text: rest.dropFirst().joined(separator: " ")), call: nil)
        case "quality", "q": return command(.statistics)
        case "play": return needed("play which file?") { .sound(.play(file: $0, loops: false)) }
        case "record": return needed("record into which file?") { .sound(.record(file: $0, .mixed)) }
        case "device": return needed("which device?") { .sound(.device($0)) }
        case "volume", "gain":
            guard let level = rest.first.flatMap(Double.init), (-100.0...24.0).contains(level) else {
                return .failure(.init(command: name, text: "\(name) takes -100 to 24 dB"))
            }
            let sound: SoundCommand =
                name == "gain" ? .gain(port: "device", decibels: level) : .volume(port: "device", decibels: level)
            return command(.sound(sound), call: nil)
        case "levels": return command(.sound(.levels(port: "device", milliseconds: rest.first == "off" ? 0 : 1000)), call: nil)
        case "wake": return command(.wake, call: nil)
        case "network": return command(.network, call: nil)
        case "quit", "exit": return command(.quit, call: nil)
        default:
            if rest.isEmpty, isAddress(name) { return .success(ControlCommand(.call(words[0]), name: "call")) }
            let hint = rest.isEmpty ? "; \"call \(words[0])\" would call somebody of that name" : ""
            return .failure(.init(command: name, text: "there is no command \"\(name)\"; help lists them\(hint)"))
        }
    }

    /// Whether a word that is no command can be dialled: a number, or an address.
    private static func isAddress(_ word: String) -> Bool {
        if word.hasPrefix("sip:") || word.hasPrefix("sips:") || word.hasPrefix("tel:") || word.contains("@") { return true }
        return word.contains { $0.isNumber } && word.allSatisfy { "+0123456789*#-.()/".contains($0) }
    }
}

extension PhoneSession {
    /// Carries out a typed line.
    func type(_ line: String) {
        if typedAtTerminal(line) { return }
        let word = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).first?.lowercased()
        guard word != "help", word != "?" else { return LineOutput.standardOutput.write(PhoneLine.help) }
        if let command = PhoneLine.parse(line) { obey(command) }
    }
}
