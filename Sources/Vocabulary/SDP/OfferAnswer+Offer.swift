// SPDX-License-Identifier: Apache-2.0

import Essentials

extension OfferAnswer {
    /// Makes an offer: for an INVITE, a re-INVITE, or the 200 to an INVITE without one.
    ///
    /// Hold is `sendonly` (or `inactive`), resume `sendrecv` (RFC 3264 §8.4). An offer that is pending already is replaced.
    /// - Parameters:
    ///   - local: where we receive RTP; RTCP at the next port.
    ///   - direction: what we want.
    public mutating func makeOffer(local: SocketAddress, direction: Direction) -> SessionDescription {
        let formats = offeredFormats()
        for format in formats { ours.bind(format.payloadType, format.map) }
        let profile = audio?.profile ?? capabilities.profiles.first ?? "RTP/AVP"
        let index = audioIndex ?? lines.count
        let line = Line(type: "audio", protocolName: profile, format: formats.first.map { "\($0.payloadType)" } ?? "0")
        if index < lines.count { lines[index] = line } else { lines.append(line) }
        audioIndex = index

        // RFC 5761 §5.1.1: a re-offer without the attribute would end the sharing.
        let multiplexes = audio?.multiplexesRTCP ?? false
        var media = MediaDescription(
            type: "audio", port: local.port, protocolName: profile, formats: formats.map { "\($0.payloadType)" },
            attributes: Self.attributes(formats))
        media.attributes.append(Attribute("ptime", "\(capabilities.packetTime)"))
        media.attributes.append(Attribute(direction.rawValue))
        if multiplexes { media.attributes.append(Attribute("rtcp-mux")) }
        if let reports = capabilities.extendedReports, !reports.isEmpty {
            media.attributes.append(Attribute("rtcp-xr", reports.value))
        }

        var description = SessionDescription(origin: Origin(), connection: Connection(local.ip))
        description.media = lines.indices.map { $0 == index ? media : Self.rejected(lines[$0]) }
        ownOffer = OwnOffer(
            mediaIndex: index, profile: profile, direction: direction, formats: formats, multiplexesRTCP: multiplexes)
        isOfferPending = true
        counters.increment(.offersMade)
        return finish(description, local: local)
    }

    /// Our codecs, the one in use first, then `red` and comfort noise if wanted, then telephone-event once per clock rate (RFC 4733 §2.1, B-062).
    private func offeredFormats() -> [LocalFormat] {
        var formats: [LocalFormat] = []
        var codecs = capabilities.codecs
        if let current = audio?.codec,
            let index = codecs.firstIndex(where: {
                $0.map.matches(RTPMap(current.name, current.clockRate, current.channels))
            })
        {
            codecs.insert(codecs.remove(at: index), at: 0)
        }
        func add(_ kind: LocalFormat.Kind, _ map: RTPMap, preferred: UInt8, _ parameters: String) {
            guard let number = number(for: map, preferred: preferred, taken: formats) else { return }
            formats.append(LocalFormat(kind: kind, payloadType: number, map: map, parameters: parameters))
        }
        for codec in codecs { add(.codec, codec.map, preferred: codec.payloadType, codec.parameters) }
        if capabilities.redundancy != .off {
            for (map, payloadTypes) in Self.redundant(formats) {
                add(.redundancy, map, preferred: map.clockRate == 8000 ? 122 : 121, Redundancy.parameters(payloadTypes))
            }
        }
        if capabilities.comfortNoise, capabilities.clockRates.contains(8000) {
            add(.comfortNoise, RTPMap("CN", 8000), preferred: 13, "")
        }
        if capabilities.telephoneEvent {
            for rate in capabilities.clockRates.sorted() {
                add(.event, RTPMap("telephone-event", rate), preferred: rate == 8000 ? 101 : 102, eventParameters)
            }
        }
        return formats
    }

    /// The number that a meaning has or gets: as bound in this session, else the preferred one, else a free dynamic one.
    private func number(for map: RTPMap, preferred: UInt8, taken: [LocalFormat]) -> UInt8? {
        func isFree(_ number: UInt8) -> Bool {
            if taken.contains(where: { $0.payloadType == number }) { return false }
            for bound in [ours.map(number), theirs.map(number)] {
                if let bound, !bound.matches(map) { return false }
            }
            return true
        }
        for candidate in [ours.payloadType(map), theirs.payloadType(map), preferred] {
            if let candidate, isFree(candidate) { return candidate }
        }
        // RFC 3551 §6: 96...127 is dynamic; 35...63 is unassigned and may follow. 64...95 would look like RTCP.
        return (UInt8(102)...127).first(where: isFree) ?? (UInt8(96)...101).first(where: isFree)
            ?? (UInt8(35)...63).first(where: isFree)
    }
}

extension OfferAnswer {
    /// What may arrive before the answer does: whoever offers must be ready to receive from then on (RFC 3264 §5.1). It
    /// names no remote address, and nothing is sent by it. nil without a pending offer that has a codec.
    public var offeredAudio: NegotiatedAudio? {
        guard isOfferPending, let offer = ownOffer, offer.direction.receives else { return nil }
        let codecs = offer.formats.filter { $0.kind == .codec }.map { format in
            AudioFormat(
                name: format.map.name.uppercased(), payloadType: format.payloadType, clockRate: format.map.clockRate,
                channels: format.map.channels, parameters: format.parameters)
        }
        guard let first = codecs.first else { return nil }
        var result = NegotiatedAudio(remote: nil, codec: first, direction: .recvonly)
        result.receivable = codecs
        result.receiveEventPayloadTypes = offer.formats.filter { $0.kind == .event }.map(\.payloadType)
        result.comfortNoisePayloadTypes = offer.formats.filter { $0.kind == .comfortNoise }.map(\.payloadType)
        if !offer.formats.contains(where: { $0.payloadType == 13 }) { result.comfortNoisePayloadTypes.append(13) }
        result.receiveRedundancyPayloadTypes = offer.formats.filter { $0.kind == .redundancy }.map(\.payloadType)
        result.packetTime = capabilities.packetTime
        return result
    }
}
