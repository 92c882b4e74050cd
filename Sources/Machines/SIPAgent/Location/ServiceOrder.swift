// SPDX-License-Identifier: Apache-2.0
//
// The order of SRV records: RFC 2782, "Usage rules".

import Essentials

/// One SRV record.
struct ServiceRecord: Hashable {
    var priority: UInt16
    var weight: UInt16
    var port: UInt16
    var target: String
}

/// Lowest priority first; within one priority drawn by weight: a record comes next with a chance in proportion to its weight.
func orderedByRFC2782(_ records: [ServiceRecord], random: RandomSource) -> [ServiceRecord] {
    var result: [ServiceRecord] = []
    var remaining = records
    while let priority = remaining.map(\.priority).min() {
        // Records of weight 0 stand first, so that they have a small chance of being drawn.
        let group = remaining.filter { $0.priority == priority }
        var drawn = group.filter { $0.weight == 0 } + group.filter { $0.weight != 0 }
        remaining.removeAll { $0.priority == priority }
        while !drawn.isEmpty {
            let sum = drawn.reduce(0) { $0 + Int($1.weight) }
            let mark = drawn.count == 1 ? 0 : random.integer(in: 0...sum)
            var running = 0
            var choice = drawn.count - 1
            for (index, record) in drawn.enumerated() {
                running += Int(record.weight)
                if running >= mark {
                    choice = index
                    break
                }
            }
            result.append(drawn.remove(at: choice))
        }
    }
    return result
}
