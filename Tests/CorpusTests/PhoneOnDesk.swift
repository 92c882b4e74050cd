// SPDX-License-Identifier: Apache-2.0
//
// A whole phone (PhoneCore) on a desk: the test is its network, its media and its user.
//
//     test ── octets as a datagram ──▶ PhoneCore ──▶ sent: every message with its address
//                                          │
//                                          └─▶ media commands, events

import Crypto
import CryptoOpenSSL
import Essentials
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent

struct Missing: Error {}

final class PhoneOnDesk {
    /// What the phone sent, readable or not, and where to.
    struct Sent {
        var bytes: [UInt8]
        var to: SocketAddress
        var message: SIPMessage? { if case .message(let message) = SIPMessage.receive(bytes) { message } else { nil } }
        /// The status of a response, read from the octets: an answer echoes what may be malformed.
        var status: Int? { bytes.starts(with: "SIP/2.0 ".utf8) ? Int(String(decoding: bytes.dropFirst(8).prefix(3), as: UTF8.self)) : nil }
    }

    let phone: PhoneCore
    let address = SocketAddress(.v4(0x0a00_0001), 5060)
    /// The other side of the socket, whatever the messages say.
    let peer = SocketAddress(.v4(0x0a00_0009), 5060)
    private(set) var now = MonotonicTime.zero
    private(set) var sent: [Sent] = []
    private(set) var events: [PhoneEvent] = []
    private(set) var streams: [StreamConfiguration] = []
    private(set) var openPorts: Set<PortID> = []
    /// Names that were asked for.
    private(set) var questions: [String] = []
    private(set) var account: AccountID?
    private let socket = FlowID(rawValue: 1)

    init(
        audio: AudioCapabilities = AudioCapabilities(codecs: [.pcmu, .pcma, .g722, .opus]), transfers: TransferPolicy = .refuse
    ) {
        var configuration = PhoneConfiguration(audio: audio)
        configuration.agent.directCalls = .accept
        configuration.agent.transfers = transfers
        phone = PhoneCore(configuration: configuration, cryptography: OpenSSLCryptography(), random: RandomSource(SplitMix64(seed: 4475)))
        phone.handle(.listening(socket, .udp, local: address), now: now)
        drain()
    }

    /// An account whose server is the peer.
    func addAccount(_ user: String = "1001", at domain: String, realm: String? = nil, registers: Bool = true) throws {
        var proxy = SIPURI(host: .address(peer.ip), port: peer.port)
        proxy.parameters.set("lr", nil)
        account = try phone.addAccount(
            AccountConfiguration(
                addressOfRecord: SIPURI(user: user, host: .name(domain)), registrar: nil, proxy: proxy,
                credentials: [Credential(realm: realm, username: user, password: Secret("zanzibar"))], registers: registers,
                directCalls: .accept),
            now: now)
        drain()
    }

    func receive(_ bytes: [UInt8]) {
        phone.handle(.received(bytes, socket, from: peer), now: now)
        drain()
    }

    func perform(_ action: (PhoneCore, MonotonicTime) throws -> Void) rethrows {
        try action(phone, now)
        drain()
    }

    func run(_ interval: Interval) {
        let end = now + interval
        while let deadline = phone.nextDeadline, deadline <= end {
            now = max(now, deadline)
            phone.advance(to: now)
            drain()
        }
        now = end
    }

    /// Shuts the phone down; whether nothing is left of anything.
    func leavesNothing() -> Bool {
        perform { $0.shutDown(now: $1) }
        run(.seconds(200))
        return phone.isQuiet && phone.agent.leftovers.isEmpty && openPorts.isEmpty && phone.nextDeadline == nil
    }

    // MARK: The world

