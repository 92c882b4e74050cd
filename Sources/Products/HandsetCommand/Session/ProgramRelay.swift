// SPDX-License-Identifier: Apache-2.0

import Essentials
import Synchronization

/// Hands the events of calls to the programs that hold them.
final class ProgramRelay: Sendable {
    private let tellers = Mutex<[String: [@Sendable (String) -> Void]]>([:])

    /// From now on `tell` is called with each event of the call, as JSON.
    func add(call: String, _ tell: @escaping @Sendable (String) -> Void) { tellers.withLock { $0[call, default: []].append(tell) } }

    func remove(call: String) { tellers.withLock { $0[call] = nil } }

    func take(_ event: CommandEvent, _ now: MonotonicTime) {
        guard tellers.withLock({ !$0.isEmpty }) else { return }
        // A program knows its own doings.
        if case .program = event { return }
        let json = event.json(at: now)
        guard let call = json["call"]?.text, let told = tellers.withLock({ $0[call] }) else { return }
        let text = json.description
        for tell in told { tell(text) }
    }
}
