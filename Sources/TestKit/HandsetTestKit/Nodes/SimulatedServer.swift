// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent
import SIPServer

/// The embedded SIP server at a host of a simulated world.
public final class SimulatedServer: SimulatedNode {
    public let host: SimulatedHost
    /// The server itself.
    public private(set) var machine: SIPServer
    /// What it told, in order.
    public private(set) var events: [(time: MonotonicTime, event: ServerEvent)] = []
    private let configuration: ServerConfiguration
    private let ports: [(TransportProtocol, UInt16)]
    private var transport: HostTransport?
    private let timer: WakeTimer
    private var isPumping = false

    /// The domain whose users it serves.
    public var domain: String { configuration.domains.first ?? "\(host.address)" }
    /// Where it listens, the same port on UDP and TCP.
    public var address: SocketAddress { SocketAddress(host.address, ports.first?.1 ?? 5060) }

    /// Its port for a transport; nil: it does not listen there.
    public func port(_ transport: TransportProtocol) -> UInt16? { ports.first { $0.0 == transport }?.1 }

    init(_ host: SimulatedHost, configuration: ServerConfiguration, ports: [(TransportProtocol, UInt16)]) {
        self.host = host
        self.configuration = configuration
        self.ports = ports
        timer = WakeTimer(host.world)
        machine = Self.makeMachine(host, configuration, run: 0)
        start()
    }

    private static func makeMachine(_ host: SimulatedHost, _ configuration: ServerConfiguration, run: Int) -> SIPServer {
        SIPServer(
            configuration: configuration, cryptography: host.world.cryptography,
            random: RandomSource(host.world.generator(for: "\(host.name) run \(run)")))
    }

    private func start() {
        let transport = HostTransport(host) { [weak self] input in self?.take(input) }
        self.transport = transport
        for (kind, port) in ports { transport.open(kind, port: port) }
    }

    private var runs = 0

    /// Ends the server and starts it anew: connections are reset, registrations forgotten.
    public func restart() {
        transport?.shut()
        runs += 1
        machine = Self.makeMachine(host, configuration, run: runs)
        host.world.trace.note(host.world.now, host.name, "restarts")
        start()
    }

    private func take(_ input: TransportInput) {
        machine.handle(input, now: host.world.now)
        pump()
    }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        while let effect = machine.nextEffect() {
            switch effect {
            case .transport(let effect): transport?.perform(effect)
            case .resolve(let question):
                host.world.resolve(question) { [weak self] answer in
                    guard let self else { return }
                    self.machine.handle(answer, now: self.host.world.now)
                    self.pump()
                }
            case .event(let event):
                host.world.trace.note(host.world.now, host.name, "tells \(event)")
                events.append((host.world.now, event))
            }
        }
        isPumping = false
        timer.set(machine.nextDeadline) { [weak self] in
            guard let self else { return }
            self.machine.advance(to: self.host.world.now)
            self.pump()
        }
    }

    public var leftovers: [String] { machine.leftovers }
}

extension SimulatedWorld {
    /// Adds a server.
    ///
    /// - Parameters:
    ///   - domain: whose users it serves; the zone gets an address record for it.
    ///   - users: passwords by user name.
    ///   - configure: changes anything else.
    @discardableResult
    public func addServer(
        _ name: String, domain: String, users: KeyValuePairs<String, String>,
        ports: [(TransportProtocol, UInt16)] = [(.udp, 5060), (.tcp, 5060)],
        configure: (inout ServerConfiguration) -> Void = { _ in }
    ) -> SimulatedServer {
        var configuration = ServerConfiguration(
            domains: [domain], users: users.map { ServerUser($0.key, password: Secret($0.value)) })
        configure(&configuration)
        let host = addHost(name)
        zone.addAddress(domain, host.address)
        let server = SimulatedServer(host, configuration: configuration, ports: ports)
        add(server)
        return server
    }

    /// Asks the zone; the answer comes after its delay.
    func resolve(_ question: DNSQuestion, _ answered: @escaping (DNSAnswer) -> Void) {
        trace.note(now, "dns", "is asked for \(question.type) \(question.name)")
        schedule(after: zone.delay) { answered(self.zone.answer(question)) }
    }
}
