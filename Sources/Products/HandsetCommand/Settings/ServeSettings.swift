// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent

/// The options of `serve`.
package struct ServeSettings: Sendable {
    package struct Listener: Sendable, Equatable {
        package var transport: TransportProtocol
        package var address: SocketAddress

        package init(transport: TransportProtocol, address: SocketAddress) {
            self.transport = transport
            self.address = address
        }
    }

    package struct User: Sendable, Equatable {
        package var name: String
        package var password: Secret
    }

    package var listeners: [Listener]
    /// Empty: the addresses that the server listens on, and localhost.
    package var domains: [String]
    /// Empty: everybody may register and call.
    package var users: [User]
    /// The hash functions of challenges, the preferred first.
    package var digestAlgorithms: [HashAlgorithm]
    /// What listeners with TLS show; nil: there are none.
    package var secureListener: TLSServerSettings?
    /// The one path that WebSocket listeners serve; nil: each.
    package var webSocketPath: String?
    /// The web pages that may connect by WebSocket; nil: all.
    package var webSocketOrigins: [String]?
    /// Whether devices that ask for a GRUU get one.
    package var givesGRUU: Bool
    /// The key of Record-Route; nil: a random one.
    package var routeKey: Secret?
    package var musicFile: String?
    package var recordings: String

    /// Reads `--users` if it is given.
    package init(_ invocation: Invocation) throws(CommandFailure) {
        listeners = invocation.all("--listen").compactMap(Address.parseListener).map {
            Listener(transport: $0.transport, address: $0.address)
        }
        if listeners.isEmpty {
            let address = SocketAddress(.loopbackV4, 5060)
            listeners = [Listener(transport: .udp, address: address), Listener(transport: .tcp, address: address)]
        }
        secureListener = try SecureSettings(invocation).server(listeners.map(\.transport))
        digestAlgorithms = (invocation.value("--digest") ?? "md5").split(separator: ",").compactMap { Self.algorithms[$0.lowercased()] }
        webSocketPath = invocation.value("--ws-path")
        let origins = invocation.all("--ws-origin")
        webSocketOrigins = origins.isEmpty ? nil : origins
        givesGRUU = invocation.has("--gruu")
        musicFile = invocation.value("--music")
        recordings = invocation.value("--recordings") ?? "handset-recordings"
        domains = invocation.all("--domain").map { $0.lowercased() }
        users = []
        for text in invocation.all("--user") { users.append(try Self.user(text, place: "--user")) }
        if let file = invocation.value("--route-key-file") { routeKey = try Self.routeKey(file) }
        guard let file = invocation.value("--users") else { return }
        let bytes: [UInt8]
        do { bytes = try TextFile.read(file) } catch { throw .failed("\(error)") }
        for (index, line) in TextFile.lines(bytes).enumerated() { users.append(try Self.user(line, place: "\(file), entry \(index + 1)")) }
    }

    private static func routeKey(_ file: String) throws(CommandFailure) -> Secret {
        let line: [UInt8]
        do { line = Array(try TextFile.read(file).prefix { $0 != 0x0a && $0 != 0x0d }) } catch { throw .failed("\(error)") }
        guard line.count >= 16 else { throw .usage("--route-key-file: the first line has less than 16 octets.") }
        return Secret(utf8: line)
    }

    private static let algorithms: [String: HashAlgorithm] = ["md5": .md5, "sha-256": .sha256, "sha-512-256": .sha512_256]

    /// The text is not repeated in the message: it holds a password.
    private static func user(_ text: String, place: String) throws(CommandFailure) -> User {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { throw .usage("\(place) is not NAME:PASSWORD.") }
        return User(name: String(text[..<colon]), password: Secret(String(text[text.index(after: colon)...])))
    }
}
