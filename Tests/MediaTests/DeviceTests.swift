// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import Synchronization
import Testing

/// A device that hears a constant and keeps what it was given to play.
private final class FakeDevice: SoundDevice {
    let played = Mutex<[Int16]>([])
    let isHearing = Mutex(true)

    func play(_ frame: Span<Int16>) { played.withLock { for index in frame.indices { $0.append(frame[index]) } } }
    func capture(_ frame: inout [Int16]) -> Bool {
        let hears = isHearing.withLock { $0 }
        for index in frame.indices { frame[index] = hears ? 777 : 0 }
        return hears
    }
    var state: SoundDeviceState { .ready }
    var figures: SoundDeviceFigures { SoundDeviceFigures() }
    func close() {}
}

@Suite struct DeviceTests {
    @Test func aDevicePlaysWhatItHearsFromTheBridgeAndGivesItsMicrophone() {
        let engine = BridgeTests.engine()
        let (device, player, recorder) = (BridgeTests.port(1), BridgeTests.port(2), BridgeTests.port(3))
        let sound = FakeDevice()
        let sink = Collector()
        engine.handle(.openDevice(device, name: "x"), now: .zero)
        engine.openPlayer(player, samples: [Int16](repeating: 500, count: 800), rate: 8000, loops: true)
        engine.handle(.startPlayer(player), now: .zero)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: player, to: device), now: .zero)
        engine.handle(.connect(from: device, to: recorder), now: .zero)
        // Without its device the port is silent.
        BridgeTests.run(engine, 2)
        #expect(sink.samples.allSatisfy { $0 == 0 })
        engine.openDevice(device, device: sound)
        BridgeTests.run(engine, 3, from: 2)
        #expect(sound.played.withLock { $0 } == [Int16](repeating: 500, count: 240))
        #expect(sink.samples.suffix(240).allSatisfy { $0 == 777 })
        sound.isHearing.withLock { $0 = false }
        BridgeTests.run(engine, 1, from: 5)
        #expect(sink.samples.suffix(80).allSatisfy { $0 == 0 })
        engine.handle(.closePort(device), now: .zero)
        BridgeTests.run(engine, 2, from: 6)
        #expect(sound.played.withLock { $0.count } == 320)
    }
}
