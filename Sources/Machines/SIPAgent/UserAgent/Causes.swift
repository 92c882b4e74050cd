// SPDX-License-Identifier: Apache-2.0
//
// Every cause that the agent gives. docs/causes.md lists the codes; a test compares the two.

import Essentials
import SIP

enum Causes {
    // MARK: Calls that end

    static let hungUp = Cause("call.hung-up", "The call was hung up here.")
    static let shutDown = Cause("call.shut-down", "The phone was shut down.")
    static let unanswered = Cause("call.unanswered", "Nobody answered in the time allowed.", status: 480)
    static let noPRACK = Cause("call.no-prack", "The caller never confirmed that it heard of the ringing.", status: 504)

    /// Our Contact is where the ACK was to come: if it is private and the caller is not near, it may have misled.
    static func noACK(contact: String, caller: SocketAddress?) -> Cause {
        var sentence = "The caller never confirmed that the call was answered."
        if let caller, let uri = try? URI(contact), case .address(let own) = uri.sip?.host, own.isPrivate, !caller.ip.isPrivate {
            sentence =
                "The caller never confirmed that the call was answered: it was told to send that to \(own), an address that only "
                + "this network knows."
        }
        return Cause(
            "call.no-ack", sentence,
            evidence: [.init("Contact", contact)] + (caller.map { [.init("caller", "\($0)")] } ?? []))
    }

    /// The address that a 2xx gave for its ACK leads nowhere.
    static func ackUnroutable(_ hop: String, isRoute: Bool, _ failure: RequestFailure) -> Cause {
        var evidence = [Cause.Evidence(isRoute ? "Record-Route" : "Contact", printable(hop))]
        if case .notLocated(let reason) = failure { evidence.append(.init("name", printable(reason.text))) }
        return Cause(
            "call.ack-unroutable", "The call was answered, but the address that the other side gave for itself leads nowhere.",
            evidence: evidence)
    }

    /// We hung up, and nobody confirmed it.
    static func byeUnanswered(_ target: String, _ failure: RequestFailure) -> Cause {
        var evidence = [Cause.Evidence("target", printable(target))]
        if case .notLocated(let reason) = failure { evidence.append(.init("name", printable(reason.text))) }
        return Cause(
            "call.bye-unanswered", "The call is over here, but the other side did not confirm it and may still wait.", evidence: evidence)
    }

    static let noAnswerInACK = Cause("call.no-media-answer", "The caller confirmed the call without saying how to talk.")

    static let sessionExpired = Cause("call.session-expired", "The other side did not confirm that the call is still up.")

    static func rejected(_ status: Int) -> Cause {
        let isBusy = status == 486 || status == 600
        return Cause(
            isBusy ? "call.refused-busy" : "call.refused", isBusy ? "The call was refused as busy." : "The call was refused here.",
            status: status, evidence: [.init("status", "\(status)")])
    }

    static func remoteHungUp(_ bye: SIPMessage) -> Cause {
        Cause("call.remote-hung-up", "The other side hung up.", evidence: reasonHeader(bye))
    }

    static func cancelled(_ cancel: SIPMessage) -> Cause {
        let reasons = cancel.reasons
        if reasons.contains(where: \.isAnsweredElsewhere) {
            return Cause("call.answered-elsewhere", "The call was answered on another phone.", status: 487, evidence: reasonHeader(cancel))
        }
        if reasons.contains(where: \.isDeclinedElsewhere) {
            return Cause("call.declined-elsewhere", "The call was declined on another phone.", status: 487, evidence: reasonHeader(cancel))
        }
        return Cause("call.cancelled", "The caller gave up before the call was answered.", status: 487, evidence: reasonHeader(cancel))
    }

    /// A call that did not come from the account's server.
    static func directCallRefused(_ invite: SIPMessage, _ source: MessageSource, refused: UInt64) -> Cause {
        Cause(
            "call.refused.direct", "A call that did not come from the account's server was refused; --direct accept would let it ring.",
            status: 403,
            evidence: [
                .init("source", "\(source.transport.rawValue) \(source.remote)"), .init("from", printable("\(invite.from.uri)")),
                .init("refused", "\(refused)"),
            ])
    }

