// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Work on a thread of its own that can be waited for.
final class ReadingThread: Sendable {
    private let done = DispatchGroup()

    init(_ work: @escaping @Sendable () -> Void) {
        // A queue of its own: the work blocks until the other end is gone.
        DispatchQueue(label: "callservice.reading").async(group: done, execute: work)
    }

    func join() { done.wait() }
}
