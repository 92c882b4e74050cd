// SPDX-License-Identifier: Apache-2.0
//
// The phone of an application: one actor on the event loop over the machine `PhoneCore`, with the world injected:
// sockets, resolver, media runtime, cryptography. It holds no logic of its own but the order of draining.

import Crypto
import CryptoOpenSSL
import Essentials
import Media
import MediaRuntime
import Networking
import PhoneCore
import SDP
import SIP
import SIPAgent

/// A phone: registers with SIP servers, places and takes calls, carries the voice.
///
///     let phone = try await Phone()
///     let account = try await phone.addAccount("sip:1001@example.net", password: secret)
///     let call = try await account.call("1002")
///     for await event in call.events { … }
public actor Phone {
    /// Called on the phone's isolation for each event, in order, before the event reaches any sequence.
    public typealias EventHandler = @Sendable (isolated Phone, PhoneEvent, MonotonicTime) -> Void

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    public nonisolated let settings: PhoneSettings

    let core: PhoneCore
    private var world: SignallingWorld?
    private var media: MediaRuntime?
    private var sleepWatch = SleepWatch { SuspendClock.suspended }
    private var isDraining = false
    private var handler: EventHandler?
    private var accounts: [AccountID: Account] = [:]
    private var calls: [CallID: Call] = [:]
    private nonisolated let incoming: EventChannel<Call>
    private nonisolated let channel: EventChannel<PhoneEvent>
    /// Subscriptions as objects, and who waits for the fate of a message.
    var correspondence = Correspondence()
    nonisolated let texts: EventChannel<ReceivedText>
    private var networkToken: NetworkWatcher.Token?
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var isStopped = false
    /// Ports that are closed when their call ends: players, recorders, echoes.
    var companions: [CallID: [PortID]] = [:]
    /// Calls that ring here, and the ports of the sound of it.
    var ring = Ring()
    /// The addresses at which the phone can be reached, in the order of the listeners.
    public private(set) var listening: [PhoneSettings.Listener] = []

    /// Opens the transports.
    ///
    /// - Parameter handler: sees every event first, on the phone's isolation.
    /// - Throws: `NetworkError` when a transport cannot be opened, naming it and the reason.
    public init(_ settings: PhoneSettings = PhoneSettings(), handler: EventHandler? = nil) async throws {
        loop = settings.loop ?? EventLoop.shared
        self.settings = settings
        self.handler = handler
        incoming = EventChannel(keepsForFirstReader: settings.keepsForFirstReader)
        texts = EventChannel(keepsForFirstReader: settings.keepsForFirstReader)
        channel = EventChannel(limit: 4096, keepsForFirstReader: settings.keepsForFirstReader)
        var configuration = settings.core
        if let address = settings.mediaAddress, !address.isUnspecified { configuration.keepsMediaAddress = true }
        core = PhoneCore(
            configuration: configuration, cryptography: OpenSSLCryptography(), random: RandomSource(SecureRandom()))
        try open()
    }

    /// Calls for us from now on, and those that came before the first sequence was made (`keepsForFirstReader`).
    public nonisolated var incomingCalls: AsyncStream<Call> { incoming.stream() }

    /// Every event of the phone (the first sequence made begins with those so far: `keepsForFirstReader`).
    public nonisolated var events: AsyncStream<PhoneEvent> { channel.stream() }

    /// Joins ports: calls, players, recorders, tones.
    public nonisolated var bridge: Bridge { Bridge(phone: self) }

    // MARK: Life cycle

    private func open() throws(NetworkError) {
        let world = SignallingWorld(
            loop: loop, dnsServer: settings.dnsServer, webSocket: settings.webSocket, trace: Self.trace(settings),
            onInputs: { [weak self] inputs, now in self?.assumeIsolated { $0.receive(inputs, now: now) } },
            onAnswer: { [weak self] answer in self?.assumeIsolated { $0.receive(answer) } },
            onDeadline: { [weak self] in self?.assumeIsolated { $0.wake() } })
        self.world = world
        let any = SocketAddress(.anyV4, 0)
        let listeners: [PhoneSettings.Listener] = [.init(.udp, any), .init(.tcp, any)]
        do throws(NetworkError) {
            // Before anything listens, so that the first address that is told is the right one.
            core.networkChanged(NetworkState.current(), now: loop.now)
            listening = try world.listen(settings.listeners.isEmpty ? listeners : settings.listeners, tellsUnspecified: true)
            watchNetwork()
        } catch {
            // What was opened before the one that failed must not stay.
            world.close()
            throw error
        }
    }

    /// Where messages go: to the trace, and to the log if that is to hold them.
    private static func trace(_ settings: PhoneSettings) -> (@Sendable (TraceRecord) -> Void)? {
        let log = settings.log
        let trace = settings.trace
        guard log.includesMessages, log.sink != nil, log.level <= .debug else { return trace }
        return { record in
            log.write(
                .debug, "message",
                [
                    ("direction", record.direction.rawValue), ("transport", record.transport.rawValue), ("local", "\(record.local)"),
                    ("remote", "\(record.remote)"), ("message", record.message),
                ], at: record.time)
            trace?(record)
        }
    }

    private func mediaRuntime() -> MediaRuntime {
        if let media { return media }
        let address = settings.mediaAddress ?? settings.listeners.first?.address.ip ?? .anyV4
        var configuration = MediaRuntimeConfiguration(
            engine: MediaConfiguration(bridgeRate: settings.bridgeRate, codecs: settings.codecs), address: address,
            ports: settings.mediaPorts)
        configuration.devices = settings.devices
        configuration.deviceRate = settings.deviceRate.map { min(max($0, 8000), 192_000) }
        configuration.voiceProcessors = settings.voiceProcessors
        configuration.maximumPrograms = settings.maximumPrograms
        configuration.tellsUnspecified = true
        let runtime = MediaRuntime(loop: loop, configuration: configuration, random: RandomSource(SecureRandom())) { [weak self] event in
            self?.assumeIsolated { $0.receive(event) }
        }
        media = runtime
        return runtime
    }

    /// Unregisters, ends every call in good order, closes everything. Returns when the other sides have answered, or their
    /// time is over.
    public func stop() async {
        guard !isStopped else { return }
        core.shutDown(now: loop.now)
        drain()
        guard !isStopped else { return }
        await withCheckedContinuation { stopWaiters.append($0) }
    }

    /// Closes everything at once: says good-bye, but does not wait for anybody.
    public func abandon() {
        guard !isStopped else { return }
        core.shutDown(now: loop.now)
        drain()
        close()
    }

    private func close() {
        guard !isStopped else { return }
        isStopped = true
        if let networkToken { loop.networkWatcher.unsubscribe(networkToken) }
        networkToken = nil
        world?.close()
        world = nil
        media?.stop()
        media = nil
        incoming.finish()
        channel.finish()
        texts.finish()
        correspondence.finish()
        for account in accounts.values { account.registrations.finish() }
        for call in calls.values { call.channel.finish() }
        accounts = [:]
        calls = [:]
        let waiters = stopWaiters
        stopWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    // MARK: The network

    private func watchNetwork() {
        guard settings.watchesNetwork else { return }
        networkToken = loop.networkWatcher.subscribe { [weak self] state in
            self?.assumeIsolated { $0.networkChanged(to: state, isForced: false) }
        }
    }

    private func networkChanged(to state: NetworkState, isForced: Bool) {
        guard !isStopped else { return }
        core.networkChanged(state, isForced: isForced, now: loop.now)
        drain()
    }

    /// Tells the phone that the network is another one, for an application that knows better than the system says: every
    /// account registers again and every call tells its address anew, even where that is the same.
    ///
    /// Where the system tells of changes (`PhoneSettings.watchesNetwork`) the phone follows by itself.
    public func networkChanged() { networkChanged(to: NetworkState.current(), isForced: true) }

    // MARK: World to machine

    /// The machine may have slept since the phone last ran.
    private func noticeSleep() {
        if let interval = sleepWatch.slept() { core.slept(for: interval, now: loop.now) }
    }

    private func receive(_ inputs: [TransportInput], now: MonotonicTime) {
        noticeSleep()
        for input in inputs { core.handle(input, now: now) }
        drain()
    }

    private func receive(_ answer: DNSAnswer) {
        core.handle(answer, now: loop.now)
        drain()
    }

    private func receive(_ event: MediaEvent) {
        core.handle(event, now: loop.now)
        drain()
    }

    private func wake() {
        noticeSleep()
        core.advance(to: loop.now)
        drain()
    }

    // MARK: Machine to world

    /// Carries out what the machine wants until nothing is left, then sets the timer.
    func drain() {
        // An event's handler may give the next command; the outer drain goes on with what that leads to.
        guard !isDraining, !isStopped else { return }
        isDraining = true
        while let effect = core.nextEffect() {
            switch effect {
            case .transport(let transport): world?.perform(transport)
            case .resolve(let question): world?.ask(question)
            case .media(let command): mediaRuntime().perform(command)
            case .checkNetwork: core.networkChanged(NetworkState.current(), now: loop.now)
            case .event(let event): deliver(event)
            }
            if isStopped { break }
        }
        isDraining = false
        if !isStopped { world?.setDeadline(core.nextDeadline) }
    }

    private func deliver(_ event: PhoneEvent) {
        let now = loop.now
        keep(event)
        log(event, now: now)
        handler?(self, event, now)
        noteRinging(event)
        if case .ended(let id, _) = event { closeCompanions(of: id) }
        channel.send(event)
        route(event)
        if case .stopped = event { close() }
    }

    /// Makes the objects of calls that the application did not place: incoming ones, and those of transfers. A call that
    /// takes the place of another is answered by the phone itself, so it is not offered.
    private func keep(_ event: PhoneEvent) {
        switch event {
        case .incomingCall(let id, let shown):
            guard incoming.isWanted || shown.replaces != nil, let port = try? core.port(of: id) else { return }
            let call = Call(id: id, direction: .incoming, port: port, incoming: shown, phone: self)
            calls[id] = call
            if shown.replaces == nil { incoming.send(call) }
        case .callState(let id, .calling, _, _):
            guard calls[id] == nil, let port = try? core.port(of: id) else { return }
            calls[id] = Call(id: id, direction: .outgoing, port: port, incoming: nil, phone: self)
        default: break
        }
    }

    /// The object of a call that is not over: of one that a transfer made, for example.
    public func call(_ id: CallID) -> Call? { calls[id] }

    /// Hands the event to the objects that it concerns.
    private func route(_ event: PhoneEvent) {
        switch event {
        case .registration(let id, let state): accounts[id]?.registrations.send(state)
        case .callState(let id, let state, let status, let reason):
            calls[id]?.channel.send(.state(state, status: status, reason: reason))
        case .media(let id, let media): calls[id]?.channel.send(.media(media))
        case .hold(let id, let side, let isHeld): calls[id]?.channel.send(.hold(by: side, isHeld: isHeld))
        case .holdFailed(let id, let cause): calls[id]?.channel.send(.holdFailed(cause))
        case .digitReceived(let id, let digit, let method, let milliseconds):
            calls[id]?.channel.send(.digitReceived(digit, method, milliseconds: milliseconds))
        case .digitSent(let id, let digit, let method, let milliseconds):
            calls[id]?.channel.send(.digitSent(digit, method, milliseconds: milliseconds))
        case .digitFailed(let id, let cause): calls[id]?.channel.send(.digitFailed(cause))
        case .notice(let id, let notice): calls[id]?.channel.send(.notice(notice))
        case .transfer(let id, let transfer):
            if let id { calls[id]?.channel.send(.transfer(transfer)) }
            // A call whose place is taken hears of the one that takes it.
            if transfer.role == .target, let old = transfer.otherCall { calls[old]?.channel.send(.transfer(transfer)) }
        case .statistics(let id, let statistics, let isFinal):
            calls[id]?.channel.send(.statistics(statistics, isFinal: isFinal))
            if isFinal { calls.removeValue(forKey: id)?.channel.finish() }
        case .ended(let id, let end): calls[id]?.channel.send(.ended(end))
        case .warning(let id, let cause): if let id { calls[id]?.channel.send(.warning(cause)) }
        case .subscription(let id, let event): correspondence.send(event, to: id)
        case .message(.received(let text)): texts.send(text)
        case .message(.answered(let id, let delivery)): correspondence.answer(id, delivery)
        case .incomingCall, .conference, .listening, .mediaSource, .messageWaiting, .network, .publication, .port, .stopped: break
        }
    }

    private func log(_ event: PhoneEvent, now: MonotonicTime) {
        switch event {
        case .warning(let id, let cause):
            settings.log.write(
                .warning, "warning", [("code", cause.code), ("text", cause.sentence)] + (id.map { [("call", "\($0)")] } ?? []), at: now)
        case .ended(let id, let end):
            settings.log.write(.info, "call ended", [("call", "\(id)"), ("cause", end.cause.code)], at: now)
        case .registration(let id, let state):
            settings.log.write(.info, "registration", [("account", "\(id.rawValue)"), ("state", state.name)], at: now)
        case .network(let change):
            let addresses = change.addresses.map(\.description).joined(separator: " ")
            settings.log.write(.notice, "network", [("state", change.kind.rawValue), ("addresses", addresses)], at: now)
        case .subscription(let id, .status(let status)):
            settings.log.write(.info, "subscription", [("subscription", "\(id.rawValue)"), ("state", status.name)], at: now)
        case .callState(let id, let state, let status, _):
            settings.log.write(.debug, "call state", [("call", "\(id)"), ("state", state.rawValue), ("status", "\(status)")], at: now)
        case .transfer(let id, let transfer):
            settings.log.write(
                .info, "transfer",
                [("role", transfer.role.rawValue), ("state", transfer.state.rawValue)] + (id.map { [("call", "\($0)")] } ?? []), at: now)
        default: break
        }
    }

    // MARK: Accounts and calls as objects

    /// Adds an account; it registers at once if its configuration says so.
    ///
    /// - Parameter audio: the codecs of the account's calls, their order and parameters; nil: those of the phone
    ///   (`PhoneConfiguration.audio`).
    public func addAccount(_ configuration: AccountConfiguration, audio: AudioCapabilities? = nil) throws(PhoneError) -> Account {
        let id = try core.addAccount(configuration, audio: audio, now: loop.now)
        let account = Account(id: id, configuration: configuration, phone: self)
        accounts[id] = account
        drain()
        return account
    }

    func remove(_ account: Account) throws(PhoneError) {
        try core.removeAccount(account.id, now: loop.now)
        accounts.removeValue(forKey: account.id)?.registrations.finish()
        drain()
    }

    /// Places a call; `account` nil calls directly, without a server.
    public func call(from account: Account?, to dialled: String, options: CallOptions = CallOptions()) throws(PhoneError) -> Call {
        let id = try core.call(from: account?.id, to: dialled, options: options, now: loop.now)
        let call = Call(id: id, direction: .outgoing, port: try core.port(of: id), incoming: nil, phone: self)
        calls[id] = call
        drain()
        return call
    }

    /// Sets what sees every event first, on the phone's isolation.
    public func setHandler(_ handler: EventHandler?) { self.handler = handler }

    /// Gives a media command of the application's own: players, recorders, tones, connections.
    /// A phone that has stopped does nothing.
    public func order(_ command: MediaCommand) {
        guard !isStopped else { return }
        mediaRuntime().perform(command)
    }

    /// A new port number of the phone's bridge.
    public func makePort() -> PortID { core.makePort() }
}
