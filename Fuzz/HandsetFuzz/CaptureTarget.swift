// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials

/// Any octets as a capture file: it is read within its limits, whatever way it is cut, and what was read can be explained.
@Sendable func fuzzCapture(_ bytes: [UInt8]) {
    var limits = CaptureLimits()
    limits.messages = 256
    limits.mediaFlows = 64
    limits.streams = 64
    limits.fragmentedDatagrams = 8
    var whole = TrafficReader(limits: limits)
    let isRead = (try? whole.append(bytes)) != nil
    let traffic = whole.finish()
    require(traffic.messages.count <= limits.messages && traffic.media.count <= limits.mediaFlows, "limits hold")
    require(zip(traffic.messages, traffic.messages.dropFirst()).allSatisfy { $0.time <= $1.time }, "messages are in order")
    let analysis = CallAnalysis(traffic)
    let text = analysis.text(width: 80)
    require(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" }, "no control character is shown")
    require(!Page(analysis, name: "x", masked: { $0 }).text.contains("<script"), "nothing of the capture runs in the page")
    var pieces = TrafficReader(limits: limits)
    var isReadAgain = true
    for start in stride(from: 0, to: bytes.count, by: 61) {
        guard (try? pieces.append(Array(bytes[start..<min(bytes.count, start + 61)]))) != nil else {
            isReadAgain = false
            break
        }
    }
    require(isRead == isReadAgain && pieces.finish().messages.count == traffic.messages.count, "pieces give the same")
}
