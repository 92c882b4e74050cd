// SPDX-License-Identifier: Apache-2.0

/// How a call sounded at one moment.
public struct CallSample: Sendable, Hashable {
    /// Seconds since the call began.
    public var seconds: Double
    /// Of the packets since the sample before, the shares 0...1 that were lost, and that were lost but made good.
    public var lost: Double
    public var repaired: Double
    /// What the other side reports as lost of ours, 0...1; nil until known.
    public var lostThere: Double?
    /// Milliseconds: interarrival jitter, what waits in the buffer, one way from mouth to ear.
    public var jitter: Double
    public var buffer: Double
    public var delay: Double
    /// dB below full scale, −96...0: what came and what was sent.
    public var received: Double
    public var sent: Double
    /// 1...4.5; 0: there was nothing to judge.
    public var score: Double
    /// kbit/s of payload sent, and the part of it that were copies (RFC 2198).
    public var rate: Double
    public var redundantRate: Double

    public init(
        seconds: Double, lost: Double = 0, repaired: Double = 0, lostThere: Double? = nil, jitter: Double = 0, buffer: Double = 0,
        delay: Double = 0, received: Double = -96, sent: Double = -96, score: Double = 0, rate: Double = 0, redundantRate: Double = 0
    ) {
        self.seconds = seconds
        self.lost = lost
        self.repaired = repaired
        self.lostThere = lostThere
        self.jitter = jitter
        self.buffer = buffer
        self.delay = delay
        self.received = received
        self.sent = sent
        self.score = score
        self.rate = rate
        self.redundantRate = redundantRate
    }
}

/// Something that happened while a call lasted, to be marked on its time axis.
public struct CallMark: Sendable, Hashable {
    public enum Kind: String, Sendable { case note, warning, failure }
    public var seconds: Double
    public var kind: Kind
    public var text: String

    public init(seconds: Double, kind: Kind, text: String) {
        self.seconds = seconds
        self.kind = kind
        self.text = text
    }
}

/// What a page about one call is made of.
public struct CallRecord: Sendable {
    /// The other side, as a person would say it.
    public var remote = ""
    /// `to` or `from`.
    public var direction = "to"
    /// How it ended, as a sentence.
    public var end = ""
    /// Seconds from the answer to the end; nil: it was never answered.
    public var duration: Double?
    /// The E-model's score of the whole call; nil: no sound came.
    public var score: Double?
    /// The codec in use, as written in descriptions.
    public var codec: String?
    /// Packets since the beginning: that came, that did not, and of these what was made good by copies and by in-band FEC.
    public var received: UInt64 = 0
    public var lost: UInt64 = 0
    public var restored: UInt64 = 0
    public var recovered: UInt64 = 0
    public var samples: [CallSample] = []
    public var marks: [CallMark] = []
    /// Samples and marks that were not kept.
    public private(set) var omitted = 0

    /// The most samples and marks of a call.
    public static let sampleLimit = 7200
    public static let markLimit = 200

    public init() {}

    public mutating func add(_ sample: CallSample) {
        guard samples.count < Self.sampleLimit else { return omitted += 1 }
        samples.append(sample)
    }

    public mutating func add(_ mark: CallMark) {
        guard marks.count < Self.markLimit else { return omitted += 1 }
        marks.append(mark)
    }
}
