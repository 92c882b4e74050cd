// SPDX-License-Identifier: Apache-2.0
//
// Digest authentication: RFC 7616, RFC 8760, RFC 3261 §22.

import Crypto
import CryptoOpenSSL
import Essentials
import Foundation
import SIP
import SIPAgent
import Testing

private let cryptography = OpenSSLCryptography()

private func client(_ credentials: Credential...) -> DigestClient {
    DigestClient(credentials: credentials, cryptography: cryptography, random: seeded())
}

private let bob = Credential(username: "bob", password: Secret("zanzibar"))
private let register = DigestRequest(method: .register, uri: "sip:example.net")

/// A 401 (or 407) with these challenges.
private func challenge(_ values: String..., status: Int = 401) throws -> SIPMessage {
    let name = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
    let head = [
        "SIP/2.0 \(status) Unauthorized", "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKa", "From: <sip:bob@example.net>;tag=a",
        "To: <sip:bob@example.net>;tag=b", "Call-ID: c", "CSeq: 1 REGISTER",
    ]
    let lines = head + values.map { "\(name): \($0)" } + ["Content-Length: 0"]
    return try SIPMessage(parsing: Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
}

private func credentials(_ fields: [(name: HeaderName, value: String)]) throws -> Credentials {
    try Credentials(try #require(fields.first).value)
}

@Suite("Digest vectors") struct DigestVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var columns: [String]
        var testDescription: String { columns[0] }
    }

    static let vectors: [Vector] = {
        guard let octets = try? fixture("digest/vectors.tsv") else { return [] }
        return String(decoding: octets, as: UTF8.self).split(separator: "\n").dropFirst().map { line in
            Vector(columns: line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init))
        }
    }()

    @Test("All rows are there") func count() { #expect(Self.vectors.count >= 7) }

    @Test("vectors.tsv: the response is the one given", arguments: vectors)
    func response(_ vector: Vector) throws {
        let columns = vector.columns
        let algorithm = try #require(DigestAlgorithm(token: columns[2]))
        var body: [UInt8] = []
        if !columns[12].isEmpty {
            body = Array(try JSONDecoder().decode(String.self, from: Data(columns[12].utf8)).utf8)
        }
        let computation = DigestComputation(cryptography)
        let hash = computation.passwordHash(
            algorithm.hash, username: columns[3], realm: columns[4], password: Secret(columns[5]))
        let response = computation.response(
            algorithm, passwordHash: hash, nonce: columns[8],
            request: DigestRequest(method: Method(rawValue: columns[6]), uri: columns[7], body: body),
            protection: DigestProtection(rawValue: columns[9]), nonceCount: columns[10], clientNonce: columns[11])
        #expect(response == columns[13])
    }

    @Test("RFC 7616 §3.9.2: userhash with SHA-512-256")
    func userHash() {
        let computation = DigestComputation(cryptography)
        // The value of the erratum 4897 of the RFC, whose own is of another hash.
        #expect(
            computation.userHash(.sha512_256, username: "J\u{e4}s\u{f8}n Doe", realm: "api@example.org")
                == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    }
}

