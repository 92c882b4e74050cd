// SPDX-License-Identifier: Apache-2.0
//
// Messages of a real call, damaged by seed and thrown at an agent whose calls are in every state.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct MutationTests {
    /// The messages of a whole call, both ways.
    static func material() throws -> [[UInt8]] {
        let pair = Pair(seed: 3)
        let (alice, _) = try pair.establish()
        pair.on(pair.alice) { $0.reinvite(alice, offer: sdpBytes, now: $1) }
        pair.network.run(.seconds(1))
        pair.on(pair.bob) { $0.answerReinvite(pair.incoming ?? SessionID(rawValue: 0), status: 200, answer: sdpBytes, now: $1) }
        pair.on(pair.alice) { $0.sendInfo(alice, contentType: "application/dtmf", body: [49], now: $1) }
        pair.network.run(.seconds(1))
        pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
        pair.network.run(.seconds(1))
        return pair.network.log.map(\.packet.bytes)
    }

    static func mutate(_ bytes: [UInt8], _ dice: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int(dice.next() % 4) where !bytes.isEmpty {
            let place = Int(dice.next() % UInt64(bytes.count))
            switch dice.next() % 5 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: dice.next())
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(UInt8(truncatingIfNeeded: dice.next()), at: place)
            case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int(dice.next() % 40)))
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + Int(dice.next() % 60))], at: place)
            }
        }
        return bytes
    }

    @Test("damaged messages neither break the agent nor leave anything behind", arguments: 1...12)
    func damaged(seed: Int) throws {
        let material = try Self.material()
        // The same seed as the material: its tags, branches and Call-IDs are met again.
        let pair = Pair(seed: 3)
        var dice = SplitMix64(seed: UInt64(seed))
        for node in [pair.alice, pair.bob] {
            node.onEvent = { event in
                pair.network.later(.milliseconds(5)) {
                    switch event {
                    case .incoming(let id, _):
                        pair.on(node) { id.rawValue % 3 == 0 ? $0.ring(id, now: $1) : $0.accept(id, answer: sdpBytes, now: $1) }
                    case .reinvited(let id, _): pair.on(node) { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
                    case .reinviteDue(let id): pair.on(node) { $0.reinvite(id, offer: sdpBytes, now: $1) }
                    default: break
                    }
                }
            }
        }
        let (alice, _) = try pair.establish()
        for round in 0..<400 {
            let bytes = Self.mutate(material[Int(dice.next() % UInt64(material.count))], &dice)
            let toBob = dice.next() % 2 == 0
            let from = toBob ? pair.alice.address : pair.bob.address
            pair.network.send(Packet(from: from, to: toBob ? pair.bob.address : pair.alice.address, transport: .udp, bytes: bytes))
            if round % 50 == 49 { pair.on(pair.alice) { $0.reinvite(alice, offer: sdpBytes, now: $1) } }
            pair.network.run(.milliseconds(20))
        }
        for node in [pair.alice, pair.bob] {
            pair.on(node) { $0.shutDown(now: $1) }
        }
        #expect(pair.network.run(atMost: .seconds(10)) { pair.alice.hasStopped && pair.bob.hasStopped })
        #expect(pair.settles())
        #expect(pair.alice.agent.timerCount == 0 && pair.bob.agent.timerCount == 0)
    }
}
