// SPDX-License-Identifier: Apache-2.0

/// Why a subcommand ends without success: one sentence for standard error.
package enum CommandFailure: Error, Sendable, Equatable {
    /// Status 2: the command line asks for something that cannot be.
    case usage(String)
    /// Status 1: it could not be done.
    case failed(String)

    package var sentence: String {
        switch self {
        case .usage(let sentence), .failed(let sentence): sentence
        }
    }

    package var status: ExitStatus {
        switch self {
        case .usage: .usage
        case .failed: .failed
        }
    }
}

/// How the process ends: a part of the command's contract.
package enum ExitStatus: Int32, Sendable {
    /// Done; a call was established and then ended by either side, `--duration` or a signal.
    case success = 0
    /// Never established, or failed.
    case failed = 1
    /// Wrong usage.
    case usage = 2
}
