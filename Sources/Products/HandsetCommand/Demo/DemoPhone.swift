// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Handset
import Media
import PhoneCore
import SIP
import SIPAgent
import Synchronization

/// One of the demonstration's phones, with everything that it was told, in order.
final class DemoPhone: Sendable {
    let name: String
    let transport: TransportProtocol
    private let phone: Phone
    private let configuration: AccountConfiguration
    private let told: Told
    private let registered = Mutex<Account?>(nil)

    /// The events so far. Written by the phone's handler, read by the steps of the demonstration.
    private final class Told: Sendable {
        private let events = Mutex<[(event: PhoneEvent, time: MonotonicTime)]>([])
        private let talks = Mutex(false)

        /// True once: when the call's files are to be started.
        func startsTalking() -> Bool {
            talks.withLock { talks in
                defer { talks = true }
                return !talks
            }
        }

        func add(_ event: PhoneEvent, _ time: MonotonicTime) { events.withLock { $0.append((event, time)) } }

        /// What `find` makes of the first event that it knows; nil if none has come yet.
        func first<Result>(_ find: (PhoneEvent, MonotonicTime) -> Result?) -> Result? {
            for (event, time) in events.withLock({ $0 }) { if let result = find(event, time) { return result } }
            return nil
        }

        func all<Result: Sendable>(_ find: (PhoneEvent) -> Result?) -> [Result] {
            let events = events.withLock { $0 }
            return events.compactMap { find($0.event) }
        }
    }

    /// - Parameters:
    ///   - says: the WAV file that is played into the call from its first media on.
    ///   - records: the WAV file of what is heard.
    init(
        _ name: String, server: SocketAddress, transport: TransportProtocol, password: Secret, says: String, records: String
    ) async throws {
        self.name = name
        self.transport = transport
        let domain = Host.name("demo.example.net")
        var proxy = SIPURI(user: nil, host: .address(server.ip), port: server.port)
        proxy.parameters.set("transport", transport.rawValue)
        proxy.parameters.set("lr", nil)
        configuration = AccountConfiguration(
            addressOfRecord: SIPURI(user: name, host: domain, port: nil), displayName: name, proxy: proxy,
            credentials: [Credential(realm: nil, username: name, password: password)], transport: transport)
        let told = Told()
        self.told = told
        // The speech has 8 000 samples a second and so have the codecs: nothing is resampled.
        let listeners = [PhoneSettings.Listener(transport, SocketAddress(.loopbackV4, 0))]
        phone = try await Phone(PhoneSettings(listeners: listeners, bridgeRate: Demonstration.rate)) { phone, event, now in
            told.add(event, now)
            if case .media(let id, let media) = event, told.startsTalking() {
                phone.record(id, media.port, to: records)
                phone.play(says, into: id, media.port)
            }
        }
    }

    var now: MonotonicTime { phone.loop.now }

    func account() async throws -> Account {
        guard let account = registered.withLock({ $0 }) else { throw CommandFailure.failed("\(name) is not registered.") }
        return account
    }

    /// Registers; gives status and reason.
    func register() async throws -> String {
        let account = try await phone.addAccount(configuration)
        registered.withLock { $0 = account }
        return try await event("the answer to the registration", within: 8) { event, _ in
            guard case .registration(_, let state) = event else { return nil }
            switch state {
            case .registered(_, _, let status, let reason): return .success("\(status) \(reason)")
            case .refused(let cause), .failed(let cause, _): return .failure(.failed("\(self.name) could not register: \(cause.sentence)"))
            case .registering, .unregistering, .unregistered: return nil
            }
        }
    }

    func incomingCall() async throws -> Call {
        let calls = phone.incomingCalls
        return try await withThrowingTaskGroup(of: Call?.self) { group in
            group.addTask {
                for await call in calls { return call }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: .seconds(8))
                return nil
            }
            defer { group.cancelAll() }
            guard let call = try await group.next() ?? nil else {
                throw CommandFailure.failed("The call did not reach \(self.name) within 8 s: is the server still there?")
            }
            return call
        }
    }

    func state(_ wanted: CallState) async throws -> Int {
        try await event("the call to be \(wanted.rawValue)", within: 8) { event, _ in
            switch event {
            case .callState(_, wanted, let status, _): .success(status)
            case .ended(_, let end) where wanted != .disconnected:
                .failure(.failed("The call ended before it was \(wanted.rawValue): \(end.cause.sentence)"))
            default: nil
            }
        }
    }

    func codec() async throws -> String {
        try await event("the call's media", within: 8) { event, _ in
            if case .media(_, let media) = event { .success("\(media.codec.name)/\(media.codec.clockRate)") } else { nil }
        }
    }

    /// When the player's first sample went out.
    func playbackStarted() async throws -> MonotonicTime {
        try await event("the speech to start", within: 8) { event, time in
            switch event {
            case .port(.playbackStarted): .success(time)
            case .port(.fileFailed(_, let reason)): .failure(.failed(reason))
            default: nil
            }
        }
    }

    /// The digits heard, once there are `count`.
    func digits(_ count: Int) async throws -> String {
        try await poll("the digits", within: 8) {
            let digits = self.told.all { event -> Character? in
                if case .digitReceived(_, let digit, _, _) = event { digit } else { nil }
            }
            return digits.count >= count ? .success(String(digits)) : nil
        }
    }

    func hold(_ isHeld: Bool) async throws -> MonotonicTime {
        try await event("the other side's \(isHeld ? "hold" : "resume")", within: 8) { event, time in
            if case .hold(_, .remote, isHeld) = event { .success(time) } else { nil }
        }
    }

    func localHold(_ isHeld: Bool) async throws -> MonotonicTime {
        try await event("the answer to the \(isHeld ? "hold" : "resume")", within: 8) { event, time in
            switch event {
            case .hold(_, .local, isHeld): .success(time)
            case .holdFailed(_, let cause): .failure(.failed(cause.sentence))
            default: nil
            }
        }
    }

    func ended() async throws -> CallEnd {
        try await event("the end of the call", within: 8) { event, _ in
            if case .ended(_, let end) = event { .success(end) } else { nil }
        }
    }

    func statistics() async throws -> StreamStatistics {
        try await event("the call's statistics", within: 8) { event, _ in
            if case .statistics(_, let statistics, true) = event { .success(statistics) } else { nil }
        }
    }

    func wait(until time: MonotonicTime) async throws {
        let remaining = time - now
        if remaining > .zero { try await Task.sleep(for: remaining.duration) }
    }

    func stop() async { await phone.stop(within: .seconds(2)) }

    // MARK: Waiting

    private func event<Value: Sendable>(
        _ what: String, within seconds: Double, _ find: @escaping (PhoneEvent, MonotonicTime) -> Result<Value, CommandFailure>?
    ) async throws -> Value {
        try await poll(what, within: seconds) { self.told.first(find) }
    }

    private func poll<Value: Sendable>(
        _ what: String, within seconds: Double, _ look: () -> Result<Value, CommandFailure>?
    ) async throws -> Value {
        let limit = now + .seconds(seconds)
        while true {
            if let found = look() { return try found.get() }
            if let lost = lostServer() { throw lost }
            guard now < limit else {
                throw CommandFailure.failed("\(name): waited \(Int(seconds)) s for \(what), in vain: is the server still there?")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func lostServer() -> CommandFailure? {
        told.first { event, _ in
            if case .registration(_, .failed(let cause, _)) = event {
                CommandFailure.failed("\(self.name) lost the server: \(cause.sentence)")
            } else {
                nil
            }
        }
    }
}
