// SPDX-License-Identifier: Apache-2.0
//
//   app ────┐
//   app ────┤ Unix socket ─▶ CallServiceHost ─▶ CallServiceMachine
//   screen ─┤                   │
//   push ───┘                   ├─▶ history, tokens; starts apps
//                               └─▶ Ringer ─▶ sound device; NotificationScreen ◀─▶ desktop

import CPosix
import CallServiceCore
import DesktopNotifications
import Essentials
import Foundation
import Networking

/// What the service has to tell whoever runs it.
public enum CallServiceHostEvent: Sendable {
    case listening(path: String)
    /// Somebody else's process, or one that does not speak as it should: why, as a stable code.
    case refused(process: Int32, code: String)
    case diagnostic(Diagnostic)
    case screen(ScreenState)
    case history(HistoryEntry)
    case started(bundle: String, process: Int32)
    case notStarted(bundle: String, reason: String)
    case ringing(RingerEvent)
    case notifications(NotificationEvent)
    /// The person pressed a button of a notification, and that was refused.
    case notificationRefused(UserCommandRefusal)

    /// The stable code of what went wrong (docs/causes.md); nil: nothing did.
    public var code: String? {
        switch self {
        case .refused(_, let code): code
        case .notStarted: "service.app-not-started"
        case .ringing(.fileFailed): "service.ring-file"
        case .ringing(.deviceFailed): "service.ring-silent"
        case .notifications(.unavailable): "service.no-notifications"
        case .notifications(.available(hasActions: false)): "service.no-buttons"
        case .notificationRefused: "service.button-refused"
        default: nil
        }
    }
}