    /// A final answer to our INVITE other than 2xx.
    static func refusal(_ response: SIPMessage, _ redirection: Redirection? = nil, _ failure: DigestFailure? = nil) -> Cause {
        if let withheld = withheld("call.unauthorized.foreign", response, failure) { return withheld }
        let (code, sentence) = refusalText(response.statusCode)
        return Cause(
            code, sentence, status: response.statusCode, evidence: evidence(response) + way(redirection))
    }

    /// A challenge that was left unanswered though there is a password: it may be somebody else's than the account's server's.
    /// nil: the response is no such challenge.
    static func withheld(_ code: String, _ response: SIPMessage, _ failure: DigestFailure?) -> Cause? {
        guard response.statusCode == 401 || response.statusCode == 407, let failure else { return nil }
        let sentence: String
        let realm: String
        switch failure {
        case .foreignRealm(let name):
            realm = printable(name)
            sentence =
                "The password was not given under the realm \"\(realm)\", which may be anybody's; if it is the account's server's, "
                + "--realm says so."
        case .notOurServer(let name):
            realm = printable(name)
            sentence = "Somebody other than the account's own server asked for the password, which was not given."
        case .refused, .noCredentials, .unsupported, .tooLong, .noChallenge, .tooManyRounds: return nil
        }
        return Cause(code, sentence, status: response.statusCode, evidence: [.init("realm", realm)] + evidence(response))
    }

    private static func refusalText(_ status: Int) -> (String, String) {
        switch status {
        case 300..<400: ("call.redirected", "The called person is elsewhere, and the call could not follow.")
        case 401, 407: ("call.unauthorized", "The server asks for a name and password for this call and got none that it accepts.")
        case 403: ("call.forbidden", "The server or the called person does not permit this call.")
        case 404, 410, 604: ("call.not-found", "The called address does not exist.")
        case 408: ("call.no-response", "The called person's phone did not respond.")
        case 415, 488, 606: ("call.incompatible", "The phones found no common way to talk.")
        case 416, 484, 485: ("call.bad-address", "The called address cannot be used.")
        case 480: ("call.unavailable", "The called person is not available at the moment.")
        case 486, 600: ("call.busy", "The called person is busy.")
        case 487: ("call.terminated", "The call was ended before it was answered.")
        case 603: ("call.declined", "The called person declined the call.")
        case 500..<600: ("call.server-failure", "The server could not carry out the call.")
        default: ("call.failed", "The call was refused.")
        }
    }

    /// No answer to a request of a call.
    static func failure(_ failure: RequestFailure, of request: String, _ redirection: Redirection? = nil) -> Cause {
        let evidence = [Cause.Evidence("request", request)] + way(redirection)
        switch failure {
        case .timedOut:
            return Cause("call.no-response", "The other side did not respond.", status: 408, evidence: evidence)
        case .transport(.secure(let failure)): return secure(failure, more: evidence)
        case .transport(let flow):
            return Cause(
                "call.unreachable", "The other side cannot be reached over the network.", status: 503,
                evidence: evidence + [.init("network", flow.text)])
        case .notSecure(let text):
            return Cause(
                "call.not-secure", "A sips address is called over TLS only, and the way there has none.",
                evidence: evidence + [.init("way", text)])
        case .tooLarge(let octets):
            return Cause("call.request-too-big", tooLargeSentence, evidence: evidence + [.init("octets", "\(octets)")])
        case .notLocated(let failure):
            let (code, sentence) = notLocatedText(failure)
            return Cause(code, sentence, evidence: evidence + [.init("name", printable(failure.text))])
        case .noLocalAddress:
            return Cause("call.no-transport", "This phone has no transport that leads there.", evidence: evidence)
        case .noNetwork:
            return Cause("call.no-network", "This machine has no network at the moment.", evidence: evidence)
        }
    }

