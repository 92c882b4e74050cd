// SPDX-License-Identifier: Apache-2.0

/// Lines on standard error for `--log-level`; silent unless asked. Nothing that is logged holds a secret.
package struct CommandLog: Sendable {
    package enum Level: String, Sendable, CaseIterable, Comparable {
        case off
        case error
        case warning
        case info
        case debug

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    package let level: Level
    private let output: LineOutput

    package init(level: Level, output: LineOutput = .standardError) {
        self.level = level
        self.output = output
    }

    package func callAsFunction(_ level: Level, _ text: @autoclosure () -> String) {
        guard level != .off, level <= self.level else { return }
        output.write("\(level.rawValue): \(text().printable)")
    }
}
