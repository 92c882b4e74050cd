// SPDX-License-Identifier: Apache-2.0
//
// Thousands of whole calls over bad links, each from one seed. A run that fails prints its seed and the command that
// repeats it; `HANDSET_SEED=n` runs that seed alone and prints its trace.

import Foundation
import HandsetTestKit
import SIPAgent
import Testing

@Suite(.serialized) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let oneSeed = environment["HANDSET_SEED"].flatMap { UInt64($0) }

    /// Runs for each of the two bulk tests: 1 250 in release, fewer without optimisation.
    private static var runs: UInt64 {
        if let text = environment["HANDSET_RUNS"], let count = UInt64(text) { return count }
        #if DEBUG
            return 60
        #else
            return 1_250
        #endif
    }

    @Test(.enabled(if: oneSeed == nil)) func upToFivePercentLossEveryCallIsCompleteAndEachDigitArrivesOnce() {
        for seed in 1...Self.runs {
            var run = CallRun(seed: seed)
            run.play()
            #expect(run.isComplete, "\(run.story)")
            #expect(run.bob.digitsReceived == CallRun.digits, "\(run.story)")
            #expect(run.illegal == [], "\(run.story)")
        }
    }

    @Test(.enabled(if: oneSeed == nil)) func upToTwentyPercentLossNearlyEveryCallIsEstablishedAndEveryRunEndsLegally() {
        var established: UInt64 = 0
        var complete: UInt64 = 0
        var stories = ""
        for seed in CallRun.firstHardSeed..<CallRun.firstHardSeed + Self.runs {
            var run = CallRun(seed: seed)
            run.play()
            #expect(run.illegal == [], "\(run.story)")
            if run.isEstablished { established += 1 } else { stories += run.story + "\n" }
            if run.isComplete, run.bob.digitsReceived == CallRun.digits { complete += 1 }
        }
        print("up to 20 % loss: \(established) of \(Self.runs) established, \(complete) complete with every digit once")
        #expect(established * 100 >= Self.runs * 99, "\(established) of \(Self.runs)\n\(stories)")
    }

    /// Each fault shows within these seeds; that nothing shows without it is the first test's.
    @Test(.enabled(if: oneSeed == nil), arguments: PlantedFault.allCases)
    func aPlantedFaultIsCaught(fault: PlantedFault) {
        let seeds: ClosedRange<UInt64> = 1...40
        var caught: [String] = []
        for seed in seeds {
            var faulty = CallRun(seed: seed, fault: fault)
            faulty.play()
            if !faulty.isComplete || faulty.illegal != [] { caught.append(faulty.story) }
        }
        print("\(fault): caught in \(caught.count) of \(seeds.count) runs; first: \(caught.first ?? "never")")
        #expect(!caught.isEmpty)
    }

    // MARK: One seed

    @Test(.enabled(if: oneSeed != nil)) func repeatOneSeed() throws {
        var run = CallRun(seed: try #require(Self.oneSeed), trace: .signalling)
        run.play()
        print(run.world.trace.text())
        print(run.story)
        let isHard = run.seed >= CallRun.firstHardSeed
        #expect(run.illegal == [])
        #expect(isHard ? run.isEstablished : run.isComplete && run.bob.digitsReceived == CallRun.digits)
    }

    private static let traceFile = environment["HANDSET_TRACE_FILE"]

    /// What `theSameSeedGivesTheSameTraceInTwoProcesses` starts: writes the trace of one seed into a file.
    @Test(.enabled(if: traceFile != nil)) func traceForAnotherProcess() throws {
        var run = CallRun(seed: CallRun.firstHardSeed + 5, trace: .everything)
        run.play()
        try run.world.trace.text().write(toFile: try #require(Self.traceFile), atomically: true, encoding: .utf8)
    }

    @Test(.enabled(if: traceFile == nil && oneSeed == nil)) func theSameSeedGivesTheSameTraceInTwoProcesses() throws {
        let traces = try (1...2).map { _ in try traceFromItsOwnProcess() }
        #expect(traces[0].count > 50_000)
        #expect(traces[0] == traces[1])
        var here = CallRun(seed: CallRun.firstHardSeed + 5, trace: .everything)
        here.play()
        #expect(here.world.trace.text() == String(decoding: traces[0], as: UTF8.self))
        var other = CallRun(seed: CallRun.firstHardSeed + 6, trace: .everything)
        other.play()
        #expect(here.world.trace.text() != other.world.trace.text())
    }

    private func traceFromItsOwnProcess() throws -> Data {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("handset-trace-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--testing-library", "swift-testing", "--filter", "traceForAnotherProcess"]
        var environment = Self.environment
        environment["HANDSET_TRACE_FILE"] = file.path
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return try Data(contentsOf: file)
    }
}
