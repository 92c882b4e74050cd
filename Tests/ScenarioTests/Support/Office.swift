// SPDX-License-Identifier: Apache-2.0
//
// An office in a simulated world: one server, phones with people at them, who follow scripts. Each file beside this one is
// a scenario, most of them of RFC 5359.

import Crypto
import Essentials
import HandsetTestKit
import Media
import PhoneCore
import SIP
import SIPAgent
import SIPServer
import TestArtefacts
import Testing

struct Missing: Error {}

func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

final class Office {
    let world: SimulatedWorld
    let server: SimulatedServer
    private(set) var phones: [SimulatedPhone] = []

    /// - Parameter open: whether anybody may register anything, as a forwarding service does.
    init(seed: UInt64 = 5359, open: Bool = false, configure: (inout ServerConfiguration) -> Void = { _ in }) {
        world = SimulatedWorld(seed: seed, trace: .signalling)
        let users: KeyValuePairs = [
            "1001": Secrets.password(of: "1001"), "1002": Secrets.password(of: "1002"), "1003": Secrets.password(of: "1003"),
            "1004": Secrets.password(of: "1004"),
        ]
        for (user, password) in users { Artefacts.note(secret: password, user: user, realm: "example.test") }
        server = world.addServer("server", domain: "example.test", users: users) {
            $0.authenticatesRegistrations = !open
            configure(&$0)
        }
    }

    deinit { Artefacts.keep(world.trace.text(), as: "office") }

    /// A phone whose calls others may transfer.
    func phone(
        _ name: String, _ user: String, transfers: TransferPolicy = .accept,
        configure: (inout PhoneConfiguration) -> Void = { _ in }, configureAccount: (inout AccountConfiguration) -> Void = { _ in }
    ) -> SimulatedPhone {
        let phone = world.addPhone(
            name, user: user, password: Secrets.password(of: user), server: server, configure: configure,
            configureAccount: {
                $0.transfers = transfers
                configureAccount(&$0)
            })
        phones.append(phone)
        return phone
    }

    /// Something with a phone of its own making that is registered at `contact` for the user.
    func register(_ peer: ScriptedPeer, as user: String, contact: String) {
        var request = peer.request(
            .register, "sip:example.test", from: "<sip:\(user)@example.test>;tag=r", to: "<sip:\(user)@example.test>",
            callID: "register-\(peer.host.name)-\(contact.utf8.count)", cseq: 1)
        request.add(.contact, contact)
        request.add(.expires, "3600")
        peer.send(request, to: server.address)
        world.run(for: .milliseconds(200))
    }

    /// Registers every phone.
    func open() throws {
        // One after another: the server's nonce follows from the time, and counts for one of them only.
        for phone in phones {
            phone.follow([.register])
            world.run(for: .milliseconds(100))
        }
        guard world.run(within: .seconds(10), until: { self.phones.allSatisfy(\.user.isDone) }) else {
            Issue.record("\(phones.map { "\($0.host.name): \($0.user.failure ?? "at \($0.user.steps)")" })\n\(story)")
            throw Missing()
        }
    }

    /// Lets the scripts come to their end.
    func play(within limit: Interval = .seconds(200), sourceLocation: SourceLocation = #_sourceLocation) {
        world.run(within: limit) { self.phones.allSatisfy { $0.user.isDone || $0.user.failure != nil } }
        for phone in phones {
            let story = "\(phone.host.name): \(phone.user.failure ?? "at \(phone.user.steps)")\n\(self.story)"
            #expect(phone.user.isDone, Comment(rawValue: story), sourceLocation: sourceLocation)
        }
    }

    /// Ends everything; nothing may be left, and no rule of the protocol may have been broken.
    func close(sourceLocation: SourceLocation = #_sourceLocation) {
        for phone in phones { phone.shutDown() }
        let left = world.settle(within: .seconds(100))
        #expect(left.isEmpty, "\(left)", sourceLocation: sourceLocation)
        for phone in phones {
            #expect(phone.violations.isEmpty && phone.heldAfterStop.isEmpty, "\(phone.host.name)", sourceLocation: sourceLocation)
        }
    }

    /// All messages, for a failure.
    var story: String { world.trace.text() }
}

extension SimulatedPhone {
    /// The states of the transfers that the phone took part in.
    func transferStates(_ role: TransferRole) -> [TransferState] {
        events.compactMap { if case .transfer(_, let event) = $0.event, event.role == role { event.state } else { nil } }
    }

    var transfers: [TransferEvent] { events.compactMap { if case .transfer(_, let event) = $0.event { event } else { nil } } }

    /// The codes of the ends of calls, in order.
    var endings: [String] { ends.map(\.cause.code) }

    func has(_ condition: (PhoneEvent) -> Bool) -> Bool { events.contains { condition($0.event) } }

    /// Calls that are answered and not over.
    var liveCalls: [CallID] {
        var live: [CallID] = []
        for entry in events {
            if case .callState(let id, .confirmed, _, _) = entry.event { live.append(id) }
            if case .ended(let id, _) = entry.event { live.removeAll { $0 == id } }
        }
        return live
    }

    // MARK: Sound

    /// Says a tone of that pitch into calls until they end.
    func speak(_ hertz: Int, into calls: [CallID]) throws {
        let name = "tone-\(hertz)"
        let period = 8000
        files[name] = (
            (0..<period).map { index in Int16(clamping: Int(6000 * sine(Double(index * hertz) / 8000))) }, 8000
        )
        let player = core.makePort()
        order(.openPlayer(player, path: name, loops: true))
        for call in calls { order(.connect(from: player, to: try core.port(of: call))) }
        order(.startPlayer(player))
        own.append(player)
    }

    /// Records what calls say.
    func listen(to calls: [CallID], as name: String) throws {
        let recorder = core.makePort()
        order(.openRecorder(recorder, path: name))
        for call in calls { order(.connect(from: try core.port(of: call), to: recorder)) }
        own.append(recorder)
    }

    /// Closes players and recorders.
    func silence() {
        for port in own { order(.closePort(port)) }
        own = []
    }

    /// How strong a pitch is in the last second of a recording: about 1 where somebody speaks it.
    func strength(of hertz: Int, in name: String) -> Double {
        guard let samples = recordings[name]?.samples.suffix(8000), samples.count == 8000 else { return -1 }
        var (real, imaginary) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let turn = Double(index * hertz) / 8000
            real += Double(sample) * sine(turn + 0.25)
            imaginary += Double(sample) * sine(turn)
        }
        return (real * real + imaginary * imaginary).squareRoot() / 4000 / 6000
    }
}

/// sin(2π·turn) by its series; the tests need no more than three digits.
func sine(_ turn: Double) -> Double {
    var x = turn - turn.rounded(.down)
    if x > 0.5 { return -sine(x - 0.5) }
    if x > 0.25 { x = 0.5 - x }
    let angle = x * 2 * Double.pi
    let square = angle * angle
    return angle * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))))
}
