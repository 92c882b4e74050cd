// SPDX-License-Identifier: Apache-2.0

/// The call screen in words: for terminals, scripts and logs.
public enum ScreenText {
    /// One line for each call, numbered from 1 as commands name them, and one for what rings.
    public static func lines(_ screen: ScreenState) -> [String] {
        guard !screen.calls.isEmpty else { return ["no call"] }
        return screen.calls.enumerated().map { place, call in
            let direction = call.isOutgoing ? "to" : "from"
            let extras = (call.isVideo ? " video" : "") + (call.isMuted ? " muted" : "")
            let app = call.appName.isEmpty ? "" : " (\(call.appName))"
            let offers = call.offers.map(word).joined(separator: " ")
            return "\(place + 1) \(call.state) \(direction) \(printable(call.name))\(printable(app))\(extras): \(offers)"
        }
    }

    /// Names come from elsewhere: what steers a terminal, or turns the direction of what is beside it, does not get there.
    static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { steers($0) ? "\u{fffd}" : $0 }))
    }

    /// Control characters, line and paragraph separators, and the marks, embeddings, overrides and isolates of the bidirectional
    /// algorithm (Unicode Standard Annex #9).
    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f...0x9f, 0x061c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    /// The text in one line of at most `limit` characters, the last of them `…` where there were more. A character counts for four
    /// Unicode scalars at most, so that marks upon marks are bounded as well.
    public static func plain(_ text: String, limit: Int) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.lazy.drop(while: { $0 == " " }) {
            guard scalars.count < max(0, limit) * 4 else { break }
            scalars.append(steers(scalar) ? "\u{fffd}" : scalar)
        }
        while scalars.last == " " { scalars.removeLast() }
        let line = String(scalars)
        let isCut = scalars.count >= max(0, limit) * 4 || line.count > limit
        return isCut ? String(line.prefix(max(0, limit - 1))) + "…" : line
    }

    /// The command's word for a button.
    public static func word(_ offer: UserOffer) -> String {
        switch offer {
        case .accept: "accept"
        case .decline: "decline"
        case .endAndAccept: "end-and-accept"
        case .holdAndAccept: "hold-and-accept"
        case .endHeldAndAccept: "end-held-and-accept"
        case .end: "end"
        case .hold: "hold"
        case .resume: "resume"
        case .swap: "swap"
        case .merge: "merge"
        case .split: "split"
        case .mute: "mute"
        case .keypad: "keys"
        case .video: "video"
        }
    }

    /// The words of a command, for a help text.
    public static let help = """
        accept, decline, end-and-accept, hold-and-accept, end-held-and-accept [CALL]
        end, hold, resume, mute, unmute, split, video [CALL]
        swap | merge | keys DIGITS [CALL] | speaker on|off | redial ENTRY
        cellular NAME | cellular-call NAME | cellular-ends [CALL]
        interruption begins|ends | headset on|off | media-reset
        do-not-disturb on|off | block ADDRESS | unblock ADDRESS | directory on|off IDENTIFIER
        """

    /// Reads a command. CALL is a number of `lines`; without it the call is meant that the word fits.
    ///
    /// - Parameter newCall: names a call of the mobile network.
    /// - Returns: nil where the line is no command, or names a call that is not there.
    public static func command(_ line: String, screen: ScreenState, newCall: () -> UUIDValue) -> UserCommand? {
        let words = line.split(separator: " ").map(String.init)
        guard let verb = words.first else { return nil }
        let rest = words.dropFirst().joined(separator: " ")
        switch verb {
        case "swap": return .swap
        case "merge": return .merge
        case "media-reset": return .mediaServicesReset
        case "speaker": return onOff(rest).map { .speaker($0) }
        case "headset": return onOff(rest).map { .headset(isPresent: $0) }
        case "do-not-disturb": return onOff(rest).map { .doNotDisturb($0) }
        case "redial": return UInt64(rest).map { .redial($0) }
        case "interruption":
            return rest == "begins" || rest == "ends" ? .interruption(began: rest == "begins", shouldResume: rest == "ends") : nil
        case "block", "unblock": return rest.isEmpty ? nil : .block(rest, verb == "block")
        case "directory":
            guard words.count == 3, let isOn = onOff(words[1]) else { return nil }
            return .enableDirectory(extensionIdentifier: words[2], isOn)
        case "cellular": return rest.isEmpty ? nil : .cellularIncoming(newCall(), name: rest)
        case "cellular-call": return rest.isEmpty ? nil : .cellularOutgoing(newCall(), name: rest)
        case "keys":
            guard words.count >= 2, let call = call(words.dropFirst(2).first, screen, for: .keypad) else { return nil }
            return .keys(call, words[1])
        default: return onCall(verb, words.dropFirst().first, screen)
        }
    }

    private static func onOff(_ word: String) -> Bool? { word == "on" ? true : word == "off" ? false : nil }

    /// What the person says to a call that rings; nil: the offer is no answer.
    static func answer(_ offer: UserOffer, to call: UUIDValue) -> UserCommand? {
        switch offer {
        case .accept: .accept(call)
        case .decline: .decline(call)
        case .endAndAccept: .endAndAccept(call)
        case .holdAndAccept: .holdAndAccept(call)
        case .endHeldAndAccept: .endHeldAndAccept(call)
        case .end, .hold, .resume, .swap, .merge, .split, .mute, .keypad, .video: nil
        }
    }

    private static func onCall(_ verb: String, _ number: String?, _ screen: ScreenState) -> UserCommand? {
        if verb == "cellular-ends" {
            let call = number == nil ? screen.calls.first { $0.bundle.isEmpty }?.uuid : self.call(number, screen, for: .end)
            return call.map { .cellularRemoteEnded($0) }
        }
        if verb == "unmute" { return call(number, screen, for: .mute, where: \.isMuted).map { .mute($0, false) } }
        guard let offer = UserOffer.allCases.first(where: { word($0) == verb }), let call = call(number, screen, for: offer) else {
            return nil
        }
        if let answer = answer(offer, to: call) { return answer }
        switch offer {
        case .end: return .end(call)
        case .hold: return .hold(call, true)
        case .resume: return .hold(call, false)
        case .mute: return .mute(call, true)
        case .split: return .split(call)
        case .video: return .video(call)
        case .accept, .decline, .endAndAccept, .holdAndAccept, .endHeldAndAccept, .swap, .merge, .keypad: return nil
        }
    }

    /// The call of that number; without one the first that is offered the button, active ones first.
    private static func call(
        _ number: String?, _ screen: ScreenState, for offer: UserOffer, where isIt: (ScreenCall) -> Bool = { _ in true }
    ) -> UUIDValue? {
        if let number {
            guard let place = Int(number), screen.calls.indices.contains(place - 1) else { return nil }
            return screen.calls[place - 1].uuid
        }
        let fitting = screen.calls.filter { $0.offers.contains(offer) && isIt($0) }
        return (fitting.first { $0.state == .active } ?? fitting.first)?.uuid
    }
}
