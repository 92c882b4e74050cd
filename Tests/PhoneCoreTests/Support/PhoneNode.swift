// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import HandsetTestKit
import Media
import PhoneCore
import SIP
import SIPAgent

/// A phone whose media world is this test: RTP sockets open (or fail) after 1 ms, closed streams tell their statistics.
final class PhoneNode: BenchNode {
    let core: PhoneCore
    let address: SocketAddress
    let bench: Bench
    private(set) var events: [PhoneEvent] = []
    private(set) var media: [MediaCommand] = []
    /// What the RTP sockets fail with; nil: they open.
    var socketFailure: String?
    /// Whether the media world answers at all.
    var answersMedia = true
    var onEvent: ((PhoneEvent) -> Void)?
    private var openStreams: Set<PortID> = []
    private var nextPort: UInt16 = 4000
    private let socket = FlowID(rawValue: 1)

    init(_ bench: Bench, _ last: UInt32, seed: UInt64 = 1, configure: (inout PhoneConfiguration) -> Void = { _ in }) {
        self.bench = bench
        address = SocketAddress(host(last), 5060)
        var configuration = PhoneConfiguration()
        configure(&configuration)
        core = PhoneCore(
            configuration: configuration, cryptography: ReferenceCryptography(),
            random: RandomSource(SeededGenerator(seed: seed &* 1000 &+ UInt64(last))))
        bench.nodes.append(self)
        core.handle(.listening(socket, .udp, local: address), now: bench.now)
        drain()
    }

    var nextDeadline: MonotonicTime? { core.nextDeadline }

    func receive(_ bytes: [UInt8], from: SocketAddress) {
        core.handle(.received(bytes, socket, from: from), now: bench.now)
        drain()
    }

    func advance() {
        core.advance(to: bench.now)
        drain()
    }

    func drain() {
        while let effect = core.nextEffect() {
            switch effect {
            case .transport(.send(let bytes, _, let to)): bench.send(bytes, from: address, to: to)
            case .transport, .resolve, .checkNetwork: break
            case .media(let command): perform(command)
            case .event(let event):
                events.append(event)
                onEvent?(event)
            }
        }
    }

    private func perform(_ command: MediaCommand) {
        media.append(command)
        guard answersMedia else { return }
        switch command {
        case .openStream(let port, _):
            if let socketFailure {
                tell(.streamFailed(port, reason: socketFailure))
            } else {
                openStreams.insert(port)
                nextPort += 2
                tell(.streamOpened(port, rtp: SocketAddress(address.ip, nextPort)))
            }
        case .closePort(let port) where openStreams.remove(port) != nil: tell(.statistics(port, StreamStatistics()))
        default: break
        }
    }

    private func tell(_ event: MediaEvent) { bench.later(.milliseconds(1)) { [self] in give(event) } }

    /// A media event now.
    func give(_ event: MediaEvent) {
        core.handle(event, now: bench.now)
        drain()
    }

    func on<Result>(_ command: (PhoneCore, MonotonicTime) throws -> Result) rethrows -> Result {
        defer { drain() }
        return try command(core, bench.now)
    }

    func call(_ dialled: String, from account: AccountID? = nil, options: CallOptions = CallOptions()) throws -> CallID {
        try on { try $0.call(from: account, to: dialled, options: options, now: $1) }
    }

    // MARK: What happened

    var incoming: [(id: CallID, call: IncomingCall)] {
        events.compactMap { if case .incomingCall(let id, let call) = $0 { (id, call) } else { nil } }
    }
    /// `early 180 Ringing`, one a state.
    var states: [String] {
        events.compactMap { event in
            guard case .callState(_, let state, let status, let reason) = event else { return nil }
            return "\(state.rawValue) \(status)" + (reason.isEmpty ? "" : " \(reason)")
        }
    }
    var ends: [(id: CallID, end: CallEnd)] {
        events.compactMap { if case .ended(let id, let end) = $0 { (id, end) } else { nil } }
    }
    var holds: [String] {
        events.compactMap { if case .hold(_, let side, let isHeld) = $0 { "\(side.rawValue) \(isHeld)" } else { nil } }
    }
    var holdFailures: [Cause] { events.compactMap { if case .holdFailed(_, let cause) = $0 { cause } else { nil } } }
    var mediaEvents: [CallMedia] { events.compactMap { if case .media(_, let media) = $0 { media } else { nil } } }
    var warnings: [(id: CallID?, cause: Cause)] {
        events.compactMap { if case .warning(let id, let cause) = $0 { (id, cause) } else { nil } }
    }
    var digitsReceived: [String] {
        events.compactMap { event in
            guard case .digitReceived(_, let digit, let method, let milliseconds) = event else { return nil }
            return "\(digit) \(method.rawValue) \(milliseconds)"
        }
    }
    var digitMethods: [String] {
        events.compactMap { if case .digitSent(_, let digit, let method, _) = $0 { "\(digit) \(method.rawValue)" } else { nil } }
    }
    var digitsSent: String {
        String(events.compactMap { if case .digitSent(_, let digit, _, _) = $0 { digit } else { nil } })
    }
    /// `ringback local`, `waiting`, `continued URI`.
    var notices: [String] {
        events.compactMap { event in
            guard case .notice(_, let notice) = event else { return nil }
            return switch notice {
            case .ringback(let state): "ringback \(state.rawValue)"
            case .waiting: "waiting"
            case .identity(let identity): "identity \(identity.asserted ?? identity.claimed)"
            case .autoAnswer(let request, let isAllowed): "autoanswer \(request.field) \(isAllowed)"
            case .continued(let target, _): "continued \(target)"
            case .mended(let code): "mended \(code)"
            }
        }
    }
    var digitFailures: [Cause] { events.compactMap { if case .digitFailed(_, let cause) = $0 { cause } else { nil } } }
    var finalStatistics: [CallID] {
        events.compactMap { if case .statistics(let id, _, true) = $0 { id } else { nil } }
    }
    var hasStopped: Bool { events.contains { if case .stopped = $0 { true } else { false } } }
    var configurations: [StreamConfiguration] {
        media.compactMap { if case .configureStream(_, let configuration) = $0 { configuration } else { nil } }
    }
    var stream: StreamConfiguration? { configurations.last }
    var sentDigits: [String] {
        media.compactMap { if case .sendDigits(_, let digits, _, let inBand) = $0 { digits + (inBand ? " inband" : "") } else { nil } }
    }
    func port(_ id: CallID) throws -> PortID { try core.port(of: id) }

    /// Nothing is left of any call, in the phone and in its agent; and each call that began was told to end exactly once,
    /// with its last statistics once.
    var isClean: Bool {
        let begun = Set(
            events.compactMap { event -> CallID? in
                switch event {
                case .callState(let id, .calling, _, _), .incomingCall(let id, _): id
                default: nil
                }
            })
        let ended = ends.map(\.id)
        return core.isQuiet && openStreams.isEmpty && ended.count == begun.count && Set(ended) == begun
            && finalStatistics.count == begun.count && Set(finalStatistics) == begun
    }
}
