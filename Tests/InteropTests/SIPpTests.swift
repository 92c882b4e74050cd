// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Handset
import PhoneCore
import Testing

extension Interop {
    /// SIPp's built-in scenarios: 200 calls at 20 a second, none may fail.
    @Suite(.serialized) struct SIPpTests {
        /// Both transports at once: it is mostly waiting.
        @Test func sippCallsUsOverUDPAndTCP() async throws {
            async let udp: Void = sippCallsUs("udp", "u1")
            async let tcp: Void = sippCallsUs("tcp", "t1")
            _ = try await (udp, tcp)
        }

        @Test func weCallSIPpOverUDPAndTCP() async throws {
            async let udp: Void = weCallSIPp("udp", "u1")
            async let tcp: Void = weCallSIPp("tcp", "t1")
            _ = try await (udp, tcp)
        }

        private func sippCallsUs(_ transport: String, _ mode: String) async throws {
            let port = try Bench.freePort()
            let us = try Bench.handset(["answer", "--no-register", "--listen", "127.0.0.1:\(port)"])
            try await us.wait(for: "listening", ["transport": transport])
            let sipp = try Subprocess(
                "/usr/bin/sipp",
                [
                    "-sn", "uac", "127.0.0.1:\(port)", "-i", "127.0.0.1", "-p", "\(try Bench.freePort())", "-mp",
                    "\(try Bench.freePort() & ~1)",
                    "-m", "200", "-r", "20", "-t", mode, "-nostdin", "-timeout", "40s", "-timeout_error",
                ], directory: try Bench.folder())
            let status = try await sipp.exitStatus(within: 50)
            #expect(status == 0, "\(sipp.transcript)")
            for _ in 0..<200 where us.events("ended").count < 200 { try await Task.sleep(for: .milliseconds(10)) }
            #expect(us.events("ended").count == 200)
            await us.stop()
        }

        private func weCallSIPp(_ transport: String, _ mode: String) async throws {
            let port = try Bench.freePort()
            let sipp = try Subprocess(
                "/usr/bin/sipp",
                [
                    "-sn", "uas", "-i", "127.0.0.1", "-p", "\(port)", "-mp", "\(try Bench.freePort() & ~1)", "-t", mode, "-m", "200",
                    "-nostdin",
                    "-timeout", "60s",
                ], directory: try Bench.folder())
            try await Task.sleep(for: .milliseconds(500))
            let phone = try await Phone(
                PhoneSettings(listeners: [.init(.udp, SocketAddress(.loopbackV4, 0)), .init(.tcp, SocketAddress(.loopbackV4, 0))]))
            let uri = "sip:service@127.0.0.1:\(port)" + (transport == "tcp" ? ";transport=tcp" : "")
            let failures = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        let call = try await phone.call(from: nil, to: uri)
                        for await event in call.events {
                            switch event {
                            case .state(.confirmed, _, _): await call.hangUp()
                            case .ended(let end): return end.wasEstablished ? nil : "\(end.cause.code): \(end.cause.sentence)"
                            default: continue
                            }
                        }
                        return "the events ended without an end"
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
                return try await group.reduce(into: [String]()) { failures, failure in if let failure { failures.append(failure) } }
            }
            #expect(failures.isEmpty, "\(failures.prefix(5))")
            await phone.stop()
            #expect(try await sipp.exitStatus(within: 40) == 0, "\(sipp.transcript)")
        }
    }
}
