// SPDX-License-Identifier: Apache-2.0
//
// Why subscriptions, publications and messages end or fail. docs/causes.md lists the codes; a test compares the two.

import Essentials
import SIP

extension Cause {
    /// The fate of a message when its phone stops first; given by the face.
    package static let messageAbandoned = Cause("message.shut-down", "The phone was shut down before the message was answered.")
}

enum EventCauses {
    // MARK: Subscriptions

    static let ended = Cause("subscription.ended", "The subscription was ended here.")
    static let fetched = Cause("subscription.fetched", "The state was asked for once and came.")
    static let accountGone = Cause("subscription.account-removed", "The account of the subscription was removed.")
    static let noNotification = Cause(
        "subscription.no-notification", "The subscription was accepted, but its state never came.", evidence: [.init("waited", "64*T1")])
    static let expired = Cause("subscription.expired", "The subscription could not be refreshed in its time.")

    /// A NOTIFY ended it (RFC 6665 §4.1.3).
    static func terminated(_ reason: SubscriptionState.Reason?) -> Cause {
        let evidence = [Cause.Evidence("reason", reason?.word ?? "none")]
        switch reason {
        case .rejected: return Cause("subscription.rejected", "The other side does not permit this subscription.", evidence: evidence)
        case .noresource:
            return Cause("subscription.no-resource", "What was subscribed to does not exist any more.", evidence: evidence)
        case .invariant: return Cause("subscription.invariant", "The state will not change any more.", evidence: evidence)
        case .deactivated: return Cause("subscription.deactivated", "The server asks to subscribe anew.", evidence: evidence)
        case .probation: return Cause("subscription.probation", "The server asks to subscribe again later.", evidence: evidence)
        case .timeout: return Cause("subscription.timeout", "The server let the subscription run out.", evidence: evidence)
        case .giveup: return Cause("subscription.give-up", "Nobody decided in time whether to permit the subscription.", evidence: evidence)
        case .other, nil: return Cause("subscription.terminated", "The server ended the subscription.", evidence: evidence)
        }
    }

    /// Answers after which the same may succeed later.
    static func isPassing(_ status: Int) -> Bool {
        status == 408 || status == 429 || status == 480 || (500..<600).contains(status) && status != 501 && status != 505
    }

    /// Answers to a refresh that end the subscription at once (RFC 6665 §4.1.2.2, RFC 5057 §5.1).
    static func endsDialog(_ status: Int) -> Bool {
        switch status {
        case 401, 403, 404, 405, 407, 410, 416, 480...485, 489, 501, 604: true
        default: false
        }
    }

    static func subscriptionRefused(_ response: SIPMessage, _ failure: DigestFailure?) -> Cause {
        if let withheld = Causes.withheld("subscription.refused.foreign", response, failure) { return withheld }
        let (code, sentence): (String, String) =
            switch response.statusCode {
            case 401, 407:
                isUnconfigured(failure)
                    ? ("subscription.refused.no-credentials", "The server asks for a name and password that are not configured.")
                    : ("subscription.refused.password", "The server did not accept the name and password.")
            case 403, 603: ("subscription.refused.forbidden", "The server does not permit this subscription.")
            case 404, 410, 604: ("subscription.refused.not-found", "The address that was subscribed to does not exist.")
            case 405, 489, 501: ("subscription.refused.event", "The other side does not offer this kind of event.")
            case 423: ("subscription.refused.interval", "The server wants another subscription time than it says.")
            case 481: ("subscription.lost", "The other side no longer knows the subscription.")
            case let status where isPassing(status):
                ("subscription.server-failure", "The server cannot serve the subscription at the moment.")
            default: ("subscription.refused", "The server refused the subscription.")
            }
        return Cause(code, sentence, status: response.statusCode, evidence: evidence(response))
    }

    static func subscriptionFailure(_ failure: RequestFailure) -> Cause {
        switch failure {
        case .timedOut: return Cause("subscription.no-response", "The other side did not respond.", status: 408)
        case .transport(.secure(let failure)): return Causes.secure(failure, more: [])
        case .transport(let flow):
            return Cause(
                "subscription.unreachable", "The other side cannot be reached over the network.", status: 503,
                evidence: [.init("network", flow.text)])
        case .notSecure(let text):
            return Cause("subscription.not-secure", "The way to the sips address has no TLS.", evidence: [.init("way", text)])
        case .tooLarge(let octets):
            return Cause(
                "subscription.too-big", "The request is too big for a datagram, and no TCP connection leads there.",
                evidence: [.init("octets", "\(octets)")])
        case .notLocated(let failure):
            return Cause("subscription.not-located", "No address was found for the name.", evidence: [.init("name", failure.text)])
        case .noLocalAddress: return Cause("subscription.no-transport", "This phone has no transport that leads there.")
        case .noNetwork: return Cause("subscription.no-network", "This machine has no network at the moment.")
        }
    }

    // MARK: Publications

