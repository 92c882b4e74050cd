// SPDX-License-Identifier: Apache-2.0

import Essentials
import Handset
import SIP
import SIPAgent

/// Writes each SIP message of `--trace FILE` as a line: the input of `explain`.
package struct TraceWriter: Sendable {
    package enum Direction: String, Sendable {
        case sent
        case received
    }

    private let output: LineOutput

    package init(output: LineOutput) { self.output = output }

    /// Notes why something ended or went wrong, so that `explain` need not guess.
    package func write(_ cause: Cause, isWarning: Bool = false, at time: MonotonicTime) {
        let evidence = cause.evidence.map { JSONValue.object(("name", .string($0.name)), ("value", .string(SecretMask.masked($0.value)))) }
        let line = JSONValue.object(
            ("time", .seconds(time)), ("cause", .string(cause.code)), ("text", .string(cause.sentence)),
            ("severity", isWarning ? "warning" : nil), ("evidence", .array(evidence)))
        output.write(line.description)
    }

    package func write(
        _ direction: Direction, _ transport: TransportProtocol, local: SocketAddress?, remote: SocketAddress,
        message: some Collection<UInt8>,
        at time: MonotonicTime
    ) {
        let line = JSONValue.object(
            ("time", .seconds(time)), ("direction", .string(direction.rawValue)), ("transport", .string(transport.rawValue)),
            ("local", .text(local?.description)), ("remote", .string(remote.description)),
            ("message", .string(SecretMask.masked(String(decoding: message, as: UTF8.self)))))
        output.write(line.description)
    }
}
