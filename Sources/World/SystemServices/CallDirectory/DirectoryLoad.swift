// SPDX-License-Identifier: Apache-2.0

import CallServiceCore

/// Why a load was refused; raw values as in `CXErrorCodeCallDirectoryManagerError`.
public enum DirectoryError: Int, Error, Hashable, Sendable {
    case unknown = 0
    case noExtensionFound = 1
    case loadingInterrupted = 2
    case entriesOutOfOrder = 3
    case duplicateEntries = 4
    case maximumEntriesExceeded = 5
    case extensionDisabled = 6
    case currentlyLoading = 7
    case unexpectedIncrementalRemoval = 8
}

/// The entries of one load, judged as they come. The first fault decides; what follows it counts for nothing.
public struct DirectoryLoad: Sendable {
    /// A fault, with the pitfall that it is an example of and what was seen.
    public struct Fault: Hashable, Sendable {
        public var error: DirectoryError
        public var pitfall: Pitfall
        public var seen: String
    }

    /// Greatest number of a directory: one less than the greatest integer.
    public static let greatestNumber = Int64.max - 1
    /// E.164 numbers with fewer digits than this lack their country code: noted, not refused.
    public static let shortestNumber: Int64 = 1_000_000

    /// Whether the lists of the last load go on, changed by this one.
    public let isIncremental: Bool
    /// Entries of both lists together.
    public let maximumEntries: Int
    public private(set) var fault: Fault?
    /// What is odd and no fault: told once each.
    public private(set) var remarks: [Fault] = []

    private(set) var blocked: [Int64] = []
    private(set) var labelled: [Int64] = []
    /// Where each label ends in `labelText`.
    private(set) var labelEnds: [UInt32] = []
    private(set) var labelText: [UInt8] = []
    private(set) var unblocked: [Int64] = []
    private(set) var unlabelled: [Int64] = []
    private(set) var removesAllBlocked = false
    private(set) var removesAllLabels = false

    public init(isIncremental: Bool, maximumEntries: Int = 2_000_000) {
        self.isIncremental = isIncremental
        self.maximumEntries = maximumEntries
    }

    public var count: Int { blocked.count + labelled.count }

    // MARK: Entries

    public mutating func block(_ number: Int64) {
        guard accepts(number, after: blocked.last, list: "blocking") else { return }
        blocked.append(number)
    }

    public mutating func label(_ number: Int64, _ label: String) {
        guard accepts(number, after: labelled.last, list: "identification") else { return }
        guard !label.isEmpty else {
            return refuse(.unknown, .directoryEntryRefused, "the label of \(number) is empty.")
        }
        labelText.append(contentsOf: label.utf8)
        labelled.append(number)
        labelEnds.append(UInt32(clamping: labelText.count))
    }

    private mutating func accepts(_ number: Int64, after last: Int64?, list: String) -> Bool {
        guard fault == nil else { return false }
        guard number > 0, number <= Self.greatestNumber else {
            refuse(.unknown, .directoryEntryRefused, "\(number) is no telephone number.")
            return false
        }
        if let last, number <= last {
            if number == last {
                refuse(.duplicateEntries, .directoryDuplicate, "\(number) stands twice in the \(list) list.")
            } else {
                refuse(.entriesOutOfOrder, .directoryUnsorted, "\(number) follows \(last) in the \(list) list.")
            }
            return false
        }
        guard count < maximumEntries else {
            refuse(.maximumEntriesExceeded, .directoryEntryRefused, "there are more than \(maximumEntries) entries.")
            return false
        }
        if number < Self.shortestNumber {
            remark(.directoryNoCountryCode, "\(number) is too short for a country code and a national number.")
        }
        return true
    }

    // MARK: Removals, of an incremental load only

    public mutating func unblock(_ number: Int64) {
        guard acceptsRemoval() else { return }
        unblocked.append(number)
    }

    /// Removes every label of the number.
    public mutating func unlabel(_ number: Int64) {
        guard acceptsRemoval() else { return }
        unlabelled.append(number)
    }

    public mutating func unblockAll() {
        guard acceptsRemoval() else { return }
        removesAllBlocked = true
    }

    public mutating func unlabelAll() {
        guard acceptsRemoval() else { return }
        removesAllLabels = true
    }

    private mutating func acceptsRemoval() -> Bool {
        guard fault == nil else { return false }
        guard isIncremental else {
            refuse(
                .unexpectedIncrementalRemoval, .directoryIncrementalMisuse, "an entry was removed in a load that gives the whole lists.")
            return false
        }
        return true
    }

    /// The extension ended, or its time did, without a word of completion.
    public mutating func interrupt(_ seen: String) {
        if fault == nil { refuse(.loadingInterrupted, .directoryNotCompleted, seen) }
    }

    private mutating func refuse(_ error: DirectoryError, _ pitfall: Pitfall, _ seen: String) {
        fault = Fault(error: error, pitfall: pitfall, seen: seen)
    }

    mutating func remark(_ pitfall: Pitfall, _ seen: String) {
        if !remarks.contains(where: { $0.pitfall == pitfall }) { remarks.append(Fault(error: .unknown, pitfall: pitfall, seen: seen)) }
    }
}
