// SPDX-License-Identifier: Apache-2.0
//
// A whole phone at a host of a simulated world: PhoneCore for signalling, MediaEngine for sound, sockets of the world.
//
//   world ──▶ transport, answers, time ──▶ PhoneCore ──▶ media commands ──▶ MediaEngine ──▶ RTP ──▶ world
//                                             ▲── media events ────────────────┘

import Crypto
import Essentials
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent

/// A phone in a simulated world, with a user who follows a script.
public final class SimulatedPhone: SimulatedNode {
    public let host: SimulatedHost
    public let core: PhoneCore
    public let engine: MediaEngine
    /// The account that `register` adds.
    public let account: AccountConfiguration
    /// The account's number once it was added.
    public private(set) var accountID: AccountID?
    /// Everything the phone told, in order.
    public private(set) var events: [(time: MonotonicTime, event: PhoneEvent)] = []
    /// Sound files by path, mono, for players.
    public var files: [String: (samples: [Int16], rate: Int)] = [:]
    /// What recorders heard, by path.
    public private(set) var recordings: [String: MemoryRecorder] = [:]
    /// Speech programs by what stands in `ProgramSettings`, for `openProgram`; what became of them is by port.
    public var scripts: [ProgramSettings.Target: SimulatedProgram.Script] = [:]
    public private(set) var programs: [PortID: SimulatedProgram] = [:]
    /// Ports that a test opened and is to close: players, recorders.
    public var own: [PortID] = []
    /// What the agent still held when it told that it has stopped; must stay empty.
    public private(set) var heldAfterStop: [String] = []
    private var watch = ProtocolWatch()
    /// The rules of RFC 3261 that the phone broke, as seen from outside; must stay empty. Messages on streams count only
    /// when they come in one piece.
    public var violations: [String] { watch.violations }
    /// Whether `events` grows: off, for runs so long that what happened must not pile up.
    public var keepsEvents = true
    /// Told each event as it happens.
    public var onEvent: ((PhoneEvent) -> Void)?
    /// Sees every SIP message that the phone sends, as it leaves.
    public var onSend: ((SIPMessage, MonotonicTime) -> Void)?
    /// What the user does.
    public private(set) lazy var user = PhoneUser(self)

    private let random: RandomSource
    private var transport: HostTransport?
    private let timer: WakeTimer
    private var ports: Set<PortID> = []
    private var sockets: [PortID: UInt16] = [:]
    private var isTicking = false
    private var isPumping = false

    var world: SimulatedWorld { host.world }

    init(
        _ host: SimulatedHost, configuration: PhoneConfiguration, account: AccountConfiguration, media: MediaConfiguration,
        ports: [(TransportProtocol, UInt16)]
    ) {
        self.host = host
        self.account = account
        random = RandomSource(host.world.generator(for: host.name))
        core = PhoneCore(configuration: configuration, cryptography: host.world.cryptography, random: random)
        engine = MediaEngine(configuration: media, random: random)
        timer = WakeTimer(host.world)
        core.networkChanged(Self.network(of: host), now: host.world.now)
        host.addressChanged = { [weak self] in self?.addressChanged() }
        let transport = HostTransport(host, tellsUnspecified: true) { [weak self] input in
            guard let self else { return }
            if case .received(let bytes, _, _) = input { self.watch.hears(bytes, self.world.now) }
            self.core.handle(input, now: self.world.now)
            self.pump()
        }
        self.transport = transport
        for (kind, port) in ports { transport.open(kind, port: port) }
    }

    // MARK: The network

    /// Whether the host tells the phone when its address goes or comes; without it the phone notices by sends that fail
    /// and by silence.
    public var watchesNetwork = true

    private static func network(of host: SimulatedHost) -> NetworkState {
        NetworkState(host.hasAddress ? [LocalAddress(host.address, prefixLength: 24, isDefault: true, interface: "sim0")] : [])
    }

    private func addressChanged() {
        guard watchesNetwork else { return }
        tellNetwork(isForced: false)
    }

