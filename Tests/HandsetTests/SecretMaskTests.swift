// SPDX-License-Identifier: Apache-2.0

import Handset
import Testing

@Suite struct SecretMaskTests {
    @Test(arguments: [
        "Authorization: Digest username=\"bob\", realm=\"r\", nonce=\"n\", uri=\"sip:r\", response=\"HIDE\", algorithm=MD5",
        "proxy-authorization : Digest response = \"HIDE\", username=\"bob\"",
        "Authorization: Digest username=\"bob\",\r\n response=\"HIDE\",\r\n\tcnonce=\"HIDE\"",
        "Authorization: Digest response=HIDE,username=\"bob\"",
        "Authorization: Digest response=\"a\\\"HIDE\", username=\"bob\"",
        "Authorization: Bearer HIDE.HIDE.HIDE",
        "AUTHORIZATION: basic HIDE==",
        "Authentication-Info: rspauth=\"HIDE\", nextnonce=\"HIDE\"",
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:HIDE|2^20|1:32",
        "a=ice-pwd:HIDE", "k=clear:HIDE",
        "Contact: <sip:bob@192.0.2.1;pn-provider=apns;pn-prid=HIDE;pn-param=HIDE.voip>",
        "INVITE sip:bob:HIDE@example.net SIP/2.0", "To: \"Bob\" <SIP:bob:HIDE@example.net>;tag=1",
    ])
    func secretsAreMasked(line: String) {
        let masked = SecretMask.masked("INVITE sip:a@b SIP/2.0\r\n\(line)\r\nCSeq: 1 INVITE\r\n\r\n")
        #expect(!masked.contains("HIDE"), "\(masked)")
        #expect(masked.contains(SecretMask.mask))
        #expect(masked.hasSuffix("\r\nCSeq: 1 INVITE\r\n\r\n"))
    }

    @Test(arguments: [
        "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"", "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1;rport",
        "From: \"response=\\\"x\\\"\" <sip:alice@example.net:5060>;tag=a", "Contact: <sip:bob@[2001:db8::1]:5060;transport=tcp>",
        "Subject: my response=late", "a=rtpmap:0 PCMU/8000", "Authorization: Digest username=\"b\", nc=00000001, qop=auth",
    ])
    func everythingElseStays(line: String) {
        let message = "OPTIONS sip:a@b SIP/2.0\r\n\(line)\n\r\nbody\r\r\n"
        #expect(SecretMask.masked(message) == message)
    }
}
