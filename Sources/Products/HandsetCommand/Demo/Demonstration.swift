// SPDX-License-Identifier: Apache-2.0
//
// The main job with nothing else needed: a server, two phones, one call with real speech both ways.
//
//   s  0        9       12       15                 25
//      | speech | silence | speech | speech           |   what both say
//      |        | 1 2 3 # |  hold  | resumed          |   what alice does
//
// The digits go into the silence, because RFC 4733 digits take the place of speech.

import Crypto
import CryptoOpenSSL
import Essentials
import Handset
import Media
import Networking
import PhoneCore
import SDP
import SIP
import SIPAgent
import SIPServer

/// The demonstration: one run, with its files in a folder.
package struct Demonstration: Sendable {
    /// Where recordings and the report go.
    package var directory: String
    /// Told each step as it is done.
    package var tell: @Sendable (_ step: String, _ text: String) -> Void
    /// Sees every SIP message as the server sent or received it: all of them go through it.
    package var trace: TraceWriter?
    /// For the test of a server that dies: stops the server once both phones are registered.
    package var stopsServerEarly = false
    /// Seconds of speech before the silence, of silence, and after it until the end.
    package var timeline = Timeline()

    package struct Timeline: Sendable {
        package var speech = 9.0
        package var silence = 3.0
        package var rest = 13.0
        /// From the start of the second speech.
        package var holdFrom = 0.0
        package var holdTo = 3.0

        package var total: Double { speech + silence + rest }
    }

    package init(directory: String, tell: @escaping @Sendable (String, String) -> Void) {
        self.directory = directory
        self.tell = tell
    }

    static let digits = "123#"
    static let rate = 8000

    /// Runs it; gives the report.
    package func run() async throws -> DemoReport {
        try DemoFiles.makeFolder(directory)
        let english = try DemoSpeech.compose("en", timeline: timeline)
        let italian = try DemoSpeech.compose("it", timeline: timeline)
        try DemoFiles.write(english, to: directory + "/alice-said.wav")
        try DemoFiles.write(italian, to: directory + "/bob-said.wav")
        tell("speech", "speech: \(english.source) for alice, \(italian.source) for bob")
        let server = try await startServer()
        let alice = try await phone("alice", .udp, server)
        let bob = try await phone("bob", .tcp, server)
        do {
            let report = try await call(alice, bob, server)
            await stop(alice, bob, server)
            return try judge(report, english, italian)
        } catch {
            await stop(alice, bob, server)
            throw error
        }
    }

    private func phone(_ name: String, _ transport: TransportProtocol, _ server: RunningServer) async throws -> DemoPhone {
        try await DemoPhone(
            name, server: server.address, transport: transport, password: server.password,
            says: "\(directory)/\(name)-said.wav", records: "\(directory)/\(name)-heard.wav")
    }

    private struct RunningServer {
        var server: Server
        var address: SocketAddress
        var password: Secret
    }

    private func startServer() async throws -> RunningServer {
        let password = Secret(RandomSource(SecureRandom()).token(20))
        var configuration = ServerConfiguration(domains: ["demo.example.net"])
        configuration.users = [ServerUser("alice", password: password), ServerUser("bob", password: password)]
        configuration.challengeAlgorithms = [.sha256, .md5]
        var settings = ServerSettings(
            configuration: configuration, listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))], services: [])
        if let trace { settings.trace = { trace.write($0) } }
        // UDP and TCP share the port that UDP was given.
        let server = try await Server(settings)
        guard let address = await server.listening.first?.address else { throw CommandFailure.failed("The server did not start.") }
        try await server.listen([.init(.tcp, address)])
        tell("server", "server: registrar and proxy for demo.example.net on udp and tcp \(address)")
        return RunningServer(server: server, address: address, password: password)
    }

    private func call(_ alice: DemoPhone, _ bob: DemoPhone, _ server: RunningServer) async throws -> DemoReport.Facts {
        var facts = DemoReport.Facts()
        for phone in [alice, bob] {
            let status = try await phone.register()
            tell("registered", "\(phone.name): registered with digest authentication over \(phone.transport.rawValue) (\(status))")
        }
        if stopsServerEarly { await server.server.stop() }
        let outgoing = try await alice.account().call("bob")
        let incoming = try await bob.incomingCall()
        tell("ringing", "bob: rings, call from \(incoming.incoming?.remote.description ?? "?")")
        _ = try await alice.state(.early)
        try await incoming.answer()
        _ = try await alice.state(.confirmed)
        _ = try await bob.state(.confirmed)
        let codec = try await alice.codec()
        facts.codec = codec
        tell("established", "call established, \(codec) both ways; both speak")
        facts.aliceStarted = try await alice.playbackStarted()
        facts.bobStarted = try await bob.playbackStarted()
        try await sendDigits(outgoing, alice, bob, &facts)
        try await holdAndResume(outgoing, alice, bob, &facts)
        try await alice.wait(until: max(facts.aliceStarted, facts.bobStarted) + .seconds(timeline.total + 0.3))
        await outgoing.hangUp()
        facts.aliceEnd = try await alice.ended()
        facts.bobEnd = try await bob.ended()
        tell("ended", "hung up: \(facts.bobEnd?.cause.sentence ?? "")")
        facts.aliceStatistics = try await alice.statistics()
        facts.bobStatistics = try await bob.statistics()
        return facts
    }

    private func sendDigits(_ call: Call, _ alice: DemoPhone, _ bob: DemoPhone, _ facts: inout DemoReport.Facts) async throws {
        try await alice.wait(until: facts.aliceStarted + .seconds(timeline.speech + 0.5))
        try await call.sendDTMF(Self.digits)
        facts.digits = try await bob.digits(Self.digits.count)
        tell("digits", "bob: heard the digits \(facts.digits)")
        guard facts.digits == Self.digits else {
            throw CommandFailure.failed("Bob heard the digits \(facts.digits), alice sent \(Self.digits).")
        }
    }

    private func holdAndResume(_ call: Call, _ alice: DemoPhone, _ bob: DemoPhone, _ facts: inout DemoReport.Facts) async throws {
        let second = facts.aliceStarted + .seconds(timeline.speech + timeline.silence)
        try await alice.wait(until: second + .seconds(timeline.holdFrom))
        facts.holdFrom = alice.now
        try await call.hold()
        _ = try await bob.hold(true)
        tell("held", "alice holds the call, bob is told")
        try await alice.wait(until: second + .seconds(timeline.holdTo))
        try await call.resume()
        _ = try await bob.hold(false)
        _ = try await alice.localHold(false)
        facts.holdTo = alice.now
        tell("resumed", "alice resumes the call")
    }

    private func stop(_ alice: DemoPhone, _ bob: DemoPhone, _ server: RunningServer) async {
        await alice.stop()
        await bob.stop()
        await server.server.stop()
    }

    private func judge(_ facts: DemoReport.Facts, _ english: DemoSpeech, _ italian: DemoSpeech) throws -> DemoReport {
        var report = DemoReport(facts: facts)
        let aliceHeard = try DemoFiles.read(directory + "/alice-heard.wav")
        let bobHeard = try DemoFiles.read(directory + "/bob-heard.wav")
        report.bobHeard = DemoReport.Comparison(
            listener: "bob", speaker: "alice", said: english.samples, heard: bobHeard, hold: facts.hold(since: facts.aliceStarted))
        report.aliceHeard = DemoReport.Comparison(
            listener: "alice", speaker: "bob", said: italian.samples, heard: aliceHeard, hold: facts.hold(since: facts.bobStarted))
        try DemoFiles.write(report.text, to: directory + "/report.txt")
        tell("report", report.summary)
        return report
    }
}
