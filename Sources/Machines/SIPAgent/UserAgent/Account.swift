// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// One account at work.
final class Account {
    let id: AccountID
    let configuration: AccountConfiguration
    var registration: Registration
    /// Answers the challenges of this account's server.
    var digest: DigestClient
    /// Every address that the account's own server was located at: calls from there are trusted, challenges from there
    /// are answered.
    private(set) var serverAddresses: [SocketAddress] = []
    /// The connection over which the account is registered; nil: a datagram socket.
    var flow: FlowID?
    /// Realms under which the server challenged us out of dialogs; in dialogs no other is answered (V-027).
    private(set) var realms: [String] = []
    /// Our address as the server sees it, if that is not our own (RFC 3581).
    var publicAddress: SocketAddress?
    /// Whether the next different address may be taken up; false until a response confirms the last one (B-026).
    var mayRewriteContact = true
    /// `removeAccount` was called.
    var isRemoved = false

    /// At most this many server addresses and realms are remembered, the latest ones.
    private static let memory = 32

    init(id: AccountID, configuration: AccountConfiguration, digest: DigestClient, random: RandomSource) {
        self.id = id
        self.configuration = configuration
        self.digest = digest
        registration = Registration(expires: configuration.expires, random: random)
    }

    /// Where the account's requests go: the proxy, else the registrar, else the domain.
    var serverURI: SIPURI { configuration.proxy ?? configuration.registrar ?? domainURI }

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

    /// Whether this is the account's own server. A host is told by its address; on loopback, where many programs share
    /// one, by the port too, except that a connection may come from any port.
    func isServer(_ address: SocketAddress, _ transport: TransportProtocol) -> Bool {
        let ip = address.ip.unmapped
        return serverAddresses.contains {
            $0.ip == ip && ($0.port == address.port || transport.isReliable || !ip.isLoopback)
        }
    }

    func remember(server address: SocketAddress) {
        let address = SocketAddress(address.ip.unmapped, address.port)
        guard !serverAddresses.contains(address) else { return }
        if serverAddresses.count >= Self.memory { serverAddresses.removeFirst() }
        serverAddresses.append(address)
    }

    func remember(realm: String) {
        guard !realms.contains(realm) else { return }
        if realms.count >= Self.memory { realms.removeFirst() }
        realms.append(realm)
    }
}
