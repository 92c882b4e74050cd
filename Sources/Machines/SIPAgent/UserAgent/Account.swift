// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// One account at work.
final class Account {
    /// An address of the account's own server, as it was located.
    private struct Server: Equatable {
        var transport: TransportProtocol
        var address: SocketAddress
    }

    let id: AccountID
    let configuration: AccountConfiguration
    var registration: Registration
    /// What the registrar told, and why it was asked.
    var detail = RegistrationDetail()
    /// Answers the challenges of this account's server.
    var digest: DigestClient
    /// Proxy, registrar and domain, as far as they are configured.
    private lazy var ownServers = [configuration.proxy, configuration.registrar, domainURI].compactMap { $0 }
    /// Every address that the account's own server was located at: calls from there are trusted, challenges from there
    /// are answered.
    private var servers: [Server] = []
    /// Stands for the account's TLS settings.
    var tls = TLSProfile.standard
    /// The connection over which the account is registered; nil: a datagram socket.
    var flow: FlowID?
    /// The account of which this is a further flow, and the number of the flow (RFC 5626 §4.2, `reg-id`).
    weak var main: Account?
    let flowNumber: Int
    /// Its further flows, in order.
    var further: [Account] = []
    /// Our own address when the last REGISTER was sent.
    var registeredFrom: IPAddress?
    /// Realms under which the server challenged us out of dialogs; in dialogs no other is answered (V-027).
    private(set) var realms: [String] = []
    /// Our address as the server sees it, if that is not our own (RFC 3581).
    var publicAddress: SocketAddress?
    /// The flow of the registration and what becomes of it (RFC 5626).
    var outbound = AccountFlow()
    /// Which device this is, as a URN (§4.1): the configured one, else a random one for as long as the account is there.
    let instance: String
    /// The connection of the registration, or of a REGISTER, was lost, and the next REGISTER is for that.
    var lostFlow = false
    /// Whether the next different address may be taken up; false until a response confirms the last one (B-026).
    var mayRewriteContact = true
    /// The server answered 555 to our push parameters: they stay out until the user registers again.
    var pushIsRefused = false
    /// The user knows whether the network offers our push service.
    var wasToldOfPush = false
    /// `removeAccount` was called.
    var isRemoved = false

    /// At most this many server addresses and realms are remembered, the latest ones.
    private static let memory = 32

    init(
        id: AccountID, configuration: AccountConfiguration, digest: DigestClient, flowNumber: Int = 1, random: RandomSource
    ) {
        self.id = id
        self.flowNumber = flowNumber
        self.configuration = configuration
        self.digest = digest
        registration = Registration(expires: configuration.expires, random: random)
        instance = configuration.instance ?? Self.randomInstance(random)
    }

