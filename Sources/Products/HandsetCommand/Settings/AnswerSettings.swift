// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The options of `answer`.
package struct AnswerSettings: Sendable {
    /// Refuse with this instead of answering.
    package var status: Int?
    package var delay: Interval
    /// End after so many calls have ended; nil: never.
    package var calls: Int?
    package var maximumCalls: Int
    package var duration: Interval?
    package var echoes: Bool

    package init(_ invocation: Invocation) throws(CommandFailure) {
        status = invocation.integer("--status")
        delay = invocation.value("--delay").flatMap(Seconds.parse) ?? .zero
        calls = invocation.integer("--calls")
        maximumCalls = invocation.integer("--max-calls") ?? 1000
        duration = invocation.value("--duration").flatMap(Seconds.parse)
        echoes = invocation.has("--echo")
        if echoes, invocation.has("--play") { throw .usage("--echo cannot go with --play.") }
    }
}
