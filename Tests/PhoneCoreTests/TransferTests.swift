// SPDX-License-Identifier: Apache-2.0
//
// Transfers and conferences as the phone carries them out; whole flows are in ScenarioTests.

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

extension PhoneNode {
    var transfers: [TransferEvent] { events.compactMap { if case .transfer(_, let event) = $0 { event } else { nil } } }
    var conferences: [[CallID]] { events.compactMap { if case .conference(_, let members) = $0 { members } else { nil } } }
    /// The connections of the bridge that are there, as `1>2`.
    var connections: Set<String> {
        var result: Set<String> = []
        for command in media {
            switch command {
            case .connect(let from, let to): result.insert("\(from.rawValue)>\(to.rawValue)")
            case .disconnect(let from, let to): result.remove("\(from.rawValue)>\(to.rawValue)")
            default: break
            }
        }
        return result
    }
}

@Suite struct TransferTests {
    /// The peer agrees to everything but what `refer` answers.
    private func agree(_ scene: Scene, refer: Int = 202) {
        scene.peer.onRequest = { [unowned peer = scene.peer] request in
            switch request.method {
            case .ack: break
            case .invite:
                let isHold = String(decoding: request.body, as: UTF8.self).contains("a=sendonly")
                peer.respond(200, to: request, sdp: sdp(direction: isHold ? "recvonly" : nil, version: 2))
            case .refer: peer.respond(refer, to: request)
            default: peer.respond(200, to: request)
            }
        }
    }

