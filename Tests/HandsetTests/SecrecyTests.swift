// SPDX-License-Identifier: Apache-2.0
//
// Requirement F8: of a whole run of registering and calling, nothing that is logged, traced, told, described, dumped or
// mirrored holds a password, what is derived from one, or what helps to guess it.

import Crypto
import CryptoOpenSSL
import Essentials
import Foundation
import Handset
import SIP
import SIPAgent
import SIPServer
import Testing

@Suite struct SecrecyTests {
    /// The texts of one run, and the secrets that were in play.
    private struct Run {
        /// Each text once, with the place where it was seen first.
        var texts: [String: String] = [:]
        var secrets: Set<String> = []

        private mutating func see(_ place: String, _ text: String) {
            if texts[text] == nil { texts[text] = place }
        }

        /// The places where `secret` is seen. `strstr`, because the search of String takes minutes here.
        func places(of secret: String) -> [String] {
            texts.filter { text, _ in
                text.withCString { text in secret.withCString { strstr(text, $0) != nil } }
            }.values.sorted()
        }

        mutating func note(_ place: String, _ value: Any) {
            see(place, "\(value)")
            see(place + " (debug)", String(reflecting: value))
            var dumped = ""
            dump(value, to: &dumped, maxDepth: 40, maxItems: 20_000)
            see(place + " (dump)", dumped)
            mirror(place, Mirror(reflecting: value), depth: 0)
        }

        private mutating func mirror(_ place: String, _ mirror: Mirror, depth: Int) {
            guard depth < 8 else { return }
            for child in mirror.children {
                see(place + " (mirror)", "\(child.label ?? ""): \(child.value)")
                self.mirror(place, Mirror(reflecting: child.value), depth: depth + 1)
            }
        }
    }

    private static let passwords = ["alice": "correct horse battery", "bob": "Tr0ub4dor&3-\"quoted\""]

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }.joined()
    }

    @Test func noSecretOfARunIsSeenAnywhere() throws {
        let stage = try Stage()
        let traced = Notes<TraceRecord>()
        let logged = Notes<LogSettings.Record>()
        let registrar = try stage.perform { try ScriptedRegistrar(stage.loop) }
        let station = try stage.phone {
            $0.trace = { traced.add($0) }
            $0.log = LogSettings(level: .debug, includesMessages: true) { logged.add($0) }
        }
        var run = Run()
        var accounts: [Account] = []
        for (name, password) in Self.passwords.sorted(by: { $0.key < $1.key }) {
            let account = try stage.perform {
                try await station.phone.addAccount("sip:\(name)@\(registrar.address)", password: Secret(password))
            }
            accounts.append(account)
            let count = accounts.count
            #expect(
                stage.run(until: {
                    station.notes.all.filter { if case .registration(_, .registered) = $0 { true } else { false } }.count == count
                }))
        }
        var calls: [Handset.Call] = []
        for account in accounts {
            let call = try stage.perform { try await account.call("bob") }
            calls.append(call)
            let before = station.states.filter { $0 == .confirmed }.count
            #expect(stage.run(until: { station.states.filter { $0 == .confirmed }.count > before }))
            stage.run(.milliseconds(100))
            try stage.perform { await call.hangUp() }
            stage.run(.milliseconds(100))
        }
        // What others send is no business of ours either.
        let own = try required(try stage.perform { await station.phone.listening.first }).address
        try stage.perform { registrar.call(own) }
        #expect(stage.run(until: { !station.incoming.isEmpty }))

        for account in accounts {
            run.note("account", account)
            run.note("account configuration", account.configuration)
            for credential in account.configuration.credentials { run.note("credential", credential) }
        }
        run.note("phone", station.phone)
        run.note("bridge", station.phone.bridge)
        for call in calls { run.note("call", call) }
        try stage.perform { await station.phone.stop() }
        let users = Self.passwords.map { ServerUser($0.key, password: Secret($0.value)) }
        run.note("server configuration", ServerConfiguration(domains: ["127.0.0.1"], users: users))
        run.note("phone settings", station.phone.settings)
        for record in traced.all { run.note("trace", record) }
        for record in logged.all {
            run.note("log", record)
            for entry in record.metadata { run.note("log entry", entry.value) }
        }
        for event in station.notes.all { run.note("event", event) }

        run.secrets = secrets(of: registrar)
        run.secrets.insert(ScriptedRegistrar.foreignSecret)
        #expect(run.texts.count > 500)
        for secret in run.secrets {
            let places = Set(run.places(of: secret))
            #expect(places.isEmpty, "\(secret) is seen in \(places.sorted())")
        }
        // The trace shows that there was something to hide.
        #expect(traced.all.filter { $0.message.contains("response=\(SecretMask.mask)") }.count >= 4)
    }
    /// Passwords, their hashes, and what the answers to challenges held.
    private func secrets(of registrar: ScriptedRegistrar) -> Set<String> {
        var secrets: Set<String> = []
        for (name, password) in Self.passwords {
            secrets.insert(password)
            for algorithm in [HashAlgorithm.md5, .sha256] {
                secrets.insert(hex(OpenSSLCryptography().hash(algorithm, Array("\(name):example.net:\(password)".utf8))))
            }
        }
        let parameters = Set(
            registrar.received.all.flatMap { text in text.matches(of: /(?:response|cnonce)="([^"]{4,})"/).map { String($0.1) } })
        // Two REGISTERs and two INVITEs at least were answered, each with a response, and a cnonce for each account.
        #expect(parameters.count >= 6)
        return secrets.union(parameters)
    }
}