    private func tellNetwork(isForced: Bool) {
        world.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            self.core.networkChanged(Self.network(of: self.host), isForced: isForced, now: self.world.now)
            self.pump()
        }
    }

    /// Tells the phone by hand that the network is another one.
    public func networkChanged() { tellNetwork(isForced: true) }

    // MARK: What a user does

    /// Adds the account if it is not there, and registers.
    public func register() throws(PhoneError) {
        if let accountID {
            try core.register(accountID, now: world.now)
        } else {
            accountID = try core.addAccount(account, now: world.now)
        }
        pump()
    }

    /// Places a call.
    @discardableResult
    public func call(_ target: String) throws(PhoneError) -> CallID {
        let id = try core.call(from: accountID, to: target, now: world.now)
        pump()
        return id
    }

    /// Does something with the phone's machine, and everything that follows from it.
    public func perform(_ action: (PhoneCore, MonotonicTime) throws(PhoneError) -> Void) throws(PhoneError) {
        try action(core, world.now)
        pump()
    }

    /// Gives the media engine a command of the user: a player, a recorder, a connection of the bridge.
    public func order(_ command: MediaCommand) {
        carryOut(command)
        pump()
    }

    /// Ends calls and registration in good order.
    public func shutDown() {
        core.shutDown(now: world.now)
        pump()
    }

    /// Breaks every connection of the phone, as the network may.
    public func breakConnections(toPort port: UInt16? = nil) { transport?.breakStreams(toPort: port) }

    // MARK: What was seen

    /// The digits that came, each with its method, in order.
    public var digitsReceived: String {
        events.reduce(into: "") { text, entry in
            if case .digitReceived(_, let digit, _, _) = entry.event { text.append(digit) }
        }
    }

    /// The ends of calls, in order.
    public var ends: [CallEnd] {
        events.compactMap { entry in
            if case .ended(_, let end) = entry.event { end } else { nil }
        }
    }

    /// Whether the last news of the registration is that it stands.
    public var isRegistered: Bool {
        for entry in events.reversed() {
            guard case .registration(_, let state) = entry.event else { continue }
            if case .registered = state { return true }
            return false
        }
        return false
    }

    // MARK: The phone's own world

    func pump() {
        guard !isPumping else { return }
        isPumping = true
        while let effect = core.nextEffect() {
            switch effect {
            case .transport(let effect):
                if case .send(let bytes, _, _) = effect {
                    watch.says(bytes, world.now)
                    if let onSend, case .message(let message) = SIPMessage.receive(bytes) { onSend(message, world.now) }
                }
                transport?.perform(effect)
            case .resolve(let question):
                world.resolve(question) { [weak self] answer in
                    guard let self else { return }
                    self.core.handle(answer, now: self.world.now)
                    self.pump()
                }
            case .media(let command): carryOut(command)
            case .checkNetwork: tellNetwork(isForced: false)
            case .event(let event):
                world.trace.note(world.now, host.name, "tells \(describe(event))")
                if keepsEvents { events.append((world.now, event)) }
                if let onEvent { onEvent(event) }
                if case .stopped = event {
                    heldAfterStop = core.agent.heldAfterStop
                    watch.stop(world.now)
                }
                user.saw(event)
            }
        }
        isPumping = false
        timer.set(core.nextDeadline) { [weak self] in
            guard let self else { return }
            self.core.advance(to: self.world.now)
            self.pump()
        }
    }

    private func carryOut(_ command: MediaCommand) {
        switch command {
        case .openStream(let port, _):
            engine.handle(command, now: world.now)
            open(port)
        case .openPlayer(let port, let path, let loops):
            engine.handle(command, now: world.now)
            opened(port)
            if let file = files[path] {
                engine.openPlayer(port, samples: file.samples, rate: file.rate, loops: loops)
            } else {
                tellLater(.fileFailed(port, reason: "no such file"))
            }
        case .openRecorder(let port, let path):
            engine.handle(command, now: world.now)
            opened(port)
            let recorder = MemoryRecorder()
            recordings[path] = recorder
            engine.openRecorder(port, sink: recorder)
        case .openSplitRecorder(let port, let right, let path):
            engine.handle(command, now: world.now)
            opened(port)
            opened(right)
            let recorder = MemoryRecorder()
            recordings[path] = recorder
            engine.openRecorder(port, sink: recorder)
        case .openProgram(let port, let settings):
            engine.handle(command, now: world.now)
            opened(port)
            openProgram(port, settings)
        case .tellProgram(let port, let text): programs[port]?.tell(text)
        case .openTone(let port, _), .openEcho(let port), .openDevice(let port, _):
            engine.handle(command, now: world.now)
            opened(port)
        case .closePort(let port):
            engine.handle(command, now: world.now)
            drainEngine()
            ports.remove(port)
            programs[port] = nil
            if let rtp = sockets.removeValue(forKey: port) {
                host.unbind(port: rtp)
                host.unbind(port: rtp + 1)
            }
        default: engine.handle(command, now: world.now)
        }
        drainEngine()
    }

    private func open(_ port: PortID) {
        func receiver(_ kind: PacketKind) -> ([UInt8], SocketAddress) -> Void {
            { [weak self] bytes, source in
                guard let self else { return }
                self.engine.receive(bytes, on: port, kind: kind, from: source, at: self.world.now)
                self.drainEngine()
            }
        }
        guard let rtp = host.bind(port: 0, received: receiver(.rtp)), host.bind(port: rtp.port + 1, received: receiver(.rtcp)) != nil
        else { return tellLater(.streamFailed(port, reason: "no free port")) }
        sockets[port] = rtp.port
        opened(port)
        tellLater(.streamOpened(port, rtp: SocketAddress(.anyV4, rtp.port)))
    }

    private func openProgram(_ port: PortID, _ settings: ProgramSettings) {
        guard let script = scripts[settings.target] else {
            return tellLater(.program(port, .failed(reason: "there is no such program")))
        }
        let program = SimulatedProgram(settings, script)
        programs[port] = program
        engine.openProgram(port, link: program)
        tellLater(.program(port, .started(process: nil)))
    }

    private func opened(_ port: PortID) {
        ports.insert(port)
        guard !isTicking else { return }
        isTicking = true
        world.schedule(after: .milliseconds(10)) { [weak self] in self?.tick() }
    }

    private func tick() {
        guard !ports.isEmpty else {
            isTicking = false
            return
        }
        engine.tick(now: world.now)
        for port in programs.keys.sorted() { for event in programs[port]?.pump() ?? [] { tellLater(.program(port, event)) } }
        drainEngine()
        world.schedule(after: .milliseconds(10)) { [weak self] in self?.tick() }
    }

    private func drainEngine() {
        while let packet = engine.nextPacket() {
            guard let rtp = sockets[packet.port] else { continue }
            let socket = SocketAddress(host.address, packet.kind == .rtp ? rtp : rtp + 1)
            if !host.send(packet.bytes, from: socket, to: packet.to) { tellLater(.trouble(packet.port, .sendFailed)) }
        }
        while let event = engine.nextEvent() { tellLater(event) }
    }

    /// The engine's news reach the core as on a device: from another thread, so after what runs now.
    private func tellLater(_ event: MediaEvent) {
        world.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            self.core.handle(event, now: self.world.now)
            self.pump()
        }
    }

    private func describe(_ event: PhoneEvent) -> String {
        switch event {
        case .incomingCall(let id, let call): "incomingCall \(id) \(call.remote)"
        case .statistics(let id, let statistics, let isFinal):
            "statistics \(id) \(statistics.packetsSent) \(statistics.packetsReceived) \(statistics.packetsLost) \(isFinal)"
        case .ended(let id, let end):
            "ended \(id) \(end.cause.code) \(end.isByRemote) \(end.wasEstablished) \(end.duration.nanoseconds)"
        default: "\(event)"
        }
    }

    /// What is left besides the configuration.
    public var leftovers: [String] {
        var left = core.agent.leftovers
        if !core.isQuiet { left.append("\(core.callCount) calls, or their ports") }
        if !ports.isEmpty { left.append("\(ports.count) media ports") }
        if !sockets.isEmpty { left.append("\(sockets.count) RTP sockets") }
        return left
    }
}

