// SPDX-License-Identifier: Apache-2.0

import CryptoOpenSSL
import Essentials
import Networking
import SIPAgent

/// The world of one SIP machine: its sockets, its resolver, its one timer, and the trace of its messages. Belongs to the
/// isolation of the actor that owns the machine.
final class SignallingWorld {
    private let loop: EventLoop
    private let driver: SIPTransportDriver
    private let resolver: Resolver
    private let timer: LoopTimer
    private let log: TraceLog

    /// The trace and its sink; a class, because the driver's callback and `perform` share it.
    private final class TraceLog {
        private var trace = MessageTrace()
        private let sink: (@Sendable (TraceRecord) -> Void)?

        init(_ sink: (@Sendable (TraceRecord) -> Void)?) { self.sink = sink }

        func note(_ input: TransportInput, now: MonotonicTime) {
            guard let sink else { return }
            for record in trace.note(input, now: now) { sink(record) }
        }

        func note(_ effect: TransportEffect, now: MonotonicTime) {
            guard let sink else { return }
            for record in trace.note(effect, now: now) { sink(record) }
        }
    }

    /// - Parameters:
    ///   - onInputs: what happened on the sockets, in order; called on the loop.
    ///   - onAnswer: called on the loop, once for each question.
    ///   - onDeadline: called on the loop when the deadline that was set has come.
    init(
        loop: EventLoop, dnsServer: SocketAddress?, webSocket: WebSocketSettings, trace: (@Sendable (TraceRecord) -> Void)?,
        onInputs: @escaping ([TransportInput], MonotonicTime) -> Void, onAnswer: @escaping (DNSAnswer) -> Void,
        onDeadline: @escaping () -> Void
    ) {
        self.loop = loop
        let log = TraceLog(trace)
        self.log = log
        let support = WebSocketSupport(webSocket, cryptography: OpenSSLCryptography(), random: RandomSource(SecureRandom()))
        driver = SIPTransportDriver(loop: loop, webSockets: support) { inputs in
            let now = loop.now
            for input in inputs { log.note(input, now: now) }
            onInputs(inputs, now)
        }
        var options = ResolverOptions()
        options.server = dnsServer
        resolver = Resolver(loop: loop, options: options, onAnswer: onAnswer)
        timer = LoopTimer(loop: loop, onDeadline)
    }

    /// Opens the listeners in order; gives where each can be reached.
    ///
    /// - Parameter tellsUnspecified: the machine knows the addresses of this machine itself.
    func listen(
        _ listeners: [PhoneSettings.Listener], tellsUnspecified: Bool = false
    ) throws(NetworkError) -> [PhoneSettings.Listener] {
        var opened: [PhoneSettings.Listener] = []
        for listener in listeners {
            let address = try driver.listen(
                listener.transport, at: listener.address, tellsUnspecified: tellsUnspecified, tls: listener.tls)
            opened.append(.init(listener.transport, address, tls: listener.tls))
        }
        driver.deliver()
        return opened
    }

    func perform(_ effect: TransportEffect) {
        log.note(effect, now: loop.now)
        driver.perform(effect)
    }

    func ask(_ question: DNSQuestion) { resolver.ask(question) }

    func setDeadline(_ time: MonotonicTime?) { timer.set(time) }

    func close() {
        timer.set(nil)
        driver.close()
        resolver.close()
    }
}
