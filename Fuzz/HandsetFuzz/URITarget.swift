// SPDX-License-Identifier: Apache-2.0

import SIP

/// Any text as a URI and as an address: what is read can be written and read again, and equals itself.
@Sendable func fuzzURI(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let uri = try? URI(text) {
        guard let again = try? URI(uri.description) else {
            require(false, "a written URI can be read")
            return
        }
        require(again.description == uri.description, "writing is stable")
        require(uri.isEquivalent(to: again) && again.isEquivalent(to: uri), "a URI is equivalent to what it was written as")
        if let sip = uri.sip {
            require(!sip.description.contains("\r") && !sip.description.contains("\n"), "a URI adds no line")
            _ = (sip.user, sip.password, sip.transport, sip.isLooseRouter, sip.addressOfRecord)
        }
        _ = (uri.tel?.digits, uri.tel?.isGlobal)
    }
    if let address = try? NameAddress(text) {
        guard let again = try? NameAddress(address.description) else {
            require(false, "a written address can be read")
            return
        }
        require(again.uri.description == address.uri.description && again.tag == address.tag, "an address keeps its URI and tag")
    }
    if let via = try? Via(text) { require((try? Via(via.description)) != nil, "a written Via can be read") }
    _ = (try? Challenge(text), try? Credentials(text), try? MediaType(text), try? CSeq(text), try? SIPDate(text))
}
