// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoOpenSSL
import Essentials
import Foundation
import STUN
import Testing

/// Files of Tests/Fixtures/stun.
func fixture(_ name: String) throws -> [UInt8] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: root.appendingPathComponent("Fixtures/stun/\(name)")))
}

func octets(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

let cryptography = OpenSSLCryptography()
/// The password of RFC 5769 §2.
let password = Secret("VOkJxbRl1RmTxUk/WvJxBt")

@Suite struct RFC5769Tests {
    @Test func `stun/request.bin: user, integrity and fingerprint of the sample request`() throws {
        let message = try STUNMessage(parsing: try fixture("request.bin"))
        #expect(message.kind == .request && message.method == .binding)
        #expect(message.transaction == STUNTransactionID(high: 0xb7e7_a701, low: 0xbc34_d686_fa87_dfae))
        #expect(message.software == "STUN test client")
        #expect(message.username == "evtj:h6vY" && message.value(.username)?.count == 9)
        #expect(message.value(.priority) == [0x6e, 0, 1, 0xff])
        #expect(message.value(.iceControlled) == octets("932ff9b151263b36"))
        #expect(message.hasFingerprint)
        #expect(message.isAuthentic(STUNCredential.shortTerm(password: password).key(cryptography), cryptography))
        #expect(!message.isAuthentic(Secret("VOkJxbRl1RmTxUk/WvJxBT"), cryptography))
        // PRIORITY is for ICE: whoever does none must refuse it.
        #expect(message.notUnderstood() == [.priority] && message.notUnderstood(known: [.priority]) == [])
    }

    @Test func `stun/response-ipv4.bin: the mapped address of the sample response`() throws {
        let message = try STUNMessage(parsing: try fixture("response-ipv4.bin"))
        #expect(message.kind == .success && message.software == "test vector")
        #expect(message.mappedAddress == SocketAddress("192.0.2.1:32853"))
        #expect(message.hasFingerprint && message.isAuthentic(password, cryptography))
    }

    @Test func `RFC 5769 2.3: the mapped address of the IPv6 response`() throws {
        let message = try STUNMessage(
            parsing: octets(
                """
                01010048 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200014 0002a147
                0113a9fa a5d3f179 bc25f4b5 bed2b9d9 00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41 80280004 c8fb0b4c
                """))
        #expect(message.mappedAddress == SocketAddress("[2001:db8:1234:5678:11:2233:4455:6677]:32853"))
        #expect(message.hasFingerprint && message.isAuthentic(password, cryptography))
    }

    @Test func `RFC 5769 2.4: the long-term credential signs the request of an account`() throws {
        let message = try STUNMessage(
            parsing: octets(
                """
                00010060 2112a442 78ad3433 c6ad72c0 29da412e 00060012 e3839ee3 8388e383 aae38383 e382afe3 82b90000
                0015001c 662f2f34 39396b39 35346436 4f4c3334 6f4c3946 53547679 36347341 0014000b 6578616d 706c652e 6f726700
                00080014 f6702465 6dd64a3e 02b8e071 2e85c9a2 8ca89666
                """))
        #expect(message.realm == "example.org" && message.nonce == "f//499k954d6OL34oL9FSTvy64sA" && !message.hasFingerprint)
        let user = try #require(message.username)
        let key = STUNCredential.longTerm(username: user, realm: "example.org", password: Secret("TheMatrIX"))
        #expect(user == "マトリックス" && message.isAuthentic(key.key(cryptography), cryptography))
    }
}

@Suite struct STUNParserTests {
    func failure(_ bytes: [UInt8], limits: STUNLimits = .default) -> STUNError.Code? {
        do {
            _ = try STUNMessage(parsing: bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [
        ("len-not-4.bin", STUNError.Code.badLength), ("len-too-big.bin", .badLength), ("attr-overrun.bin", .attributeOverrun),
    ]) func `stun/len-not-4.bin, stun/len-too-big.bin, stun/attr-overrun.bin are dropped`(file: String, code: STUNError.Code) throws {
        #expect(failure(try fixture(file)) == code)
    }

    static func message(_ attributes: String) -> [UInt8] {
        let body = octets(attributes)
        return [1, 1, UInt8(body.count >> 8), UInt8(body.count & 255)] + octets("2112a442 b7e7a701 bc34d686 fa87dfae") + body
    }

    @Test func `V-005: an attribute that is longer than the message is dropped, whatever its length`() {
        for length in 1...600 {
            let high = String(length >> 8 | 0x100, radix: 16).dropFirst()
            let low = String(length & 255 | 0x100, radix: 16).dropFirst()
            #expect(failure(Self.message("0020 \(high)\(low)")) == .attributeOverrun)
        }
    }

    @Test(arguments: ["", "00", "0000", "000004", "00000700", "00000200", "00000464"])
    func `V-006: an ERROR-CODE that is too short, or of no class, is dropped`(value: String) {
        let count = value.count / 2
        let padded = value + String(repeating: "00", count: (4 - count % 4) % 4)
        #expect(failure(Self.message("0009 000\(count) \(padded)")) == .badAttribute)
    }

    @Test func `V-007: an unknown attribute is stepped over inside the message and never past it`() throws {
        for end in 0...3 {
            #expect(failure(Self.message("7fff 000\(end + 5) 01020304")) == .attributeOverrun)
        }
        let message = try STUNMessage(parsing: Self.message("7fff 0003 01020300 ffff 0000"))
        #expect(message.attributes.map(\.value) == [[1, 2, 3], []])
        #expect(message.notUnderstood() == [STUNAttributeType(rawValue: 0x7fff)])
    }

    @Test func `no octets but a message of this protocol are read as one`() {
        #expect(failure([]) == .truncated)
        #expect(failure(Array("INVITE sip:bob@example.com SIP/2.0\r\n\r\n".utf8)) == .notSTUN)
        var old = STUNBinding.request(STUNTransactionID(high: 1, low: 2))
        old[4] = 0
        #expect(failure(old) == .notSTUN && !STUNMessage.isSTUN(old))
        #expect(failure(Self.message(String(repeating: "80220000", count: 65))) == .tooLarge)
        var limits = STUNLimits()
        limits.octets = 27
        #expect(failure(STUNBinding.request(STUNTransactionID(high: 1, low: 2)), limits: limits) == .tooLarge)
    }

    @Test func `a fingerprint that is wrong, or not the last, spoils the message`() {
        var bytes = STUNBinding.request(STUNTransactionID(high: 1, low: 2))
        #expect(failure(bytes) == nil)
        bytes[27] ^= 1
        #expect(failure(bytes) == .badFingerprint)
        var builder = STUNMessageBuilder(.request, transaction: STUNTransactionID(high: 1, low: 2))
        builder.add(.fingerprint, [0, 0, 0, 0])
        builder.add(.software, "x")
        #expect(failure(builder.build()) == .badFingerprint)
    }

    @Test func `what follows the integrity is not believed`() throws {
        var builder = STUNMessageBuilder(.success, transaction: STUNTransactionID(high: 1, low: 2))
        builder.add(.messageIntegrity, [UInt8](repeating: 7, count: 20))
        builder.addMapped(SocketAddress(.loopbackV4, 5060))
        let message = try STUNMessage(parsing: builder.build())
        #expect(message.mappedAddress == nil && !message.isAuthentic(password, cryptography))
    }
}

@Suite struct STUNBindingTests {
    @Test(arguments: ["192.0.2.7:5060", "[2001:db8::7]:65535"])
    func `a binding request is answered with the address that it came from`(address: String) throws {
        let source = try #require(SocketAddress(address))
        let transaction = STUNTransactionID(high: 0xffff_ffff, low: 0x0123_4567_89ab_cdef)
        let request = try STUNMessage(parsing: STUNBinding.request(transaction))
        let response = try STUNMessage(parsing: try #require(STUNBinding.response(to: request, from: source)))
        #expect(response.kind == .success && response.transaction == transaction && response.mappedAddress == source)
        #expect(response.hasFingerprint)
        #expect(STUNBinding.response(to: response, from: source) == nil)
    }

    @Test func `a request with what must be understood and is not gets 420`() throws {
        let request = try STUNMessage(parsing: try fixture("request.bin"))
        let answer = try #require(STUNBinding.response(to: request, from: SocketAddress(.loopbackV4, 1)))
        let response = try STUNMessage(parsing: answer)
        #expect(response.kind == .failure && response.errorCode == .unknownAttribute && response.unknownAttributes == [.priority])
    }

    @Test func `what the builder writes and signs is read back`() throws {
        let key = STUNCredential.longTerm(username: "bob", realm: "example.net", password: Secret("secret")).key(cryptography)
        for method in [STUNMethod.binding, STUNMethod(rawValue: 0xff), STUNMethod(rawValue: 0xa5)] {
            for kind in [STUNMessage.Kind.request, .indication, .success, .failure] {
                var builder = STUNMessageBuilder(kind, method, transaction: STUNTransactionID(high: 7, low: 9))
                builder.add(.username, "bob")
                builder.add(.realm, "example.net")
                builder.add(STUNErrorCode.staleNonce)
                let message = try STUNMessage(parsing: builder.build(signedWith: (key, cryptography), fingerprint: true))
                #expect(message.method == method && message.kind == kind && message.username == "bob")
                #expect(message.errorCode == .staleNonce && message.hasFingerprint && message.isAuthentic(key, cryptography))
            }
        }
    }

    @Test func `an old server's MAPPED-ADDRESS is taken where there is no other`() throws {
        var builder = STUNMessageBuilder(.success, transaction: STUNTransactionID(high: 7, low: 9))
        builder.add(.mappedAddress, [0, 1, 0x13, 0xc4, 192, 0, 2, 9])
        #expect(try STUNMessage(parsing: builder.build()).mappedAddress == SocketAddress("192.0.2.9:5060"))
    }
}
