// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import SIP
import SIPAgent

/// What happened in the calls of a capture or trace, and why some failed.
///
/// A value made from a value: no input, no output, no clock; the same traffic gives the same findings in the same order.
public struct CallAnalysis: Sendable {
    public let traffic: Traffic
    /// In the order in which they began.
    public private(set) var conversations: [Conversation]
    /// What belongs to no conversation: causes that a phone wrote into its trace, datagrams that never became whole.
    public private(set) var general: [Finding] = []

    /// - Parameter only: take only the conversation whose Call-ID begins so.
    public init(_ traffic: Traffic, only: String? = nil) {
        self.traffic = traffic
        conversations = Self.group(traffic, only)
        let owners = Self.mediaOwners(traffic, conversations)
        for (flow, owner) in owners.enumerated() { if let owner { conversations[owner].media.append(flow) } }
        for index in conversations.indices {
            let scene = Scene(traffic, conversations[index])
            var findings: [Finding] = []
            for rule in Self.rules { findings += rule(scene) }
            conversations[index].findings = Self.inOrder(findings)
        }
        flapping()
        general = traffic.causes.map(Self.finding) + Self.lost(traffic)
    }

    /// Every rule, in the order in which their findings stand where they are equally grave.
    private static let rules: [@Sendable (Scene) -> [Finding]] = [
        Rules.wrongPassword, Rules.refused, Rules.codecMismatch, Rules.unreachable, Rules.noReply, Rules.missingACK, Rules.earlyCancel,
        Rules.neverAnswered, Rules.sessionExpired, Rules.transferFailed, Rules.privateMediaAddress, Rules.mediaPortClosed,
        Rules.missingMedia, Rules.answerStorm, Rules.severalAnswers, Rules.rewritten, Rules.gateway, Rules.lossyMedia, Rules.retransmitted,
        Rules.ended,
    ]

    private static func inOrder(_ findings: [Finding]) -> [Finding] {
        findings.enumerated().sorted { ($0.element.severity, $0.offset) < ($1.element.severity, $1.offset) }.map(\.element)
    }

    // MARK: Grouping

    private static func group(_ traffic: Traffic, _ only: String?) -> [Conversation] {
        var places: [String: Int] = [:]
        var result: [Conversation] = []
        for (index, seen) in traffic.messages.enumerated() {
            let callID = seen.message.callID
            if let only, !callID.hasPrefix(only) { continue }
            if let place = places[callID] {
                result[place].messages.append(index)
            } else {
                places[callID] = result.count
                result.append(
                    Conversation(callID: callID, kind: kind(seen.message.cseq.method), title: title(seen.message), messages: [index]))
            }
        }
        return result
    }

    private static func kind(_ method: Method) -> Conversation.Kind {
        switch method {
        case .invite, .ack, .bye, .cancel, .prack, .update, .info, .refer: .call
        case .register: .registration
        case .subscribe, .notify, .publish: .subscription
        case .message: .message
        default: .other
        }
    }

    private static func title(_ message: SIPMessage) -> String {
        let from = Words.shown(address(message.from))
        let to = Words.shown(address(message.to))
        return message.cseq.method == .register || from == to
            ? "\(message.cseq.method) of \(to)" : "\(message.cseq.method) from \(from) to \(to)"
    }

    private static func address(_ it: NameAddress) -> String {
        guard let uri = it.uri.sip else { return "\(it.uri)" }
        return (uri.user.map { $0 + "@" } ?? "") + "\(uri.host)"
    }

    /// The conversation of each flow: the newest one begun before it that announced one of its ends.
    private static func mediaOwners(_ traffic: Traffic, _ conversations: [Conversation]) -> [Int?] {
        var announced: [SocketAddress: [(time: MonotonicTime, owner: Int)]] = [:]
        var announcedPorts: [UInt16: [(time: MonotonicTime, owner: Int)]] = [:]
        for (owner, conversation) in conversations.enumerated() {
            for index in conversation.messages {
                let seen = traffic.messages[index]
                guard let body = seen.message.body(ofType: "application", "sdp"), let description = try? SessionDescription(parsing: body)
                else { continue }
                for (place, media) in description.media.enumerated() where !media.isRejected {
                    announcedPorts[media.port, default: []].append((seen.time, owner))
                    if let ip = description.connection(ofMedia: place)?.ip {
                        announced[SocketAddress(ip, media.port), default: []].append((seen.time, owner))
                    }
                }
            }
        }
        func newest(_ list: [(time: MonotonicTime, owner: Int)]?, _ flow: MediaFlow) -> Int? {
            list?.last { $0.time <= flow.last }?.owner
        }
        // A NAT changes addresses, and seldom both ports.
        return traffic.media.map { flow in
            newest(announced[flow.destination], flow) ?? newest(announced[flow.source], flow) ?? newest(
                announcedPorts[flow.destination.port], flow)
                ?? newest(announcedPorts[flow.source.port], flow)
        }
    }

    // MARK: Across conversations

    /// A phone that registers and unregisters again and again: more than three times a minute, by different Call-IDs too.
    private mutating func flapping() {
        var byAddress: [(address: String, messages: [Int], owner: Int)] = []
        for (owner, conversation) in conversations.enumerated() where conversation.kind == .registration {
            for index in conversation.messages {
                let message = traffic.messages[index].message
                guard message.isRequest, message.method == .register,
                    message.credentials(.authorization).isEmpty || conversation.messages.count > 2
                else { continue }
                let address = "\(message.to.uri)"
                if let place = byAddress.firstIndex(where: { $0.address == address }) {
                    byAddress[place].messages.append(index)
                    byAddress[place].owner = owner
                } else if byAddress.count < 1024 {
                    byAddress.append((address, [index], owner))
                }
            }
        }
        for entry in byAddress {
            guard let finding = Rules.flapping(traffic, entry.address, entry.messages) else { continue }
            conversations[entry.owner].findings = Self.inOrder(conversations[entry.owner].findings + [finding])
        }
    }

    /// The ends of calls that somebody wanted: no failures.
    private static let wantedEnds = [
        "call.hung-up", "call.remote-hung-up", "call.transferred", "call.replaced", "call.answered-elsewhere", "call.shut-down",
        "call.refused", "call.refused-busy",
    ]

    private static func finding(_ cause: TracedCause) -> Finding {
        Finding(
            cause.severity ?? (wantedEnds.contains(cause.code) ? .note : .failure),
            Cause(cause.code, cause.sentence, evidence: cause.evidence.map { .init("phone", Words.shown($0)) }))
    }

    private static func lost(_ traffic: Traffic) -> [Finding] {
        traffic.lostDatagrams.prefix(16).map { lost in
            let line = String(decoding: lost.head.prefix { $0 != 0x0d && $0 != 0x0a }, as: UTF8.self)
            return Finding(
                .failure,
                Cause(
                    "seen.fragment-lost",
                    "A message from \(lost.source) to \(lost.destination) was too big for one packet, and not all of its fragments came past here: "
                        + "something on the way drops fragments. TCP would carry it.",
                    evidence: [.init("message", Words.shown(line)), .init("from", "\(lost.source)"), .init("to", "\(lost.destination)")]))
        }
    }
}
