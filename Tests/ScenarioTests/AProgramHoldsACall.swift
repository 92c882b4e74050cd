// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import HandsetTestKit
import Media
import PhoneCore
import Testing

/// A speech program holds a call, in virtual time: over the frames of docs/program-port.md, between two whole phones.
@Suite struct AProgramHoldsACall {
    /// Says three seconds of a tone as soon as it runs, is silent when it hears something, and marks both ends.
    private static func agent(_ heard: @escaping (ProgramFrame) -> Void) -> SimulatedProgram.Script {
        { frame in
            heard(frame)
            switch frame.kind {
            case .text:
                guard String(decoding: frame.payload, as: UTF8.self).contains("started") else { return [] }
                let tone = (0..<24_000 * 3).map { Int16(8000 * sin(2 * .pi * 600 * Double($0) / 24_000)) }
                return stride(from: 0, to: tone.count, by: 12_000).map { .audio(Array(tone[$0..<$0 + 12_000])) }
                    + [ProgramFrame(.mark, Array("said".utf8))]
            case .audio:
                let isLoud = frame.samples.contains { abs(Int($0)) > 2000 }
                return isLoud && frame.queued > 0 ? [ProgramFrame(.flush)] : []
            case .mark, .flush: return []
            }
        }
    }

    private func call(_ bobSpeaksAfter: Interval?) throws -> (program: SimulatedProgram, heard: [Int16], rate: Int, frames: [ProgramFrame])
    {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001"), office.phone("bob", "1002"))
        try office.open()
        var frames: [ProgramFrame] = []
        let settings = ProgramSettings(.command("agent"), rate: 24_000)
        alice.scripts[settings.target] = Self.agent { frames.append($0) }
        bob.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        let port = try alice.core.port(of: try required(alice.liveCalls.first))
        let link = alice.core.makePort()
        try bob.listen(to: bob.liveCalls, as: "bob")
        for command in [MediaCommand.openProgram(link, settings), .connect(from: port, to: link), .connect(from: link, to: port)] {
            alice.order(command)
        }
        if let bobSpeaksAfter {
            office.world.run(for: bobSpeaksAfter)
            try bob.speak(700, into: bob.liveCalls)
        }
        office.world.run(for: .seconds(5))
        let program = try required(alice.programs[link])
        bob.silence()
        alice.order(.closePort(link))
        alice.follow([.hangUp])
        office.play()
        let recording = try required(bob.recordings["bob"])
        office.world.run(for: .seconds(1))
        office.close()
        return (program, recording.samples, recording.rate, frames)
    }

    @Test func `what it says is heard to the end, and its mark is told then`() throws {
        let call = try call(nil)
        #expect(call.program.figures.spoken == 72_000 && call.program.figures.flushed == 0)
        #expect(call.program.events == [.marked("said")])
        // Three seconds at the other phone, within a packet and the buffer's stretching.
        let loud = Double(call.heard.count { abs(Int($0)) > 2000 }) / Double(call.rate)
        #expect(abs(loud - 2.51) < 0.1, "\(loud) s")
        // One clock: the mark's time is three seconds after the beginning, and what was heard goes on without a gap.
        let mark = try required(call.frames.first { $0.kind == .mark })
        #expect(abs(Int(mark.timestamp) - 72_000) <= 480)
        let audio = call.frames.filter { $0.kind == .audio }
        for (frame, next) in zip(audio, audio.dropFirst()) { #expect(next.timestamp == frame.timestamp + UInt64(frame.samples.count)) }
    }

    @Test func `interrupted, it is silent as soon as it hears the other side`() throws {
        let call = try call(.seconds(1))
        #expect(call.program.events == [])
        let flush = try required(call.frames.first { $0.kind == .flush })
        let heardAt = try required(call.frames.first { frame in frame.kind == .audio && frame.samples.contains { abs(Int($0)) > 2000 } })
        // From hearing to silence: two frames of 10 ms at the most.
        #expect(flush.timestamp - heardAt.timestamp <= 480, "\(flush.timestamp) \(heardAt.timestamp)")
        #expect(call.program.figures.flushed > 36_000 && call.program.figures.spoken + call.program.figures.flushed == 72_000)
        #expect(String(decoding: flush.payload, as: UTF8.self).contains("\"marks\":[\"said\"]"))
    }

    @Test func `a program that is not there is told`() throws {
        let office = Office()
        let alice = office.phone("alice", "1001")
        try office.open()
        let link = alice.core.makePort()
        alice.order(.openProgram(link, ProgramSettings(.command("nobody"))))
        office.world.run(for: .seconds(1))
        #expect(alice.has { if case .port(.program(link, .failed)) = $0 { true } else { false } })
        alice.order(.closePort(link))
        office.world.run(for: .seconds(1))
        office.close()
    }
}
