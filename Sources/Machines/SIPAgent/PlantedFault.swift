// SPDX-License-Identifier: Apache-2.0

/// A fault that a simulation plants on purpose, to show that it would be caught. Never set outside tests: no public
/// setting leads here.
package enum PlantedFault: Sendable, Hashable, CaseIterable {
    /// A 2xx to an INVITE is sent once and not again (against RFC 3261 §13.3.1.4).
    case noSuccessRepeats
    /// The ACK to a 2xx is not sent (against §13.2.2.4).
    case droppedACK
    /// A timer of the agent that should be taken back runs on.
    case uncancelledTimer
}
