// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent

/// ACCOUNT-OPTIONS, with their defaults.
package struct AccountSettings: Sendable {
    /// The address of record; nil: direct calls without a server.
    package var address: URI?
    package var authenticationUser: String?
    package var password: Secret?
    package var registrar: URI?
    package var proxy: URI?
    /// Further proxies, each with a flow of its own.
    package var furtherProxies: [URI]
    package var transport: TransportProtocol?
    /// The path of the server's WebSocket.
    package var webSocketPath: String
    /// Seconds between keep-alives at the most; 0: none, nil: the usual.
    package var keepAlive: Int?
    /// Whether the flow is registered (RFC 5626).
    package var usesOutbound: Bool
    /// Where UDP is listened on, and TCP where it is.
    package var listen: SocketAddress
    /// Further listeners, with their transports.
    package var listeners: [ServeSettings.Listener]
    package var secure: SecureSettings
    /// What listeners with TLS show; nil: there are none.
    package var secureListener: TLSServerSettings?
    package var rtpPorts: ClosedRange<UInt16>?
    package var dnsServer: SocketAddress?
    package var registers: Bool
    /// Seconds.
    package var expires: Int
    /// Whether calls are taken that do not come from the account's server.
    package var acceptsDirectCalls: Bool
    package var registration: RegistrationSettings
    /// Whether the other side of a call may transfer us.
    package var transfers: TransferPolicy
    package var messageWaiting: MessageWaiting
    package var mailbox: URI?
    /// Whether others may subscribe to the calls of the line.
    package var showsLine: Bool
    /// Whether the system is asked to tell when addresses come and go.
    package var watchesNetwork: Bool
    /// How calls behave.
    package var calls: CallFeatureSettings

    /// Those of every account of the command line, in their order; one for direct calls where there is none.
    package static func all(
        _ invocation: Invocation, environment: (String) -> String? = Environment.value
    ) throws(CommandFailure) -> [AccountSettings] {
        var all: [AccountSettings] = []
        for (index, own) in invocation.perAccount.enumerated() {
            // A password is given to the server of its account, and to no other's.
            let suffix = index == 0 ? "" : "_\(index + 1)"
            let settings = try AccountSettings(own, environment: { environment($0 + suffix) })
            if let address = settings.address, all.contains(where: { $0.address == address }) {
                throw .usage("--account \(address) stands twice.")
            }
            all.append(settings)
        }
        return all
    }

    /// Reads `--password-file` if it is given.
    package init(_ invocation: Invocation, environment: (String) -> String? = Environment.value) throws(CommandFailure) {
        address = try Self.uri(invocation, "--account", requiresUser: true)
        registrar = try Self.uri(invocation, "--registrar")
        proxy = try Self.uri(invocation, "--proxy")
        var further: [URI] = []
        for text in invocation.all("--flow") { if let uri = try Self.uri("--flow", text) { further.append(uri) } }
        if !further.isEmpty, proxy == nil { throw .usage("--flow needs --proxy: the first flow goes over that.") }
        if further.count > 7 { throw .usage("--flow can stand seven times at the most.") }
        furtherProxies = further
        authenticationUser = invocation.value("--auth-user")
        transport = invocation.value("--transport").flatMap(TransportProtocol.init)
        listen = invocation.all("--listen").compactMap(Address.parse).first ?? SocketAddress(.anyV4, 0)
        listeners = invocation.all("--listen").compactMap(Address.parseListener).map {
            ServeSettings.Listener(transport: $0.transport, address: $0.address)
        }
        secure = try SecureSettings(invocation)
        secureListener = try secure.server(listeners.map(\.transport))
        webSocketPath = invocation.value("--ws-path") ?? "/"
        keepAlive = invocation.integer("--keep-alive")
        usesOutbound = invocation.value("--outbound") != "off"
        rtpPorts = invocation.value("--rtp-ports").flatMap(Address.parsePorts)
        dnsServer = invocation.value("--dns").flatMap(Address.parse)
        // A message needs no way back to us.
        registers = address != nil && !invocation.has("--no-register") && invocation.subcommand != .message
        messageWaiting = invocation.value("--mwi").flatMap(MessageWaiting.init) ?? .unsolicited
        mailbox = try Self.uri(invocation, "--mailbox")
        showsLine = invocation.has("--show-line")
        expires = invocation.integer("--expires") ?? 600
        watchesNetwork = invocation.value("--network-watch") != "off"
        acceptsDirectCalls = invocation.value("--direct").map { $0 == "accept" } ?? !registers
        registration = try RegistrationSettings(invocation)
        calls = try CallFeatureSettings(invocation)
        transfers = invocation.value("--transfers").flatMap(TransferPolicy.init) ?? .refuse
        password = try Self.password(file: invocation.value("--password-file"), environment: environment)
        if invocation.subcommand == .register, address == nil { throw .usage("register needs --account.") }
        if invocation.has("--no-register"), invocation.subcommand == .register { throw .usage("register cannot go with --no-register.") }
    }

    private static func password(file: String?, environment: (String) -> String?) throws(CommandFailure) -> Secret? {
        guard let file else { return environment("HANDSET_PASSWORD").map { Secret($0) } }
        do {
            let line = try TextFile.read(file).prefix { $0 != 0x0a && $0 != 0x0d }
            return Secret(utf8: Array(line))
        } catch {
            throw .failed("\(error)")
        }
    }

    private static func uri(_ invocation: Invocation, _ option: String, requiresUser: Bool = false) throws(CommandFailure) -> URI? {
        guard let text = invocation.value(option) else { return nil }
        return try uri(option, text, requiresUser: requiresUser)
    }

    private static func uri(_ option: String, _ text: String, requiresUser: Bool = false) throws(CommandFailure) -> URI? {
        let wanted = requiresUser ? "sip:USER@DOMAIN" : "a SIP URI"
        // A bare host, or USER@HOST, means SIP.
        let scheme = text.prefix { $0 != ":" }.lowercased()
        guard let uri = try? URI(scheme == "sip" || scheme == "sips" ? text : "sip:" + text), let sip = uri.sip,
            !requiresUser || sip.user != nil
        else {
            throw .usage("\(option) takes \(wanted), not \"\(text)\".")
        }
        if sip.password != nil { throw .usage("\(option) takes no password: it goes into --password-file or HANDSET_PASSWORD.") }
        return uri
    }
}
