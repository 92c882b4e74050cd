// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One deadline that moves: a machine's `nextDeadline`. Belongs to the loop.
public final class LoopTimer {
    private let loop: EventLoop
    private let handler: () -> Void
    private var token: TimerToken?
    /// When `handler` is called next; nil: not at all.
    public private(set) var deadline: MonotonicTime?

    public init(loop: EventLoop, _ handler: @escaping () -> Void) {
        self.loop = loop
        self.handler = handler
    }

    /// Sets the deadline, or none. Costs nothing if it is the same as before.
    public func set(_ time: MonotonicTime?) {
        guard time != deadline else { return }
        if let token { loop.cancel(token) }
        token = nil
        deadline = time
        guard let time, time != .distantFuture else { return }
        token = loop.schedule(at: time) { [weak self] in
            guard let self else { return }
            self.token = nil
            self.deadline = nil
            self.handler()
        }
    }
}
