// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import SIP
import SIPAgent

/// How a phone behaves, apart from its accounts.
public struct PhoneConfiguration: Sendable {
    /// The user agent's settings: timers, limits, names.
    public var agent: UserAgentConfiguration
    /// The codecs offered and accepted, in order of preference, and the rest of what SDP says about audio.
    public var audio: AudioCapabilities
    /// The most calls at once, both ways; one more is refused with 486 (incoming) or an error (outgoing). Default 1 000.
    public var maximumCalls: Int
    /// How long an established call may be without any packet that the peer should send before it is ended as vanished.
    /// Default 60 s; `.zero` switches it off.
    public var silenceLimit: Interval
    /// How long each DTMF digit sounds, in milliseconds, 40...2000. Default 100 (RFC 4733 §2.5.1.1 asks for at least 40).
    public var digitMilliseconds: Int
    /// Whether a call that comes in while another is up is refused as busy (486); an account may say otherwise
    /// (`AccountCallSettings.refusesSecondCall`). Default false: it waits.
    public var refusesSecondCall = false
    /// Whether a call is answered because its caller asks for that (RFC 5373). Default never.
    public var autoAnswer = AutoAnswer.off
    /// How long a transfer that is to be decided by the user waits (`TransferPolicy.ask`). Default 30 s.
    public var transferDecisionLimit: Interval = .seconds(30)
    /// How long the old call stays after a successful transfer if the other side does not end it. Default 10 s.
    public var transferLinger: Interval = .seconds(10)
    /// Whether the address of media was chosen by the user, and so stays what it is through changes of the network. Default false.
    public var keepsMediaAddress = false
    /// The most calls in one conference. Default 16.
    public var maximumConferenceMembers = 16

    public init(
        agent: UserAgentConfiguration = UserAgentConfiguration(), audio: AudioCapabilities = .standard, maximumCalls: Int = 1000,
        silenceLimit: Interval = .seconds(60), digitMilliseconds: Int = 100
    ) {
        self.agent = agent
        self.audio = audio
        self.maximumCalls = maximumCalls
        self.silenceLimit = silenceLimit
        self.digitMilliseconds = min(max(digitMilliseconds, 40), 2000)
    }
}

/// How one outgoing call is placed.
public struct CallOptions: Sendable {
    /// More header fields for the INVITE, in order.
    public var headers: [Header]
    /// Leaves the offer to the called side (RFC 3261 §13.2.1): the INVITE has no description. Default false.
    public var isLateOffer = false
    /// Does not tell the called side who calls (RFC 3323). Default false.
    public var isAnonymous = false
    /// The number to call through the account's gateway (`PSTNGateway`) where the dialled address is none; nil: the dialled
    /// number.
    public var gatewayNumber: String?
    /// The call of the called person that this one is to replace (RFC 3891): pick-up, or an attended transfer.
    public var replaces: Replaces?
    /// Who asked for the call (RFC 3892).
    public var referredBy: NameAddress?

    /// The Replaces and Referred-By fields of the INVITE.
    var transferHeaders: [(HeaderName, String)] {
        (replaces.map { [(.replaces, $0.description)] } ?? []) + (referredBy.map { [(.referredBy, "<\($0.uri)>")] } ?? [])
    }

    /// A header field as the application names it.
    public struct Header: Sendable, Hashable {
        public var name: String
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(headers: [Header] = []) { self.headers = headers }
}

/// How DTMF digits travel.
public enum DigitMethod: String, Sendable, Hashable, CaseIterable {
    /// RFC 4733 where it was negotiated, else INFO, else tones; the next one by itself where the peer refuses.
    case auto
    /// RTP telephone-event (RFC 4733).
    case rfc4733
    /// SIP INFO with `application/dtmf-relay`.
    case info
    /// The tones themselves in the audio.
    case inband
}