/// Keeps what a recorder port heard.
public final class MemoryRecorder: RecorderSink {
    public private(set) var samples: [Int16] = []
    public private(set) var rate = 0
    public private(set) var isClosed = false

    public init() {}

    public func write(_ samples: Span<Int16>, rate: Int) {
        self.rate = rate
        for index in samples.indices { self.samples.append(samples[index]) }
    }

    public func close() { isClosed = true }
}

extension SimulatedWorld {
    /// Adds a phone with an account at a server; it registers when its script, or `register()`, says so.
    ///
    /// - Parameters:
    ///   - user: the user part of its address, and its name for digest authentication.
    ///   - behind: the NAT between the phone and the world; nil: none.
    ///   - transport: over which it speaks SIP to its server.
    ///   - configure: changes the phone's settings.
    ///   - configureAccount: changes the account's settings.
    @discardableResult
    public func addPhone(
        _ name: String, user: String, password: String, server: SimulatedServer, behind nat: SimulatedNAT? = nil,
        transport: TransportProtocol = .udp, port: UInt16 = 5060, configure: (inout PhoneConfiguration) -> Void = { _ in },
        configureAccount: (inout AccountConfiguration) -> Void = { _ in }
    ) -> SimulatedPhone {
        var configuration = PhoneConfiguration()
        configure(&configuration)
        var proxy = SIPURI(host: .address(server.address.ip), port: server.address.port)
        if transport.isWebSocket, let port = server.port(transport) { proxy.port = port }
        proxy.parameters.set("transport", transport.rawValue)
        proxy.parameters.set("lr", nil)
        var account = AccountConfiguration(
            addressOfRecord: SIPURI(user: user, host: .name(server.domain)), proxy: proxy,
            credentials: [Credential(realm: nil, username: user, password: Secret(password))], transport: transport)
        configureAccount(&account)
        let media = MediaConfiguration(bridgeRate: 8000)
        let phone = SimulatedPhone(
            addHost(name, behind: nat), configuration: configuration, account: account, media: media,
            // Nobody connects to a phone on a WebSocket (RFC 7118 §5).
            ports: transport == .udp || transport.isWebSocket ? [(.udp, port)] : [(.udp, port), (transport, port)])
        add(phone)
        return phone
    }
}
