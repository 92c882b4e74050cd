// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The board between the session, which changes it, and the terminal's thread, which shows it.
package final class BoardKeeper: Sendable {
    private let board: Mutex<CallBoard>

    package init(_ board: CallBoard) { self.board = Mutex(board) }

    package func change(_ body: (inout CallBoard) -> Void) { board.withLock { body(&$0) } }

    package var now: CallBoard { board.withLock { $0 } }

    /// The status line as of now.
    package func status(_ columns: Int) -> String { now.status(at: SystemClock.now(), columns: columns) }
}
