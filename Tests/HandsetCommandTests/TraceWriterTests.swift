// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import HandsetCommand
import TestArtefacts
import Testing

@Suite struct TraceWriterTests {
    @Test func aTraceLineIsAnObjectWithoutSecrets() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("handset-trace-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let trace = TraceWriter(output: try LineOutput(creating: path))
        let remote = try #require(SocketAddress("192.0.2.1:5060"))
        let message = "REGISTER sip:a SIP/2.0\r\nAuthorization: Digest response=\"0123\"\r\n\r\n"
        trace.write(.sent, .udp, local: nil, remote: remote, message: Array(message.utf8), at: MonotonicTime(nanoseconds: 1_234_567_890))
        Artefacts.keep(fileAt: path)
        let text = String(decoding: try TextFile.read(path), as: UTF8.self)
        let line = try JSONValue(parsing: text)
        #expect(line["time"]?.number == 1.234567)
        #expect(line["direction"] == "sent")
        #expect(line["remote"] == "192.0.2.1:5060")
        #expect(line["message"] == "REGISTER sip:a SIP/2.0\r\nAuthorization: Digest response=***\r\n\r\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
