// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What each target does with an input. A crash, a trap, a hang or a broken promise (`require`) is a finding.
let fuzzTargets: [String: @Sendable ([UInt8]) -> Void] = [
    "sip-message": fuzzMessage,
    "stream": fuzzStream,
    "uri": fuzzURI,
    "event-body": fuzzEventBody,
    "sdp": fuzzSDP,
    "rtp": fuzzRTP,
    "rtcp": fuzzRTCP,
    "stun": fuzzSTUN,
    "websocket": fuzzWebSocket,
    "media": fuzzMedia,
    "jitter-buffer": fuzzJitterBuffer,
    "redundancy": fuzzRedundancy,
    "opus": fuzzOpus,
    "agent": fuzzAgent,
    "capture": fuzzCapture,
    "callservice": fuzzCallService,
    "push-payload": fuzzPushPayload,
]

/// The target of this process.
let chosenTarget: @Sendable ([UInt8]) -> Void =
    fuzzTargets[unsafe getenv("HANDSET_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""] ?? { _ in }

/// A promise that holds for every input.
func require(_ condition: Bool, _ promise: String) {
    if !condition { fatalError("broken promise: \(promise)") }
}