    private func drain() {
        while let effect = phone.nextEffect() {
            switch effect {
            case .transport(.send(let bytes, _, let to)): sent.append(Sent(bytes: bytes, to: to))
            // Everybody lives at the peer's address, and takes connections.
            case .transport(.connect(let flow, _, _, _, _, _)): phone.handle(.connected(flow, local: address), now: now)
            case .transport(.close(let flow)): phone.handle(.closed(flow, .closedLocally), now: now)
            case .resolve(let question):
                questions.append(question.name)
                let record = DNSRecord(.address(peer.ip), timeToLive: 60)
                phone.handle(DNSAnswer(question, question.type == .a ? .records([record]) : .none), now: now)
            case .media(.openStream(let port, _)):
                openPorts.insert(port)
                phone.handle(.streamOpened(port, rtp: SocketAddress(address.ip, 4000)), now: now)
            case .media(.configureStream(_, let stream)): streams.append(stream)
            case .media(.closePort(let port)):
                openPorts.remove(port)
                phone.handle(.statistics(port, StreamStatistics()), now: now)
            case .media, .checkNetwork: break
            case .event(let event): events.append(event)
            }
        }
    }

    // MARK: What was seen

    func requests(_ method: Method) -> [SIPMessage] { sent.compactMap(\.message).filter { $0.isRequest && $0.method == method } }

    func responses(_ method: Method) -> [SIPMessage] { sent.compactMap(\.message).filter { !$0.isRequest && $0.cseq.method == method } }

    func last(_ method: Method) throws -> SIPMessage {
        guard let message = requests(method).last else { throw Missing() }
        return message
    }

    var ringing: CallID? { events.compactMap { if case .incomingCall(let id, _) = $0 { id } else { nil } }.last }

    var identities: [CallerIdentity] {
        events.compactMap { if case .notice(_, .identity(let identity)) = $0 { identity } else { nil } }
    }
    var ends: [CallEnd] { events.compactMap { if case .ended(_, let end) = $0 { end } else { nil } } }

    var transfers: [TransferEvent] { events.compactMap { if case .transfer(_, let event) = $0 { event } else { nil } } }

    var registrations: [RegistrationState] { events.compactMap { if case .registration(_, let state) = $0 { state } else { nil } } }

    var isRegistered: Bool { if case .registered? = registrations.last { true } else { false } }

    // MARK: Fitting messages of the corpus

    /// A response of the corpus as the answer to a request of ours: Via, From, Call-ID and CSeq are ours, all else is the file's.
    func answer(_ request: SIPMessage, with file: String, replacing: [(String, String)] = []) throws {
        let response = try Self.read(file, replacing: replacing)
        var fitted = MessageBuilder(copying: response)
        fitted.removeAll(.via)
        for via in request.vias.reversed() { fitted.prepend(.via, via.description) }
        var to = request.to
        if to.tag == nil { to.tag = response.to.tag }
        fitted.set(.from, request.from.description)
        fitted.set(.to, to.description)
        fitted.set(.callID, request.callID)
        fitted.set(.cseq, "\(request.cseq.number) \(request.cseq.method.rawValue)")
        receive(fitted.build().bytes)
    }

    /// A request of the corpus put into the dialog of `invite`, which we sent: only the tags and the Call-ID are ours.
    func sendInDialog(
        of invite: SIPMessage, peerTag: String?, _ file: String, keepsFrom: Bool = false, replacing: [(String, String)] = []
    ) throws {
        let message = try Self.read(file, replacing: replacing)
        var fitted = MessageBuilder(copying: message)
        var from = keepsFrom ? message.from : invite.to
        from.tag = peerTag
        fitted.set(.from, from.description)
        fitted.set(.to, invite.from.description)
        fitted.set(.callID, invite.callID)
        receive(fitted.build().bytes)
    }

    /// An ACK of the corpus for our 2xx: From, To, Call-ID and the number of CSeq are those of the 2xx.
    func follow(_ response: SIPMessage, with file: String) throws {
        var fitted = MessageBuilder(copying: try Self.read(file))
        fitted.set(.cseq, "\(response.cseq.number) ACK")
        fitted.set(.to, response.to.description)
        fitted.set(.from, response.from.description)
        fitted.set(.callID, response.callID)
        receive(fitted.build().bytes)
    }

    static func read(_ file: String, replacing: [(String, String)] = []) throws -> SIPMessage {
        var text = String(decoding: try Fixture.bytes(file), as: UTF8.self)
        for (old, new) in replacing { text = text.split(separator: old, omittingEmptySubsequences: false).joined(separator: new) }
        guard case .message(let message) = SIPMessage.receive(Array(text.utf8)) else { throw Missing() }
        return message
    }
}
