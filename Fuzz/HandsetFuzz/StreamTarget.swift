// SPDX-License-Identifier: Apache-2.0

import SIP

/// Any octets as a stream: however it is cut, the same frames come out. The first octets choose the cuts.
@Sendable func fuzzStream(_ bytes: [UInt8]) {
    guard bytes.count > 4 else { return }
    let (cuts, stream) = (bytes.prefix(4), Array(bytes.dropFirst(4)))
    var whole = StreamFramer()
    whole.append(stream)
    let expected = frames(&whole)

    var cut = StreamFramer()
    var found: [[UInt8]] = []
    var (position, turn) = (0, 0)
    while position < stream.count {
        let end = min(stream.count, position + Int(cuts[turn % 4] & 63) + 1)
        cut.append(Array(stream[position..<end]))
        found += frames(&cut)
        (position, turn) = (end, turn + 1)
    }
    // One line end at the end of the octets may still become two: keep-alives are told apart by what comes next.
    let messages = { (list: [[UInt8]]) in list.filter { !$0.starts(with: [0]) } }
    require(messages(found) == messages(expected), "frames do not depend on how the stream is cut")
    for frame in messages(found) where frame.first == 1 { _ = SIPMessage.receive(Array(frame.dropFirst())) }
}

/// What comes out now, with the kind in front: 0 keep-alive, 1 message, 2 failure.
private func frames(_ framer: inout StreamFramer) -> [[UInt8]] {
    var result: [[UInt8]] = []
    while let frame = framer.next() {
        switch frame {
        case .keepAlivePing, .keepAlivePong: result.append([0])
        case .message(let message): result.append([1] + message)
        case .failure: result.append([2])
        }
        require(result.count < 100_000, "framing goes forward")
    }
    return result
}
