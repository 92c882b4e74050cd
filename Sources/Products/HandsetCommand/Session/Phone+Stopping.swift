// SPDX-License-Identifier: Apache-2.0

import Handset

extension Phone {
    /// Stops in good order, and leaves those behind who have not answered when the time is over.
    nonisolated func stop(within limit: Duration) async {
        let patience = Task {
            try? await Task.sleep(for: limit)
            if !Task.isCancelled { await abandon() }
        }
        await stop()
        patience.cancel()
    }
}