    @Test func theCallIsHeldFirstAndTakenOffHoldWhenTheReferIsRefused() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        agree(scene, refer: 400)
        try scene.phone.on { _ = try $0.transfer(id, to: "sip:carol@10.0.0.9", options: TransferOptions(), now: $1) }
        scene.bench.run(.milliseconds(200))
        let kinds = scene.peer.received.filter(\.isRequest).map(\.method.rawValue)
        #expect(kinds.suffix(5) == ["INVITE", "ACK", "REFER", "INVITE", "ACK"], "\(kinds)")
        #expect(scene.phone.transfers.map(\.state) == [.trying, .failed, .undone])
        #expect(scene.phone.transfers[1].cause?.code == "transfer.refused" && scene.phone.transfers[1].status == 400)
        #expect(scene.phone.core.state(of: id) == .confirmed && scene.comesToRest())
    }

    @Test func aCallThatWasOnHoldStaysOnHold() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        agree(scene, refer: 603)
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        try scene.phone.on { _ = try $0.transfer(id, to: "sip:carol@10.0.0.9", options: TransferOptions(), now: $1) }
        scene.bench.run(.milliseconds(200))
        #expect(scene.phone.holds == ["local true"] && scene.phone.transfers.map(\.state) == [.trying, .failed, .undone])
        #expect(scene.comesToRest())
    }

    @Test func withoutWaitingTheCallEndsWhenTheTransferIsTaken() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        agree(scene)
        try scene.phone.on { _ = try $0.transfer(id, to: "sip:carol@10.0.0.9", options: TransferOptions(waitsForAnswer: false), now: $1) }
        scene.bench.run(.milliseconds(200))
        #expect(scene.phone.transfers.map(\.state) == [.trying, .succeeded])
        #expect(scene.phone.ends.map(\.end.cause.code) == ["call.transferred"] && scene.peer.requests(.bye).count == 1)
    }

    @Test func whatDoesNotFitIsRefused() throws {
        let scene = Scene()
        let (ringing, _) = try scene.calling()
        func transfer(_ id: CallID, _ to: String) -> PhoneError.Code? {
            refusal { try scene.phone.on { _ = try $0.transfer(id, to: to, options: TransferOptions(), now: $1) } }
        }
        #expect(transfer(ringing, target) == .wrongState)
        #expect(transfer(CallID(rawValue: 99), target) == .noSuchCall)
        let other = Scene()
        let (id, _) = try other.established()
        func again(_ to: String) -> PhoneError.Code? {
            refusal { try other.phone.on { _ = try $0.transfer(id, to: to, options: TransferOptions(), now: $1) } }
        }
        #expect(again("mailto:x@y") == .badTarget)
        #expect(again(target) == nil && again(target) == .wrongState, "one transfer at a time")
        #expect(refusal { try other.phone.on { _ = try $0.transfer(id, with: id, now: $1) } } == .wrongState)
        #expect(refusal { try other.phone.on { _ = try $0.acceptTransfer(TransferID(rawValue: 7), now: $1) } } == .wrongState)
    }

    private let target = "sip:carol@10.0.0.9"

    @Test func theOldCallIsEndedByUsIfTheTransferorForgets() throws {
        let scene = Scene { $0.agent.transfers = .accept }
        let (id, invite) = try scene.established()
        agree(scene)
        scene.peer.send(
            "REFER", to: scene.phone, callID: invite.callID, toTag: scene.tag, headers: ["Refer-To: <sip:carol@10.0.0.9>"])
        scene.bench.run(.milliseconds(200))
        #expect(scene.phone.transfers.map(\.state) == [.trying, .succeeded] && scene.peer.requests(.notify).count == 2)
        let new = try required(scene.phone.transfers.last?.otherCall)
        scene.bench.run(.seconds(9))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.bench.run(.seconds(2))
        #expect(scene.phone.core.state(of: id) == .disconnected && scene.phone.core.state(of: new) == .confirmed)
        #expect(scene.phone.ends.map(\.end.cause.code) == ["call.transferred"])
        #expect(scene.comesToRest())
    }

    @Test func aTelTargetNeedsAnAccountThatCarriesIt() throws {
        let scene = Scene { $0.agent.transfers = .accept }
        let (_, invite) = try scene.established()
        scene.peer.send("REFER", to: scene.phone, callID: invite.callID, toTag: scene.tag, headers: ["Refer-To: <tel:+15550100>"])
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.responses(.refer).map(\.statusCode) == [416] && scene.phone.transfers.isEmpty)
    }

    // MARK: Conferences

    /// Three answered calls.
    private func three(_ limit: Int = 16) throws -> (Scene, [CallID]) {
        let scene = Scene { $0.maximumConferenceMembers = limit }
        agree(scene)
        var ids: [CallID] = []
        for _ in 0..<3 {
            ids.append(try scene.phone.call(scene.target))
            scene.bench.run(.milliseconds(50))
        }
        guard ids.allSatisfy({ scene.phone.core.state(of: $0) == .confirmed }) else { throw Missing() }
        return (scene, ids)
    }

    @Test func eachIsJoinedWithAllOthersAndLeavesThemTogether() throws {
        let (scene, ids) = try three()
        let ports = try ids.map { try scene.phone.port($0).rawValue }
        let conference = try scene.phone.on { try $0.conference([ids[0], ids[1]], now: $1) }
        try scene.phone.on { try $0.join(ids[2], conference, now: $1) }
        var all: Set<String> = []
        for from in ports { for to in ports where to != from { all.insert("\(from)>\(to)") } }
        #expect(scene.phone.connections == all && scene.phone.core.members(of: conference) == ids)
        try scene.phone.on { try $0.part(ids[0], now: $1) }
        #expect(scene.phone.connections == ["\(ports[1])>\(ports[2])", "\(ports[2])>\(ports[1])"])
        try scene.phone.on { try $0.hangUp(ids[1], now: $1) }
        #expect(scene.phone.conferences == [[ids[0], ids[1]], ids, [ids[1], ids[2]], []])
        #expect(scene.phone.core.conference(of: ids[2]) == nil && scene.phone.core.state(of: ids[2]) == .confirmed)
        #expect(scene.comesToRest())
    }

    @Test func aConferenceHasItsLimitsAndIsMadeOfAnsweredCalls() throws {
        let (scene, ids) = try three(2)
        func conference(_ ids: [CallID]) -> PhoneError.Code? { refusal { try scene.phone.on { _ = try $0.conference(ids, now: $1) } } }
        #expect(conference([ids[0]]) == .wrongState && conference([ids[0], ids[0]]) == .wrongState)
        #expect(conference(ids) == .limit && conference([ids[0], CallID(rawValue: 99)]) == .noSuchCall)
        #expect(conference([ids[0], ids[1]]) == nil && conference([ids[1], ids[2]]) == .wrongState)
        #expect(refusal { try scene.phone.on { try $0.part(ids[2], now: $1) } } == .wrongState)
        #expect(scene.phone.connections.count == 2)
    }
}
