// SPDX-License-Identifier: Apache-2.0

import Crypto
import HandsetTestKit
import Testing

@Suite struct ReferenceCryptographyTests {
    /// RFC 1321 §A.5, FIPS 180-4 examples.
    @Test(arguments: [
        (HashAlgorithm.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (.md5, "12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (.sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ])
    func theHashesAreThoseOfTheStandards(algorithm: HashAlgorithm, text: String, hash: String) {
        #expect(ReferenceCryptography().hexHash(algorithm, Array(text.utf8)) == hash)
    }
}
