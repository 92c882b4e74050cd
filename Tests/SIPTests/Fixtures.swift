// SPDX-License-Identifier: Apache-2.0

import Foundation
import SIP

/// The files under Tests/Fixtures.
enum Fixtures {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: root.appending(path: path))) }

    /// The names in the first column of a folder's index, without those that are no whole message.
    static func indexed(_ folder: String) throws -> [String] {
        String(decoding: try bytes("\(folder)/index.tsv"), as: UTF8.self)
            .split(separator: "\n").dropFirst().compactMap { $0.split(separator: "\t").first.map(String.init) }
            .filter { $0.hasSuffix(".sip") }.map { "\(folder)/\($0)" }
    }

    static let folders = ["rfc4475", "rfc5118", "flows", "digest", "sdp"]

    static func allMessages() throws -> [String] { try folders.flatMap { try indexed($0) } }

    static func message(_ path: String) throws -> SIPMessage { try SIPMessage(parsing: bytes(path)) }
}

extension String {
    var octets: [UInt8] { Array(utf8) }
    /// With each line end as CRLF.
    var crlf: String { replacing("\n", with: "\r\n") }
}

/// A request that has everything, with `extra` lines (each ended by "\n") put in; `without` drops the lines of that name.
func request(
    _ method: String = "OPTIONS", uri: String = "sip:bob@example.com", extra: String = "", without: [String] = [], body: String = ""
) -> [UInt8] {
    let lines = [
        "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK776asdhds", "Max-Forwards: 70", "From: Alice <sip:alice@example.com>;tag=1928301774",
        "To: <sip:bob@example.com>", "Call-ID: a84b4c76e66710@pc33.example.com", "CSeq: 314159 \(method)",
        "Content-Length: \(body.utf8.count)",
    ].filter { line in !without.contains { line.hasPrefix($0 + ":") } }
    return ("\(method) \(uri) SIP/2.0\n" + lines.map { $0 + "\n" }.joined() + extra + "\n").crlf.octets + body.octets
}

extension SIPMessage.Reception {
    var message: SIPMessage? {
        if case .message(let message) = self { return message }
        return nil
    }

    /// `message`, `refuse 400 code` or `drop code`.
    var verdict: String {
        switch self {
        case .message: "message"
        case .refuse(_, let status, let error): "refuse \(status) \(error.code.rawValue)"
        case .drop(let error): "drop \(error.code.rawValue)"
        }
    }
}
