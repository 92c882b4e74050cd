// SPDX-License-Identifier: Apache-2.0

import Essentials

extension OfferAnswer {
    /// The answer that takes nothing of an offer: every line has port 0 (RFC 3264 §6). For an offer in a 2xx, which cannot be
    /// refused otherwise: the ACK carries this, and a BYE follows (RFC 3261 §13.2.2.4).
    public mutating func refuse(_ offer: SessionDescription, local: SocketAddress) -> SessionDescription {
        let media = offer.media.map {
            Self.rejected(Line(type: $0.type, protocolName: $0.protocolName, format: $0.formats.first ?? "0"))
        }
        counters.increment(.offersRefused)
        return finish(
            SessionDescription(origin: Origin(), connection: Connection(local.ip), timings: offer.timings, media: media), local: local)
    }
}
