// SPDX-License-Identifier: Apache-2.0
//
// From the command's option values to the face's settings, and from the face's events to the command's.

import Codecs
import Essentials
import Handset
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent

extension AccountSettings {
    /// The phone that the options describe.
    ///
    /// - Parameter others: the further accounts.
    func phoneSettings(
        media: MediaSettings, maximumCalls: Int, others: ArraySlice<AccountSettings> = []
    ) throws(CommandFailure) -> PhoneSettings {
        var core = PhoneConfiguration(maximumCalls: maximumCalls)
        core.agent.maximumCalls = maximumCalls
        core.agent.directCalls = acceptsDirectCalls ? .accept : .refuse
        core.agent.transfers = transfers
        do {
            core.audio = try AudioCapabilities.parse(media.codecs.joined(separator: ","), available: AudioCapabilities.allCodecs)
        } catch {
            throw .usage("--codecs: \(error.reason).")
        }
        if let keepAlive {
            core.agent.keepAlive.isOn = keepAlive > 0
            core.agent.keepAlive.connectionInterval = .seconds(Int64(keepAlive))
            core.agent.keepAlive.datagramInterval = .seconds(Int64(keepAlive))
        }
        core.audio.packetTime = media.packetTime
        core.audio.redundancy = media.redundancy
        core.audio.comfortNoise = media.isDiscontinuous
        // A phone that may answer over TCP listens there too; one that registers over TCP is reached by its connection.
        var listeners = [PhoneSettings.Listener(.udp, listen)]
        if transport == .tcp || address == nil || others.contains(where: { $0.transport == .tcp }) { listeners.append(.init(.tcp, listen)) }
        for listener in self.listeners {
            listeners.append(.init(listener.transport, listener.address, tls: listener.transport.isSecure ? secureListener : nil))
        }
        calls.apply(to: &core)
        // Calls without an account trust the same as those with one.
        core.agent.stack.tls = secure.client
        core.agent.shutDownLimit = PhoneSession.farewellLimit
        // With G.711 alone a faster bridge brings nothing, and its two resamplers cost as much as the rest of the call.
        let isNarrow = core.audio.codecs.allSatisfy { ["PCMU", "PCMA"].contains($0.name.uppercased()) }
        var settings = PhoneSettings(
            core: core, listeners: listeners, mediaPorts: rtpPorts, bridgeRate: media.sound.bridgeRate ?? (isNarrow ? 8000 : 16_000),
            dnsServer: dnsServer)
        let rate = media.audioRate ?? settings.bridgeRate
        settings.codecs = .complete(
            bridgeRate: settings.bridgeRate,
            opus: OpusSettings(
                bitRate: media.bitRate, complexity: media.complexity, usesForwardErrorCorrection: media.correctsErrors,
                isDiscontinuous: media.isDiscontinuous, maximumRate: rate))
        // What the loudspeaker does not play need not be sent to us.
        if let index = settings.core.audio.codecs.firstIndex(where: { $0.name == AudioCodecDescription.opus.name }) {
            settings.core.audio.codecs[index] = .opus(
                correctsErrors: media.correctsErrors, isDiscontinuous: media.isDiscontinuous, maximumPlaybackRate: rate)
        }
        settings.deviceRate = media.sound.deviceRate
        settings.ringing = media.sound.ringDevice.map { Ringing(device: $0) }
        settings.webSocket.path = webSocketPath
        // The command lives by its handler alone.
        settings.keepsForFirstReader = false
        settings.watchesNetwork = watchesNetwork
        return settings
    }

    /// The account that the options describe; nil for direct calls.
    func account() throws(CommandFailure) -> AccountConfiguration? {
        guard let address else { return nil }
        guard let addressOfRecord = address.sip else { throw .usage("--account takes a SIP URI.") }
        var credentials: [Credential] = []
        if let password {
            let user = authenticationUser ?? addressOfRecord.user ?? ""
            credentials = [Credential(realm: registration.realm, username: user, password: password)]
        }
        var account = AccountConfiguration(
            addressOfRecord: addressOfRecord, registrar: registrar?.sip, proxy: proxy?.sip, credentials: credentials,
            registers: registers, expires: expires, transport: transport, directCalls: acceptsDirectCalls ? .accept : .refuse,
            transfers: transfers)
        account.tls = secure.client
        account.webSocketPath = webSocketPath
        account.furtherProxies = furtherProxies.compactMap(\.sip)
        account.outbound = usesOutbound ? .on : .off
        account.push = registration.push
        account.gruu = registration.gruu
        account.instance = registration.instance
        account.messageWaiting = messageWaiting
        account.mailbox = mailbox?.sip
        account.allowsDialogSubscriptions = showsLine
        calls.apply(to: &account)
        return account
    }
}

extension MediaSettings.DTMFMethod {
    var phoneMethod: DigitMethod {
        switch self {
        case .auto: .auto
        case .rfc4733: .rfc4733
        case .info: .info
        case .inBand: .inband
        }
    }
}

extension CommandEvent.Registration {
    /// The state as the command tells it.
    init(_ state: RegistrationState, _ detail: RegistrationDetail? = nil, phone: String? = nil) {
        switch state {
        case .registered(_, let expires, let status, let reason):
            self.init(state.name, status: status, reason: reason, expires: expires, phone: phone)
        case .refused(let cause), .failed(let cause, _):
            self.init(state.name, status: cause.status, reason: cause.sentence, phone: phone)
            self.cause = cause.code
        case .registering, .unregistering, .unregistered: self.init(state.name, phone: phone)
        }
        guard let detail else { return }
        if case .unregistered = state { return }
        trigger = detail.trigger.rawValue
        guard case .registered = state else { return }
        server = detail.server
        tls = detail.tls?.version
        flows = detail.flows
        gruu = (detail.publicGRUU ?? detail.temporaryGRUU).map { "\($0)" }
        if !detail.serviceRoute.isEmpty { serviceRoute = detail.serviceRoute.map { "\($0.uri)" } }
        if detail.hasPush { hasPush = true }
    }
}

extension TraceWriter {
    /// Writes a message of the face's trace.
    func write(_ record: TraceRecord) {
        write(
            record.direction == .sent ? .sent : .received, record.transport, local: record.local, remote: record.remote,
            message: record.message.utf8, at: record.time)
    }
}

extension PhoneEvent {
    /// Why something ended or went wrong, if this event tells of it.
    var cause: Cause? {
        switch self {
        case .ended(_, let end): end.cause
        case .warning(_, let cause), .holdFailed(_, let cause), .digitFailed(_, let cause): cause
        case .registration(_, .refused(let cause)), .registration(_, .failed(let cause, _)): cause
        default: nil
        }
    }

    /// Whether what it tells of goes on all the same: the call, or a registration that is tried again.
    var isWarning: Bool {
        switch self {
        case .warning, .holdFailed, .digitFailed: true
        default: false
        }
    }
}

extension CommandLog.Level {
    /// The face's level from which on records are made.
    var phoneLevel: LogSettings.Level {
        switch self {
        case .off, .error: .error
        case .warning: .warning
        case .info: .info
        case .debug: .debug
        }
    }
}

extension CommandLog {
    /// Writes a record of the face.
    func callAsFunction(_ record: LogSettings.Record) {
        let level: Level =
            switch record.level {
            case .debug: .debug
            case .info, .notice: .info
            case .warning: .warning
            case .error: .error
            }
        self(level, "\(record.message) " + record.metadata.map { "\($0.name)=\($0.value)" }.joined(separator: " "))
    }
}
