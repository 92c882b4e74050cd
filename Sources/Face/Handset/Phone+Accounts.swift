// SPDX-License-Identifier: Apache-2.0

import Crypto
import PhoneCore
import SIP
import SIPAgent

extension AccountConfiguration {
    /// An account by its address, as a person writes it.
    ///
    ///     var configuration = try AccountConfiguration("sip:1001@example.net", password: secret)
    ///     configuration.expires = 120
    ///
    /// - Parameters:
    ///   - address: `sip:1001@example.net`, or without the scheme.
    ///   - username: of digest authentication; nil: the user of the address.
    ///   - password: nil: no challenge is answered.
    ///   - proxy: the outbound proxy as a URI; nil: where the domain's name leads (RFC 3263).
    /// - Throws: `PhoneError` with `.badAddress`.
    public init(_ address: String, username: String? = nil, password: Secret? = nil, proxy: String? = nil) throws(PhoneError) {
        let addressOfRecord = try Self.uri(address)
        var credentials: [Credential] = []
        if let password, let user = username ?? addressOfRecord.user {
            credentials = [Credential(realm: nil, username: user, password: password)]
        }
        var server: SIPURI?
        if let proxy { server = try Self.uri(proxy) }
        self.init(addressOfRecord: addressOfRecord, proxy: server, credentials: credentials)
    }

    private static func uri(_ text: String) throws(PhoneError) -> SIPURI {
        let lower = text.lowercased()
        let full = lower.hasPrefix("sip:") || lower.hasPrefix("sips:") ? text : "sip:" + text
        guard let uri = try? URI(full), let sip = uri.sip else {
            throw PhoneError(.badAddress, "“\(text)” is not a SIP address such as sip:1001@example.net.")
        }
        return sip
    }
}

extension Phone {
    /// Adds an account by its address; it registers at once.
    ///
    /// - Throws: `PhoneError`, `.badAddress` for what is no SIP address.
    public func addAccount(_ address: String, username: String? = nil, password: Secret) throws(PhoneError) -> Account {
        try addAccount(AccountConfiguration(address, username: username, password: password))
    }
}
