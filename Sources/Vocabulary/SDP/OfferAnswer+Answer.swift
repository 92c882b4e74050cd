// SPDX-License-Identifier: Apache-2.0
//
// Answering (RFC 3264 §6): one audio line is taken, every other is rejected in its place.

import Essentials

/// An offer that can be answered, as `OfferAnswer.examine` found it.
public struct ExaminedOffer: Sendable {
    public let offer: SessionDescription
    /// nil: no audio line is open.
    fileprivate let acceptance: OfferAnswer.Acceptance?
    /// What was let pass in it.
    fileprivate let leniencies: Leniencies
}

extension OfferAnswer {
    /// A line of an offer that can be taken.
    fileprivate struct Acceptance: Sendable {
        var index: Int
        var connection: Connection
        var entries: [PayloadTypeTable.Entry]
        var formats: [LocalFormat]
        var ignored: Int
    }

    /// Answers an offer of the peer.
    ///
    /// The answer keeps the order and profile of the lines, names formats in the order of the offer, and never widens the
    /// direction: sendrecv while we hold becomes sendonly, sendonly becomes recvonly or inactive (RFC 3264 §6.1).
    /// - Parameters:
    ///   - local: where we receive RTP.
    ///   - direction: what we want: sendrecv, or sendonly while we hold.
    /// - Returns: the answer, and what was agreed; nil where the peer offers no open line (it closed the stream, or offered none).
    /// - Throws: `.offerPending` (491), or why nothing can be taken (488); what was agreed before stays.
    public mutating func answer(
        _ offer: SessionDescription, local: SocketAddress, direction: Direction
    ) throws(SDPError) -> (answer: SessionDescription, audio: NegotiatedAudio?) {
        guard !isOfferPending else {
            throw SDPError(.offerPending, "an offer came while ours waits for its answer")
        }
        let examined: ExaminedOffer
        do {
            examined = try examine(offer)
        } catch {
            counters.increment(error.code == .needsSRTP ? .offersNeedingSRTP : .offersRefused)
            throw error
        }
        return try answer(examined, local: local, direction: direction)
    }

    /// Answers an offer that `examine` of this machine, or of one with the same capabilities and no session yet, has found good.
    public mutating func answer(
        _ examined: ExaminedOffer, local: SocketAddress, direction: Direction
    ) throws(SDPError) -> (answer: SessionDescription, audio: NegotiatedAudio?) {
        guard !isOfferPending else {
            throw SDPError(.offerPending, "an offer came while ours waits for its answer")
        }
        let offer = examined.offer
        let accepted = examined.acceptance
        leniencies.formUnion(examined.leniencies)
        ownOffer = nil
        lines = offer.media.map {
            Line(type: $0.type, protocolName: $0.protocolName, format: $0.formats.first ?? "0")
        }
        var description = SessionDescription(
            origin: Origin(), connection: Connection(local.ip), timings: offer.timings,
            media: lines.map { Self.rejected($0) })
        let rejected = offer.media.indices.filter { $0 != accepted?.index && !offer.media[$0].isRejected }.count
        counters.increment(.linesRejected, by: UInt64(rejected))
        counters.increment(.offersAnswered)
        remoteDescription = offer
        guard let accepted else {
            audioIndex = audioIndex.flatMap { lines.indices.contains($0) ? $0 : nil }
            audio = nil
            return (finish(description, local: local), nil)
        }

        let offered = effectiveDirection(of: offer, at: accepted.index)
        let agreed = direction.intersection(offered.reversed)
        let multiplexes = offer.media[accepted.index].attributes.contains(named: "rtcp-mux")
        var media = MediaDescription(
            type: offer.media[accepted.index].type, port: local.port,
            protocolName: offer.media[accepted.index].protocolName,
            formats: accepted.formats.map { "\($0.payloadType)" }, attributes: Self.attributes(accepted.formats))
        media.attributes.append(Attribute("ptime", "\(capabilities.packetTime)"))
        media.attributes.append(Attribute(agreed.rawValue))
        if multiplexes { media.attributes.append(Attribute("rtcp-mux")) }
        if let reports = capabilities.extendedReports, !reports.isEmpty,
            offer.media[accepted.index].attributes.contains(named: "rtcp-xr")
        {
            media.attributes.append(Attribute("rtcp-xr", reports.value))
        }
        description.media[accepted.index] = media

        audioIndex = accepted.index
        counters.increment(.formatsIgnored, by: UInt64(accepted.ignored))
        if accepted.ignored > 0 { leniencies.note(.unknownFormat) }
        for entry in accepted.entries { theirs.bind(entry.payloadType, entry.map) }
        for format in accepted.formats { ours.bind(format.payloadType, format.map) }
        var result = try negotiated(
            offer, at: accepted.index, connection: accepted.connection, entries: accepted.entries, local: accepted.formats)
        result.direction = agreed
        result.localHolds = !direction.receives
        result.remoteHolds = !offered.receives
        result.multiplexesRTCP = multiplexes
        setControlAddress(&result, offer)
        audio = result
        return (finish(description, local: local), result)
    }

