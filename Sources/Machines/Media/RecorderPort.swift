// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Hands every frame it hears to its sink; with two channels interleaved with what its other side hears.
final class RecorderPort: BridgePort {
    let channels: Int
    private var sink: (any RecorderSink)?
    /// What was heard before the sink came.
    private var waiting: [Int16] = []
    /// Left and right in turn; which of them are there.
    private var pair: [Int16] = []
    private var hasLeft = false
    private var hasRight = false

    init(id: PortID, frameSize: Int, channels: Int = 1) {
        self.channels = channels
        super.init(id: id, frameSize: frameSize)
        if channels == 2 { pair = [Int16](repeating: 0, count: 2 * frameSize) }
    }

    override var consumes: Bool { true }

    func open(_ sink: any RecorderSink) {
        self.sink?.close()
        self.sink = sink
        if !waiting.isEmpty { sink.write(waiting.span, rate: output.count * 100) }
        waiting = []
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        guard channels == 2 else { return write(frame, outbox) }
        take(frame, channel: 0, outbox)
    }

    /// A frame of one channel; with both the frame is whole, whichever came first. A side that is closed leaves silence.
    func take(_ frame: [Int16], channel: Int, _ outbox: MediaOutbox) {
        if channel == 0 ? hasLeft : hasRight { flush(outbox) }
        Samples.interleave(frame, channel: channel, into: &pair)
        if channel == 0 { hasLeft = true } else { hasRight = true }
        if hasLeft, hasRight { flush(outbox) }
    }

    private func flush(_ outbox: MediaOutbox) {
        write(pair, outbox)
        Samples.clear(&pair)
        hasLeft = false
        hasRight = false
    }

    private func write(_ samples: [Int16], _ outbox: MediaOutbox) {
        if let sink {
            sink.write(samples.span, rate: output.count * 100)
        } else if waiting.count < output.count * 100 * channels {
            waiting.append(contentsOf: samples)
        } else {
            outbox.count(.recorderOverflow)
        }
    }

    override func close(now: MonotonicTime, _ outbox: MediaOutbox) {
        if hasLeft || hasRight { flush(outbox) }
        sink?.close()
        sink = nil
    }
}

/// The right channel of a recorder.
final class RecorderSidePort: BridgePort {
    private let recorder: RecorderPort

    init(id: PortID, frameSize: Int, recorder: RecorderPort) {
        self.recorder = recorder
        super.init(id: id, frameSize: frameSize)
    }

    override var consumes: Bool { true }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        recorder.take(frame, channel: 1, outbox)
    }
}