@Suite("Digest client") struct DigestClientTests {
    @Test("digest/two-algos.sip B-028: the topmost supported of several challenges is answered")
    func topmost() throws {
        let message = try SIPMessage(parsing: try fixture("digest/two-algos.sip"))
        var digest = client(Credential(realm: "sip.example.com", username: "1001", password: Secret("secret")))
        var attempt = DigestAttempt()
        let fields = try digest.authorize(message, for: register, attempt: &attempt)
        #expect(fields.count == 1 && fields.first?.name == .authorization)
        let answer = try credentials(fields)
        #expect(answer.parameters["algorithm"] == "SHA-256" && answer.parameters["opaque"] == "+GNywA==")
        #expect(fields[0].value.contains("algorithm=SHA-256") && fields[0].value.contains("qop=auth,"))
        let other = try challenge(
            #"Digest realm="r", nonce="n", algorithm=SHA3-999"#, #"Digest realm="r", nonce="m", algorithm=MD5"#)
        var second = DigestAttempt()
        #expect(try credentials(digestAnswer(other, &second)).parameters["algorithm"] == "MD5")
    }

    private func digestAnswer(_ message: SIPMessage, _ attempt: inout DigestAttempt) throws -> [(name: HeaderName, value: String)] {
        var digest = client(bob)
        return try digest.authorize(message, for: register, attempt: &attempt)
    }

    @Test("digest/auth-authint.sip B-031: auth is chosen, written without quotes, and is what the response is computed with")
    func protection() throws {
        let message = try SIPMessage(parsing: try fixture("digest/auth-authint.sip"))
        var digest = client(bob)
        var attempt = DigestAttempt()
        let request = DigestRequest(method: .invite, uri: "sip:1002@sip.example.com", body: [1, 2, 3])
        let fields = try digest.authorize(message, for: request, attempt: &attempt)
        #expect(fields.first?.name == .proxyAuthorization)
        #expect(fields[0].value.contains("qop=auth,") && !fields[0].value.contains("qop=\""))
        let parameters = try credentials(fields).parameters
        let computation = DigestComputation(cryptography)
        let hash = computation.passwordHash(.md5, username: "bob", realm: "sip.example.com", password: Secret("zanzibar"))
        let expected = computation.response(
            DigestAlgorithm(.md5), passwordHash: hash, nonce: "d9920494-56b1", request: request, protection: .auth,
            nonceCount: "00000001", clientNonce: try #require(parameters["cnonce"]))
        #expect(parameters["response"] == expected)
    }

    @Test("digest/folded-aka.sip: a folded challenge is read, and an unsupported algorithm is reported without another request")
    func unsupported() throws {
        let message = try SIPMessage(parsing: try fixture("digest/folded-aka.sip"))
        let digest = try #require(DigestChallenge.all(in: message, limit: 4).first)
        #expect(digest.realm == "example.net" && digest.nonce == "abcdefghijklmnopqrstuvwxyz=" && digest.algorithm == "AKAv1-MD5")
        #expect(digest.opaque == "ALU:abcdefghijklmnopqrstuvwxyz__" && digest.protections == ["auth"])
        var attempt = DigestAttempt()
        #expect(throws: DigestFailure.unsupported(algorithm: "AKAv1-MD5")) { try digestAnswer(message, &attempt) }
        #expect(DigestFailure.unsupported(algorithm: "AKAv1-MD5").code == "auth.unsupported")
    }

    @Test("B-029: the nonce count goes up for each request with the same nonce, and the method of A2 is that of the request")
    func nonceCount() throws {
        var digest = client(bob)
        var attempt = DigestAttempt()
        let first = try digest.authorize(
            try challenge(#"Digest realm="r", nonce="n1", qop="auth""#), for: register, attempt: &attempt)
        #expect(first[0].value.contains("nc=00000001"))
        let invite = DigestRequest(method: .invite, uri: "sip:carol@example.net")
        var next = DigestAttempt()
        let second = digest.preemptive(for: invite, attempt: &next)
        #expect(second.count == 1 && second[0].value.contains("nc=00000002"))
        let parameters = try credentials(second).parameters
        let computation = DigestComputation(cryptography)
        let expected = computation.response(
            DigestAlgorithm(.md5), passwordHash: computation.passwordHash(.md5, username: "bob", realm: "r", password: bob.password),
            nonce: "n1", request: invite, protection: .auth, nonceCount: "00000002", clientNonce: try #require(parameters["cnonce"]))
        #expect(parameters["response"] == expected && parameters["uri"] == "sip:carol@example.net")
        var third = DigestAttempt()
        let fresh = try digest.authorize(
            try challenge(#"Digest realm="r", nonce="n2", qop="auth""#), for: register, attempt: &third)
        #expect(fresh[0].value.contains("nc=00000001"), "a new nonce counts anew")
    }

    @Test("B-030: a new nonce without stale is answered once, a second one in a row is a failure")
    func newNonce() throws {
        var digest = client(bob)
        var attempt = DigestAttempt()
        _ = try digest.authorize(try challenge(#"Digest realm="r", nonce="n1", qop="auth""#), for: register, attempt: &attempt)
        _ = try digest.authorize(try challenge(#"Digest realm="r", nonce="n2", qop="auth""#), for: register, attempt: &attempt)
        #expect(throws: DigestFailure.refused(realm: "r")) {
            try digest.authorize(try challenge(#"Digest realm="r", nonce="n3", qop="auth""#), for: register, attempt: &attempt)
        }
        #expect(digest.counters[.renewed] == 1 && digest.counters[.refused] == 1)
        var next = DigestAttempt()
        #expect(digest.preemptive(for: register, attempt: &next).isEmpty, "nothing refused is sent again by itself")
    }

    @Test("B-030: a cached nonce that ran out gets one silent retry")
    func cachedNonce() throws {
        var digest = client(bob)
        var attempt = DigestAttempt()
        _ = try digest.authorize(try challenge(#"Digest realm="r", nonce="n1", qop="auth""#), for: register, attempt: &attempt)
        var next = DigestAttempt()
        #expect(digest.preemptive(for: register, attempt: &next).count == 1)
        let retry = try digest.authorize(try challenge(#"Digest realm="r", nonce="n2", qop="auth""#), for: register, attempt: &next)
        #expect(retry[0].value.contains("n2"))
        #expect(throws: DigestFailure.refused(realm: "r")) {
            try digest.authorize(try challenge(#"Digest realm="r", nonce="n3", qop="auth""#), for: register, attempt: &next)
        }
    }

    @Test("The same nonce refused without stale is a wrong password at once")
    func sameNonce() throws {
        var digest = client(bob)
        var attempt = DigestAttempt()
        let message = try challenge(#"Digest realm="r", nonce="n1""#)
        _ = try digest.authorize(message, for: register, attempt: &attempt)
        #expect(throws: DigestFailure.refused(realm: "r")) { try digest.authorize(message, for: register, attempt: &attempt) }
        #expect(attempt.rounds == 1)
    }

    @Test("V-022: a challenge with another nonce each time ends after two rounds, stale each time after three")
    func endless() throws {
        for (stale, expected) in [("", 2), (", stale=true", 3)] {
            var digest = client(bob)
            var attempt = DigestAttempt()
            var rounds = 0
            do {
                while rounds < 100 {
                    let message = try challenge(#"Digest realm="r", nonce="n\#(rounds)", qop="auth"\#(stale)"#)
                    _ = try digest.authorize(message, for: register, attempt: &attempt)
                    rounds += 1
                }
            } catch is DigestFailure {}
            #expect(rounds == expected)
        }
    }

    @Test("Challenges of several realms and kinds: those of ours are answered, one field each")
    func realms() throws {
        var digest = DigestClient(
            credentials: [
                Credential(realm: "a", username: "ua", password: Secret("1")),
                Credential(realm: "b", username: "ub", password: Secret("2")),
            ], cryptography: cryptography, random: seeded())
        var attempt = DigestAttempt()
        let message = try challenge(
            #"Digest realm="x", nonce="n0""#, #"Digest realm="a", nonce="n1""#, #"Digest realm="b", nonce="n2""#)
        let fields = try digest.authorize(message, for: register, attempt: &attempt)
        #expect(fields.count == 2 && fields[0].value.contains(#"username="ua""#) && fields[1].value.contains(#"username="ub""#))
        #expect(digest.counters[.foreignRealm] == 1)
        var second = DigestAttempt()
        #expect(throws: DigestFailure.foreignRealm("x")) {
            try digest.authorize(try challenge(#"Digest realm="x", nonce="n0""#), for: register, attempt: &second)
        }
        #expect(digest.preemptive(for: register, attempt: &second).count == 2)
    }

    @Test("A proxy's and a server's challenge, one after the other, are both answered in the end")
    func proxyThenServer() throws {
        var digest = client(bob)
        var attempt = DigestAttempt()
        _ = try digest.authorize(try challenge(#"Digest realm="p", nonce="n1""#, status: 407), for: register, attempt: &attempt)
        let fields = try digest.authorize(try challenge(#"Digest realm="s", nonce="n2""#), for: register, attempt: &attempt)
        #expect(fields.map(\.name) == [.proxyAuthorization, .authorization])
    }

    @Test("V-012: a realm, nonce or opaque value of several kB is refused", arguments: ["realm", "nonce", "opaque"])
    func tooLong(_ name: String) throws {
        for length in [1_500, 8_000] {
            var values = ["realm": "r", "nonce": "n", "opaque": "o"]
            values[name] = String(repeating: "x", count: length)
            let message = try challenge(
                "Digest realm=\"\(values["realm"]!)\", nonce=\"\(values["nonce"]!)\", opaque=\"\(values["opaque"]!)\"")
            var attempt = DigestAttempt()
            #expect(throws: DigestFailure.self) { try digestAnswer(message, &attempt) }
            #expect(attempt.rounds == 0)
        }
    }

    @Test("userhash=true sends the hash of the name")
    func userHash() throws {
        var attempt = DigestAttempt()
        let fields = try digestAnswer(
            try challenge(#"Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth", userhash=true"#), &attempt)
        let name = cryptography.hexHash(.sha256, Array("bob:r".utf8))
        #expect(fields[0].value.contains("username=\"\(name)\"") && fields[0].value.contains("userhash=true"))
        #expect(!fields[0].value.contains("bob"))
    }

    @Test("Session algorithms use the client nonce in the key")
    func session() throws {
        var attempt = DigestAttempt()
        let fields = try digestAnswer(try challenge(#"Digest realm="r", nonce="n", algorithm=MD5-sess, qop="auth""#), &attempt)
        let parameters = try credentials(fields).parameters
        let cnonce = try #require(parameters["cnonce"])
        func hex(_ text: String) -> String { cryptography.hexHash(.md5, Array(text.utf8)) }
        let key = hex(hex("bob:r:zanzibar") + ":n:" + cnonce)
        #expect(parameters["response"] == hex("\(key):n:00000001:\(cnonce):auth:" + hex("REGISTER:sip:example.net")))
        #expect(parameters["algorithm"] == "MD5-sess")
    }

    @Test("What is quoted cannot end its quotes")
    func quoting() throws {
        var digest = client(Credential(username: #"a"b\c"#, password: Secret("p")))
        var attempt = DigestAttempt()
        let fields = try digest.authorize(try challenge(#"Digest realm="r", nonce="n""#), for: register, attempt: &attempt)
        #expect(try credentials(fields).parameters["username"] == #"a"b\c"#)
        #expect(fields[0].value.hasPrefix(#"Digest username="a\"b\\c", realm="r""#))
    }

    @Test("A password is in no description, dump or mirror")
    func secret() {
        let digest = client(Credential(username: "bob", password: Secret("hidden-word")))
        var text = "\(digest) \(digest.credentials)"
        dump(digest, to: &text)
        #expect(!text.contains("hidden-word"))
    }
}

@Suite("Digest server") struct DigestServerTests {
    private func makeServer(_ change: (inout DigestServerConfiguration) -> Void = { _ in }) -> DigestServer {
        var configuration = DigestServerConfiguration(realm: "r")
        change(&configuration)
        return DigestServer(configuration: configuration, cryptography: cryptography, random: seeded(), now: .zero)
    }

    private func authorized(_ server: DigestServer, _ digest: inout DigestClient, now: MonotonicTime) throws -> Credentials {
        var server = server
        var attempt = DigestAttempt()
        let values = server.challenges(now: now)
        let message = try challenge(values[0], values.count > 1 ? values[1] : values[0])
        return try credentials(try digest.authorize(message, for: register, attempt: &attempt))
    }

    private func verify(_ server: inout DigestServer, _ credentials: Credentials, _ now: MonotonicTime) -> DigestVerdict {
        server.verify(credentials, method: .register, body: [], now: now) { $0 == "bob" ? Secret("zanzibar") : nil }
    }

    @Test("Right credentials are valid once; the same nonce count again is stale")
    func replay() throws {
        var server = makeServer()
        var digest = client(bob)
        let first = try authorized(server, &digest, now: .zero)
        #expect(first.parameters["algorithm"] == "SHA-256", "the first algorithm offered")
        #expect(verify(&server, first, .zero) == .valid(username: "bob"))
        #expect(verify(&server, first, .zero) == .stale)
        var attempt = DigestAttempt()
        var values: [Credentials] = []
        for _ in 0..<3 { values.append(try credentials(digest.preemptive(for: register, attempt: &attempt))) }
        for index in [2, 0, 1] { #expect(verify(&server, values[index], .zero) == .valid(username: "bob"), "in any order") }
        for value in values { #expect(verify(&server, value, .zero) == .stale) }
    }

    @Test("Two who are challenged in the same instant both get in: each has a nonce of its own")
    func sameInstant() throws {
        var server = makeServer()
        var nonces: Set<String> = []
        for _ in 0..<3 {
            var digest = client(bob)
            var attempt = DigestAttempt()
            let values = server.challenges(now: .zero)
            let message = try challenge(values[0], values[1])
            let answer = try credentials(try digest.authorize(message, for: register, attempt: &attempt))
            nonces.insert(try #require(answer.parameters.value("nonce")))
            #expect(verify(&server, answer, .zero) == .valid(username: "bob"))
        }
        #expect(nonces.count == 3)
    }

    @Test("An old nonce is stale, one that we did not issue too")
    func expiry() throws {
        var server = makeServer()
        var digest = client(bob)
        let value = try authorized(server, &digest, now: .zero)
        #expect(verify(&server, value, .zero + .seconds(301)) == .stale)
        var foreign = value
        foreign.parameters.set("nonce", String(repeating: "0", count: 48))
        #expect(verify(&server, foreign, .zero) == .stale)
        let text = server.challenges(stale: true, now: .zero)
        #expect(text.count == 2 && text.allSatisfy { $0.contains("stale=true") && $0.contains("qop=\"auth\"") })
    }

    @Test("A wrong password, another method and an unknown user are wrong; what lacks a part is malformed")
    func wrong() throws {
        var server = makeServer()
        var digest = client(Credential(username: "bob", password: Secret("guess")))
        #expect(verify(&server, try authorized(server, &digest, now: .zero), .zero) == .wrong(username: "bob"))
        var right = client(bob)
        let value = try authorized(server, &right, now: .zero)
        let other = server.verify(value, method: .invite, body: [], now: .zero) { _ in bob.password }
        #expect(other == .wrong(username: "bob"))
        var carol = client(Credential(username: "carol", password: Secret("x")))
        #expect(verify(&server, try authorized(server, &carol, now: .zero), .zero) == .wrong(username: "carol"))
        for name in ["nonce", "uri", "response", "username", "nc", "cnonce", "qop"] {
            var broken = value
            broken.parameters.remove(name)
            #expect(verify(&server, broken, .zero) == .malformed, "\(name)")
        }
    }

    @Test("The memory of used nonces is bounded; what was forgotten is stale, not usable again")
    func bounded() throws {
        var server = makeServer { $0.rememberedNonces = 4 }
        var values: [Credentials] = []
        for number in 0..<10 {
            let now = MonotonicTime.zero + .milliseconds(Int64(number))
            var digest = client(bob)
            values.append(try authorized(server, &digest, now: now))
            #expect(verify(&server, values[number], now) == .valid(username: "bob"))
        }
        for value in values { #expect(verify(&server, value, .zero + .seconds(1)) == .stale) }
    }

    @Test("A request without credentials for the realm is to be challenged")
    func absent() throws {
        var server = makeServer()
        let message = try SIPMessage(
            parsing: request("REGISTER", extra: [#"Authorization: Digest username="bob", realm="else", nonce="n", uri="u", response="r""#]))
        #expect(server.verify(message, now: .zero) { _ in nil } == .absent)
    }
}
