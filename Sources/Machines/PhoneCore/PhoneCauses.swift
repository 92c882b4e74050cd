// SPDX-License-Identifier: Apache-2.0
//
// The causes that the phone adds to the agent's. docs/causes.md lists the codes; a test compares the two.

import Essentials
import EventPackages
import Media
import SDP
import SIP
import SIPAgent

enum PhoneCauses {
    static let hungUp = Cause("call.hung-up", "The call was hung up here.")
    static let shutDown = Cause("call.shut-down", "The phone was shut down.")

    static func notSent(_ error: AgentError) -> Cause {
        Cause(
            "call.not-sent", "The call could not be placed: \(error.reason).",
            evidence: [.init("error", error.code.rawValue)])
    }

    static func limit(_ calls: Int) -> Cause {
        Cause(
            "call.refused.limit", "A call was refused: there are already \(calls) calls, the most that are allowed.", status: 486,
            evidence: [.init("calls", "\(calls)")])
    }

    static func busyLine(_ calls: Int) -> Cause {
        Cause(
            "call.refused.busy", "A call was refused as busy because another one is up.", status: 486,
            evidence: [.init("calls", "\(calls)")])
    }

    static func noAutoAnswer(_ field: String) -> Cause {
        Cause(
            "call.refused.auto-answer", "A call was refused: its caller insists that the phone answers by itself, which is not allowed.",
            status: 403, evidence: [.init("field", field)])
    }

    static func refusedMedia(_ error: SDPError) -> Cause {
        Cause(
            "call.refused.media", "A call was refused because its media cannot be used: \(error.reason).", status: error.status,
            evidence: evidence(error))
    }

    // MARK: Transfers

    static let transferred = Cause("call.transferred", "The call was transferred.")
    static let transferCallEnded = Cause("transfer.call-ended", "The call ended before it could be transferred.")
    static let transferUndecided = Cause(
        "transfer.undecided", "Nobody decided in time whether the transfer may go on, so it was refused.", status: 603)

    static func transferDeclined(_ status: Int) -> Cause {
        Cause("transfer.declined", "The transfer was refused here.", status: min(max(status, 300), 699))
    }

    static func transferNotSent(_ error: AgentError) -> Cause {
        Cause(
            "transfer.not-sent", "The transfer could not be asked for: \(error.reason).",
            evidence: [.init("error", error.code.rawValue)])
    }

    // MARK: Changes

    static func unusableChange(_ error: SDPError) -> Cause {
        Cause(
            "call.change.unusable", "The other side's answer to the change cannot be used: \(error.reason).",
            evidence: evidence(error))
    }

    static func refusedChange(_ error: SDPError) -> Cause {
        Cause(
            "call.change.refused", "A change of the call was refused because its media cannot be used: \(error.reason).",
            status: error.status, evidence: evidence(error))
    }

    // MARK: Media

    static func unusableAnswer(_ error: SDPError) -> Cause {
        Cause(
            "media.answer.unusable",
            "The call was ended because the other side's media description cannot be used: \(error.reason).",
            evidence: evidence(error))
    }

    static func noSocket(_ reason: String) -> Cause {
        Cause(
            "media.no-socket", "The call has no media because no RTP port could be opened: \(reason)", status: 500,
            evidence: [.init("reason", reason)])
    }

    static func vanished(seconds: Int) -> Cause {
        Cause(
            "media.peer.vanished", "The call was ended because nothing was heard from the other side for \(seconds) s.",
            evidence: [.init("silence.seconds", "\(seconds)")])
    }

    /// Answered, and nothing heard: the addresses tell where the sound may have gone.
    static func nothingHeard(local: SocketAddress, remote: SocketAddress?, signalling: SocketAddress?) -> Cause {
        var evidence = [Cause.Evidence("local.media", "\(local)")]
        if let remote { evidence.append(.init("remote.media", "\(remote)")) }
        if let signalling { evidence.append(.init("remote.signalling", "\(signalling)")) }
        let isPublic = signalling.map { !$0.ip.isPrivate && !$0.ip.isLoopback } ?? false
        let sentence: String
        if isPublic, local.ip.isPrivate {
            sentence = "No sound arrives: the other side was told to send it to \(local), an address that only this network knows."
        } else if isPublic, remote?.ip.isPrivate ?? false {
            sentence = "No sound arrives, and ours may not either: the other side names an address that only its own network knows."
        } else {
            sentence = "The call was answered, but no sound has arrived from the other side."
        }
        return Cause("media.nothing-received", sentence, evidence: evidence)
    }

