// SPDX-License-Identifier: Apache-2.0

import Essentials
import STUN

/// Any octets as a STUN message: nothing is read past them, and what is answered can be read again.
@Sendable func fuzzSTUN(_ bytes: [UInt8]) {
    guard let message = try? STUNMessage(parsing: bytes) else { return }
    _ = (message.username, message.realm, message.nonce, message.software, message.errorCode, message.unknownAttributes)
    _ = message.mappedAddress
    require(message.attributes.allSatisfy { $0.value.count <= bytes.count }, "an attribute is inside the message")
    let source = SocketAddress(.loopbackV4, 5060)
    guard let answer = STUNBinding.response(to: message, from: source) else { return }
    guard let response = try? STUNMessage(parsing: answer) else { return require(false, "our answer can be read") }
    require(response.transaction == message.transaction, "the answer belongs to the request")
    require((response.kind == .success) == (response.mappedAddress == source), "success tells the address")
}
