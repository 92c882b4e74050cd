// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import SDP
import Testing

enum Fixtures {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/sdp")

    static func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appendingPathComponent(name))) }

    static func description(_ name: String) throws -> SessionDescription {
        try SessionDescription(parsing: try bytes(name))
    }

    static var allNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasSuffix(".sdp") }.sorted()
    }
}

/// The phone that the index of the corpus assumes.
let fullCapabilities = AudioCapabilities(codecs: [.pcmu, .pcma, .g722, .opus])
let ourAddress = SocketAddress(IPAddress.v4(0xc000_0201), 4000)

func machine(_ capabilities: AudioCapabilities = fullCapabilities) -> OfferAnswer {
    OfferAnswer(capabilities: capabilities, sessionID: 42)
}

/// A description of the given lines, ended by CRLF.
func lines(_ text: String) -> [UInt8] {
    Array(text.split(separator: "\n").map { $0 + "\r\n" }.joined().utf8)
}

/// An offer or answer with one audio line and the given lines below it.
func audio(_ media: String, _ below: String..., connection: String = "IN IP4 192.0.2.9") throws -> SessionDescription {
    let text = ["v=0", "o=- 1 1 IN IP4 192.0.2.9", "s=-", "c=\(connection)", "t=0 0", "m=\(media)"] + below
    return try SessionDescription(parsing: lines(text.joined(separator: "\n")))
}

func address(_ text: String) throws -> SocketAddress { try #require(SocketAddress(text)) }
