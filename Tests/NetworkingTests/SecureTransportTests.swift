// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Networking
import SIP
import SIPAgent
import TestCertificates
import Testing

private let shared = Result {
    let authority = try TestAuthority()
    return (authority, try authority.certify(["DNS:example.net", "IP:127.0.0.1"]))
}

/// The driver with TLS, over loopback.
@Suite struct SecureTransportTests {
    let authority: TestAuthority
    let certified: TestAuthority.Certified
    var server: TLSServerSettings {
        TLSServerSettings(identity: .files(certificate: certified.certificate, key: certified.key))
    }
    var client: TLSSettings { TLSSettings(trust: .file(authority.file)) }
    private let flow = FlowID(rawValue: 2)

    init() throws { (authority, certified) = try shared.get() }

    @Test(arguments: TLSVersion.allCases) func `messages go both ways over TLS, and the end is told`(version: TLSVersion) throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (listener, address) = try two.listen(.tls, loopbackV4, tls: server)
            var settings = client
            settings.versions = version...version
            one.perform(.connect(flow, .tls, to: address, name: "example.net", tls: settings))
            one.perform(.send(Array("one".utf8), flow, to: address))
            guard case .connected(flow, let local, _)? = one.inputs.take(),
                case .accepted(let other, listener, address, let remote)? = two.inputs.take(),
                case .received(let bytes, other, from: local)? = two.inputs.take()
            else {
                Issue.record("no connection")
                return
            }
            #expect(bytes == Array("one".utf8))
            #expect(remote == local)
            two.perform(.send(Array("two".utf8), other, to: local))
            two.perform(.close(other))
            guard case .received(let answer, flow, from: address)? = one.inputs.take() else {
                Issue.record("nothing came back")
                return
            }
            #expect(answer == Array("two".utf8))
            guard case .closed(flow, .closedByPeer)? = one.inputs.take(), case .closed(other, .closedLocally)? = two.inputs.take() else {
                Issue.record("the end is not told")
                return
            }
            #expect(one.counter(.handshakesDone) == 1 && two.counter(.handshakesDone) == 1)
        }
    }

    @Test func `without a name the address must be in the certificate`() throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (_, address) = try two.listen(.tls, loopbackV4, tls: server)
            one.perform(.connect(flow, .tls, to: address, name: nil, tls: client))
            guard case .connected? = one.inputs.take() else {
                Issue.record("not connected")
                return
            }
        }
    }

    @Test(arguments: [
        ("other.example", true, TLSFailure.Reason.wrongName), ("example.net", false, .unknownIssuer),
    ])
    func `a certificate that is refused is told with what was found, and the server's machine hears of nothing`(
        name: String, knowsAuthority: Bool, reason: TLSFailure.Reason
    ) throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (_, address) = try two.listen(.tls, loopbackV4, tls: server)
            one.perform(.connect(flow, .tls, to: address, name: name, tls: knowsAuthority ? client : TLSSettings()))
            guard case .closed(flow, .secure(let failure))? = one.inputs.take() else {
                Issue.record("not told")
                return
            }
            #expect(failure.reason == reason)
            #expect(failure.expected == name)
            #expect(failure.certificate?.names.first == "DNS:example.net")
            #expect(one.counter(.handshakesFailed) == 1)
            // The refused connection is over on both sides before the next is made.
            one.perform(.connect(FlowID(rawValue: 4), .tls, to: address, name: "example.net", tls: client))
            guard case .accepted? = two.inputs.take() else {
                Issue.record("something else was told")
                return
            }
            #expect(two.counter(.handshakesFailed) == 1)
        }
    }

    @Test func `handshakes that never go on are bounded in number from one address, and in time`() throws {
        try withLoop { loop in
            var limits = TransportLimits()
            limits.handshakesPerSource = 2
            limits.secure.handshakeTime = .milliseconds(300)
            let (one, two) = (Side(loop), Side(loop, limits: limits))
            let (_, address) = try two.listen(.tls, loopbackV4, tls: server)
            let started = ContinuousClock.now
            for id in [2, 4, 6] as [UInt64] {
                one.perform(.connect(FlowID(rawValue: id), .tcp, to: address, name: nil, tls: nil))
                // A first piece of a handshake, and no more.
                one.perform(.send([22, 3, 1], FlowID(rawValue: id), to: address))
            }
            var closed: [FlowID: ContinuousClock.Instant] = [:]
            while closed.count < 3, let input = one.inputs.take() {
                if case .closed(let flow, _) = input { closed[flow] = .now }
            }
            #expect(closed.count == 3)
            let times = closed.values.sorted()
            #expect(times[1] - started >= .milliseconds(300), "two were waited for")
            #expect(two.counter(.handshakesRefused) == 1 && two.counter(.connectionsAccepted) == 2)
            #expect(two.inputs.take(seconds: 0) == nil, "the machine heard of none")
            // There is room again.
            one.perform(.connect(FlowID(rawValue: 8), .tls, to: address, name: "example.net", tls: client))
            guard case .accepted? = two.inputs.take() else {
                Issue.record("nobody is let in any more")
                return
            }
        }
    }

    @Test func `one who speaks no TLS is cut off, and the machine hears of nothing`() throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (_, address) = try two.listen(.tls, loopbackV4, tls: server)
            one.perform(.connect(flow, .tcp, to: address, name: nil, tls: nil))
            one.perform(.send(Array("REGISTER sip:example.net SIP/2.0\r\n\r\n".utf8), flow, to: address))
            guard case .connected? = one.inputs.take() else {
                Issue.record("not connected")
                return
            }
            var isClosed = false
            while let input = one.inputs.take() {
                if case .closed = input {
                    isClosed = true
                    break
                }
            }
            #expect(isClosed)
            #expect(two.counter(.handshakesFailed) == 1)
            #expect(two.inputs.take(seconds: 0) == nil)
        }
    }

    @Test func `V-017: who vanishes in mid handshake leaves nothing behind`() throws {
        try withLoop { loop in
            var limits = TransportLimits()
            limits.connections = 1
            let (one, two) = (Side(loop), Side(loop, limits: limits))
            let (_, address) = try two.listen(.tls, loopbackV4, tls: server)
            for number in 1...3 {
                let flow = FlowID(rawValue: UInt64(2 * number))
                one.perform(.connect(flow, .tcp, to: address, name: nil, tls: nil))
                // The beginning of a ClientHello.
                one.perform(.send([22, 3, 1, 2, 0, 1, 0], flow, to: address))
                one.perform(.close(flow))
                while let input = one.inputs.take() {
                    if case .closed = input { break }
                }
                while two.counter(.handshakesFailed) < number { usleep(1000) }
            }
            // The one place that there is is free again.
            one.perform(.connect(FlowID(rawValue: 20), .tls, to: address, name: "example.net", tls: client))
            guard case .connected? = one.inputs.take() else {
                Issue.record("the connections that vanished are still counted")
                return
            }
        }
    }

    @Test func `a server that says nothing is given up`() throws {
        try withLoop { loop in
            var limits = TransportLimits()
            limits.secure.handshakeTime = .milliseconds(100)
            let (one, two) = (Side(loop, limits: limits), Side(loop))
            let (_, address) = try two.listen(.tcp, loopbackV4)
            one.perform(.connect(flow, .tls, to: address, name: "example.net", tls: client))
            guard case .closed(flow, .secure(let failure))? = one.inputs.take() else {
                Issue.record("not told")
                return
            }
            #expect(failure.reason == .timedOut)
        }
    }

    @Test func `a server that is not there is told as refused, without a word of TLS`() throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (listener, address) = try two.listen(.tls, loopbackV4, tls: server)
            two.perform(.close(listener))
            _ = two.inputs.take()
            one.perform(.connect(flow, .tls, to: address, name: "example.net", tls: client))
            guard case .closed(flow, .refused)? = one.inputs.take() else {
                Issue.record("not told")
                return
            }
        }
    }

    @Test func `settings that cannot be used are told in words`() throws {
        try withLoop { loop in
            let side = Side(loop)
            #expect(throws: NetworkError.self) { try side.listen(.tls, loopbackV4) }
            do {
                let nowhere = TLSServerSettings(identity: .files(certificate: "/nowhere.pem", key: certified.key))
                _ = try side.listen(.tls, loopbackV4, tls: nowhere)
                Issue.record("it listens")
            } catch {
                let error = try #require(error as? NetworkError)
                #expect(error.code == .certificate)
                #expect(error.reason.contains("/nowhere.pem"))
            }
            side.perform(.connect(flow, .tls, to: loopbackV4, name: "example.net", tls: TLSSettings(trust: .file("/nowhere.pem"))))
            guard case .closed(flow, .secure(let failure))? = side.inputs.take() else {
                Issue.record("not told")
                return
            }
            #expect(failure.reason == .unusableSettings)
            #expect(failure.detail.contains("/nowhere.pem"))
        }
    }

    @Test func `renegotiation is refused`() throws {
        try withLoop { loop in
            let side = Side(loop)
            let (_, address) = try side.listen(.tls, loopbackV4, tls: server)
            let client = Process()
            let (input, output) = (Pipe(), Pipe())
            client.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            client.arguments = ["openssl", "s_client", "-tls1_2", "-connect", "\(address)"]
            client.standardInput = input
            client.standardOutput = output
            client.standardError = output
            try client.run()
            guard case .accepted? = side.inputs.take() else {
                Issue.record("not accepted")
                return
            }
            // A line that is an R alone asks for it.
            input.fileHandleForWriting.write(Data("R\n".utf8))
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            client.waitUntilExit()
            #expect(text.contains("RENEGOTIATING"))
            #expect(text.contains("no renegotiation"), "\(text)")
        }
    }
}
