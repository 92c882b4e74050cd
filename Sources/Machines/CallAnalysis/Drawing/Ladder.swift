// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import SIP

/// The messages and media streams of a conversation as rows between columns: what both drawings are made from.
public struct Ladder: Sendable {
    public struct Row: Sendable {
        public enum Kind: String, Sendable {
            case request
            case provisional
            case success
            case failure
            case media
        }

        public var kind: Kind
        /// Seconds since the first row.
        public var seconds: Double
        /// Places in `columns`.
        public var from: Int
        public var to: Int
        public var label: String
        /// Sent before, with the same content.
        public var isAgain: Bool
        /// Index into `Traffic.messages`; nil for media.
        public var message: Int?
        /// Numbers, from 1, of the findings that this row shows.
        public var findings: [Int]
    }

    /// The most columns; what belongs to further ones is drawn at the last.
    public static let columnLimit = 10

    /// Addresses, in the order in which they appeared.
    public private(set) var columns: [String] = []
    public private(set) var rows: [Row] = []

    public init(_ conversation: Conversation, of traffic: Traffic) {
        let messages = conversation.messages.map { traffic.messages[$0] }
        let perPort = messages.contains { $0.source.ip == $0.destination.ip }
        var places: [String: Int] = [:]
        func column(_ address: SocketAddress) -> Int {
            let name = perPort ? "\(address)" : "\(address.ip)"
            if let place = places[name] { return place }
            guard columns.count < Self.columnLimit else { return Self.columnLimit - 1 }
            places[name] = columns.count
            columns.append(name)
            return columns.count - 1
        }
        guard let start = messages.first?.time else { return }
        var sent: Set<String> = []
        // Where each announced media address is drawn: at the machine that announced it.
        var owners: [SocketAddress: Int] = [:]
        for index in conversation.messages {
            let seen = traffic.messages[index]
            let (from, to) = (column(seen.source), column(seen.destination))
            let audio = Scene.audio(of: seen.message)
            if let address = audio?.address, owners[address] == nil { owners[address] = from }
            let key =
                "\(from) \(to) \(seen.message.topVia.branch ?? "") \(seen.message.cseq.number) \(seen.message.cseq.method) \(seen.message.method) \(seen.message.statusCode) \(seen.message.to.tag ?? "")"
            rows.append(
                Row(
                    kind: Self.kind(seen.message), seconds: (seen.time - start).seconds, from: from, to: to,
                    label: Self.label(seen.message, hasAudio: audio != nil), isAgain: !sent.insert(key).inserted, message: index,
                    findings: conversation.findings.indices.filter { conversation.findings[$0].messages.contains(index) }.map { $0 + 1 }))
        }
        for place in conversation.media {
            let flow = traffic.media[place]
            let known = { (address: SocketAddress) -> Int? in owners[address] ?? (perPort ? nil : places["\(address.ip)"]) }
            let from = known(flow.source) ?? column(flow.source)
            rows.append(
                Row(
                    kind: .media, seconds: (flow.first - start).seconds, from: from,
                    to: known(flow.destination) ?? column(flow.destination),
                    label: Self.label(flow), isAgain: false, message: nil, findings: []))
        }
        rows = rows.enumerated().sorted { ($0.element.seconds, $0.offset) < ($1.element.seconds, $1.offset) }.map(\.element)
    }

    private static func kind(_ message: SIPMessage) -> Row.Kind {
        switch message.statusCode {
        case 0: .request
        case ..<200: .provisional
        case ..<300: .success
        default: .failure
        }
    }

    private static func label(_ message: SIPMessage, hasAudio: Bool) -> String {
        var text = Rules.name(message)
        if !message.isRequest, message.cseq.method != .invite { text += " (\(message.cseq.method))" }
        if message.isRequest, message.contains(.authorization) || message.contains(.proxyAuthorization) { text += " (credentials)" }
        if message.isRequest, message.method == .register, message.expires == 0 || message.contacts.first?.expires == 0 {
            text += " (leave)"
        }
        if message.method == .refer, let target = message.referTo, message.isRequest { text += " to \(target.uri)" }
        if hasAudio { text += " (SDP)" }
        return Words.shown(text)
    }

    private static func label(_ flow: MediaFlow) -> String {
        "RTP \(flow.codec ?? "type \(flow.payloadType)") \(flow.packets) packets" + (flow.lost > 0 ? ", \(flow.lost) lost" : "")
    }
}

extension Scene {
    /// The first audio line of a message's description.
    static func audio(of message: SIPMessage) -> Audio? {
        message.body(ofType: "application", "sdp").flatMap { try? SessionDescription(parsing: $0) }.flatMap(Audio.init)
    }
}
