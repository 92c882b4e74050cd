// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import Testing

/// RFC 3264 §6.1 and §8.4: hold in both styles, by either side, in both roles.
@Suite struct HoldTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var offer: String
        var wanted: Direction
        var answer: Direction
        var remoteHolds: Bool
        var testDescription: String { "\(offer) while we want \(wanted) → \(answer)" }
    }

    /// What the peer writes (or c=0.0.0.0), what we want, what we answer, and whether the peer holds us.
    static let matrix: [Row] = [
        .init(offer: "sendrecv", wanted: .sendrecv, answer: .sendrecv, remoteHolds: false),
        .init(offer: "sendonly", wanted: .sendrecv, answer: .recvonly, remoteHolds: true),
        .init(offer: "recvonly", wanted: .sendrecv, answer: .sendonly, remoteHolds: false),
        .init(offer: "inactive", wanted: .sendrecv, answer: .inactive, remoteHolds: true),
        .init(offer: "sendrecv", wanted: .sendonly, answer: .sendonly, remoteHolds: false),
        .init(offer: "sendonly", wanted: .sendonly, answer: .inactive, remoteHolds: true),
        .init(offer: "recvonly", wanted: .sendonly, answer: .sendonly, remoteHolds: false),
        .init(offer: "inactive", wanted: .sendonly, answer: .inactive, remoteHolds: true),
        .init(offer: "sendrecv", wanted: .inactive, answer: .inactive, remoteHolds: false),
        .init(offer: "sendonly", wanted: .inactive, answer: .inactive, remoteHolds: true),
        .init(offer: "recvonly", wanted: .recvonly, answer: .inactive, remoteHolds: false),
        .init(offer: "sendonly", wanted: .recvonly, answer: .recvonly, remoteHolds: true),
        .init(offer: "0.0.0.0", wanted: .sendrecv, answer: .recvonly, remoteHolds: true),
        .init(offer: "0.0.0.0", wanted: .sendonly, answer: .inactive, remoteHolds: true),
    ]

    func described(_ style: String) throws -> SessionDescription {
        style == "0.0.0.0"
            ? try audio("audio 9000 RTP/AVP 0", "a=sendrecv", connection: "IN IP4 0.0.0.0")
            : try audio("audio 9000 RTP/AVP 0", "a=\(style)")
    }

    @Test(arguments: matrix) func `B-049, B-050: the answer never widens the direction`(_ row: Row) throws {
        var callee = machine()
        _ = try callee.answer(try described("sendrecv"), local: ourAddress, direction: .sendrecv)
        let (answer, negotiated) = try callee.answer(try described(row.offer), local: ourAddress, direction: row.wanted)
        let result = try #require(negotiated)
        #expect(answer.direction(ofMedia: 0) == row.answer)
        #expect(result.direction == row.answer)
        #expect(result.remoteHolds == row.remoteHolds)
        #expect(result.localHolds == !row.wanted.receives)
        #expect((result.remote == nil) == (row.offer == "0.0.0.0"))
        #expect(answer.media[0].port == 4000, "hold never closes the port")
        let resumed = try #require(try callee.answer(try described("sendrecv"), local: ourAddress, direction: .sendrecv).audio)
        #expect(resumed.direction == .sendrecv && !resumed.remoteHolds && !resumed.localHolds)
        #expect(resumed.remote?.port == 9000)
    }

    @Test(arguments: matrix) func `Our offers: what the peer answers decides, within what we offered`(_ row: Row) throws {
        // The same matrix seen from the offering side: we offer `wanted`, the peer answers with its line.
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        _ = try caller.receiveAnswer(try described("sendrecv"))
        let offer = caller.makeOffer(local: ourAddress, direction: row.wanted)
        #expect(offer.direction(ofMedia: 0) == row.wanted)
        let result = try caller.receiveAnswer(try described(row.offer))
        #expect(!result.direction.sends || (row.wanted.sends && row.offer != "sendonly" && row.offer != "inactive"))
        #expect(!result.direction.receives || (row.wanted.receives && row.offer != "recvonly" && row.offer != "inactive"))
        #expect(result.direction == row.answer, "the rule is the same in both roles")
        #expect(result.localHolds == !row.wanted.receives)
        #expect(result.remoteHolds == (row.wanted.sends ? row.remoteHolds : false))
    }

    @Test func `B-050: both hold, then one resumes, then the other`() throws {
        var alice = machine()
        var bob = machine()
        func offer(_ a: inout OfferAnswer, _ da: Direction, _ b: inout OfferAnswer, _ db: Direction) throws -> (
            NegotiatedAudio, NegotiatedAudio
        ) {
            let offer = a.makeOffer(local: ourAddress, direction: da)
            let (answer, audio) = try b.answer(offer, local: ourAddress, direction: db)
            return (try a.receiveAnswer(answer), try #require(audio))
        }
        func state(_ pair: (NegotiatedAudio, NegotiatedAudio)) -> [String] {
            [pair.0, pair.1].map { "\($0.direction) local \($0.localHolds) remote \($0.remoteHolds)" }
        }
        _ = try offer(&alice, .sendrecv, &bob, .sendrecv)
        #expect(
            try state(offer(&alice, .sendonly, &bob, .sendrecv)) == [
                "sendonly local true remote false", "recvonly local false remote true",
            ])
        #expect(
            try state(offer(&bob, .sendonly, &alice, .sendonly)) == [
                "inactive local true remote true", "inactive local true remote true",
            ])
        // Alice resumes while Bob still holds: Bob answers sendonly.
        #expect(
            try state(offer(&alice, .sendrecv, &bob, .sendonly)) == [
                "recvonly local false remote true", "sendonly local true remote false",
            ])
        #expect(
            try state(offer(&bob, .sendrecv, &alice, .sendrecv)) == [
                "sendrecv local false remote false", "sendrecv local false remote false",
            ])
    }

    @Test func `c=0.0.0.0 of a description with ICE is no hold`() throws {
        var callee = machine()
        let offer = try audio("audio 9 RTP/AVP 0", "a=ice-ufrag:F7gI", connection: "IN IP4 0.0.0.0")
        let result = try #require(try callee.answer(offer, local: ourAddress, direction: .sendrecv).audio)
        #expect(!result.remoteHolds && result.direction == .sendrecv && result.remote == nil)
    }

    @Test func `The direction of the session counts for a line without its own`() throws {
        var offer = try audio("audio 9000 RTP/AVP 0")
        offer.attributes = [Attribute("sendonly")]
        var callee = machine()
        #expect(try callee.answer(offer, local: ourAddress, direction: .sendrecv).audio?.direction == .recvonly)
    }

    @Test func `:: in c= is hold as well`() throws {
        var callee = machine()
        let offer = try audio("audio 9000 RTP/AVP 0", connection: "IN IP6 ::")
        #expect(try callee.answer(offer, local: ourAddress, direction: .sendrecv).audio?.remoteHolds == true)
    }
}
