// SPDX-License-Identifier: Apache-2.0

import Essentials
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("::1", "::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("1:0:0:2::3", "1:0:0:2::3"), ("fe80::1:0:0:1", "fe80::1:0:0:1"),
        ("1::", "1::"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ])
    func readsAndWritesCanonically(text: String, canonical: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == canonical)
        #expect(IPAddress(octets: address.octets) == address)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.256", "1.2.3.4.5", "1..2.3", ":1", "1:", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "1:2:3:4:5:6:7::8",
        "::1.2.3", "1.2.3.4::", "g::",
    ])
    func refuses(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func knowsPrivateRanges() throws {
        for text in ["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.0.1", "100.64.0.1", "fd00::1", "fe80::1"] {
            #expect(try #require(IPAddress(text)).isPrivate, "\(text)")
        }
        for text in ["172.32.0.1", "8.8.8.8", "2001:db8::1", "100.128.0.1"] {
            #expect(try #require(IPAddress(text)).isPrivate == false, "\(text)")
        }
    }

    @Test func socketAddressNeedsBracketsForIPv6() {
        #expect(SocketAddress("[::1]:5060")?.description == "[::1]:5060")
        #expect(SocketAddress("::1:5060") == nil)
        #expect(SocketAddress("127.0.0.1:65536") == nil)
        #expect(SocketAddress("127.0.0.1:0")?.port == 0)
    }
}
