// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import MediaRuntime
import Testing

@Suite struct RingTests {
    @Test func `elements cross between two threads in order, none lost`() {
        let ring = SPSCRing<Int>(capacity: 64)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            for value in 0..<50_000 { while !ring.push(value) {} }
            done.signal()
        }
        var expected = 0
        while expected < 50_000 {
            guard let value = ring.pop() else { continue }
            if value != expected { break }
            expected += 1
        }
        #expect(expected == 50_000)
        done.wait()
        #expect(ring.isEmpty)
    }

    @Test func `a full ring refuses and takes again after a pop`() {
        let ring = SPSCRing<String>(capacity: 2)
        #expect(ring.push("a") && ring.push("b") && !ring.push("c") && !ring.hasRoom)
        #expect(ring.pop() == "a")
        #expect(ring.push("c"))
        #expect(ring.pop() == "b")
        #expect(ring.pop() == "c")
        #expect(ring.pop() == nil)
    }

    @Test func `packets of all sizes cross between two threads whole`() {
        let ring = PacketRing(capacity: 1 << 16)
        let count = 10_000
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            var random = SplitMix64(seed: 1)
            for index in 0..<count {
                let packet = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: Int(random.next() % 1500))
                let remote = SocketAddress(index % 2 == 0 ? .v4(UInt32(index)) : .v6(7, UInt64(index)), UInt16(index & 0xffff))
                while !ring.push(
                    packet.span, port: PortID(rawValue: UInt32(index)), kind: index % 3 == 0 ? .rtcp : .rtp, remote: remote,
                    time: MonotonicTime(nanoseconds: Int64(index)))
                {}
            }
            done.signal()
        }
        var random = SplitMix64(seed: 1)
        var index = 0
        var wrong = 0
        while index < count {
            let isTaken = ring.pop { head, packet in
                let remote = SocketAddress(index % 2 == 0 ? .v4(UInt32(index)) : .v6(7, UInt64(index)), UInt16(index & 0xffff))
                var isRight = packet.count == Int(random.next() % 1500) && head.portID.rawValue == UInt32(index)
                isRight = isRight && head.remote == remote && head.arrival.nanoseconds == Int64(index)
                isRight = isRight && head.packetKind == (index % 3 == 0 ? .rtcp : .rtp)
                for place in packet.indices where packet[place] != UInt8(truncatingIfNeeded: index) { isRight = false }
                if !isRight { wrong += 1 }
            }
            if isTaken { index += 1 }
        }
        done.wait()
        #expect(wrong == 0)
    }

    @Test func `a full packet ring refuses, a packet too long too`() {
        let ring = PacketRing(capacity: 1)
        let packet = [UInt8](repeating: 1, count: 1000)
        func push(_ bytes: [UInt8]) -> Bool {
            ring.push(bytes.span, port: PortID(rawValue: 1), kind: .rtp, remote: SocketAddress(.anyV4, 0), time: .zero)
        }
        var taken = 0
        while push(packet) { taken += 1 }
        #expect((60...65).contains(taken))
        #expect(ring.pop { _, _ in })
        #expect(push(packet))
        #expect(!push([UInt8](repeating: 0, count: 9000)))
        while ring.pop({ _, _ in }) {}
        #expect(push([UInt8](repeating: 0, count: 8192)))
    }
}
