// SPDX-License-Identifier: Apache-2.0
//
// What an offer and its answer agreed, in sentences.

import Essentials
import SDP
import SIP

/// Explains the descriptions of a conversation.
struct NegotiationStory {
    private struct Side {
        var description: SessionDescription
        var from: SocketAddress
        var message: Int
    }

    /// Sentences, each with the message that it is about.
    private(set) var lines: [(text: String, message: Int?)] = []

    init(_ conversation: Conversation, of traffic: Traffic) {
        var pending: Side?
        var rounds = 0
        for index in conversation.messages {
            let seen = traffic.messages[index]
            guard let body = seen.message.body(ofType: "application", "sdp"), let description = try? SessionDescription(parsing: body)
            else { continue }
            let side = Side(description: description, from: seen.source, message: index)
            guard let offer = pending, offer.from != seen.source, offer.description != description else {
                // The same again, or the first.
                if pending?.description != description { pending = side }
                continue
            }
            rounds += 1
            explain(offer, side, isFirst: rounds == 1)
            pending = nil
        }
        if let offer = pending, rounds == 0, let media = Self.audio(offer.description) {
            lines.append(("\(offer.from) offered \(Self.names(media).joined(separator: ", ")), and got no answer.", offer.message))
        }
    }

    private mutating func explain(_ offer: Side, _ answer: Side, isFirst: Bool) {
        guard let offered = Self.audio(offer.description), let answered = Self.audio(answer.description) else { return }
        if isFirst {
            lines.append(("\(offer.from) offered \(Self.names(offered).joined(separator: ", ")).", offer.message))
        } else {
            lines.append(("\(offer.from) changed the session: it wants \(Self.direction(offered)).", offer.message))
        }
        if answered.isRejected {
            return lines.append(("\(answer.from) refused the sound.", answer.message))
        }
        let codecs = Self.names(answered)
        var text = "\(answer.from) took \(codecs.first ?? "no codec")"
        if codecs.count > 1 { text += " and can switch to " + codecs.dropFirst().joined(separator: ", ") }
        lines.append((text + (isFirst ? "." : "; it does \(Self.direction(answered))."), answer.message))
        guard isFirst else { return }
        explainExtras(offered, answered, answer.message)
    }

    private mutating func explainExtras(_ offered: MediaDescription, _ answered: MediaDescription, _ message: Int) {
        if let first = answered.formats.first, let parameters = answered.formatParameters(first) {
            let meaning = Self.meaning(parameters)
            lines.append(("Its parameters are “\(parameters)”" + (meaning.isEmpty ? "." : ": \(meaning)."), message))
        }
        func has(_ media: MediaDescription, _ name: String) -> Bool {
            media.formats.contains { UInt8($0).flatMap { media.rtpMap($0) }?.isNamed(name) ?? false }
        }
        func agree(_ name: String, _ both: String, _ one: String) {
            if has(offered, name) { lines.append((has(answered, name) ? both : one, message)) }
        }
        agree("telephone-event", "Digits travel as events of their own (RFC 4733).", "Digits as events were not taken.")
        agree(
            "red", "Audio may be sent again against loss (RFC 2198).",
            "Sending audio again against loss was offered and not taken.")
        agree("CN", "In silence, comfort noise may take the place of packets (RFC 3389).", "Comfort noise was offered and not taken.")
        if let time = answered.attributes.value("ptime") { lines.append(("Each packet has \(time) ms of sound.", message)) }
        if offered.attributes.contains(named: "rtcp-mux"), answered.attributes.contains(named: "rtcp-mux") {
            lines.append(("Reports share the port of the sound (RFC 5761).", message))
        }
        if offered.attributes.contains(named: "rtcp-xr"), answered.attributes.contains(named: "rtcp-xr") {
            lines.append(("Both sides report how the call sounds (RFC 3611).", message))
        }
        let isSecured = answered.protocolName.uppercased().contains("SAVP")
        lines.append((isSecured ? "The sound is encrypted (\(answered.protocolName))." : "The sound is not encrypted.", message))
    }

    private static func audio(_ description: SessionDescription) -> MediaDescription? {
        description.media.first { $0.type.lowercased() == "audio" }
    }

    /// The codecs of a line, without events and the like: `opus (48 kHz)`.
    private static func names(_ media: MediaDescription) -> [String] {
        media.formats.prefix(24).compactMap { format in
            guard let map = UInt8(format).flatMap({ media.rtpMap($0) }) else { return nil }
            if ["telephone-event", "red", "cn"].contains(map.name.lowercased()) { return nil }
            // The clock of G.722 is 8 kHz by an old mistake (RFC 3551 §4.5.2); its sound is 16 kHz.
            let rate = map.isNamed("G722") ? 16_000 : map.clockRate
            return "\(Words.shown(map.name)) (\(Curves.number(Double(rate) / 1000)) kHz)"
        }
    }

    private static func direction(_ media: MediaDescription) -> String {
        switch media.direction ?? .sendrecv {
        case .sendrecv: "sending and receiving"
        case .sendonly: "sending only: the other side is held"
        case .recvonly: "receiving only"
        case .inactive: "neither sending nor receiving"
        }
    }

    /// A number of an fmtp in thousands, divided.
    private static func thousands(_ text: String, _ divisor: Double) -> String {
        Int(text).map { Curves.number(Double($0) / 1000 / divisor) } ?? "?"
    }

    /// RFC 7587 §6.1 in words.
    private static func meaning(_ parameters: String) -> String {
        parameters.split(separator: ";").compactMap { part -> String? in
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
            guard pair.count == 2 else { return nil }
            switch (pair[0].lowercased(), pair[1]) {
            case ("useinbandfec", "1"): return "packets may carry a coarse copy of the one before"
            case ("usedtx", "1"): return "nothing need be sent in silence"
            case ("maxplaybackrate", let rate): return "no sound above \(thousands(rate, 2)) kHz is wanted"
            case ("maxaveragebitrate", let rate): return "at most \(thousands(rate, 1)) kbit/s"
            case ("stereo", "1"): return "stereo is welcome"
            case ("cbr", "1"): return "the bit rate is to be constant"
            default: return nil
            }
        }.joined(separator: "; ")
    }
}
