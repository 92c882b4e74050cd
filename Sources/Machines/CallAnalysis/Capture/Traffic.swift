// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// One SIP message as it was seen on its way.
public struct SeenMessage: Sendable {
    public var time: MonotonicTime
    public var transport: TransportProtocol
    public var source: SocketAddress
    public var destination: SocketAddress
    public var message: SIPMessage
    /// IP packets that carried it; more than 1: it was fragmented.
    public var fragments: Int

    public init(
        time: MonotonicTime, transport: TransportProtocol, source: SocketAddress, destination: SocketAddress, message: SIPMessage,
        fragments: Int = 1
    ) {
        self.time = time
        self.transport = transport
        self.source = source
        self.destination = destination
        self.message = message
        self.fragments = fragments
    }
}

/// One RTP stream in one direction: a source that sends to an address.
public struct MediaFlow: Sendable, Hashable {
    public var source: SocketAddress
    public var destination: SocketAddress
    public var ssrc: UInt32
    /// The payload type of most packets, telephone events aside.
    public var payloadType: UInt8
    public var packets: Int
    public var octets: Int
    public var first: MonotonicTime
    public var last: MonotonicTime
    /// Sequence numbers that never came past the place of the capture.
    public var lost: Int
    /// RFC 3550 §6.4.1, in milliseconds; nil where the clock rate is not known.
    public var jitterMilliseconds: Double?
    /// What the rtpmap in the session description or the static table says: `PCMU`.
    public var codec: String?
    /// Share of packets that the receiver reported lost by RTCP, 0...1, the worst report; nil: it never reported.
    public var reportedLoss: Double?
}

/// What a network answered instead of the addressed machine (RFC 792, RFC 4443).
public struct Unreachable: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case portClosed = "port closed"
        case noRoute = "no route"
        case prohibited = "prohibited"
        /// A packet too big for the path, with "don't fragment".
        case tooBig = "too big"
        /// A TCP connection that was refused.
        case refused = "connection refused"
    }

    public var time: MonotonicTime
    public var kind: Kind
    /// Who says so.
    public var reporter: IPAddress
    public var source: SocketAddress
    /// What cannot be reached.
    public var destination: SocketAddress
}

/// A UDP datagram of which fragments are missing.
public struct LostDatagram: Sendable, Hashable {
    public var time: MonotonicTime
    public var source: SocketAddress
    public var destination: SocketAddress
    /// The octets of its first fragment; empty if that is missing.
    public var head: [UInt8]
}

/// A cause that a phone of ours wrote into its trace.
public struct TracedCause: Sendable, Hashable {
    public var time: MonotonicTime
    public var code: String
    public var sentence: String
    public var evidence: [String]
    /// How grave the phone took it; nil: an end of which the code tells whether it was wanted.
    public var severity: Finding.Severity?

    public init(time: MonotonicTime, code: String, sentence: String, evidence: [String] = [], severity: Finding.Severity? = nil) {
        self.time = time
        self.severity = severity
        self.code = code
        self.sentence = sentence
        self.evidence = evidence
    }
}

/// All that was seen: the input of `CallAnalysis`, in the order of time.
public struct Traffic: Sendable {
    public var messages: [SeenMessage]
    public var media: [MediaFlow] = []
    public var unreachable: [Unreachable] = []
    public var lostDatagrams: [LostDatagram] = []
    public var causes: [TracedCause] = []
    /// Whether media would have been seen if there had been any; false for a trace of SIP alone.
    public var seesMedia = false
    public var counters = Counters<CaptureCounter>()

    public init(messages: [SeenMessage] = []) { self.messages = messages }

    /// Whether octets begin as a SIP message: a response, or a request line.
    static func looksLikeSIP(_ bytes: ArraySlice<UInt8>) -> Bool {
        if bytes.starts(with: "SIP/2.0 ".utf8) { return true }
        let method = bytes.prefix(33).prefix { $0 != 0x20 }
        guard (1...32).contains(method.count), method.count < bytes.count,
            method.allSatisfy({ (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x2d || $0 == 0x5f })
        else { return false }
        let line = bytes.prefix(2048).prefix { $0 != 0x0d && $0 != 0x0a }
        return line.count > 12 && line.suffix(8).elementsEqual(" SIP/2.0".utf8)
    }
}
