// SPDX-License-Identifier: Apache-2.0

/// The names of a module's counters: an enum with `Int` raw values from 0 up, in order.
public protocol CounterName: CaseIterable, RawRepresentable, Sendable where RawValue == Int {}

/// How often each countable thing happened: every drop, limit and refusal has a counter.
public struct Counters<Name: CounterName>: Sendable {
    private var values: [UInt64]

    public init() { values = [UInt64](repeating: 0, count: Name.allCases.count) }

    /// How often `name` happened.
    public subscript(name: Name) -> UInt64 { values[name.rawValue] }

    public mutating func increment(_ name: Name, by amount: UInt64 = 1) { values[name.rawValue] &+= amount }

    /// Every counter with its name, in order of declaration.
    public var all: [(name: String, value: UInt64)] {
        Name.allCases.map { ("\($0)", values[$0.rawValue]) }
    }

    /// The counters that are not zero, in order of declaration.
    public var nonzero: [(name: String, value: UInt64)] { all.filter { $0.value > 0 } }
}
