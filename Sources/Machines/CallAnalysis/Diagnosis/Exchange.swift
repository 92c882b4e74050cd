// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import SIP

/// A request on one hop with all that belongs to it: its retransmissions, responses, and the ACK of a refusal
/// (RFC 3261 §17). A request that goes through a proxy is one exchange on each hop.
struct Exchange {
    var method: Method
    var source: SocketAddress
    var destination: SocketAddress
    var transport: TransportProtocol
    /// Indices into `Traffic.messages`: the request and its retransmissions.
    var requests: [Int]
    var responses: [Int] = []
    /// The ACK of a refusal, which shares the branch.
    var acks: [Int] = []
}

/// One conversation with what the rules ask of it.
struct Scene {
    let traffic: Traffic
    let conversation: Conversation
    private(set) var exchanges: [Exchange] = []

    init(_ traffic: Traffic, _ conversation: Conversation) {
        self.traffic = traffic
        self.conversation = conversation
        var places: [String: Int] = [:]
        for index in conversation.messages {
            let seen = traffic.messages[index]
            let message = seen.message
            let key = Self.key(message)
            if message.isRequest {
                if message.method == .ack, let place = places[key] {
                    exchanges[place].acks.append(index)
                } else if let place = places[key], exchanges[place].method == message.method {
                    exchanges[place].requests.append(index)
                } else {
                    places[key] = exchanges.count
                    exchanges.append(
                        Exchange(
                            method: message.method, source: seen.source, destination: seen.destination, transport: seen.transport,
                            requests: [index]))
                }
            } else if let place = places[key] {
                exchanges[place].responses.append(index)
            }
        }
    }

    /// RFC 3261 §17.1.3; an ACK of a refusal has the branch of its INVITE.
    private static func key(_ message: SIPMessage) -> String {
        let method = message.cseq.method == .ack ? Method.invite : message.cseq.method
        return "\(message.topVia.branch ?? "") \(message.topVia.sentBy) \(message.cseq.number) \(method)"
    }

    // MARK: Messages

    func seen(_ index: Int) -> SeenMessage { traffic.messages[index] }
    func message(_ index: Int) -> SIPMessage { traffic.messages[index].message }
    func status(_ index: Int) -> Int { message(index).statusCode }

    /// Seconds since the first message of the conversation.
    func seconds(_ index: Int) -> Double {
        guard let first = conversation.messages.first else { return 0 }
        return (seen(index).time - seen(first).time).seconds
    }

    func seconds(from first: Int, to second: Int) -> Double { (seen(second).time - seen(first).time).seconds }

    /// The seconds between two messages in words.
    func span(_ first: Int, _ second: Int) -> String { Words.seconds(seconds(from: first, to: second)) }

    func request(_ exchange: Exchange) -> SIPMessage { message(exchange.requests[0]) }

    /// The first final response.
    func final(_ exchange: Exchange) -> Int? { exchange.responses.first { status($0) >= 200 } }

    func exchanges(_ method: Method) -> [Exchange] { exchanges.filter { $0.method == method } }

    /// The INVITEs that began the call: without a To tag.
    var initialInvites: [Exchange] { exchanges(.invite).filter { request($0).to.tag == nil } }

    /// The first 2xx of the call, and its exchange.
    var answer: (exchange: Exchange, index: Int)? {
        for exchange in initialInvites {
            if let index = exchange.responses.first(where: { (200..<300).contains(status($0)) }) { return (exchange, index) }
        }
        return nil
    }

    var isAnswered: Bool { answer != nil }

    /// The session description of a message.
    func description(_ index: Int) -> SessionDescription? {
        message(index).body(ofType: "application", "sdp").flatMap { try? SessionDescription(parsing: $0) }
    }

    /// The first audio line of a description and where it wants its media.
    func audio(_ index: Int) -> Audio? { description(index).flatMap(Audio.init) }
}

/// The audio line of a session description.
struct Audio {
    var media: MediaDescription
    /// Where media is to go; nil: a name, or rejected.
    var address: SocketAddress?
    var direction: Direction

    init?(_ description: SessionDescription) {
        guard let index = description.media.firstIndex(where: { $0.type == "audio" }) else { return nil }
        media = description.media[index]
        direction = description.direction(ofMedia: index)
        address = media.isRejected ? nil : description.connection(ofMedia: index)?.ip.map { [port = media.port] in SocketAddress($0, port) }
    }

    var isRejected: Bool { media.isRejected }

    /// Encoding names in order, telephone events and comfort noise aside.
    var codecs: [String] {
        media.formats.compactMap { format in
            guard let type = UInt8(format) else { return nil }
            guard let map = media.rtpMap(type) else { return "payload type \(type)" }
            return map.isNamed("telephone-event") || map.isNamed("CN") ? nil : map.name
        }
    }
}

/// Small words of the sentences.
enum Words {
    static func seconds(_ value: Double) -> String {
        if value < 0.9995 { return "\(Int((max(0, value) * 1000).rounded())) ms" }
        let tenths = Int((min(value, 1e9) * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// `a`, `a and b`, `a, b and c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last else { return "none" }
        return words.count == 1 ? last : words.dropLast().joined(separator: ", ") + " and " + last
    }

    static func times(_ count: Int) -> String { count == 1 ? "once" : count == 2 ? "twice" : "\(count) times" }

    static func percent(_ share: Double) -> String { share.isFinite ? "\(Int((min(max(share, 0), 1) * 100).rounded())) %" : "0 %" }

    /// What comes from outside, short and without characters that move a cursor or turn text around.
    static func shown(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(200) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                result.unicodeScalars.append("\u{fffd}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
