// SPDX-License-Identifier: Apache-2.0

import Foundation
import Handset
import SpeakerboxLike

/// The app's signalling over SIP. Orders are carried out one after another by one task; news comes on the main queue.
public final class SIPSignalling: Signalling, @unchecked Sendable {
    public struct Account: Sendable {
        public var address: String
        public var password: String
        public var proxy: String?

        public init(address: String, password: String, proxy: String? = nil) {
            self.address = address
            self.password = password
            self.proxy = proxy
        }
    }

    /// Where sound comes from and goes to: a sound device, or files.
    public enum Sound: Sendable {
        case device(String)
        case files(play: String, record: String)
    }

    enum Order: Sendable {
        case connect
        case invite(UUID, String)
        case answer(UUID)
        case decline(UUID)
        case hangUp(UUID)
        case hold(UUID, Bool)
        case mute(UUID, Bool)
        case digits(UUID, String)
        case audio(Bool)
        /// The phone leaves: only where the process goes on without it.
        case stop
    }

    /// The header field that names a call as its push does.
    public static let identity = "X-Call-UUID"

    public var onEvent: ((SignallingEvent) -> Void)?
    private let orders: AsyncStream<Order>.Continuation

    public init(account: Account, sound: Sound) {
        let (stream, continuation) = AsyncStream.makeStream(of: Order.self)
        orders = continuation
        let worker = SIPWorker(account: account, sound: sound) { [weak self] event in
            DispatchQueue.main.async { self?.onEvent?(event) }
        }
        Task { for await order in stream { await worker.carryOut(order) } }
    }

    public func connect() { orders.yield(.connect) }
    public func invite(_ call: UUID, to address: String) { orders.yield(.invite(call, address)) }
    public func answer(_ call: UUID) { orders.yield(.answer(call)) }
    public func decline(_ call: UUID) { orders.yield(.decline(call)) }
    public func hangUp(_ call: UUID) { orders.yield(.hangUp(call)) }
    public func setHeld(_ call: UUID, _ isHeld: Bool) { orders.yield(.hold(call, isHeld)) }
    public func setMuted(_ call: UUID, _ isMuted: Bool) { orders.yield(.mute(call, isMuted)) }
    public func send(_ digits: String, in call: UUID) { orders.yield(.digits(call, digits)) }
    public func startAudio() { orders.yield(.audio(true)) }
    /// Unregisters and ends, for a process that goes on without the app.
    public func close() { orders.yield(.stop) }
    public func stopAudio() { orders.yield(.audio(false)) }
}

