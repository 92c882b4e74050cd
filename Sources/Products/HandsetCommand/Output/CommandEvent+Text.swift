// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import SIPAgent

extension CommandEvent {
    /// The line for a person; without characters that move the cursor of a terminal.
    package var text: String { line.printable }

    private var line: String {
        switch self {
        case .listening(let transport, let address, let port): "listening on \(transport) \(SocketAddress(address, port))"
        case .registration(let account, let it):
            prefix(it.phone) + account + " " + it.state + Self.bracket(it.status, it.reason) + (it.expires.map { ", for \($0) s" } ?? "")
                + (it.server.map { " at \($0)" } ?? "") + (it.gruu.map { ", GRUU \($0)" } ?? "")
        case .call(let reference, let it):
            "\(reference) \(it.state)\(Self.bracket(it.status, it.reason)) \(it.direction == "incoming" ? "from" : "to") \(it.remote)"
                + (it.account.map { " (account \(CallBoard.short($0)))" } ?? "")
        case .media(let reference, let it):
            "\(reference) media \(it.codec) \(it.direction)"
                + (it.remote.map { " with \($0)" } ?? "") + (it.secured ? ", encrypted" : ", not encrypted")
        case .playback(let reference, let state, let file): "\(reference) playback of \(file) \(state)"
        case .dtmf(let reference, let it): "\(reference) digit \(it.digit) \(it.direction) (\(it.method), \(it.milliseconds) ms)"
        case .hold(let reference, let side, let state): "\(reference) \(state) by \(side == "local" ? "us" : "the other side")"
        case .notice(let reference, let notice): "\(reference) \(notice.text)"
        case .transfer(let reference, let it): (reference.map { "\($0) " } ?? "") + Self.text(of: it)
        case .conference(let members):
            members.isEmpty ? "the conference is over" : "conference of calls " + members.joined(separator: ", ")
        case .statistics(let reference, let it):
            "\(reference) sent \(it.packetsSent), received \(it.packetsReceived), lost \(it.packetsLost), "
                + (it.packetsRestored + it.packetsRecovered == 0 ? "" : "made good \(it.packetsRestored + it.packetsRecovered), ")
                + (it.redundancy == 0 ? "" : "each packet with \(it.redundancy) before it, ")
                + "jitter \(JSONValue.hundredths(it.jitterMilliseconds)) ms, "
                + (it.score.map { "score \(JSONValue.hundredths($0))" } ?? "no score: nothing came")
        case .network(let state, let addresses, let phone):
            prefix(phone) + "network " + state + (addresses.isEmpty ? "" : ": " + addresses.map(\.description).joined(separator: ", "))
        case .warning(let code, let text, let reference): (reference.map { "\($0) " } ?? "") + "warning: \(text) (\(code))"
        case .ended(let reference, let cause, let duration):
            "\(reference) ended" + (duration.map { " after \(JSONValue.hundredths($0.seconds)) s" } ?? "")
                + ": \(cause.sentence) (\(cause.code)\(Self.known(of: cause)))"
        case .notification(let event): event.line
        case .device(let it):
            "\(it.direction == .output ? "loudspeaker" : "microphone ") \(it.name)\(it.isDefault ? " (default)" : ""): \(it.description)"
        case .sound(let device, let state, let reason): "sound device \(device) \(state)" + (reason.map { ": \($0)" } ?? "")
        case .voice(let state, let name, let reason):
            "voice processing \(state)" + (name.map { " by \($0)" } ?? "") + (reason.map { ": \($0)" } ?? "")
        case .level(let port, let it):
            "levels of \(port): gives \(JSONValue.hundredths(it.givenLevel)) dB, hears \(JSONValue.hundredths(it.heardLevel)) dB"
        case .program(let reference, let it):
            "\(reference) program \(it.state)" + (it.mark.map { " \($0)" } ?? "") + (it.status.map { " with status \($0)" } ?? "")
                + (it.reason.map { ": \($0)" } ?? "")
        case .done(let command, _, let port): "\(command): done" + (port.map { ", \($0)" } ?? "")
        case .error(let command, let text, _): "\(command): \(text)"
        case .binding(let user, let state, let contact, let expires):
            "\(user) \(state == "added" ? "is at" : "is no longer at") \(contact)" + (expires.map { ", for \($0) s" } ?? "")
        case .step(_, let text): text
        }
    }

    private static func text(of it: Transfer) -> String {
        if it.direction == "replaced" { return "takes the place of call \(it.with ?? "?")" }
        let with = it.with.map { it.direction == "outgoing" ? ", joined with call \($0)" : ", by call \($0)" } ?? ""
        return "transfer \(it.state)" + (it.target.map { " to \($0)" } ?? "") + with + (it.by.map { ", asked for by \($0)" } ?? "")
            + bracket(it.status, it.reason)
    }

    /// What shows a person why: the words of the server, what the network said.
    static func known(of cause: Cause) -> String {
        let told = ["status", "Warning", "Reason", "network", "name", "request", "way", "realm"]
        return cause.evidence.filter { told.contains($0.name) && !$0.value.isEmpty }.map { "; \($0.name) \($0.value)" }.joined()
    }

    private func prefix(_ phone: String?) -> String { phone.map { $0 + ": " } ?? "" }

    private static func bracket(_ status: Int?, _ reason: String?) -> String {
        guard let status else { return reason.map { " (\($0))" } ?? "" }
        return " (\(status)\(reason.map { " " + $0 } ?? ""))"
    }
}

extension CommandEvent.CallReference: CustomStringConvertible {
    package var description: String { (phone.map { $0 + ": " } ?? "") + "call " + call }
}

extension String {
    /// Without control characters and the marks that reverse the direction of text: what a stranger sends is shown in a terminal.
    package var printable: String {
        if utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return self }
        var result = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                result.unicodeScalars.append("\u{fffd}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
