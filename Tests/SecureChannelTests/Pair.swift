// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent
import SecureChannel
import TestCertificates

/// Two channels back to back, in virtual time.
final class Pair {
    let client: SecureChannel
    let server: SecureChannel
    var now = MonotonicTime.zero
    var clientEvents: [SecureChannel.Event] = []
    var serverEvents: [SecureChannel.Event] = []

    init(_ client: SecureContext, _ server: SecureContext, name: String? = "example.net") throws {
        self.client = try SecureChannel(client, name: name)
        self.server = try SecureChannel(server)
        self.server.start(now: now)
        self.client.start(now: now)
    }

    /// Carries octets both ways, cut into pieces of `size`, until there are none.
    func run(pieces size: Int = .max) {
        while true {
            let (up, down) = (client.takeOutput(), server.takeOutput())
            deliver(up, to: server, size)
            deliver(down, to: client, size)
            while let event = client.nextEvent() { clientEvents.append(event) }
            while let event = server.nextEvent() { serverEvents.append(event) }
            if up.isEmpty, down.isEmpty { return }
        }
    }

    private func deliver(_ octets: [UInt8], to channel: SecureChannel, _ size: Int) {
        var rest = octets[...]
        while !rest.isEmpty {
            channel.receive(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
    }

    var clientFailure: TLSFailure? { Self.failure(clientEvents) }
    var serverFailure: TLSFailure? { Self.failure(serverEvents) }
    var clientSession: SecureChannel.Session? { Self.session(clientEvents) }
    var serverSession: SecureChannel.Session? { Self.session(serverEvents) }
    var received: [UInt8] { Self.octets(serverEvents) }
    var answered: [UInt8] { Self.octets(clientEvents) }

    private static func failure(_ events: [SecureChannel.Event]) -> TLSFailure? {
        for case .closed(let failure) in events { return failure }
        return nil
    }

    private static func session(_ events: [SecureChannel.Event]) -> SecureChannel.Session? {
        for case .established(let session) in events { return session }
        return nil
    }

    private static func octets(_ events: [SecureChannel.Event]) -> [UInt8] {
        events.flatMap { event -> [UInt8] in
            if case .received(let octets) = event { octets } else { [] }
        }
    }
}

extension TLSIdentity {
    init(_ certified: TestAuthority.Certified) { self = .files(certificate: certified.certificate, key: certified.key) }
}
