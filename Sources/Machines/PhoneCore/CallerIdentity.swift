// SPDX-License-Identifier: Apache-2.0

import SIP

/// Who the other side of a call is, and how the call came here, as far as it is said and may be believed.
public struct CallerIdentity: Sendable, Hashable {
    /// Who the account's own server says it is (P-Asserted-Identity, else Remote-Party-ID); nil: it says nothing. Never taken from
    /// anybody else.
    public var asserted: NameAddress?
    /// The other side's own word: From, also a changed one (RFC 4916).
    public var claimed: NameAddress
    /// The other side asks not to be shown (Privacy, or an anonymous From).
    public var isAnonymous: Bool
    /// Who forwarded the call here, the latest first (RFC 5806, else the entries of RFC 7044 that say why they were left).
    public var diversions: [Diversion]
    /// The targets that the call was sent to on its way (RFC 7044).
    public var history: [HistoryEntry]

    /// What a message says of its sender; `believesServer`: it comes from the account's own server.
    package init(_ message: SIPMessage, believesServer: Bool) {
        // In a response the other side is To.
        claimed = message.isRequest ? message.from : message.to
        claimed.parameters = Parameters()
        let host = claimed.uri.sip?.host
        isAnonymous = message.privacy.hidesCaller || host == .name("anonymous.invalid")
        diversions = message.diversions
        history = message.history
        if diversions.isEmpty {
            diversions = history.reversed().compactMap { entry in
                guard let reason = entry.reason, !entry.index.isEmpty else { return nil }
                var diversion = Diversion(entry.target)
                diversion.reason = reason.text ?? Self.word(reason.cause)
                return diversion
            }
        }
        guard believesServer else { return }
        asserted = message.assertedIdentities.first
        if asserted == nil, var party = message.remotePartyID {
            if let privacy = party.parameters.value("privacy")?.lowercased(), privacy != "off" { isAnonymous = true }
            party.parameters = Parameters()
            asserted = party
        }
    }

    /// Whether it says more than From alone.
    var isRemarkable: Bool { asserted != nil || isAnonymous || !diversions.isEmpty || !history.isEmpty }

    /// The causes of RFC 4458 and SIP statuses in the words of RFC 5806.
    private static func word(_ cause: Int?) -> String? {
        switch cause {
        case 302: "unconditional"
        case 404: "unknown"
        case 408: "no-answer"
        case 480: "unavailable"
        case 486, 600: "user-busy"
        case 487: "deflection"
        case 603: "do-not-disturb"
        default: nil
        }
    }
}

extension PhoneCore {
    /// Tells who the other side is by now, where a message says something new.
    func noteIdentity(_ call: Call, _ message: SIPMessage) {
        guard let session = call.session else { return }
        let identity = CallerIdentity(message, believesServer: agent.believesIdentity(in: session))
        let known = call.identity
        let isNew =
            identity.asserted.map { $0.uri != known?.asserted?.uri || $0.displayName != known?.asserted?.displayName } ?? false
            || message.isRequest && !Self.isSame(identity.claimed.uri, (known?.claimed ?? call.remote)?.uri)
        guard isNew else { return }
        call.identity = identity
        if message.isRequest { call.remote = identity.claimed }
        emit(.notice(call.id, .identity(identity)))
    }

    /// The same person: user and host agree. Ports and parameters belong to the way, and many phones write them differently.
    private static func isSame(_ one: URI, _ other: URI?) -> Bool {
        guard let first = one.sip, let second = other?.sip else { return one == other }
        return first.user == second.user && first.host == second.host
    }
}
