// SPDX-License-Identifier: Apache-2.0
//
// `--report FILE`: a page for each call, written when its last figures are there.

import Essentials
import Handset
import PhoneCore
import Synchronization

/// The journals of the calls that are up. The trace comes from the phone's loop too, but not on the session's isolation.
package final class CallReports: Sendable {
    private struct State {
        var journals: [CallID: CallJournal] = [:]
        /// Messages that came before the first event of their call.
        var recent: [TraceRecord] = []
    }

    private let state = Mutex(State())
    private static let recentLimit = 32

    package init() {}

    package func note(_ record: TraceRecord) {
        state.withLock { state in
            for id in state.journals.keys { state.journals[id]?.note(record) }
            state.recent.append(record)
            if state.recent.count > Self.recentLimit { state.recent.removeFirst() }
        }
    }

    /// Takes an event; gives the page of a call that is over and whose figures are complete.
    package func note(_ event: PhoneEvent, remote: (CallID) -> String, at now: MonotonicTime) -> (call: CallID, page: String)? {
        state.withLock { state in
            switch event {
            case .incomingCall(let id, _):
                var journal = CallJournal(id, startedAt: now)
                journal.note(event, at: now)
                for record in state.recent { journal.note(record) }
                state.journals[id] = journal
                return nil
            case .callState(let id, .calling, _, _) where state.journals[id] == nil:
                var journal = CallJournal(id, startedAt: now)
                journal.record.remote = remote(id)
                state.journals[id] = journal
            default: break
            }
            for id in state.journals.keys.sorted() {
                state.journals[id]?.note(event, at: now)
                guard let journal = state.journals[id], journal.isComplete else { continue }
                state.journals[id] = nil
                return (id, journal.page)
            }
            return nil
        }
    }
}
