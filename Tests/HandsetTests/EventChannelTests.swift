// SPDX-License-Identifier: Apache-2.0

import Handset
import Testing

@Suite struct EventChannelTests {
    private func all<Value>(_ stream: AsyncStream<Value>) async -> [Value] {
        var values: [Value] = []
        for await value in stream { values.append(value) }
        return values
    }

    /// What a reader gets that leaves after its first event.
    private func one(of channel: EventChannel<Int>) async -> Int? {
        let stream = channel.stream()
        channel.send(7)
        for await value in stream { return value }
        return nil
    }

    @Test func theFirstReaderGetsWhatCameBeforeAndTheNextOnlyWhatComesLater() async {
        let channel = EventChannel<Int>()
        channel.send(1)
        channel.send(2)
        let first = channel.stream()
        channel.send(3)
        let second = channel.stream()
        channel.send(4)
        channel.finish()
        #expect(await all(first) == [1, 2, 3, 4])
        #expect(await all(second) == [4])
    }

    @Test func theNewestAreKeptAndNothingGrowsWithoutLimit() async {
        let channel = EventChannel<Int>(limit: 10)
        for number in 0..<1000 { channel.send(number) }
        let reader = channel.stream()
        for number in 1000..<1005 { channel.send(number) }
        channel.finish()
        #expect(await all(reader) == Array(995..<1005))
    }

    @Test func aChannelThatIsOverStillGivesWhatItKept() async {
        let channel = EventChannel<Int>()
        channel.send(1)
        channel.finish()
        channel.finish()
        channel.send(2)
        #expect(!channel.isWanted)
        #expect(await all(channel.stream()) == [1])
        #expect(await all(channel.stream()) == [])
    }

    @Test func withoutKeepingOnlyReadersCount() async {
        let channel = EventChannel<Int>(keepsForFirstReader: false)
        #expect(!channel.isWanted)
        channel.send(1)
        let reader = channel.stream()
        #expect(channel.isWanted)
        channel.send(2)
        channel.finish()
        #expect(await all(reader) == [2])
    }

    @Test func aReaderThatGoesIsForgotten() async {
        let channel = EventChannel<Int>(keepsForFirstReader: false)
        for _ in 0..<100 { _ = channel.stream() }
        #expect(!channel.isWanted)
        #expect(await one(of: channel) == 7)
        #expect(!channel.isWanted)
        let task = Task { await all(channel.stream()) }
        task.cancel()
        _ = await task.value
        #expect(!channel.isWanted)
    }

    @Test func manySendersAndReadersDoNotDisturbEachOther() async {
        let channel = EventChannel<Int>(limit: 100_000)
        let streams = (0..<8).map { _ in channel.stream() }
        await withTaskGroup { group in
            for sender in 0..<8 { group.addTask { for number in 0..<500 { channel.send(sender * 1000 + number) } } }
        }
        channel.finish()
        for stream in streams {
            let values = await all(stream)
            #expect(values.count == 4000)
            // Of each sender in its order.
            for sender in 0..<8 { #expect(values.filter { $0 / 1000 == sender } == (0..<500).map { sender * 1000 + $0 }) }
        }
    }
}
