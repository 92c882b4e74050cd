// SPDX-License-Identifier: Apache-2.0
//
// RFC 3264 for one session with one audio stream.
//
//            makeOffer                      receiveAnswer
//   stable ────────────▶ offer is pending ────────────────▶ stable      (INVITE, re-INVITE, late offer in a 200)
//      ▲                        │ withdrawOffer (the request failed)
//      │◀───────────────────────┘
//      └─▶ answer(offer) ─▶ stable                                      (the peer's INVITE, re-INVITE, UPDATE)
//
// What lives as long as the session: the order of the m= lines, the meaning of each number, the o= version.

import Essentials

/// The offer/answer machine of one session.
///
///     var exchange = OfferAnswer(capabilities: .standard, sessionID: random.next())
///     let offer = exchange.makeOffer(local: rtpAddress, direction: .sendrecv)
///     // … INVITE with offer.serialized(), 200 comes …
///     let audio = try exchange.receiveAnswer(try exchange.read(body))
public struct OfferAnswer: Sendable {
    public let capabilities: AudioCapabilities
    public let limits: SDPLimits
    public internal(set) var counters = Counters<SDPCounter>()
    /// Every deviation taken so far in this session.
    public internal(set) var leniencies = Leniencies()
    /// The last description that we made, offer or answer.
    public internal(set) var localDescription: SessionDescription?
    /// The last description of the peer that was taken.
    public internal(set) var remoteDescription: SessionDescription?
    /// What counts now; nil before the first answer, and when the peer closed the stream.
    public internal(set) var audio: NegotiatedAudio?
    /// Whether an offer of ours waits for its answer.
    public internal(set) var isOfferPending = false

    /// What an `m=` line looks like when it is rejected or closed.
    struct Line: Sendable {
        var type: String
        var protocolName: String
        var format: String
    }

    /// Our last offer, as long as an answer to it may come (again: 183, then 200).
    struct OwnOffer: Sendable {
        var mediaIndex: Int
        var profile: String
        var direction: Direction
        var formats: [LocalFormat]
        var multiplexesRTCP: Bool
    }

    /// A format that a description of ours names.
    struct LocalFormat: Sendable {
        enum Kind: Sendable { case codec, redundancy, event, comfortNoise }
        var kind: Kind
        var payloadType: UInt8
        var map: RTPMap
        /// Our fmtp, or empty.
        var parameters: String
    }

    let sessionID: UInt64
    var version: UInt64
    var lines: [Line] = []
    var audioIndex: Int?
    var ownOffer: OwnOffer?
    /// Numbers on which we receive, and on which the peer receives.
    var ours = PayloadTypeBindings()
    var theirs = PayloadTypeBindings()

    /// - Parameters:
    ///   - sessionID: of `o=`; from the random source. Its upper bits are cleared: some peers read 63 bits, some 32.
    ///   - limits: for `read`.
    public init(capabilities: AudioCapabilities, sessionID: UInt64, limits: SDPLimits = .default) {
        self.capabilities = capabilities
        self.limits = limits
        self.sessionID = sessionID & 0x7fff_ffff
        self.version = 1
    }

    /// Reads a body within the limits, and counts.
    public mutating func read(_ body: [UInt8]) throws(SDPError) -> SessionDescription {
        counters.increment(.bodiesRead)
        var found = Leniencies()
        do {
            let description = try SessionDescription(parsing: body, limits: limits, leniencies: &found)
            if !found.isEmpty { counters.increment(.leniencies) }
            leniencies.formUnion(found)
            return description
        } catch {
            counters.increment(error.status == 400 ? .bodiesMalformed : .bodiesOverLimit)
            throw error
        }
    }

    /// Takes our pending offer back: the request that carried it failed. What was agreed before stays.
    public mutating func withdrawOffer() {
        guard isOfferPending else { return }
        counters.increment(.offersWithdrawn)
        isOfferPending = false
        ownOffer = nil
    }

    /// Gives `description` its `o=` version: the last one if nothing else changed, else the next (RFC 3264 §8).
    mutating func finish(_ description: SessionDescription, local: SocketAddress) -> SessionDescription {
        var result = description
        result.origin = Origin(sessionID: sessionID, version: version, address: local.ip)
        if let last = localDescription, last != result {
            version &+= 1
            result.origin.sessionVersion = String(version)
        }
        localDescription = result
        return result
    }

    /// The rejected form of a line (RFC 3264 §6): port 0, one format kept.
    static func rejected(_ line: Line) -> MediaDescription {
        MediaDescription(type: line.type, port: 0, protocolName: line.protocolName, formats: [line.format])
    }

    /// The attributes that name our formats.
    static func attributes(_ formats: [LocalFormat]) -> [Attribute] {
        var attributes: [Attribute] = []
        for format in formats {
            let channels = format.map.channels == 1 ? "" : "/\(format.map.channels)"
            attributes.append(
                Attribute("rtpmap", "\(format.payloadType) \(format.map.name)/\(format.map.clockRate)\(channels)"))
            if !format.parameters.isEmpty {
                attributes.append(Attribute("fmtp", "\(format.payloadType) \(format.parameters)"))
            }
        }
        return attributes
    }
}

/// The events that we name: the sixteen digits (RFC 4733 §3.2).
let eventParameters = "0-15"
