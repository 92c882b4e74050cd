// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoOpenSSL
import Testing

@Suite struct OpenSSLCryptographyTests {
    /// RFC 1321 §A.5, and NIST's examples for SHA-256 and SHA-512/256 of `abc`.
    @Test(arguments: [
        (HashAlgorithm.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ]) func `abc has the published hash`(algorithm: HashAlgorithm, expected: String) {
        let cryptography = OpenSSLCryptography()
        #expect(cryptography.hexHash(algorithm, Array("abc".utf8)) == expected)
        #expect(cryptography.supports(algorithm))
    }

    @Test func `one object serves many threads and any mix of algorithms`() async {
        let cryptography = OpenSSLCryptography()
        let empty = "d41d8cd98f00b204e9800998ecf8427e"
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        _ = cryptography.hash(index % 2 == 0 ? .sha256 : .sha512_256, [1, 2, 3])
                        if cryptography.hexHash(.md5, []) != empty { return false }
                    }
                    return true
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    /// RFC 2202 §3 (cases 1, 2 and 6) and RFC 4231 §4.3.
    @Test(arguments: [
        (HashAlgorithm.sha1, [UInt8](repeating: 0x0b, count: 20), "Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"),
        (.sha1, Array("Jefe".utf8), "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (
            .sha1, [UInt8](repeating: 0xaa, count: 80), "Test Using Larger Than Block-Size Key - Hash Key First",
            "aa4ae5e15272d00e95705637ce8a3b55ed402112"
        ),
        (
            .sha256, Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
    ]) func `HMAC is that of the standards, and made of two hashes it is the same`(
        algorithm: HashAlgorithm, key: [UInt8], text: String, expected: String
    ) {
        let secret = Secret(utf8: key)
        #expect(hexadecimal(OpenSSLCryptography().hmac(algorithm, key: secret, Array(text.utf8))) == expected)
        #expect(hexadecimal(HashesOnly().hmac(algorithm, key: secret, Array(text.utf8))) == expected)
    }

    /// Has only what the protocol demands, so its HMAC is the one made of hashes.
    private struct HashesOnly: Cryptography {
        func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] { OpenSSLCryptography().hash(algorithm, bytes) }
    }

    @Test func `random numbers do not repeat`() {
        var random = SecureRandom()
        let numbers = (0..<10_000).map { _ in random.next() }
        #expect(Set(numbers).count == numbers.count)
        var other = SecureRandom()
        #expect(other.next() != numbers[0])
    }
}
