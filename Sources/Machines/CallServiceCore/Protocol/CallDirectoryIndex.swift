// SPDX-License-Identifier: Apache-2.0

/// The loaded lists of one call directory extension, as the service asks them for each incoming call (DIR-13).
///
/// Numbers are in the form of a `CXCallDirectoryPhoneNumber`: country code, then national number.
public protocol CallDirectoryIndex: Sendable {
    func isBlocked(_ number: Int64) -> Bool
    func label(for number: Int64) -> String?
}

/// A small index in memory.
public struct CallDirectoryTable: CallDirectoryIndex {
    private let blocked: [Int64]
    private let labels: [(number: Int64, label: String)]

    /// - Parameters:
    ///   - blocked: in any order.
    ///   - labels: in any order; of two labels of one number the first counts.
    public init(blocked: [Int64] = [], labels: [(number: Int64, label: String)] = []) {
        self.blocked = blocked.sorted()
        self.labels = labels.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }.map(\.element)
    }

    public func isBlocked(_ number: Int64) -> Bool {
        let index = Self.lowerBound(blocked.count) { blocked[$0] < number }
        return index < blocked.count && blocked[index] == number
    }

    public func label(for number: Int64) -> String? {
        let index = Self.lowerBound(labels.count) { labels[$0].number < number }
        return index < labels.count && labels[index].number == number ? labels[index].label : nil
    }

    private static func lowerBound(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
