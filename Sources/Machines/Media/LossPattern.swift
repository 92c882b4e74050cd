// SPDX-License-Identifier: Apache-2.0
//
// How losses lie in a stream (RFC 3611 §4.7.2): a burst begins and ends with a loss, and has never 16 packets or more between two
// losses; what lies between bursts is a gap. One loss alone belongs to its gap.
//
//     ····×·········································×·××···×···×·················
//         gap, with one loss in it                  └─ burst ─┘    gap
//
// A packet is judged once 16 more were expected, so that one that is merely overtaken is not lost.

/// Counts losses, alone and in bursts, packet by packet.
package struct LossPattern {
    /// Packets between two losses that part them.
    static let threshold = 16

    private(set) var received = 0
    private(set) var lost = 0
    /// Of the gaps: packets that came, and losses that stand alone.
    private var gapReceived = 0
    private var aloneLost = 0
    /// Of the bursts: how many, packets that came, losses.
    private var bursts = 0
    private var burstReceived = 0
    private var burstLost = 0
    /// Runs of losses, for the burst ratio (ITU-T G.107 §3.5).
    private var runs = 0
    private var inRun = false

    // Since the last loss.
    private var sinceLoss = 0
    /// Losses of the burst that may be under way, and what came between them.
    private var openLost = 0
    private var openReceived = 0

    private var judged: Int64 = 0

    /// Forgets where the stream is: another source, another numbering.
    mutating func restart() { judged = 0 }

    /// The newest packet is `highest`: judges what lies far enough behind it.
    mutating func advance(to highest: Int64, in source: SourceState) {
        let ready = highest - Int64(Self.threshold)
        if judged == 0 { judged = highest - 1 }
        // More than the window knows is not looked at.
        judged = max(judged, ready - 100)
        while judged < ready {
            judged += 1
            add(isLost: !source.wasReceived(judged))
        }
    }

    package init() {}

    package mutating func add(isLost: Bool) {
        if isLost {
            lost += 1
            if !inRun { runs += 1 }
            inRun = true
            openReceived += openLost > 0 ? sinceLoss : 0
            if openLost == 0 { gapReceived += sinceLoss }
            openLost += 1
            sinceLoss = 0
        } else {
            received += 1
            inRun = false
            sinceLoss += 1
            if sinceLoss == Self.threshold { close() }
            if openLost == 0, sinceLoss >= Self.threshold {
                gapReceived += sinceLoss
                sinceLoss = 0
            }
        }
    }

    /// What was open has been followed by enough packets.
    private mutating func close() {
        if openLost == 1 {
            aloneLost += 1
        } else if openLost > 1 {
            bursts += 1
            burstLost += openLost
            burstReceived += openReceived
        }
        openLost = 0
        openReceived = 0
    }

    /// The figures for packets of `milliseconds`: densities in 1/256, durations in ms.
    package func figures(milliseconds: Int) -> (burstDensity: UInt8, gapDensity: UInt8, burstDuration: UInt16, gapDuration: UInt16) {
        var (inBurst, burstLoss, count) = (burstLost + burstReceived, burstLost, bursts)
        if openLost > 1 {
            inBurst += openLost + openReceived
            burstLoss += openLost
            count += 1
        }
        let (gap, gapLoss) = (gapReceived + aloneLost + sinceLoss, aloneLost + (openLost == 1 ? 1 : 0))
        func density(_ part: Int, _ whole: Int) -> UInt8 { whole == 0 ? 0 : UInt8(clamping: part * 256 / whole) }
        func duration(_ packets: Int, _ times: Int) -> UInt16 { times == 0 ? 0 : UInt16(clamping: packets * milliseconds / times) }
        return (density(burstLoss, inBurst), density(gapLoss, gap), duration(inBurst, count), duration(gap, count + 1))
    }

    /// How much longer runs of losses are than those of independent ones (ITU-T G.107: BurstR), 1 and more.
    package var burstRatio: Double {
        guard runs > 0, lost + received > 0 else { return 1 }
        let share = Double(lost) / Double(lost + received)
        return max(1, Double(lost) / Double(runs) * (1 - share))
    }
}

/// Least, greatest, mean and deviation of the difference in transit between packets (RFC 3611 §4.6), in timestamp units.
struct TransitSpread {
    private(set) var count = 0
    private(set) var least = Double.infinity
    private(set) var greatest = 0.0
    private(set) var mean = 0.0
    private var squares = 0.0

    mutating func add(_ difference: Double) {
        count += 1
        least = min(least, difference)
        greatest = max(greatest, difference)
        let step = difference - mean
        mean += step / Double(count)
        squares += step * (difference - mean)
    }

    var deviation: Double { count < 2 ? 0 : (squares / Double(count)).squareRoot() }
}
