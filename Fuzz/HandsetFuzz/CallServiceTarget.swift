// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials

/// Any octets as two processes at the call service's socket. What is read comes back from its own encoding; whatever they say, audio has one
/// owner, and when they are gone nothing is left.
@Sendable func fuzzCallService(_ bytes: [UInt8]) {
    guard let choice = bytes.first else { return }
    let stream = Array(bytes.dropFirst())
    let whole = bodies([stream])
    let cut = stride(from: 0, to: stream.count, by: 7).map { Array(stream[$0..<min($0 + 7, stream.count)]) }
    require(whole == bodies(cut), "frames do not depend on how the stream is cut")
    var settings = CallServiceSettings()
    settings.mode = choice & 1 == 0 ? .report : .strict
    settings.deliversOneByOne = choice & 2 != 0
    settings.keepsCallsOfLostApps = choice & 4 != 0
    var machine = CallServiceMachine(settings: settings, random: RandomSource(Counting()), wallClock: WallTime(microseconds: 0))
    var now = MonotonicTime.zero
    let apps = [machine.connect(now: now), machine.connect(now: now)]
    for (number, body) in whole.enumerated() {
        guard let message = try? Wire.message(ToService.self, body) else { continue }
        let again = Wire.frame(message)
        require((try? Wire.message(ToService.self, Array(again.dropFirst(4)))) == message, "a message comes back as it was")
        now += .milliseconds(500)
        switch message {
        case .app(let message): machine.receive(message, from: apps[number & 1], now: now)
        case .user(_, let command): _ = machine.perform(command, now: now)
        case .deliverPush(_, let bundle, let type, let payload):
            _ = machine.deliverPush(bundle: bundle, type: type, payload: payload.bytes, now: now)
        case .openScreen: machine.restart(now: now)
        }
        answer(&machine, now, choice)
    }
    for app in apps { machine.disconnect(app, now: now) }
    machine.advance(to: now + .seconds(7200))
    _ = machine.drain()
    let left = machine.snapshots.filter { machine.owner(of: $0.uuid) == apps[0] || machine.owner(of: $0.uuid) == apps[1] }
    require(left.isEmpty, "the calls of a process end with it")
}

/// The processes complete what they are given, as the first octet chooses.
private func answer(_ machine: inout CallServiceMachine, _ now: MonotonicTime, _ choice: UInt8) {
    var rounds = 0
    while let effect = machine.nextEffect() {
        guard case .send(let app, let message) = effect else { continue }
        let frame = Wire.frame(FromService.app(message))
        require((try? Wire.message(FromService.self, Array(frame.dropFirst(4)))) == .app(message), "an answer comes back as it was")
        guard case .perform(_, _, let action) = message, choice & 8 == 0, rounds < 1000 else { continue }
        rounds += 1
        machine.receive(.completeAction(action.uuid, choice & 16 == 0 ? .fulfilled(at: nil, engine: nil) : .failed), from: app, now: now)
    }
}

private func bodies(_ pieces: [[UInt8]]) -> [[UInt8]] {
    var reader = FrameReader()
    var result: [[UInt8]] = []
    for piece in pieces {
        reader.append(piece)
        while let body = try? reader.next() { result.append(body) }
    }
    return result
}

/// Any octets as the payload of a VoIP push.
@Sendable func fuzzPushPayload(_ bytes: [UInt8]) {
    var machine = CallServiceMachine(random: RandomSource(Counting()), wallClock: WallTime(microseconds: 0))
    let app = machine.connect(now: .zero)
    var descriptor = AppDescriptor(bundle: "b", displayName: "b")
    descriptor.isForeground = false
    machine.receive(.hello(descriptor), from: app, now: .zero)
    machine.receive(.registerPush(types: [PushType.voIP], hasDelegate: true), from: app, now: .zero)
    _ = machine.drain()
    let verdict = machine.deliverPush(bundle: "b", type: PushType.voIP, payload: bytes, now: .zero)
    let arrived = machine.drain().filter { if case .send(app, .push(_, _, let payload, _)) = $0 { payload.bytes == bytes } else { false } }
    require(arrived.count == (verdict == .delivered ? 1 : 0), "a push arrives whole, or is refused")
    require((verdict == .payloadTooLarge) == (bytes.count > 5120), "the limit is a limit")
}

private struct Counting: RandomNumberGenerator {
    private var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}
