// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP

/// Any octets as a description: what is read can be written and read again, can be answered, and can be an answer.
@Sendable func fuzzSDP(_ bytes: [UInt8]) {
    guard let description = try? SessionDescription(parsing: bytes) else { return }
    let written = description.serialized()
    guard let again = try? SessionDescription(parsing: written) else {
        require(false, "a written description can be read")
        return
    }
    require(again.serialized() == written, "writing is stable")
    let local = SocketAddress(.loopbackV4, 10000)
    for direction in [Direction.sendrecv, .sendonly, .recvonly, .inactive] {
        var session = OfferAnswer(capabilities: .standard, sessionID: 1)
        guard let (answer, _) = try? session.answer(description, local: local, direction: direction) else { continue }
        require(answer.media.count == description.media.count, "an answer has the offer's media lines")
        require((try? SessionDescription(parsing: answer.serialized())) != nil, "an answer can be read")
        let offer = session.makeOffer(local: local, direction: direction)
        require(offer.media.count >= answer.media.count, "a later offer keeps the media lines")
        _ = try? session.receiveAnswer(description)
    }
    var session = OfferAnswer(capabilities: .standard, sessionID: 1)
    _ = session.makeOffer(local: local, direction: .sendrecv)
    _ = try? session.receiveAnswer(description)
}
