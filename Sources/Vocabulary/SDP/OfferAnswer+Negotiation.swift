// SPDX-License-Identifier: Apache-2.0
//
// What both roles share, and the reading of an answer to our offer.

import Essentials

extension OfferAnswer {
    /// Takes the answer to our offer. The same or another answer to the same offer may come again (a 183, then the
    /// 200; another branch of a fork): the last one counts.
    /// - Throws: `.noOffer`, `.refused`, `.mismatch`, `.noCommonCodec`, …; what was agreed before stays. The call has to be
    ///   ended if nothing was agreed before.
    public mutating func receiveAnswer(_ answer: SessionDescription) throws(SDPError) -> NegotiatedAudio {
        guard let offer = ownOffer else { throw SDPError(.noOffer, "an answer came without an offer of ours") }
        isOfferPending = false
        counters.increment(.answersReceived)
        do {
            let result = try agree(answer, offer)
            remoteDescription = answer
            audio = result
            return result
        } catch {
            counters.increment(.answersRefused)
            throw error
        }
    }

    private mutating func agree(_ answer: SessionDescription, _ offer: OwnOffer) throws(SDPError) -> NegotiatedAudio {
        if answer.media.count < lines.count { leniencies.note(.missingAnswerLines) }
        if answer.media.count > lines.count { leniencies.note(.additionalAnswerLines) }
        guard offer.mediaIndex < answer.media.count else {
            throw SDPError(.refused, "the answer leaves our audio line out")
        }
        let media = answer.media[offer.mediaIndex]
        guard equalIgnoringCase(media.type, "audio") else {
            throw SDPError(.mismatch, "the answer has m=\(media.type) where we offered m=audio")
        }
        guard !media.isRejected else { throw SDPError(.refused, "the answer refuses our audio line") }
        guard capabilities.profiles.contains(where: { equalIgnoringCase($0, media.protocolName) }) else {
            throw SDPError(.mismatch, "the answer has \(media.protocolName) where we offered \(offer.profile)")
        }
        let connection = try usableConnection(answer, at: offer.mediaIndex)
        var offered = PayloadTypeBindings()
        for format in offer.formats { offered.bind(format.payloadType, format.map) }
        let table = PayloadTypeTable(media, fallback: offered)
        if table.usedFallback { leniencies.note(.answerWithoutRTPMap) }
        if table.ignored > 0 { leniencies.note(.unknownFormat) }
        counters.increment(.formatsIgnored, by: UInt64(table.ignored))
        var result = try negotiated(
            answer, at: offer.mediaIndex, connection: connection, entries: table.entries, local: offer.formats)
        for entry in table.entries { theirs.bind(entry.payloadType, entry.map) }

        let answered = effectiveDirection(of: answer, at: offer.mediaIndex)
        result.direction = offer.direction.intersection(answered.reversed)
        if result.direction.reversed != answered { leniencies.note(.answerDirection) }
        result.localHolds = !offer.direction.receives
        // An offer that does not send cannot be answered with a receiving direction: it says nothing about the peer's hold.
        result.remoteHolds = offer.direction.sends ? !answered.receives : audio?.remoteHolds ?? false
        result.multiplexesRTCP = offer.multiplexesRTCP && media.attributes.contains(named: "rtcp-mux")
        setControlAddress(&result, answer)
        return result
    }

    /// Codec, numbers, address and packet time; the caller sets direction, hold and RTCP.
    mutating func negotiated(
        _ remote: SessionDescription, at index: Int, connection: Connection, entries: [PayloadTypeTable.Entry],
        local: [LocalFormat]
    ) throws(SDPError) -> NegotiatedAudio {
        // The first real codec counts, whatever stands before it (B-066).
        guard let (entry, codec) = firstCodec(entries) else {
            throw SDPError(.noCommonCodec, "the peer names no codec that we have")
        }
        let media = remote.media[index]
        var sending = AudioFormat(
            name: codec.name.uppercased(), payloadType: entry.payloadType, clockRate: codec.clockRate,
            channels: codec.channels, parameters: entry.parameters)
        sending.encoding = codec.encoding
        var result = NegotiatedAudio(remote: nil, codec: sending, direction: .inactive)
        result.receivable = receivable(sending, entries, local)
        let ip = connection.ip
        if let ip, !ip.isUnspecified {
            result.remote = SocketAddress(ip, media.port)
        } else if ip == nil {
            leniencies.note(.namedAddress)
            result.remoteName = connection.address
        }
        let events = entries.filter { entry in
            entry.map.isNamed("telephone-event") && local.contains { $0.kind == .event }
        }
        // 97 at 48000 beside 101 at 8000: never the one for the other (two-events-8k.sdp).
        if let event = events.first(where: { $0.map.clockRate == sending.clockRate })
            ?? events.first(where: { $0.map.clockRate == 8000 }) ?? events.first
        {
            result.sendEventPayloadType = event.payloadType
            result.sendEventClockRate = event.map.clockRate
        }
        result.receiveEventPayloadTypes = local.filter { $0.kind == .event }.map(\.payloadType)
        result.comfortNoisePayloadTypes = local.filter { $0.kind == .comfortNoise }.map(\.payloadType)
        if !result.comfortNoisePayloadTypes.contains(13), !local.contains(where: { $0.payloadType == 13 }),
            entries.first(where: { $0.payloadType == 13 })?.map.isNamed("CN") ?? true
        {
            result.comfortNoisePayloadTypes.append(13)
        }
        agreeOnExtras(&result, entries, local)
        if capabilities.extendedReports != nil, let wished = media.attributes.value("rtcp-xr") {
            result.extendedReports = ExtendedReports(parsing: wished)
        }
        result.packetTime = packetTime(remote, at: index)
        result.profile = media.protocolName
        result.mediaIndex = index
        return result
    }

