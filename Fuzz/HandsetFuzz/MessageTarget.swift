// SPDX-License-Identifier: Apache-2.0

import SIP

/// Any octets as a datagram: every accessor of what is taken works, and it can be written and read again.
@Sendable func fuzzMessage(_ bytes: [UInt8]) {
    switch SIPMessage.receive(bytes) {
    case .message(let message):
        touch(message)
        let copy = MessageBuilder(copying: message).build()
        guard case .message(let again) = SIPMessage.receive(copy.bytes) else {
            require(false, "a written message can be read")
            return
        }
        require(again.method == message.method && again.isRequest == message.isRequest, "the start line is kept")
        require(again.callID == message.callID && again.cseq == message.cseq, "Call-ID and CSeq are kept")
        require(again.from.tag == message.from.tag && again.to.tag == message.to.tag, "tags are kept")
        require(again.vias.count == message.vias.count, "every Via is kept")
        if message.isRequest { answer(message, status: 486) }
    case .refuse(let message, let status, _):
        touch(message)
        require(message.isRequest && message.method != .ack, "only requests are refused, never ACK")
        answer(message, status: status)
    case .drop: break
    }
}

private func answer(_ request: SIPMessage, status: Int) {
    let response = request.makeResponse(status: status, toTag: "t").build()
    require(!response.isRequest && response.statusCode == status, "a response has its status")
    touch(response)
    guard case .message(let read) = SIPMessage.receive(response.bytes) else { return }
    require(read.topVia.sentBy == response.topVia.sentBy, "the response goes back where the request came from")
}

/// Reads everything that the agent may read.
private func touch(_ message: SIPMessage) {
    _ = (
        message.topVia, message.vias.map(\.description), message.from.description, message.to.description,
        message.contacts.map(\.description)
    )
    _ = (message.routes, message.recordRoutes, message.hasWildcardContact, message.requestURI.description, message.reasonPhrase)
    _ = (message.callID, message.cseq, message.maxForwards, message.expires, message.minExpires, message.contentType?.description)
    _ = (message.require, message.supported, message.allow, message.proxyRequire, message.headers, message.leniency.all)
    _ = (message.bodyParts.map(\.headers), message.body(ofType: "application", "sdp"), message.retryAfter, message.date, message.warnings)
    _ = (
        message.challenges(.wwwAuthenticate), message.challenges(.proxyAuthenticate), message.credentials(.authorization), message.timestamp
    )
    for (name, _) in message.headers { if let name = HeaderName(name) { _ = message.values(name) } }
}
