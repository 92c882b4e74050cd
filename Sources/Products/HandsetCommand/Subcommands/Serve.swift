// SPDX-License-Identifier: Apache-2.0

import Handset
import SIPServer

extension HandsetCommand {
    /// Runs the embedded registrar and proxy until a signal comes.
    static func runServe(_ context: CommandContext) async throws -> ExitStatus {
        let options = try ServeSettings(context.invocation)
        if let music = options.musicFile {
            do { try TextFile.checkReadable(music) } catch { throw CommandFailure.failed("\(error).") }
        }
        let domains = options.domains.isEmpty ? options.listeners.map { "\($0.address.ip)" } + ["localhost"] : options.domains
        var configuration = ServerConfiguration(domains: domains)
        configuration.challengeAlgorithms = options.digestAlgorithms
        configuration.givesGRUU = options.givesGRUU
        configuration.routeKey = options.routeKey
        configuration.users = options.users.map { ServerUser($0.name, password: $0.password) }
        if options.users.isEmpty {
            configuration.authenticatesRegistrations = false
            configuration.authenticatesCalls = false
        }
        var settings = ServerSettings(
            configuration: configuration,
            listeners: options.listeners.map {
                .init($0.transport, $0.address, tls: $0.transport.isSecure ? options.secureListener : nil)
            },
            services: [.echo, .tone, .music, .record], musicFile: options.musicFile, recordDirectory: options.recordings)
        settings.recordPrefix = "call-\(SystemClock.stamp())-"
        settings.webSocket.server.path = options.webSocketPath
        settings.webSocket.server.allowedOrigins = options.webSocketOrigins
        if let trace = context.trace { settings.trace = { trace.write($0) } }
        let events = context.events
        let recordings = options.recordings
        let server = try await Server(settings) { event, _ in
            // Made when somebody first calls the service, not for everybody who starts a server.
            if case .called(_, let uri, _) = event, uri.hasPrefix("sip:record@") { try? DemoFiles.makeFolder(recordings) }
            if let event = CommandEvent(event) { events.print(event) }
        }
        for await _ in Interruption.stream() { break }
        await server.stop()
        return .success
    }
}

extension CommandEvent {
    /// What the server tells, as the command tells it.
    init?(_ event: ServerEvent) {
        switch event {
        case .listening(let transport, let address):
            self = .listening(transport: transport.rawValue, address: address.ip, port: address.port)
        case .registered(let user, let contact, let expires, _):
            self = .binding(user: user, state: "added", contact: contact, expires: Int(expires))
        case .unregistered(let user, let contact): self = .binding(user: user, state: "removed", contact: contact, expires: nil)
        case .warning(let cause): self = .warning(code: cause.code, text: cause.sentence, call: nil)
        case .refused, .called: return nil
        }
    }
}
