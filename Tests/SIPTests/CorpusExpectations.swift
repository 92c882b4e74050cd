// SPDX-License-Identifier: Apache-2.0

/// What the corpus index asks of each whole message, as far as the parser decides it, and what is left to the agent.
struct CorpusExpectation: Sendable {
    var file: String
    /// What `SIPMessage.receive` says.
    var verdict: String
    /// What the index asks of the layer above: tested with the agent.
    var agent: String?

    init(_ file: String, _ verdict: String = "message", agent: String? = nil) {
        self.file = file
        self.verdict = verdict
        self.agent = agent
    }

    static let all: [CorpusExpectation] = [
        .init("rfc4475/wsinv.sip", agent: "481 is allowed: To has a tag and there is no dialog"),
        .init("rfc4475/intmeth.sip", agent: "405 with Allow, or 501; fields echoed unchanged"),
        .init("rfc4475/esc01.sip", agent: "answered as a normal INVITE"),
        .init("rfc4475/escnull.sip", agent: "405 or 501"),
        .init("rfc4475/longreq.sip", agent: "answered as a normal INVITE, every Via echoed"),
        .init("rfc4475/dblreq.sip", agent: "405 or 501 to REGISTER, nothing to the rest"),
        .init("rfc4475/transports.sip", agent: "200 to OPTIONS with five Via values"),
        .init("rfc4475/mpart01.sip", agent: "200, or 415 with Accept"),
        .init("rfc4475/badinv01.sip", "refuse 400 sip.via"),
        .init("rfc4475/clerr.sip", "refuse 400 sip.content-length.beyond"),
        .init("rfc4475/scalar02.sip", "refuse 400 sip.cseq"),
        .init("rfc4475/ltgtruri.sip", "refuse 400 sip.request-uri"),
        .init("rfc4475/lwsstart.sip", "refuse 400 sip.request-line"),
        .init("rfc4475/escruri.sip", "refuse 400 sip.request-uri.headers"),
        .init("rfc4475/baddate.sip", agent: "goes on as a normal INVITE without the Date"),
        .init("rfc4475/badaspec.sip", agent: "200 to OPTIONS"),
        .init("rfc4475/baddn.sip", agent: "200 to OPTIONS"),
        .init("rfc4475/mismatch01.sip", "refuse 400 sip.cseq.method"),
        .init("rfc4475/bigcode.sip", "drop sip.status-line"),
        .init("rfc4475/unkscm.sip", "refuse 416 sip.request-uri.scheme"),
        .init("rfc4475/novelsc.sip", "refuse 416 sip.request-uri.scheme"),
        .init("rfc4475/unksm2.sip", agent: "405 or 501"),
        .init("rfc4475/bext01.sip", agent: "420 with Unsupported"),
        .init("rfc4475/invut.sip", agent: "415 with Accept: application/sdp"),
        .init("rfc4475/regaut01.sip", agent: "405 or 501; a registrar challenges"),
        .init("rfc4475/multi01.sip", "refuse 400 sip.field.repeated"),
        .init("rfc4475/mcl01.sip", "refuse 400 sip.field.repeated"),
        .init("rfc4475/bcast.sip", agent: "dropped: a response with two Via values is misrouted"),
        .init("rfc4475/cparam01.sip", agent: "405 or 501; a registrar binds sip:+19725552222@gw1.example.net"),
        .init("rfc4475/regescrt.sip", agent: "405 or 501"),
        .init("rfc4475/sdp01.sip", agent: "406"),
        .init("rfc4475/inv2543.sip", agent: "ringing answer, RFC 2543 matching"),
        .init("rfc5118/ipv6-good.sip", agent: "405 or 501"),
        .init("rfc5118/port-ambiguous.sip"),
        .init("rfc5118/via-received-with-delim.sip", agent: "481"),
        .init("rfc5118/via-received-no-delim.sip", agent: "200"),
        .init("rfc5118/ipv6-in-sdp.sip", agent: "488: no common format"),
        .init("rfc5118/ipv6-in-sdp-as-printed.sip", "refuse 400 sip.content-length.beyond"),
        .init("rfc5118/mult-ip-in-header.sip", agent: "481, Via echoed unchanged"),
        .init("rfc5118/ipv4-mapped-ipv6.sip", agent: "488: no common format"),
        .init("rfc5118/ipv6-abnf-3-colons.sip", agent: "200"),
        .init("flows/3665-2.1-F1.sip"),
        .init("flows/3665-2.1-F2.sip", agent: "REGISTER with credentials"),
        .init("flows/3665-2.1-F4.sip", agent: "registered for 3600 s"),
        .init("flows/3665-2.2-F2.sip", agent: "our own binding is found"),
        .init("flows/3665-2.3-F2.sip"),
        .init("flows/3665-2.4-F1.sip"),
        .init("flows/3665-2.5-F4.sip", agent: "wrong credentials are reported, no loop"),
        .init("flows/3665-3.1-F1.sip", agent: "180, then 200 with PCMU"),
        .init("flows/3665-3.1-F2.sip", agent: "early dialog"),
        .init("flows/3665-3.1-F3.sip", agent: "dialog confirmed, ACK to the Contact"),
        .init("flows/3665-3.1-F4.sip", agent: "the 200 is no longer sent again"),
        .init("flows/3665-3.1-F5.sip", agent: "200 and the end of the call"),
        .init("flows/3665-3.2-F2.sip", agent: "ACK, then INVITE with credentials"),
        .init("flows/3665-3.2-F6.sip", agent: "route set as received"),
        .init("flows/3665-3.2-F14.sip", agent: "route set reversed"),
        .init("flows/3665-3.2-F20.sip", agent: "200 with both Via values"),
        .init("flows/3665-3.6-F2.sip", agent: "redirect"),
        .init("flows/3665-3.6-F5.sip", agent: "late offer: 200 with our offer"),
        .init("flows/3665-3.6-F12.sip", agent: "answer in ACK"),
        .init("flows/3665-3.7-F9.sip", agent: "re-INVITE: new target and media"),
        .init("flows/3665-3.8-F13.sip", agent: "200 to CANCEL, 487 to INVITE"),
        .init("flows/3665-3.8-F19.sip", agent: "call ends as cancelled"),
        .init("flows/3665-3.9-F10.sip", agent: "busy"),
        .init("flows/3665-3.11-F13.sip", agent: "unavailable"),
        .init("flows/3515-4.1-F1.sip", agent: "REFER: 202 or 603"),
        .init("flows/3515-4.1-F3.sip", agent: "200 to NOTIFY"),
        .init("flows/3515-4.1-F5.sip", agent: "200, subscription ends"),
        .init("flows/4916-5.1-F8.sip", agent: "200 without SDP"),
        .init("flows/5626-9.2-F1.sip"),
        .init("flows/5626-9.3-F3.sip", "drop sip.via.missing"),
        .init("digest/two-algos.sip", agent: "SHA-256 is answered"),
        .init("digest/auth-authint.sip", agent: "qop auth is answered"),
        .init("digest/folded-aka.sip", agent: "no supported algorithm"),
        .init("sdp/double-content-headers.sip"),
        .init("sdp/compact-nospace.sip", agent: "digest challenge of a matching transaction"),
    ]
}