    private static let tooLargeSentence =
        "The request is too big for a datagram on this network path, and the other side takes no TCP connection."
    private static func notLocatedText(_ failure: LocationFailure) -> (String, String) {
        switch failure {
        case .noSuchName: ("call.not-located.no-such-name", "The called name does not exist.")
        case .unanswered: ("call.not-located.no-name-server", "No name server answered, so the called name could not be looked up.")
        case .noAddress, .notOffered, .transportNotOffered:
            ("call.not-located.no-records", "The called name exists, but names no server that this phone can reach.")
        case .unsupported, .limit: ("call.not-located", "No address was found for the called name.")
        }
    }

    static func dialogLost(_ response: SIPMessage) -> Cause {
        Cause(
            "call.dialog-lost", "The other side no longer knows this call.", status: response.statusCode,
            evidence: evidence(response))
    }

    static let networkLost = Cause("call.network-lost", "The call was ended because this machine's network did not come back in time.")

    // MARK: Changes of a call

    static let networkMoved = Cause("call.change-moved", "The network changed meanwhile; the change of the call is sent again.")
    static let reinvitePending = Cause("call.change-pending", "Another change of the call is in progress; this one waits.")

    static func reinviteRefused(_ response: SIPMessage) -> Cause {
        let isGlare = response.statusCode == 491
        return Cause(
            isGlare ? "call.change-glare" : "call.change-refused",
            isGlare ? "Both sides changed the call at the same moment." : "The other side refused the change of the call.",
            status: response.statusCode, evidence: evidence(response))
    }

    // MARK: Registrations

    static let noNetwork = Cause(
        "registration.no-network", "This machine has no network at the moment; the phone registers as soon as there is one.")

    static func registrationRefused(_ response: SIPMessage, _ failure: DigestFailure?) -> Cause {
        if let withheld = withheld("registration.refused.no-credentials", response, failure) { return withheld }
        let (code, sentence): (String, String) =
            switch (response.statusCode, failure) {
            case (401, .noCredentials), (407, .noCredentials):
                ("registration.refused.no-credentials", "The server asks for a name and password that are not configured.")
            case (401, .unsupported), (407, .unsupported):
                ("registration.refused.unsupported", "The server asks for a kind of authentication that is not supported.")
            case (401, .noChallenge), (407, .noChallenge), (401, .tooLong), (407, .tooLong):
                ("registration.refused.challenge", "The server's request for a password cannot be understood.")
            case (401, _), (407, _):
                ("registration.refused.password", "The server did not accept the name and password.")
            case (403, _):
                ("registration.refused.forbidden", "The server does not permit this registration; name or password may be wrong.")
            case (404, _): ("registration.refused.not-found", "The server does not know this address.")
            case (423, _): ("registration.refused.interval", "The server wants another registration time than it says.")
            default: ("registration.refused", "The server refused the registration.")
            }
        return Cause(code, sentence, status: response.statusCode, evidence: evidence(response))
    }

    static func registrationUnavailable(_ response: SIPMessage) -> Cause {
        Cause(
            "registration.server-failure", "The server cannot register anybody at the moment.", status: response.statusCode,
            evidence: evidence(response))
    }

    static func bindingRefused(_ response: SIPMessage) -> Cause {
        Cause(
            "registration.no-binding", "The server answered, but did not register this phone.", status: response.statusCode,
            evidence: evidence(response))
    }

    static func pushRefused(_ response: SIPMessage) -> Cause {
        Cause(
            "registration.push-refused",
            "The server does not support this phone's push service; the phone is registered without it and cannot be woken.",
            status: response.statusCode, evidence: evidence(response))
    }

    static func pushNotOffered(_ services: [String]) -> Cause {
        Cause(
            "registration.push-not-offered", "The network does not say that it can wake this phone by push.",
            evidence: services.map { .init("offered", printable($0)) })
    }

