// SPDX-License-Identifier: Apache-2.0

import Essentials

/// How much a phone tells about itself. Silent unless a sink is given; no secret ever reaches a record:
/// passwords are of a type that does not print, and credentials in SIP messages are masked.
public struct LogSettings: Sendable {
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug
        case info
        case notice
        case warning
        case error
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// One thing that happened: a constant text, and the data beside it.
    public struct Record: Sendable {
        public var level: Level
        public var message: StaticString
        public var metadata: [(name: String, value: String)]
        public var time: MonotonicTime
    }

    /// Records below this level are not made. Default `.notice`.
    public var level: Level
    /// Whether whole SIP messages are logged, at `.debug`. Default false.
    public var includesMessages: Bool
    /// Where records go; called on the phone's loop, so it must not block. nil: nowhere.
    public var sink: (@Sendable (Record) -> Void)?

    public init(level: Level = .notice, includesMessages: Bool = false, sink: (@Sendable (Record) -> Void)? = nil) {
        self.level = level
        self.includesMessages = includesMessages
        self.sink = sink
    }

    func write(
        _ level: Level, _ message: StaticString, _ metadata: @autoclosure () -> [(name: String, value: String)], at time: MonotonicTime
    ) {
        guard let sink, level >= self.level else { return }
        sink(Record(level: level, message: message, metadata: metadata(), time: time))
    }
}
