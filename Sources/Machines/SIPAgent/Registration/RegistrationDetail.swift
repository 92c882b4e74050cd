// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP

/// Why a REGISTER was sent.
public enum RegistrationTrigger: String, Sendable, Hashable, CaseIterable {
    /// The user, or the beginning.
    case asked
    /// The granted time is nearly over.
    case due
    /// The wait after a failure is over.
    case retry
    /// The connection to the server was lost.
    case connectionLost = "connection-lost"
    /// The registrar sees us at another address.
    case addressChanged = "address-changed"
    /// The machine woke from sleep.
    case woke
    /// The server woke us by a push (RFC 8599).
    case push
    /// The network changed.
    case network
}

/// What is known of a registration besides its state.
public struct RegistrationDetail: Sendable, Hashable {
    /// Why the last REGISTER was sent.
    public var trigger = RegistrationTrigger.asked
    /// The server that answered last; nil: none did yet.
    public var server: SocketAddress?
    /// How it was reached.
    public var transport: TransportProtocol?
    /// What TLS agreed on there; nil: the transport is not secure.
    public var tls: TLSAgreement?
    /// How many of the account's flows are registered (RFC 5626 §4.2); nil: it has one only.
    public var flows: Int?
    /// The public GRUU (RFC 5627); nil: none was given.
    public var publicGRUU: SIPURI?
    /// The newest temporary GRUU.
    public var temporaryGRUU: SIPURI?
    /// The route that the registrar wants our requests to take (RFC 3608), in order.
    public var serviceRoute: [NameAddress] = []
    /// The push services that the network on the way supports (RFC 8599 §9.2, `+sip.pns`).
    public var pushServices: [String] = []
    /// How many seconds before its end the network wants the registration refreshed by ourselves (`+sip.pnsreg`).
    public var pushRefresh: Int?
    /// Whether the network took our push parameters.
    public var hasPush = false

    public init() {}
}

/// Which GRUU stands in the Contact of calls (RFC 5627 §4.4).
public enum GRUUUse: String, Sendable, Hashable, CaseIterable {
    /// None is asked for.
    case off
    /// The public one: whoever has it can call this very device.
    case `public`
    /// The newest temporary one, which does not tell who we are.
    case temporary
}

/// How a push service reaches this phone (RFC 8599 §4.1, §14.2): parameters of the Contact of REGISTER.
public struct PushParameters: Sendable, Hashable {
    /// `pn-provider`: `apns`, `fcm`, `webpush` or another registered name.
    public var provider: String
    /// `pn-prid`: what addresses this phone at the provider. A secret: who knows it can wake the phone.
    public var prid: Secret
    /// `pn-param`: what the provider needs besides, such as the topic of APNs; nil: nothing.
    public var parameter: String?

    public init(provider: String, prid: Secret, parameter: String? = nil) {
        self.provider = provider
        self.prid = prid
        self.parameter = parameter
    }

    /// The contact with the parameters.
    func added(to contact: SIPURI) -> SIPURI {
        var contact = contact
        contact.parameters.set("pn-provider", provider)
        if let parameter { contact.parameters.set("pn-param", parameter) }
        contact.parameters.set("pn-prid", prid.reveal { String(decoding: $0, as: UTF8.self) })
        return contact
    }
}
