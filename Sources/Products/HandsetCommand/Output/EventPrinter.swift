// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Prints events as they happen, as JSON lines or for people.
package struct EventPrinter: Sendable {
    package let asJSON: Bool
    private let output: LineOutput
    private let now: @Sendable () -> MonotonicTime

    package init(asJSON: Bool, output: LineOutput = .standardOutput, now: @escaping @Sendable () -> MonotonicTime = SystemClock.now) {
        self.asJSON = asJSON
        self.output = output
        self.now = now
    }

    /// Prints one line and hands it to the system at once.
    package func print(_ event: CommandEvent) {
        output.write(asJSON ? event.json(at: now()).description : event.text)
    }
}
