// SPDX-License-Identifier: Apache-2.0
//
// Who we say we are (RFC 3323, RFC 3325), and header fields of the application's own.
//
//   anonymous:  From: "Anonymous" <sip:anonymous@anonymous.invalid>    Privacy: id
//               P-Preferred-Identity: our address of record, to the account's own server only, which vouches for us

import Essentials
import SIP

extension UserAgent {
    /// The From of a caller who is not to be named (RFC 3323 §4.1.1.3).
    static let anonymous = NameAddress(
        displayName: "Anonymous", uri: .sip(SIPURI(user: "anonymous", host: .name("anonymous.invalid"))))

    /// Our Contact in a response within the session; an anonymous one does not name us.
    func ownContact(_ session: InviteSession, _ source: MessageSource) -> SIPURI {
        let account = session.account.flatMap { accounts[$0] }
        var contact = contactURI(account: account, source: source)
        guard session.isAnonymous else { return dialogContact(account, contact) }
        contact.user = "anonymous"
        return contact
    }

    /// What the account's own server is told of us, and asked to keep from others.
    func addIdentity(to message: inout MessageBuilder, _ account: Account?, nextHop: URI, isAnonymous: Bool) {
        if isAnonymous { message.add(.privacy, "id") }
        guard let account, isAnonymous || account.configuration.calls.sendsPreferredIdentity, nextHop.sip?.host == account.serverURI.host
        else { return }
        message.add(.pPreferredIdentity, account.identity.description)
    }

    /// The application's header fields for the method.
    func addOwnHeaders(to message: inout MessageBuilder, _ request: ClientRequest, _ account: Account) {
        for header in account.configuration.calls.headers
        where header.method == request.method && !Self.isReserved(header.name) {
            message.add(header.name, header.value)
        }
    }

    /// Whether what asserts an identity in the session's messages is the account's own server, and is believed.
    public func believesIdentity(in id: SessionID) -> Bool {
        guard let session = sessions[id], let account = session.account.flatMap({ accounts[$0] }), account.configuration.calls.trustsServer,
            let source = session.dialog?.source ?? session.earlyDialogs.last?.source
        else { return false }
        return account.isServer(source)
    }
}

extension SIPURI {
    var withoutHeaders: SIPURI {
        var uri = self
        uri.headers = []
        return uri
    }
}
