// SPDX-License-Identifier: Apache-2.0
//
// A world with one server, two phones and a scripted element, and the ladder of what was sent: `alice INVITE server`.

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import TestArtefacts

final class SessionWorld {
    let world = SimulatedWorld(seed: 3665, trace: .signalling)
    let server: SimulatedServer
    let alice: SimulatedPhone
    let bob: SimulatedPhone

    init(configure: (inout PhoneConfiguration) -> Void = { _ in }, account: (inout AccountConfiguration) -> Void = { _ in }) {
        server = world.addServer(
            "server", domain: "biloxi.test", users: ["alice": Secrets.password(of: "alice"), "bob": Secrets.password(of: "bob")])
        for user in ["alice", "bob"] { Artefacts.note(secret: Secrets.password(of: user), user: user, realm: "biloxi.test") }
        alice = world.addPhone(
            "alice", user: "alice", password: Secrets.password(of: "alice"), server: server, configure: configure,
            configureAccount: account)
        bob = world.addPhone(
            "bob", user: "bob", password: Secrets.password(of: "bob"), server: server, configure: configure, configureAccount: account)
    }

    deinit { Artefacts.keep(world.trace.text(), as: "session-flow") }

    /// Both registered; what was sent until then is no part of the ladder.
    func registered() {
        alice.follow([.register])
        bob.follow([.register])
        world.run(for: .seconds(2))
        start = lines.count
    }

    private var start = 0
    private var lines: [String] {
        var names: [String: String] = [:]
        for host in world.hosts { names["\(host.address)"] = host.name }
        return world.trace.text(messages: false).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, words[2] == "sends", let colon = words[6].lastIndex(of: ":") else { return nil }
            let to = names[String(words[6][..<colon])] ?? String(words[6])
            let first = words[9...]
            guard let head = first.first else { return nil }
            let what = head == "SIP/2.0" ? first.dropFirst().first ?? "" : head
            return "\(words[1]) \(what) \(to)"
        }
    }

    /// Everything sent since `registered()`, in order.
    var ladder: [String] { Array(lines.dropFirst(start)) }

    /// The first of the expected steps that is missing from the ladder in its place; nil: all are there, in order.
    func missing(_ expected: [String]) -> String? {
        var rest = ladder[...]
        for step in expected {
            guard let index = rest.firstIndex(of: step) else { return "\(step) in \(ladder)" }
            rest = rest[(index + 1)...]
        }
        return nil
    }

    /// Ends both phones; what went wrong for the users, or is left over then.
    func troubles() -> [String] {
        for phone in [alice, bob] { phone.shutDown() }
        let left = world.settle(within: .seconds(120))
        return [alice, bob].flatMap { $0.violations + [$0.user.failure].compactMap { $0 } } + left
    }
}