    /// A random UUID (RFC 9562 §5.4) as a URN.
    private static func randomInstance(_ random: RandomSource) -> String {
        let (high, low) = (random.next() & ~0xf000 | 0x4000, random.next() & ~(3 << 62) | 1 << 63)
        let digits = [high, low].map { number in
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var parts: [Substring] = []
        var rest = digits[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return "urn:uuid:" + parts.joined(separator: "-")
    }

    /// Where the account's REGISTER goes: the proxy, else the registrar, else the domain.
    var serverURI: SIPURI { configuration.proxy ?? configuration.registrar ?? domainURI }

    /// Where every request outside dialogs goes first; nil: where its own URI leads.
    var firstHop: SIPURI? { outgoing.configuration.proxy ?? outgoing.detail.serviceRoute.first?.uri.sip }

    /// The domain of the address of record as a URI.
    var domainURI: SIPURI {
        var uri = configuration.addressOfRecord
        uri.user = nil
        uri.password = nil
        uri.headers = []
        return uri
    }

    /// The user part of our Contact.
    var contactUser: String? { configuration.addressOfRecord.user }

    /// Our identity for From (and To of REGISTER), without tag.
    var identity: NameAddress {
        var identity = NameAddress(uri: .sip(configuration.addressOfRecord))
        identity.displayName = configuration.displayName
        return identity
    }

    /// Whether a GRUU is asked for.
    var wantsGRUU: Bool { configuration.gruu != .off && configuration.instance != nil }

    /// The GRUU that stands in our Contacts; nil: none.
    var gruu: SIPURI? {
        switch configuration.gruu {
        case .off: nil
        case .public: detail.publicGRUU
        case .temporary: detail.temporaryGRUU
        }
    }

    /// The push parameters that are told.
    var push: PushParameters? { pushIsRefused ? nil : configuration.push }

    // MARK: Its own server

    /// The address of the server that answered the last REGISTER, else of the last one that was located; nil: none yet.
    var serverAddress: SocketAddress? { detail.server ?? servers.last?.address }

    /// Whether a message came from the account's own server: over the connection of the registration, or from an address
    /// of the server.
    func isServer(_ source: MessageSource) -> Bool {
        if further.contains(where: { $0.isServer(source) }) { return true }
        if source.transport.isReliable, source.flow == flow { return true }
        // A connection may come from any port.
        return isServer(source.remote, source.transport, anyPort: source.transport.isReliable)
    }

    /// Whether a request to that address goes to the account's own server.
    func isServer(_ target: SignallingTarget) -> Bool {
        further.contains { $0.isServer(target) } || isServer(target.address, target.transport, anyPort: false)
    }

    /// A host is told by its address; on loopback, where many programs share one, by the port too. Anybody can forge the
    /// source of a datagram, so datagrams count only where the server is spoken to by datagrams, and what is not
    /// encrypted only where not all that leads to the server is.
    private func isServer(_ address: SocketAddress, _ transport: TransportProtocol, anyPort: Bool) -> Bool {
        let ip = address.ip.unmapped
        var isKnown = false
        var isSecured = true
        for server in servers {
            isSecured = isSecured && server.transport.isSecure
            if server.address.ip == ip, server.address.port == address.port || anyPort || !ip.isLoopback,
                transport.isReliable || server.transport == .udp
            {
                isKnown = true
            }
        }
        return isKnown && (transport.isSecure || !isSecured)
    }

    func remember(server target: SignallingTarget) {
        let server = Server(
            transport: target.transport, address: SocketAddress(target.address.ip.unmapped, target.address.port))
        guard !servers.contains(server) else { return }
        if servers.count >= Self.memory { servers.removeFirst() }
        servers.append(server)
    }

    /// Whether a next hop is the account's own server by its configuration, or by the registrar's word.
    func isOwnServer(_ hop: SIPURI) -> Bool {
        if further.contains(where: { $0.isOwnServer(hop) }) { return true }
        if ownServers.contains(where: { Self.isSame($0, hop) }) { return true }
        return detail.serviceRoute.first?.uri.sip.map { Self.isSame($0, hop) } ?? false
    }

    private static func isSame(_ one: SIPURI, _ other: SIPURI) -> Bool {
        guard one.host == other.host, one.port == other.port else { return false }
        if one.parameters.isEmpty, other.parameters.isEmpty { return true }
        return one.parameters["maddr"] == other.parameters["maddr"]
    }

    /// Whether a realm is the name of the account's own server as it is configured, or one above or below that (`example.net` and
    /// `sip.example.net` are run by the same people), or an address where it was located.
    func names(_ realm: String) -> Bool {
        let realm = realm.asciiLowercased
        if servers.contains(where: { "\($0.address.ip)" == realm }) { return true }
        return (ownServers + configuration.furtherProxies).contains { uri in
            let host = "\(uri.host)".asciiLowercased
            guard realm != host, case .name = uri.host else { return realm == host }
            let (short, long) = realm.utf8.count < host.utf8.count ? (realm, host) : (host, realm)
            return short.contains(".") && long.hasSuffix("." + short)
        }
    }

    func remember(realm: String) {
        guard !realms.contains(realm) else { return }
        if realms.count >= Self.memory { realms.removeFirst() }
        realms.append(realm)
    }
}