    static let unpublished = Cause("publication.ended", "The published state was taken back here.")
    static let publisherGone = Cause("publication.account-removed", "The account of the publication was removed.")

    static func publicationRefused(_ response: SIPMessage, _ failure: DigestFailure?) -> Cause {
        if let withheld = Causes.withheld("publication.refused.foreign", response, failure) { return withheld }
        let (code, sentence): (String, String) =
            switch response.statusCode {
            case 401, 407:
                isUnconfigured(failure)
                    ? ("publication.refused.no-credentials", "The server asks for a name and password that are not configured.")
                    : ("publication.refused.password", "The server did not accept the name and password.")
            case 403, 603: ("publication.refused.forbidden", "The server does not permit publishing.")
            case 405, 489, 501: ("publication.refused.event", "The server takes no state of this kind.")
            case let status where isPassing(status) || status == 412:
                ("publication.server-failure", "The server cannot take the state at the moment.")
            default: ("publication.refused", "The server refused the state.")
            }
        return Cause(code, sentence, status: response.statusCode, evidence: evidence(response))
    }

    static func publicationFailure(_ failure: RequestFailure) -> Cause {
        switch failure {
        case .timedOut: return Cause("publication.no-response", "The server did not respond.", status: 408)
        case .transport(.secure(let failure)): return Causes.secure(failure, more: [])
        case .transport(let flow):
            return Cause(
                "publication.unreachable", "The server cannot be reached over the network.", status: 503,
                evidence: [.init("network", flow.text)])
        case .notSecure(let text):
            return Cause("publication.not-secure", "The way to the sips address has no TLS.", evidence: [.init("way", text)])
        case .tooLarge(let octets):
            return Cause(
                "publication.too-big", "The request is too big for a datagram, and no TCP connection leads there.",
                evidence: [.init("octets", "\(octets)")])
        case .notLocated(let failure):
            return Cause("publication.not-located", "No address was found for the server's name.", evidence: [.init("name", failure.text)])
        case .noLocalAddress: return Cause("publication.no-transport", "This phone has no transport that leads there.")
        case .noNetwork: return Cause("publication.no-network", "This machine has no network at the moment.")
        }
    }

    // MARK: Messages

    static func messageTooLong(_ octets: Int) -> Cause {
        Cause(
            "message.too-long", "The message is too long for a datagram, and no TCP connection leads there.",
            evidence: [.init("octets", "\(octets)")])
    }

    static func messageRefused(_ response: SIPMessage, _ failure: DigestFailure?) -> Cause {
        if let withheld = Causes.withheld("message.unauthorized.foreign", response, failure) { return withheld }
        let (code, sentence): (String, String) =
            switch response.statusCode {
            case 401, 407:
                ("message.unauthorized", "The server asks for a name and password for this message and got none that it accepts.")
            case 403, 603: ("message.forbidden", "The server or the other side does not permit this message.")
            case 404, 410, 604: ("message.not-found", "The address does not exist.")
            case 405, 501: ("message.not-supported", "The other side takes no messages.")
            case 408: ("message.no-response", "The other side's phone did not respond.")
            case 413: ("message.refused.too-long", "The message is too long for the other side.")
            case 415, 488, 606: ("message.incompatible", "The other side cannot show this kind of message.")
            case 480, 486, 600: ("message.unavailable", "The other side is not available at the moment.")
            case 481: ("message.dialog-lost", "The other side no longer knows the call of this message.")
            case 500..<600: ("message.server-failure", "The server could not deliver the message.")
            default: ("message.refused", "The message was refused.")
            }
        return Cause(code, sentence, status: response.statusCode, evidence: evidence(response))
    }

    static func messageFailure(_ failure: RequestFailure) -> Cause {
        switch failure {
        case .timedOut: return Cause("message.no-response", "The other side did not respond.", status: 408)
        case .transport(.secure(let failure)): return Causes.secure(failure, more: [])
        case .transport(let flow):
            return Cause(
                "message.unreachable", "The other side cannot be reached over the network.", status: 503,
                evidence: [.init("network", flow.text)])
        case .notSecure(let text):
            return Cause("message.not-secure", "The way to the sips address has no TLS.", evidence: [.init("way", text)])
        case .tooLarge(let octets):
            return messageTooLong(octets)
        case .notLocated(let failure):
            return Cause("message.not-located", "No address was found for the name.", evidence: [.init("name", failure.text)])
        case .noLocalAddress: return Cause("message.no-transport", "This phone has no transport that leads there.")
        case .noNetwork: return Cause("message.no-network", "This machine has no network at the moment.")
        }
    }

    private static func isUnconfigured(_ failure: DigestFailure?) -> Bool { if case .noCredentials = failure { true } else { false } }

    private static func evidence(_ response: SIPMessage) -> [Cause.Evidence] {
        var result = [Cause.Evidence("status", "\(response.statusCode) \(response.reasonPhrase)")]
        if let warning = response.warnings.first { result.append(.init("Warning", warning.description)) }
        return result
    }
}