    /// Why this offer would be refused; nil if it can be answered. Changes nothing: to be asked before the phone rings.
    public func refusal(of offer: SessionDescription) -> SDPError? {
        do {
            _ = try examine(offer)
            return nil
        } catch {
            return error
        }
    }

    /// Whether this offer can be answered, for `answer(_:local:direction:)` once it is known where we receive. Changes
    /// nothing.
    /// - Throws: why it is to be refused.
    public func examine(_ offer: SessionDescription) throws(SDPError) -> ExaminedOffer {
        var copy = self
        let acceptance = try copy.accept(offer)
        return ExaminedOffer(offer: offer, acceptance: acceptance, leniencies: copy.leniencies)
    }

    /// The line to take: the one in use if it is still good, else the first good one. nil: no audio line is open.
    private mutating func accept(_ offer: SessionDescription) throws(SDPError) -> Acceptance? {
        var first: Acceptance?
        var refusal: SDPError?
        var hasAudio = offer.media.isEmpty
        for index in offer.media.indices where equalIgnoringCase(offer.media[index].type, "audio") {
            hasAudio = true
            guard !offer.media[index].isRejected else { continue }
            do {
                let acceptance = try accept(offer, at: index)
                if index == audioIndex { return acceptance }
                if first == nil { first = acceptance }
            } catch {
                if refusal == nil { refusal = error }
            }
        }
        if let first { return first }
        if let refusal { throw refusal }
        guard hasAudio else { throw SDPError(.noAudio, "the offer has no audio line") }
        return nil
    }

    private mutating func accept(_ offer: SessionDescription, at index: Int) throws(SDPError) -> Acceptance {
        let media = offer.media[index]
        try checkProfile(media.protocolName)
        let connection = try usableConnection(offer, at: index)
        let table = PayloadTypeTable(media)
        let formats = answeredFormats(table.entries)
        guard formats.contains(where: { $0.kind == .codec }) else {
            throw SDPError(.noCommonCodec, "the offer names no codec that we have")
        }
        return Acceptance(
            index: index, connection: connection, entries: table.entries, formats: formats, ignored: table.ignored)
    }

    func checkProfile(_ name: String) throws(SDPError) {
        if capabilities.profiles.contains(where: { equalIgnoringCase($0, name) }) { return }
        switch name.uppercased() {
        case "RTP/SAVP", "RTP/SAVPF", "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF":
            throw SDPError(.needsSRTP, "the audio is offered as \(name): needs SRTP")
        default:
            throw SDPError(.unsupportedProfile, "the audio is offered as \(name)")
        }
    }

    /// The formats of the answer, in the order of the offer: our codecs, each once; telephone-event for the clock rates
    /// of these codecs; if there is none for the first codec, the one the peer has (`Leniency.eventClockRate`).
    private mutating func answeredFormats(_ entries: [PayloadTypeTable.Entry]) -> [LocalFormat] {
        var codecs: [LocalFormat] = []
        for entry in entries {
            guard let codec = capability(entry.map), !codecs.contains(where: { $0.map.matches(codec.map) }) else { continue }
            codecs.append(
                LocalFormat(
                    kind: .codec, payloadType: entry.payloadType, map: codec.map, parameters: codec.parameters))
        }
        guard let first = codecs.first else { return [] }
        var chosen: [UInt8: LocalFormat] = [:]
        for codec in codecs { chosen[codec.payloadType] = codec }
        func add(_ kind: LocalFormat.Kind, _ entry: PayloadTypeTable.Entry, _ parameters: String) {
            chosen[entry.payloadType] = LocalFormat(
                kind: kind, payloadType: entry.payloadType, map: entry.map, parameters: parameters)
        }
        for format in answeredRedundancy(entries, codecs) { chosen[format.payloadType] = format }
        if capabilities.telephoneEvent {
            let events = entries.filter { $0.map.isNamed("telephone-event") }
            var rates: [Int] = []
            for event in events
            where codecs.contains(where: { $0.map.clockRate == event.map.clockRate }) && !rates.contains(event.map.clockRate) {
                rates.append(event.map.clockRate)
                add(.event, event, eventParameters)
            }
            if !rates.contains(first.map.clockRate),
                let other = events.first(where: { $0.map.clockRate == 8000 }) ?? events.first
            {
                leniencies.note(.eventClockRate)
                add(.event, other, eventParameters)
            }
        }
        if capabilities.comfortNoise {
            for entry in entries
            where entry.map.isNamed("CN") && codecs.contains(where: { $0.map.clockRate == entry.map.clockRate }) {
                add(.comfortNoise, entry, "")
            }
        }
        return entries.compactMap { chosen[$0.payloadType] }
    }
}
