// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import Essentials
import Media
import MediaRuntime
import Networking
import PhoneCore
import SIP
import VoiceProcessing

/// How a `Phone` is set up. Every setting has a default that works: a phone on any free UDP and TCP port.
public struct PhoneSettings: Sendable {
    /// A transport and the address to listen on; port 0 takes any free one.
    public struct Listener: Sendable, Hashable {
        public var transport: TransportProtocol
        public var address: SocketAddress
        /// The certificate that is shown where the transport is secure; needed there.
        public var tls: TLSServerSettings?

        public init(_ transport: TransportProtocol, _ address: SocketAddress, tls: TLSServerSettings? = nil) {
            self.transport = transport
            self.address = address
            self.tls = tls
        }
    }

    /// Signalling, codecs and limits.
    public var core: PhoneConfiguration
    /// Where to listen. A transport with connections need not be among them: an account is reached over the connection that it
    /// opened. Empty: UDP and TCP on any port of all IPv4 addresses.
    public var listeners: [Listener]
    /// The address that media uses, whatever becomes of the network; nil: the first listener's, or the address of the route to the peer.
    public var mediaAddress: IPAddress?
    /// The UDP ports for RTP and RTCP; nil: any free pair.
    public var mediaPorts: ClosedRange<UInt16>?
    /// Samples a second inside the bridge: 8 000, 12 000, 16 000, 24 000, 32 000, 44 100 or 48 000.
    public var bridgeRate: Int
    /// The codecs there are: all that `core.audio` names must be among them. Default: G.711 and G.722. A program that depends on the
    /// product `Codecs` adds Opus (`AudioCodecRegistry.complete(bridgeRate:opus:)`), or a codec of its own (docs/calls.md).
    public var codecs: AudioCodecRegistry
    /// A DNS server to ask instead of the system's.
    public var dnsServer: SocketAddress?
    /// How connections over WebSocket are made: the path that the server wants, limits.
    public var webSocket = WebSocketSettings()
    /// Makes the sound devices that `MediaCommand.openDevice` names; the default knows `null`, `default` and those of the sound
    /// server.
    public var devices: SoundDeviceFactory = { name, rate in SoundDevices.open(name, rate: rate) }
    /// Samples a second of sound devices, 8 000 to 192 000; nil: the bridge's. Only where the two differ anything is resampled.
    public var deviceRate: Int?
    /// Makes what works on the sound of microphones (`Bridge.processVoice`).
    public var voiceProcessors: VoiceProcessorFactory = { wanted, rate in VoiceProcessors.make(wanted, rate: rate) }
    /// How incoming calls ring; nil: the application does it.
    public var ringing: Ringing?
    /// How many speech programs may run at once.
    public var maximumPrograms = 256
    public var log: LogSettings
    /// Called on the loop for every SIP message sent or received, credentials masked; must not block.
    public var trace: (@Sendable (TraceRecord) -> Void)?
    /// The loop that runs the phone; phones share one unless told otherwise.
    public var loop: EventLoop?
    /// Whether incoming calls and events are kept until somebody first reads `Phone.incomingCalls` and `Phone.events`: the
    /// newest 1 024 calls and 4 096 events. False where a handler is all there is: then nothing is kept of a call that is over.
    public var keepsForFirstReader = true
    /// Whether the system is asked to tell when addresses come and go. Without it a change is noticed by `Phone.networkChanged()`,
    /// by sends that fail and by silence.
    public var watchesNetwork = true

    public init(
        core: PhoneConfiguration = PhoneConfiguration(), listeners: [Listener] = [], mediaAddress: IPAddress? = nil,
        mediaPorts: ClosedRange<UInt16>? = nil, bridgeRate: Int = 16_000, codecs: AudioCodecRegistry = .standard,
        dnsServer: SocketAddress? = nil, log: LogSettings = LogSettings(), trace: (@Sendable (TraceRecord) -> Void)? = nil,
        loop: EventLoop? = nil
    ) {
        self.core = core
        self.listeners = listeners
        self.mediaAddress = mediaAddress
        self.mediaPorts = mediaPorts
        self.bridgeRate = bridgeRate
        self.codecs = codecs
        self.dnsServer = dnsServer
        self.log = log
        self.trace = trace
        self.loop = loop
    }
}
