// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent
import SIPServer

/// The phone behind the embedded server's services: answers every call at once and joins it to what was called.
final class ServicePhone: Sendable {
    private let phone: Phone
    /// What the server's location store is given: each service at this phone's address.
    let contacts: [ServiceContact]

    init(_ settings: ServerSettings, address: IPAddress) async throws {
        var core = PhoneConfiguration()
        core.agent.directCalls = .accept
        let desk = ServiceDesk(settings)
        var phoneSettings = PhoneSettings(
            core: core, listeners: [.init(.udp, SocketAddress(address, 0))], bridgeRate: 8000, loop: settings.loop)
        phoneSettings.keepsForFirstReader = false
        phone = try await Phone(phoneSettings) { phone, event, _ in
            desk.handle(event, on: phone)
        }
        let port = await phone.listening.first?.address.port
        contacts = settings.services.map { service in
            ServiceContact(
                user: service.rawValue, contact: SIPURI(user: service.rawValue, host: .address(address), port: port))
        }
    }

    func stop() async { await phone.stop() }
}

/// Which service a call wants, and the ports that serve it. Used on the phone's isolation only; it keeps no state of its
/// own but what was given, so it may be shared.
private struct ServiceDesk: Sendable {
    let settings: ServerSettings

    init(_ settings: ServerSettings) { self.settings = settings }

    func handle(_ event: PhoneEvent, on phone: isolated Phone) {
        switch event {
        case .incomingCall(let id, let call):
            guard let service = service(of: call) else {
                try? phone.reject(id, status: 404)
                return
            }
            open(service, for: id, on: phone)
            try? phone.answer(id)
        default: break
        }
    }

    private func service(of call: IncomingCall) -> ServerSettings.Service? {
        guard let user = call.invite.requestURI.sip?.user, let service = ServerSettings.Service(rawValue: user) else { return nil }
        return settings.services.contains(service) ? service : nil
    }

    private func open(_ service: ServerSettings.Service, for id: CallID, on phone: isolated Phone) {
        guard let call = try? phone.port(of: id) else { return }
        switch service {
        case .echo: phone.echo(id, call)
        case .tone: phone.play(Tone(frequency: 1000), into: id, call)
        case .music:
            if let file = settings.musicFile {
                phone.play(file, loops: true, into: id, call)
            } else {
                // A rising fourth, pulsing: pleasant enough to wait by, and easy to tell from the tone service.
                let melody = Tone(frequency: 440, secondFrequency: 587.33, level: -20, onMilliseconds: 700, offMilliseconds: 300)
                phone.play(melody, into: id, call)
            }
        case .record:
            if let directory = settings.recordDirectory { phone.record(id, call, to: "\(directory)/\(settings.recordPrefix)\(id).wav") }
        }
    }
}
