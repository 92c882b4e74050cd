// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests, made when they are needed by the `openssl` program in a folder of their own.

import Foundation
import Synchronization

/// A certificate authority of one test, and what it signs. Its folder goes with it.
public final class TestAuthority: Sendable {
    /// A certificate with its key, as files.
    public struct Certified: Sendable {
        public let certificate: String
        public let key: String
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public enum Validity: Sendable {
        case now
        case past
        case future
    }

    public let folder: String
    /// The authority's own certificate.
    public let file: String
    private let key: String
    /// `openssl ca` rewrites the list of what was signed.
    private let signing = Mutex(())

    public init() throws {
        folder = NSTemporaryDirectory() + "hs-ca-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0..<1_000_000_000))"
        file = folder + "/ca.pem"
        key = folder + "/ca.key"
        try FileManager.default.createDirectory(atPath: folder + "/new", withIntermediateDirectories: true)
        try "".write(toFile: folder + "/index", atomically: true, encoding: .utf8)
        try """
        [ca]
        default_ca = own
        [own]
        database = \(folder)/index
        rand_serial = yes
        new_certs_dir = \(folder)/new
        certificate = \(file)
        private_key = \(key)
        default_md = sha256
        policy = any
        unique_subject = no
        copy_extensions = copy
        [any]
        commonName = optional
        organizationName = optional
        """.write(toFile: folder + "/ca.conf", atomically: true, encoding: .utf8)
        try Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/O=Handset/CN=Test Authority",
            "-days", "30", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", key, "-out", file,
        ])
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A certificate signed by the authority.
    ///
    /// - Parameter names: as `openssl` writes them: `DNS:example.net`, `URI:sip:example.net`, `IP:127.0.0.1`; empty: none.
    public func certify(
        _ names: [String], commonName: String = "test", validity: Validity = .now
    ) throws -> Certified {
        let stem = folder + "/" + String(UInt32.random(in: 0..<1_000_000_000))
        let extensions = names.isEmpty ? [] : ["-addext", "subjectAltName=" + names.joined(separator: ",")]
        try Self.openssl(
            [
                "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + commonName, "-keyout",
                stem + ".key", "-out", stem + ".csr",
            ] + extensions)
        let (start, end) =
            switch validity {
            case .now: (Self.stamp(-86_400), Self.stamp(86_400))
            case .past: (Self.stamp(-20 * 86_400), Self.stamp(-10 * 86_400))
            case .future: (Self.stamp(10 * 86_400), Self.stamp(20 * 86_400))
            }
        try signing.withLock { _ in
            try Self.openssl([
                "ca", "-batch", "-notext", "-config", folder + "/ca.conf", "-startdate", start, "-enddate", end, "-in", stem + ".csr",
                "-out", stem + ".pem",
            ])
        }
        return Certified(certificate: stem + ".pem", key: stem + ".key")
    }

    /// A certificate that vouches for itself.
    public func selfSigned(_ names: [String]) throws -> Certified {
        let stem = folder + "/" + String(UInt32.random(in: 0..<1_000_000_000))
        try Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=self", "-days", "2",
            "-addext", "subjectAltName=" + names.joined(separator: ","), "-keyout", stem + ".key", "-out", stem + ".pem",
        ])
        return Certified(certificate: stem + ".pem", key: stem + ".key")
    }

    /// The SHA-256 of a certificate's public key, as docs/tls.md tells users to find it.
    public static func pin(of certificate: String) throws -> String {
        try run(
            "/bin/sh",
            ["-c", "openssl x509 -in \"$0\" -pubkey -noout | openssl pkey -pubin -outform der | sha256sum | cut -c1-64", certificate]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func stamp(_ offset: TimeInterval) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "UTC")
        format.dateFormat = "yyyyMMddHHmmss'Z'"
        return format.string(from: Date().addingTimeInterval(offset))
    }

    private static func openssl(_ arguments: [String]) throws { _ = try run("/usr/bin/env", ["openssl"] + arguments) }

    @discardableResult
    private static func run(_ executable: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let words = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: arguments.prefix(3).joined(separator: " ") + ": " + words)
        }
        return text
    }
}