/// The phone behind the app: made with the first order, so that nothing of it delays the report of a push.
private actor SIPWorker {
    private let account: SIPSignalling.Account
    private let sound: SIPSignalling.Sound
    private let tell: @Sendable (SignallingEvent) -> Void
    private var phone: Phone?
    private var line: Account?
    private var calls: [UUID: Call] = [:]
    private var ports: (source: PortID, sink: PortID)?
    private var held: Set<UUID> = []

    init(account: SIPSignalling.Account, sound: SIPSignalling.Sound, tell: @escaping @Sendable (SignallingEvent) -> Void) {
        self.account = account
        self.sound = sound
        self.tell = tell
    }

    func carryOut(_ order: SIPSignalling.Order) async {
        do {
            switch order {
            case .connect: try await connect()
            case .invite(let uuid, let address): try await invite(uuid, address)
            case .answer(let uuid): try await calls[uuid]?.answer()
            case .decline(let uuid): try await calls[uuid]?.reject(status: 603)
            case .hangUp(let uuid): await calls[uuid]?.hangUp()
            case .hold(let uuid, let isHeld): try await hold(uuid, isHeld)
            case .mute(let uuid, let isMuted): try await calls[uuid]?.setMuted(isMuted)
            case .digits(let uuid, let digits): try await calls[uuid]?.sendDTMF(digits)
            case .audio(let isOn): await audio(isOn)
            case .stop: await phone?.stop()
            }
        } catch {
            switch order {
            case .invite(let uuid, _), .answer(let uuid): tell(.ended(uuid, .failed))
            default: break
            }
        }
    }

    private func connect() async throws {
        if let line { return try await line.register() }
        var settings = PhoneSettings(listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))])
        settings.watchesNetwork = false
        let made = try await Phone(settings)
        phone = made
        let configuration = try AccountConfiguration(account.address, password: Secret(account.password), proxy: account.proxy)
        let added = try await made.addAccount(configuration)
        line = added
        Task { for await case .registered in added.registration { self.tell(.registered) } }
        Task { for await call in made.incomingCalls { await self.incoming(call) } }
    }

    private func incoming(_ call: Call) async {
        let name = HeaderName(SIPSignalling.identity).flatMap { call.incoming?.invite.first($0) }
        let uuid = name.flatMap { UUID(uuidString: $0) } ?? UUID()
        await follow(call, uuid)
        tell(.invited(uuid, from: call.incoming?.remote.sip?.user ?? call.incoming?.remote.description ?? "unknown"))
    }

    private func invite(_ uuid: UUID, _ address: String) async throws {
        try await connect()
        guard let line else { return }
        let options = CallOptions(headers: [.init(SIPSignalling.identity, uuid.uuidString)])
        await follow(try await line.call(address, options: options), uuid)
    }

    private func follow(_ call: Call, _ uuid: UUID) async {
        calls[uuid] = call
        await join(uuid)
        Task { for await event in call.events { self.happened(event, uuid) } }
    }

    private func happened(_ event: CallEvent, _ uuid: UUID) {
        switch event {
        case .state(.early, _, _): tell(.ringing(uuid))
        case .state(.confirmed, _, _): tell(.connected(uuid))
        case .ended(let end):
            calls[uuid] = nil
            held.remove(uuid)
            tell(.ended(uuid, ending(end)))
        default: break
        }
    }

    private func ending(_ end: CallEnd) -> CallEnding {
        switch end.cause.code {
        case "call.answered-elsewhere": .answeredElsewhere
        case "call.declined-elsewhere": .declinedElsewhere
        default:
            switch end.cause.status {
            case 408, 480: .unanswered
            case 486, 600, 603: .remote
            default: end.isByRemote ? .remote : .failed
            }
        }
    }

    // MARK: Sound

    private func audio(_ isOn: Bool) async {
        guard let phone else { return }
        if isOn, ports == nil {
            let opened: (source: PortID, sink: PortID)
            switch sound {
            case .device(let name):
                let device = await phone.bridge.openDevice(name)
                opened = (device, device)
            case .files(let play, let record):
                opened = (await phone.bridge.openPlayer(play), await phone.bridge.openRecorder(record))
                await phone.bridge.start(opened.source)
            }
            ports = opened
            for uuid in calls.keys { await join(uuid) }
        } else if !isOn, let open = ports {
            ports = nil
            await phone.bridge.close(open.source)
            if open.sink != open.source { await phone.bridge.close(open.sink) }
        }
    }

    /// The call's sound goes to the device and back, unless the call is held.
    private func join(_ uuid: UUID) async {
        guard let phone, let ports, let call = calls[uuid], !held.contains(uuid) else { return }
        await phone.bridge.connect(ports.source, call.port)
        await phone.bridge.connect(call.port, ports.sink)
    }

    /// The sound stops here at once: the other side may refuse to hear of it.
    private func hold(_ uuid: UUID, _ isHeld: Bool) async throws {
        guard let call = calls[uuid] else { return }
        guard isHeld else {
            held.remove(uuid)
            await join(uuid)
            return try await call.resume()
        }
        held.insert(uuid)
        if let phone, let ports {
            await phone.bridge.disconnect(ports.source, call.port)
            await phone.bridge.disconnect(call.port, ports.sink)
        }
        try await call.hold()
    }
}