    /// The code of what the media engine warns of.
    static func code(of warning: MediaWarning) -> String {
        switch warning {
        case .loss: "media.loss"
        case .lossSent: "media.loss-sent"
        case .delay: "media.delay"
        case .nothingSent: "media.nothing-sent"
        case .nothingReceived: "media.interrupted"
        case .wrongAddress: "media.wrong-address"
        case .muted: "media.muted"
        case .silenceReceived: "media.silence-received"
        }
    }

    /// A warning while the call lasts. `value`: percent, milliseconds or seconds, as the warning has it.
    static func quality(_ warning: MediaWarning, value: Double, source: SocketAddress?, remote: SocketAddress?) -> Cause {
        let code = code(of: warning)
        let number = value.isFinite ? Int(min(max(value, 0), 1e6).rounded()) : 0
        var evidence: [Cause.Evidence] = []
        if let remote { evidence.append(.init("remote.media", "\(remote)")) }
        switch warning {
        case .loss:
            return Cause(
                code, "Of what the other side sends, \(number) % is lost on the way.", evidence: [.init("loss.percent", "\(number)")])
        case .lossSent:
            return Cause(
                code, "Of what is said here, \(number) % is lost on the way to the other side.",
                evidence: [.init("loss.percent", "\(number)")])
        case .delay:
            return Cause(
                code, "What is said is heard \(number) ms later: the network is slow, or holds packets up.",
                evidence: [.init("delay.ms", "\(number)")])
        case .nothingSent:
            return Cause(
                code, "The other side hears nothing: nothing is sent, because it named no address to send to.", evidence: evidence)
        case .nothingReceived:
            return Cause(code, "Nothing has come from the other side for \(number) s.", evidence: [.init("silence.seconds", "\(number)")])
        case .wrongAddress:
            if let source { evidence.append(.init("packets.from", "\(source)")) }
            return Cause(
                code, "Sound arrives from an address that the other side did not name, and is not played.", evidence: evidence)
        case .muted: return Cause(code, "The other side hears nothing: the call is muted here, and somebody speaks.")
        case .silenceReceived:
            return Cause(
                code, "The other side sends nothing but silence: it is muted, or its microphone gives no sound.",
                evidence: [.init("silence.seconds", "\(number)")])
        }
    }

    static let networkLost = Cause("call.network-lost", "The call was ended because this machine's network did not come back in time.")

    static func digitRefused(_ digit: Character, _ status: Int) -> Cause {
        Cause(
            "dtmf.refused", "The other side did not take the digit \(digit): it answered \(status).", status: status,
            evidence: [.init("digit", String(digit))])
    }

    // MARK: Subscriptions

    static func unreadable(_ error: EventBodyError) -> Cause {
        Cause(
            "notification.unreadable", "A notification cannot be used: \(error.reason).",
            evidence: [.init("body.error", error.code.rawValue)])
    }

    static func notSubscribed(_ error: PhoneError) -> Cause {
        Cause("notification.not-subscribed", "The mailbox is not watched: \(error.reason)", evidence: [.init("error", error.code.rawValue)])
    }

    private static func evidence(_ error: SDPError) -> [Cause.Evidence] { [.init("sdp.error", error.code.rawValue)] }
}

extension Cause {
    /// The reason phrase of the status: as the other side worded it, else the usual one.
    var reasonPhrase: String? {
        guard let status else { return nil }
        let prefix = "\(status) "
        let worded = evidence.first { $0.name == "status" && $0.value.hasPrefix(prefix) }
        return worded.map { String($0.value.dropFirst(prefix.count)) } ?? defaultReasonPhrase(status)
    }
}