/// The call service of one user's session.
public actor CallServiceHost {
    public struct Settings: Sendable {
        public var files: CallServiceFiles
        public var service = CallServiceSettings()
        public var wire = WireLimits()
        public var maximumPeers = 128
        public var outputLimit = 8 << 20
        /// Who may speak to the service.
        public var user = getuid()
        /// The call directory extensions that the person allows, in the order of their worth.
        public var directories: [String] = []
        /// An extension's lists as they are now; nil: none were loaded.
        public var directory: @Sendable (_ identifier: String) -> (any CallDirectoryIndex)? = { _ in nil }

        /// How incoming calls ring; nil: they make no sound.
        public var ringing: RingSettings?
        /// Where incoming calls are shown with buttons; nil: nowhere.
        public var notifications: (any NotificationServer)?
        public var notificationLimits = CallNotifications.Limits()

        public init(files: CallServiceFiles) { self.files = files }
    }

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let settings: Settings
    private let tell: @Sendable (CallServiceHostEvent) -> Void
    private var machine: CallServiceMachine
    private var peers: [Int32: CallServicePeer] = [:]
    private var listener: Int32 = -1
    private var lock: Int32 = -1
    private var timer: LoopTimer?
    private let historyFile: FrameFile<HistoryEntry>
    private let tokenFile: FrameFile<PushToken>
    private var tokens: [PushToken]
    private var historyAppends = 0
    private var ringer: Ringer?
    private var notifications: NotificationScreen?

    public init(_ settings: Settings, loop: EventLoop, tell: @escaping @Sendable (CallServiceHostEvent) -> Void = { _ in }) {
        self.settings = settings
        self.loop = loop
        self.tell = tell
        historyFile = FrameFile(path: settings.files.state + "/history")
        tokenFile = FrameFile(path: settings.files.state + "/push-tokens")
        let microseconds = Int64(Date().timeIntervalSince1970 * 1e6) - loop.now.nanoseconds / 1000
        machine = CallServiceMachine(
            settings: settings.service, random: RandomSource(SystemRandomNumberGenerator()), wallClock: WallTime(microseconds: microseconds)
        )
        let (history, isWhole) = historyFile.read()
        machine.restore(history: history)
        // One file in place of the broken one, so that what comes is not lost behind half an entry.
        if !isWhole { historyAppends = settings.service.historyLength }
        tokens = tokenFile.read().values
        machine.restore(pushTokens: tokens)
    }

    /// Opens the socket. Throws where another service of this user has it, or the folder cannot be used.
    public func start() throws {
        try settings.files.makeFolders()
        let path = settings.files.socket
        lock = unsafe cposix_lock_file(path + ".lock")
        guard lock != -EWOULDBLOCK else {
            throw NetworkError(.addressInUse, "a call service runs at \(path) already", context: path, errorNumber: EWOULDBLOCK)
        }
        guard lock >= 0 else { throw NetworkError(systemError: -lock, context: "the call service at \(path)") }
        listener = unsafe cposix_unix_listen(path, 16)
        guard listener >= 0 else { throw NetworkError(systemError: -listener, context: "the call service at \(path)") }
        loop.watch(listener, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.accept() } }
        timer = LoopTimer(loop: loop) { [weak self] in
            self?.assumeIsolated { host in
                host.machine.advance(to: host.loop.now)
                host.carryOut()
            }
        }
        for identifier in settings.directories { readDirectory(identifier) }
        tell(.listening(path: path))
        if let ringing = settings.ringing { ringer = Ringer(ringing, loop: loop) { [tell] in tell(.ringing($0)) } }
        if let server = settings.notifications {
            notifications = NotificationScreen(server, limits: settings.notificationLimits) { [weak self] event in
                guard let self else { return }
                loop.execute { self.assumeIsolated { $0.heard(event) } }
            }
        }
    }

    private func heard(_ event: NotificationEvent) {
        tell(.notifications(event))
        guard let command = notifications?.command(event) else { return }
        if let refusal = machine.perform(command, now: loop.now) { tell(.notificationRefused(refusal)) }
        carryOut()
    }

    private func readDirectory(_ identifier: String) {
        machine.setDirectory(
            identifier, index: settings.directory(identifier), isEnabled: settings.directories.contains(identifier))
    }

    /// Closes everything; the calls of all apps are over with it.
    public func stop() {
        for descriptor in peers.keys.sorted() { drop(descriptor) }
        if listener >= 0 {
            loop.unwatch(listener)
            _ = cposix_close(listener)
            _ = unsafe unlink(settings.files.socket)
            listener = -1
        }
        timer?.set(nil)
        ringer?.stop()
        ringer = nil
        notifications?.stop()
        notifications = nil
        if lock >= 0 { _ = cposix_close(lock) }
        lock = -1
    }

    /// What the person at this machine does, without a socket.
    public func perform(_ command: UserCommand) -> UserCommandRefusal? {
        let refusal = machine.perform(command, now: loop.now)
        carryOut()
        return refusal
    }

    public func deliverPush(bundle: String, type: String, payload: [UInt8]) -> PushVerdict {
        let verdict = machine.deliverPush(bundle: bundle, type: type, payload: payload, now: loop.now)
        carryOut()
        return verdict
    }

    /// The lists of a call directory extension, from now on.
    public func setDirectory(_ identifier: String, index: (any CallDirectoryIndex)?, isEnabled: Bool) {
        machine.setDirectory(identifier, index: index, isEnabled: isEnabled)
    }

    public var screen: ScreenState { machine.screen }

    // MARK: Peers

    private func accept() {
        while true {
            var user: UInt32 = 0
            var process: Int32 = 0
            let descriptor = unsafe cposix_unix_accept(listener, &user, &process)
            guard descriptor >= 0 else { return }
            let peer = CallServicePeer(descriptor: descriptor, process: process, limits: settings.wire, outputLimit: settings.outputLimit)
            peers[descriptor] = peer
            loop.watch(descriptor, for: .readable) { [weak self] readiness in
                self?.assumeIsolated { $0.ready(descriptor, readiness) }
            }
            // The socket's mode keeps others out already; a folder may have been opened by mistake.
            if user != settings.user { refuse(peer, "service.other-user") }
            if peers.count > settings.maximumPeers { refuse(peer, "service.too-many-peers") }
        }
    }

    private func refuse(_ peer: CallServicePeer, _ code: String) {
        guard !peer.isClosing else { return }
        tell(.refused(process: peer.process, code: code))
        _ = peer.send(.refused(code))
        peer.closeWhenWritten()
        flush(peer)
    }

    private func ready(_ descriptor: Int32, _ readiness: Readiness) {
        guard let peer = peers[descriptor] else { return }
        if readiness.contains(.writable) { flush(peer) }
        guard !readiness.isDisjoint(with: [.readable, .failed]), peers[descriptor] != nil else { return }
        guard let bytes = peer.read() else {
            drop(descriptor)
            carryOut()
            return
        }
        guard !peer.isClosing, !bytes.isEmpty else { return }
        peer.reader.append(bytes)
        do throws(WireError) {
            while !peer.isClosing, let body = try peer.reader.next() {
                hear(try Wire.message(ToService.self, body, limits: settings.wire), from: peer)
            }
        } catch {
            refuse(peer, error.rawValue)
        }
        carryOut()
    }

    private func hear(_ message: ToService, from peer: CallServicePeer) {
        switch (message, peer.role) {
        case (.app(let message), .app(let id)):
            if case .directoryChanged(let identifier) = message { readDirectory(identifier) }
            machine.receive(message, from: id, now: loop.now)
        case (.app(let message), .unknown):
            let id = machine.connect(now: loop.now)
            peer.role = .app(id)
            machine.receive(message, from: id, now: loop.now)
        case (.openScreen, .unknown):
            peer.role = .screen
            send(.history(machine.history), to: peer)
            send(.screen(machine.screen), to: peer)
        case (.user(let request, let command), .screen):
            send(.userAnswer(request, machine.perform(command, now: loop.now)), to: peer)
        case (.deliverPush(let request, let bundle, let type, let payload), .unknown),
            (.deliverPush(let request, let bundle, let type, let payload), .screen):
            let verdict = machine.deliverPush(bundle: bundle, type: type, payload: payload.bytes, now: loop.now)
            send(.pushAnswer(request, verdict), to: peer)
        default: refuse(peer, "service.wrong-role")
        }
        carryOut()
    }

    private func send(_ message: FromService, to peer: CallServicePeer) {
        guard !peer.isClosing else { return }
        if peer.send(message) { flush(peer) } else { drop(peer.descriptor) }
    }

    private func flush(_ peer: CallServicePeer) {
        guard peers[peer.descriptor] === peer else { return }
        guard peer.write() else {
            drop(peer.descriptor)
            return
        }
        loop.setInterest(peer.descriptor, peer.wantsToWrite ? [.readable, .writable] : .readable)
    }

    /// Ends a connection; an app's calls end with it.
    private func drop(_ descriptor: Int32) {
        guard let peer = peers.removeValue(forKey: descriptor) else { return }
        loop.unwatch(descriptor)
        _ = cposix_close(descriptor)
        if case .app(let id) = peer.role { machine.disconnect(id, now: loop.now) }
    }

    // MARK: Effects

    private func carryOut() {
        while let effect = machine.nextEffect() {
            switch effect {
            case .send(let app, let message):
                if let peer = peers.values.first(where: { $0.role == .app(app) }) { send(.app(message), to: peer) }
            case .close(let app, let code):
                if let peer = peers.values.first(where: { $0.role == .app(app) }) { refuse(peer, code) }
            case .screen(let state):
                tell(.screen(state))
                ringer?.ring(state.ringing)
                notifications?.update(state)
                toScreens(.screen(state))
            case .history(let entry):
                keep(entry)
                tell(.history(entry))
                toScreens(.history([entry]))
            case .diagnostic(let diagnostic):
                tell(.diagnostic(diagnostic))
                toScreens(.diagnostic(diagnostic))
            case .launch(let bundle): launch(bundle)
            case .terminate(let app, _):
                // The process is told, and ends itself; its connection is over either way.
                if let peer = peers.values.first(where: { $0.role == .app(app) }) {
                    peer.closeWhenWritten()
                    flush(peer)
                }
            }
        }
        if machine.pushTokens != tokens {
            tokens = machine.pushTokens
            try? tokenFile.write(tokens)
        }
        timer?.set(machine.nextDeadline)
    }

    private func toScreens(_ message: FromService) {
        for descriptor in peers.keys.sorted() { if let peer = peers[descriptor], peer.role == .screen { send(message, to: peer) } }
    }

    private func keep(_ entry: HistoryEntry) {
        historyAppends += 1
        if historyAppends >= settings.service.historyLength {
            historyAppends = 0
            try? historyFile.write(machine.history)
        } else {
            historyFile.append(entry)
        }
    }

    private func launch(_ bundle: String) {
        guard let words = settings.files.program(of: bundle) else {
            tell(.notStarted(bundle: bundle, reason: "no program is named for it in \(settings.files.apps)"))
            return
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        var environment = ProcessInfo.processInfo.environment
        environment["HANDSET_CALLSERVICE"] = settings.files.socket
        environment["HANDSET_APP"] = bundle
        environment["HANDSET_LAUNCHED"] = "background"
        process.environment = environment
        do {
            try process.run()
            tell(.started(bundle: bundle, process: process.processIdentifier))
        } catch {
            tell(.notStarted(bundle: bundle, reason: "\(error)"))
        }
    }
}
