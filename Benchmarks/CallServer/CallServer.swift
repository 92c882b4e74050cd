// SPDX-License-Identifier: Apache-2.0
//
// A user agent that answers every call with the same session description and opens no media: what signalling alone costs.
// It is the counterpart of other stacks' call benchmark servers; `handset answer` is that of whole phones.
//
//   CallServer HOST:PORT

import CryptoOpenSSL
import Essentials
import Glibc
import Networking
import SIP
import SIPAgent

@main struct CallServer {
    static func main() async {
        guard CommandLine.arguments.count == 2, let address = SocketAddress(CommandLine.arguments[1]) else {
            print("usage: CallServer HOST:PORT")
            exit(2)
        }
        let server = AnsweringAgent(loop: EventLoop.shared)
        do {
            try await server.listen(address)
        } catch {
            print("\(error)")
            exit(1)
        }
        while true { try? await Task.sleep(for: .seconds(3600)) }
    }
}

/// Owns the user agent on the loop, as the phone does.
actor AnsweringAgent {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private let agent: UserAgent
    private var driver: SIPTransportDriver?
    private var timer: LoopTimer?
    private var body: [UInt8] = []

    init(loop: EventLoop) {
        self.loop = loop
        var configuration = UserAgentConfiguration()
        // Thousands of calls at once, all from one address: the limits against floods are not what is measured.
        configuration.maximumCalls = 1_000_000
        configuration.maximumUnansweredPerSource = 1_000_000
        configuration.stack.unansweredInvitesPerSource = 1_000_000
        configuration.stack.serverTransactions = 2_000_000
        agent = UserAgent(
            configuration: configuration, cryptography: OpenSSLCryptography(), random: RandomSource(SecureRandom()))
    }

    func listen(_ address: SocketAddress) throws {
        let lines = [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=audio 4000 RTP/AVP 0",
            "a=rtpmap:0 PCMU/8000", "",
        ]
        body = Array(lines.joined(separator: "\r\n").utf8)
        let driver = SIPTransportDriver(loop: loop) { [weak self] inputs in
            self?.assumeIsolated { $0.receive(inputs) }
        }
        self.driver = driver
        timer = LoopTimer(loop: loop) { [weak self] in self?.assumeIsolated { $0.wake() } }
        try driver.listen(.udp, at: address)
    }

    private func receive(_ inputs: [TransportInput]) {
        let now = loop.now
        for input in inputs {
            agent.handle(input, now: now)
            drain(now)
        }
        timer?.set(agent.nextDeadline)
    }

    private func wake() {
        let now = loop.now
        agent.advance(to: now)
        drain(now)
        timer?.set(agent.nextDeadline)
    }

    private func drain(_ now: MonotonicTime) {
        while let effect = agent.nextEffect() {
            switch effect {
            case .transport(let effect): driver?.perform(effect)
            case .event(.incoming(let session, _)): agent.accept(session, answer: body, now: now)
            case .event, .resolve, .checkNetwork: break
            }
        }
    }
}
