// SPDX-License-Identifier: Apache-2.0

import AudioDevices
import Media
import Testing

@Suite struct SoundDeviceTests {
    @Test(arguments: [
        ("default", String?.none, String?.none), ("Speaker", "Speaker", "Speaker"), ("out,in", "out", "in"), ("default,in", nil, "in"),
        ("out,", "out", nil),
    ])
    func aNameMeansALoudspeakerAndAMicrophone(name: String, sink: String?, source: String?) {
        let names = SoundDevices.names(name)
        #expect(names.sink == sink && names.source == source)
    }

    @Test func theNullDeviceIsReadyAndSilent() {
        let device = SoundDevices.open("null", rate: 16_000)
        var frame: [Int16] = [1, 2, 3]
        #expect(!device.capture(&frame) && frame == [0, 0, 0])
        #expect(device.state == .ready)
    }
}
