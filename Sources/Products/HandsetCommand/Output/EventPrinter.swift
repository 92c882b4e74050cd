// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Prints events as they happen, as JSON lines or for people.
package struct EventPrinter: Sendable {
    package let asJSON: Bool
    private let write: @Sendable (String) -> Void
    /// A person sees that something was done by its event, and needs no `done`.
    private let skipsDone: Bool
    private let now: @Sendable () -> MonotonicTime
    /// Sees each event first.
    package var observer: (@Sendable (CommandEvent, MonotonicTime) -> Void)?

    package init(asJSON: Bool, output: LineOutput = .standardOutput, now: @escaping @Sendable () -> MonotonicTime = SystemClock.now) {
        self.asJSON = asJSON
        write = { output.write($0) }
        skipsDone = false
        self.now = now
    }

    /// Prints lines for a person by `write`.
    package init(writing write: @escaping @Sendable (String) -> Void) {
        asJSON = false
        self.write = write
        skipsDone = true
        now = SystemClock.now
    }

    /// Prints one line and hands it to the system at once.
    package func print(_ event: CommandEvent) {
        observer?(event, now())
        if skipsDone, case .done = event { return }
        write(asJSON ? event.json(at: now()).description : event.text)
    }
}
