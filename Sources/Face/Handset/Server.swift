// SPDX-License-Identifier: Apache-2.0
//
// The embedded SIP server: one actor on the event loop over the machine `SIPServer`, and a phone that answers the
// services. For demonstrations and tests; for more, use Kamailio (docs/kamailio.md).

import Crypto
import CryptoOpenSSL
import Essentials
import Networking
import PhoneCore
import SIP
import SIPAgent
import SIPServer

/// A small registrar and proxy with services to call, for demonstrations and tests.
///
///     let server = try await Server(
///         .init(
///             configuration: .init(domains: ["example.net"], users: [.init("alice", password: secret)]),
///             listeners: [.init(.udp, SocketAddress(.loopbackV4, 5060))]))
public actor Server {
    /// Called on the server's isolation for each event, in order.
    public typealias EventHandler = @Sendable (ServerEvent, MonotonicTime) -> Void

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private let machine: SIPServer
    private let services: ServicePhone?
    private var world: SignallingWorld?
    private var isDraining = false
    private var isStopped = false
    private let handler: EventHandler?
    /// Where the server can be reached, in the order of the listeners.
    public private(set) var listening: [PhoneSettings.Listener] = []

    /// Opens the transports and starts the services.
    ///
    /// - Throws: `NetworkError` when an address cannot be listened on.
    public init(_ settings: ServerSettings, handler: EventHandler? = nil) async throws {
        loop = settings.loop ?? EventLoop.shared
        self.handler = handler
        var configuration = settings.configuration
        let address = settings.listeners.first?.address.ip ?? .loopbackV4
        if settings.services.isEmpty {
            services = nil
        } else {
            let phone = try await ServicePhone(settings, address: address.isUnspecified ? .loopbackV4 : address)
            services = phone
            configuration.services += phone.contacts
        }
        machine = SIPServer(
            configuration: configuration, cryptography: OpenSSLCryptography(), random: RandomSource(SecureRandom()))
        try open(settings)
    }

    private func open(_ settings: ServerSettings) throws(NetworkError) {
        let world = SignallingWorld(
            loop: loop, dnsServer: settings.dnsServer, webSocket: settings.webSocket, trace: settings.trace,
            onInputs: { [weak self] inputs, now in self?.assumeIsolated { $0.receive(inputs, now: now) } },
            onAnswer: { [weak self] answer in self?.assumeIsolated { $0.receive(answer) } },
            onDeadline: { [weak self] in self?.assumeIsolated { $0.wake() } })
        self.world = world
        listening = try world.listen(settings.listeners)
    }

    /// Listens on more addresses; gives where each can be reached.
    @discardableResult
    public func listen(_ listeners: [PhoneSettings.Listener]) throws(NetworkError) -> [PhoneSettings.Listener] {
        let opened = try world?.listen(listeners) ?? []
        listening += opened
        return opened
    }

    /// Closes the sockets and ends the services. Registrations are forgotten; phones notice by themselves.
    public func stop() async {
        guard !isStopped else { return }
        isStopped = true
        world?.close()
        world = nil
        await services?.stop()
    }

    private func receive(_ inputs: [TransportInput], now: MonotonicTime) {
        for input in inputs { machine.handle(input, now: now) }
        drain()
    }

    private func receive(_ answer: DNSAnswer) {
        machine.handle(answer, now: loop.now)
        drain()
    }

    private func wake() {
        machine.advance(to: loop.now)
        drain()
    }

    private func drain() {
        guard !isDraining, !isStopped else { return }
        isDraining = true
        while let effect = machine.nextEffect() {
            switch effect {
            case .transport(let transport): world?.perform(transport)
            case .resolve(let question): world?.ask(question)
            case .event(let event): handler?(event, loop.now)
            }
        }
        isDraining = false
        world?.setDeadline(machine.nextDeadline)
    }
}

/// How a `Server` is set up.
public struct ServerSettings: Sendable {
    /// What can be called at the server without registering anybody.
    public enum Service: String, Sendable, Hashable, CaseIterable {
        /// Gives back what it hears.
        case echo
        /// A steady tone of 1 kHz.
        case tone
        /// Music, from the file of `musicFile`, else a melody.
        case music
        /// Records what it hears into `recordDirectory`.
        case record
    }

    public var configuration: ServerConfiguration
    public var listeners: [PhoneSettings.Listener]
    public var services: [Service]
    /// A WAV file for `music`.
    public var musicFile: String?
    /// Where `record` writes its files; nil: the service is not offered.
    public var recordDirectory: String?
    /// What the name of a recording begins with; the number of the call and `.wav` follow. A program that starts again gives another
    /// one, so that nothing is written over.
    public var recordPrefix = "call-"
    public var dnsServer: SocketAddress?
    /// Paths and web pages that WebSocket listeners take.
    public var webSocket = WebSocketSettings()
    public var trace: (@Sendable (TraceRecord) -> Void)?
    public var loop: EventLoop?

    public init(
        configuration: ServerConfiguration, listeners: [PhoneSettings.Listener], services: [Service] = [.echo, .tone, .music],
        musicFile: String? = nil, recordDirectory: String? = nil, dnsServer: SocketAddress? = nil,
        trace: (@Sendable (TraceRecord) -> Void)? = nil, loop: EventLoop? = nil
    ) {
        self.configuration = configuration
        self.listeners = listeners
        self.services = services.filter { $0 != .record || recordDirectory != nil }
        self.musicFile = musicFile
        self.recordDirectory = recordDirectory
        self.dnsServer = dnsServer
        self.trace = trace
        self.loop = loop
    }
}
