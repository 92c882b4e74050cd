// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Events on their way from the loop to any number of readers on any isolation.
///
/// Until the first reader comes, the newest events are kept for it (unless the channel is made without that), so that none is
/// missed between making an object and reading from it. A reader that does not keep up loses the oldest events, never the
/// newest; nothing grows without limit.
package final class EventChannel<Element: Sendable>: Sendable {
    private struct State {
        var readers: [(id: UInt64, continuation: AsyncStream<Element>.Continuation)] = []
        var backlog: [Element] = []
        var nextReader: UInt64 = 0
        var isFinished = false
        var hadReader = false
    }

    /// The most events that wait for one reader.
    private let limit: Int
    private let keepsForFirstReader: Bool
    private let state = Mutex(State())

    package init(limit: Int = 1024, keepsForFirstReader: Bool = true) {
        self.limit = limit
        self.keepsForFirstReader = keepsForFirstReader
    }

    /// Whether an event would reach anybody, now or later.
    package var isWanted: Bool {
        state.withLock { !$0.isFinished && (!$0.readers.isEmpty || (keepsForFirstReader && !$0.hadReader)) }
    }

    package func send(_ element: Element) {
        state.withLock { state in
            guard !state.isFinished else { return }
            if keepsForFirstReader, !state.hadReader {
                // Old ones go many at a time: one by one each would move all the others.
                if state.backlog.count >= 2 * limit { state.backlog.removeFirst(limit) }
                state.backlog.append(element)
            }
            for reader in state.readers { reader.continuation.yield(element) }
        }
    }

    package func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.continuation.finish() }
    }

    /// A sequence of all events from now on; the first one made begins with those that were kept.
    package func stream() -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(limit)) { continuation in
            let (id, isFinished) = state.withLock { state in
                for element in state.backlog.suffix(limit) { continuation.yield(element) }
                state.backlog = []
                state.hadReader = true
                state.nextReader += 1
                if !state.isFinished { state.readers.append((state.nextReader, continuation)) }
                return (state.nextReader, state.isFinished)
            }
            if isFinished {
                continuation.finish()
            } else {
                continuation.onTermination = { [weak self] _ in
                    self?.state.withLock { $0.readers.removeAll { $0.id == id } }
                }
            }
        }
    }
}