    static func registrationFailure(_ failure: RequestFailure) -> Cause {
        switch failure {
        case .timedOut: Cause("registration.no-response", "The server did not respond.", status: 408)
        case .transport(.unreachable):
            Cause(
                "registration.no-network", "This phone has no network connection that leads to the server.", status: 503,
                evidence: [.init("network", FlowFailure.unreachable.text)])
        case .transport(.refused):
            Cause(
                "registration.nothing-listens", "The server's address was reached, but no SIP server runs there.", status: 503,
                evidence: [.init("network", FlowFailure.refused.text)])
        case .transport(.secure(let failure)): secure(failure)
        case .notSecure(let text):
            Cause(
                "registration.not-secure", "A sips address is registered over TLS only, and the way there has none.",
                evidence: [.init("way", text)])
        case .transport(let flow):
            Cause(
                "registration.unreachable", "The server cannot be reached over the network.", status: 503,
                evidence: [.init("network", flow.text)])
        case .tooLarge(let octets):
            Cause("registration.request-too-big", tooLargeSentence, evidence: [.init("octets", "\(octets)")])
        case .notLocated(let failure): notLocated(failure)
        case .noLocalAddress:
            Cause("registration.no-transport", "This phone has no transport that leads to the server.")
        case .noNetwork: noNetwork
        }
    }

    /// The way to the server was lost; the account registers again.
    static func flowLost(_ fault: FlowFault, _ source: MessageSource?, _ account: SIPURI) -> Cause {
        var evidence = [Cause.Evidence("account", "\(account)"), .init("network", fault.words)]
        if let source { evidence += [.init("transport", source.transport.rawValue), .init("server", "\(source.remote)")] }
        return switch fault {
        case .closed:
            Cause("registration.flow.closed", "The connection to the server ended; registering again.", evidence: evidence)
        case .silent:
            Cause("registration.flow.silent", "The server no longer answers keep-alives; registering again.", evidence: evidence)
        case .moved:
            Cause("registration.flow.moved", "This phone's address as the server sees it changed; registering again.", evidence: evidence)
        }
    }

    private static func notLocated(_ failure: LocationFailure) -> Cause {
        let (code, sentence): (String, String) =
            switch failure {
            case .noSuchName: ("registration.not-located.no-such-name", "The server's name does not exist.")
            case .unanswered:
                ("registration.not-located.no-name-server", "No name server answered, so the server's name could not be looked up.")
            case .noAddress, .notOffered, .transportNotOffered:
                ("registration.not-located.no-records", "The server's name exists, but names no server that this phone can reach.")
            case .unsupported, .limit: ("registration.not-located", "No address was found for the server's name.")
            }
        return Cause(code, sentence, evidence: [.init("name", printable(failure.text))])
    }

    // MARK: Evidence

    /// Where a redirected call went, and what of the redirections was left aside.
    private static func way(_ redirection: Redirection?) -> [Cause.Evidence] {
        guard let redirection else { return [] }
        return redirection.tried.dropFirst().map { .init("redirected-to", printable("\($0)")) }
            + redirection.leftAside.map { .init("not-followed", printable("\($0.uri)") + " (\($0.reason.rawValue))") }
    }

    static func evidence(_ response: SIPMessage) -> [Cause.Evidence] {
        var evidence = [Cause.Evidence("status", "\(response.statusCode) \(printable(response.reasonPhrase))")]
        if let warning = response.first(.warning) { evidence.append(.init("Warning", printable(warning))) }
        return evidence + reasonHeader(response)
    }

    /// RFC 3326.
    private static func reasonHeader(_ message: SIPMessage) -> [Cause.Evidence] {
        message.first("Reason").map { [Cause.Evidence("Reason", printable($0))] } ?? []
    }

    /// What comes from outside, short and without control characters (V-028).
    static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(200).map { $0.value < 0x20 || $0.value == 0x7f ? "\u{fffd}" : $0 }))
    }
}

extension FlowFailure {
    /// For the evidence of a cause.
    var text: String {
        switch self {
        case .closedByPeer: "the other side closed the connection"
        case .closedLocally: "the connection was closed here"
        case .refused: "nothing listens at the address"
        case .unreachable: "there is no route to the address"
        case .timedOut: "the connection timed out"
        case .reset: "the connection was reset"
        case .limit: "a limit of this phone was reached"
        case .secure(let failure): failure.text
        case .other(let words): words
        }
    }
}
