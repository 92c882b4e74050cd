// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Foundation
import SIPAgent
import SecureChannel
import TestCertificates
import Testing

/// What a peer or a network may do to a channel.
@Suite struct HostilePeerTests {
    private static let certified = Result {
        let authority = try TestAuthority()
        return (authority, try authority.certify(["DNS:example.net"]))
    }

    private func pair(limits: SecureLimits = SecureLimits()) throws -> Pair {
        let (authority, certified) = try Self.certified.get()
        return try Pair(
            SecureContext(client: TLSSettings(trust: .file(authority.file)), limits: limits),
            SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified)), limits: limits))
    }

    private func server(limits: SecureLimits = SecureLimits()) throws -> SecureChannel { try pair(limits: limits).server }

    private func end(of channel: SecureChannel) -> TLSFailure? {
        while let event = channel.nextEvent() {
            if case .closed(let failure) = event { return failure }
        }
        return nil
    }

    @Test(arguments: [
        "REGISTER sip:example.net SIP/2.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "\r\n\r\n\r\n\r\n",
    ])
    func `what is no TLS ends the channel`(text: String) throws {
        let server = try server()
        server.receive(Array(text.utf8))
        #expect(end(of: server)?.reason == .protocolError)
        #expect(server.state == .closed)
        server.receive(Array(text.utf8))
        #expect(server.nextEvent() == nil, "nothing more comes of it")
    }

    @Test func `V-017: a peer that vanishes in mid handshake leaves nothing`() throws {
        for count in [0, 1, 5, 100] {
            let pair = try pair()
            let hello = pair.client.takeOutput()
            pair.server.receive(Array(hello.prefix(count)))
            pair.server.receiveEnd()
            pair.client.receiveEnd()
            #expect(end(of: pair.server)?.reason == .refused)
            #expect(end(of: pair.client)?.reason == .refused)
            #expect(pair.server.nextDeadline == nil)
            pair.server.send([1])
            pair.server.close()
            #expect(pair.server.nextEvent() == nil)
        }
    }

    @Test func `a handshake that is not finished in time ends`() throws {
        let server = try server()
        let deadline = try #require(server.nextDeadline)
        #expect(deadline == .zero + .seconds(10))
        server.advance(to: deadline - .milliseconds(1))
        #expect(server.state == .handshaking)
        server.advance(to: deadline)
        #expect(end(of: server)?.reason == .timedOut)
    }

    @Test func `a handshake that never ends for its length is cut`() throws {
        var limits = SecureLimits()
        limits.handshakeOctets = 1000
        let server = try server(limits: limits)
        // A handshake message that claims 16 MiB, in records of 255 octets.
        let record: [UInt8] = [22, 3, 1, 0, 255] + [1, 0xff, 0xff, 0xff] + [UInt8](repeating: 0, count: 251)
        for _ in 0..<10 where server.state == .handshaking { server.receive(record) }
        #expect(server.state == .closed)
    }

    @Test func `a record that is too long ends the channel`() throws {
        let pair = try pair()
        pair.run()
        pair.server.receive([23, 3, 3, 0xff, 0xff] + [UInt8](repeating: 0, count: 65_535))
        #expect(end(of: pair.server)?.reason == .protocolError)
    }

    @Test func `octets that were changed on the way end the channel and do not reach the application`() throws {
        let pair = try pair()
        pair.run()
        pair.client.send(Array("INVITE".utf8))
        var octets = pair.client.takeOutput()
        octets[octets.count - 1] ^= 1
        pair.server.receive(octets)
        #expect(end(of: pair.server)?.reason == .protocolError)
    }

    @Test func `an end without good-bye after half a record is an end like any other`() throws {
        let pair = try pair()
        pair.run()
        pair.client.send(Array("INVITE".utf8))
        pair.server.receive(Array(pair.client.takeOutput().dropLast(3)))
        pair.server.receiveEnd()
        guard case .closed(nil)? = pair.server.nextEvent() else {
            Issue.record("no failure, and nothing was received")
            return
        }
    }

    @Test func `what waits for the handshake has a limit`() throws {
        var limits = SecureLimits()
        limits.waitingOctets = 1000
        let client = try pair(limits: limits).client
        client.send([UInt8](repeating: 0, count: 1000))
        #expect(client.state == .handshaking)
        client.send([0])
        #expect(end(of: client)?.reason == .limit)
    }

    @Test func `chance does no harm`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let pair = try pair()
            let hello = pair.client.takeOutput()
            var octets = hello
            for _ in 0..<3 { octets[Int.random(in: 0..<octets.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator) }
            pair.server.receive(octets)
            pair.client.receive(pair.server.takeOutput())
            pair.server.receive(pair.client.takeOutput())
            #expect(pair.server.state != .open || pair.client.state != .open || octets == hello)
        }
    }

    // MARK: Settings

    @Test func `settings that cannot be used say which file and why`() throws {
        let (authority, certified) = try Self.certified.get()
        let other = try authority.certify(["DNS:other.example"])
        func code(_ body: () throws -> SecureContext) -> SecureChannelError.Code? {
            do {
                _ = try body()
                return nil
            } catch let error as SecureChannelError {
                #expect(!error.context.isEmpty && error.reason.hasSuffix("."))
                return error.code
            } catch { return nil }
        }
        #expect(code { try SecureContext(client: TLSSettings(trust: .file("/nowhere.pem"))) } == .authorities)
        #expect(code { try SecureContext(client: TLSSettings(trust: .certificates(pem: [1, 2, 3]))) } == .authorities)
        func identity(_ certificate: String, _ key: String) -> TLSServerSettings {
            TLSServerSettings(identity: .files(certificate: certificate, key: key))
        }
        #expect(code { try SecureContext(server: identity("/nowhere.pem", certified.key)) } == .certificate)
        #expect(code { try SecureContext(server: identity(certified.certificate, "/nowhere.key")) } == .key)
        #expect(code { try SecureContext(server: identity(certified.certificate, authority.file)) } == .key)
        let mismatch = code { try SecureContext(server: identity(certified.certificate, other.key)) }
        #expect(mismatch == .mismatch || mismatch == .key)
    }

    @Test(arguments: ["", "abc", "zz", String(repeating: "0", count: 63), String(repeating: "0", count: 66)])
    func `what is no pin is none`(text: String) { #expect(CertificatePin(text) == nil) }

    @Test func `a pin may have colons and capitals`() {
        let plain = String(repeating: "0aF1", count: 16)
        let colons = stride(from: 0, to: 64, by: 2).map { String(Array(plain)[$0...$0 + 1]) }.joined(separator: ":")
        #expect(CertificatePin(colons)?.description == plain.lowercased())
    }
}
