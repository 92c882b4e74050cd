// SPDX-License-Identifier: Apache-2.0

/// Both lists of an extension, ascending and without repeats.
struct DirectoryLists: Sendable {
    var blocked: [Int64] = []
    var labelled: [Int64] = []
    /// Where each label ends in `labelText`.
    var labelEnds: [UInt32] = []
    var labelText: [UInt8] = []

    init() {}

    /// The lists of a load that gives everything.
    init(whole load: DirectoryLoad) {
        blocked = load.blocked
        labelled = load.labelled
        labelEnds = load.labelEnds
        labelText = load.labelText
    }

    /// `old` as the incremental `load` changes it: removals first, then additions. A number that is labelled anew takes the new label.
    init(_ old: DirectoryFile?, changedBy load: inout DirectoryLoad) {
        let oldBlocked = load.removesAllBlocked ? 0 : old?.blockedCount ?? 0
        let oldLabelled = load.removesAllLabels ? 0 : old?.labelledCount ?? 0
        let unblocked = load.unblocked.sorted()
        let unlabelled = load.unlabelled.sorted()
        let known =
            load.blocked.count { number in oldBlocked > 0 && old?.isBlocked(number) == true }
            + load.labelled.count { number in oldLabelled > 0 && old?.label(for: number) != nil }
        if known > 0, known * 2 >= load.count {
            load.remark(
                .directoryIncrementalMisuse,
                "\(known) of \(load.count) entries of an incremental load were there before: the whole list, without removing all.")
        }

        blocked.reserveCapacity(oldBlocked + load.blocked.count)
        var next = 0
        for index in 0..<oldBlocked {
            guard let number = old?.blocked(at: index) else { break }
            while next < load.blocked.count, load.blocked[next] < number {
                blocked.append(load.blocked[next])
                next += 1
            }
            if next < load.blocked.count, load.blocked[next] == number { continue }
            if !Self.contains(unblocked, number) { blocked.append(number) }
        }
        blocked.append(contentsOf: load.blocked[next...])

        labelled.reserveCapacity(oldLabelled + load.labelled.count)
        next = 0
        for index in 0..<oldLabelled {
            guard let (number, label) = old?.label(at: index) else { break }
            while next < load.labelled.count, load.labelled[next] < number {
                take(next, of: load)
                next += 1
            }
            if next < load.labelled.count, load.labelled[next] == number { continue }
            if !Self.contains(unlabelled, number) { append(number, label) }
        }
        while next < load.labelled.count {
            take(next, of: load)
            next += 1
        }
    }

    private mutating func take(_ index: Int, of load: DirectoryLoad) {
        let start = index == 0 ? 0 : Int(load.labelEnds[index - 1])
        append(load.labelled[index], load.labelText[start..<Int(load.labelEnds[index])])
    }

    private mutating func append(_ number: Int64, _ label: some Sequence<UInt8>) {
        labelled.append(number)
        labelText.append(contentsOf: label)
        labelEnds.append(UInt32(clamping: labelText.count))
    }

    private static func contains(_ sorted: [Int64], _ number: Int64) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == number
    }
}
