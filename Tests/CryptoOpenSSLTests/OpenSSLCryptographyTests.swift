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

    @Test func `random numbers do not repeat`() {
        var random = SecureRandom()
        let numbers = (0..<10_000).map { _ in random.next() }
        #expect(Set(numbers).count == numbers.count)
        var other = SecureRandom()
        #expect(other.next() != numbers[0])
    }
}