    /// What may arrive: our numbers, and the peer's own numbers for the same codecs where we do not use them otherwise.
    private func receivable(
        _ sending: AudioFormat, _ entries: [PayloadTypeTable.Entry], _ local: [LocalFormat]
    ) -> [AudioFormat] {
        var formats: [AudioFormat] = []
        func add(_ payloadType: UInt8, _ map: RTPMap, _ parameters: String) {
            guard !formats.contains(where: { $0.payloadType == payloadType }) else { return }
            formats.append(
                AudioFormat(
                    name: map.name.uppercased(), payloadType: payloadType, clockRate: map.clockRate, channels: map.channels,
                    parameters: parameters))
        }
        for format in local where format.kind == .codec { add(format.payloadType, format.map, format.parameters) }
        for entry in entries {
            guard let codec = capability(entry.map), !local.contains(where: { $0.payloadType == entry.payloadType })
            else { continue }
            add(entry.payloadType, codec.map, codec.parameters)
        }
        // The chosen codec first.
        if let index = formats.firstIndex(where: { $0.name == sending.name && $0.clockRate == sending.clockRate }) {
            formats.insert(formats.remove(at: index), at: 0)
        }
        return formats
    }

    private mutating func firstCodec(
        _ entries: [PayloadTypeTable.Entry]
    ) -> (PayloadTypeTable.Entry, AudioCodecDescription)? {
        for entry in entries {
            if let codec = capability(entry.map) { return (entry, codec) }
        }
        return nil
    }

    /// Our codec for a meaning, or nil.
    func capability(_ map: RTPMap) -> AudioCodecDescription? {
        capabilities.codecs.first { codec in
            guard map.isNamed(codec.name), map.clockRate == codec.clockRate else { return false }
            // `Leniency.opusChannels`
            return map.channels == codec.channels || (map.isNamed("opus") && map.channels == 1)
        }
    }

    /// The direction as written, and without receiving where `c=` is the unspecified address: the hold of RFC 2543
    /// (RFC 3264 §8.4). With ICE that address says only that candidates come later.
    func effectiveDirection(of remote: SessionDescription, at index: Int) -> Direction {
        let written = remote.direction(ofMedia: index)
        guard let ip = remote.connection(ofMedia: index)?.ip, ip.isUnspecified,
            remote.value("ice-ufrag", ofMedia: index) == nil
        else { return written }
        return Direction(sends: written.sends, receives: false)
    }

    func usableConnection(_ remote: SessionDescription, at index: Int) throws(SDPError) -> Connection {
        guard let connection = remote.connection(ofMedia: index) else {
            throw SDPError(.unusableAddress, "the audio line has no c= line")
        }
        if let ip = connection.ip, ip.isMulticast || ip.unmapped == .v4(.max) {
            throw SDPError(.unusableAddress, "\(connection.address) is no address of one host")
        }
        return connection
    }

    /// RFC 5761, else RFC 3605, else the next port. An address in `a=rtcp` other than that of `c=` is not followed:
    /// only the message would name it.
    mutating func setControlAddress(_ result: inout NegotiatedAudio, _ remote: SessionDescription) {
        guard let rtp = result.remote else { return result.remoteRTCP = nil }
        if result.multiplexesRTCP {
            result.remoteRTCP = rtp
        } else if let value = remote.media[result.mediaIndex].attributes.value("rtcp") {
            let fields = value.split(separator: " ")
            guard let text = fields.first, let port = UInt16(text), port > 0 else { return result.remoteRTCP = nil }
            if fields.count >= 4, IPAddress(fields[3]) != rtp.ip { return result.remoteRTCP = nil }
            result.remoteRTCP = SocketAddress(rtp.ip, port)
        } else {
            result.remoteRTCP = rtp.port < .max ? SocketAddress(rtp.ip, rtp.port + 1) : nil
        }
    }

    /// What the peer asks for in `ptime`, else ours, in any case no more than its `maxptime` (RFC 8866 §6.4, §6.5; V-018).
    private mutating func packetTime(_ remote: SessionDescription, at index: Int) -> Int {
        var time = capabilities.packetTime
        if let asked = clampedPacketTime(remote.value("ptime", ofMedia: index)) { time = asked }
        if let most = clampedPacketTime(remote.value("maxptime", ofMedia: index)) { time = min(time, most) }
        return time
    }

    /// The digits at the beginning of a value, brought into 10...200; nil without digits, or for zero.
    private mutating func clampedPacketTime(_ value: String?) -> Int? {
        guard let value else { return nil }
        var number = 0
        var digits = 0
        let text = value.utf8.drop { $0 == UInt8(ascii: " ") }
        for byte in text {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            digits += 1
            number = min(number * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000)
        }
        guard digits > 0, number > 0 else { return nil }
        if digits < text.count { leniencies.note(.packetTimeTail) }
        if number < 10 || number > 200 {
            leniencies.note(.packetTimeRange)
            counters.increment(.packetTimesClamped)
        }
        return AudioCapabilities.clampedPacketTime(number)
    }
}
