// SPDX-License-Identifier: Apache-2.0

import Foundation
import HandsetCommand
import Synchronization
import Testing

extension Interop {
    /// The demonstration as a person runs it, and with a server that dies in the middle.
    @Suite(.serialized) struct DemoTests {
        @Test func theDemonstrationPassesAndItsRecordingsHoldTheOtherSidesSpeech() async throws {
            let folder = try Bench.folder()
            let demo = try Subprocess(Bench.handset, ["demo", "--out", folder])
            #expect(try await demo.exitStatus(within: 40) == 0, "\(demo.transcript)")
            for (said, heard) in [("alice-said", "bob-heard"), ("bob-said", "alice-heard")] {
                let reference = try Sound.read("\(folder)/\(said).wav")
                let recording = try Sound.read("\(folder)/\(heard).wav")
                let windows = SpeechComparison.windows(of: reference, in: recording, window: 8000, maximumOffset: 24_000, slack: 400)
                let outside = windows.filter { $0.start < 11 * 8000 || $0.start >= 16 * 8000 }
                #expect(outside.count >= 15)
                for window in outside {
                    #expect(window.correlation >= 0.98, "\(heard) second \(window.start / 8000): \(window.correlation)")
                }
                let offsets = outside.map(\.offset)
                #expect((offsets.max() ?? 0) - (offsets.min() ?? 0) <= 400, "something is missing or put in: \(offsets)")
                // On a machine that is busy the first packets of a call are late, and the delay falls within the first seconds. Neither
                // the digits nor the hold changes it.
                let settled = outside.filter { $0.start >= 5 * 8000 }.map(\.offset)
                #expect(Set(settled).count == 1, "the delay after digits and hold is not the one before: \(offsets)")
            }
            #expect(try String(contentsOfFile: folder + "/report.txt", encoding: .utf8).contains("all is well"))
        }

        @Test func aServerThatDiesInTheMiddleGivesAClearMessage() async throws {
            let steps = Mutex<[String]>([])
            var demo = Demonstration(directory: try Bench.folder()) { step, _ in steps.withLock { $0.append(step) } }
            demo.stopsServerEarly = true
            let started = Date()
            do {
                _ = try await demo.run()
                Issue.record("the demonstration passed without a server")
            } catch {
                #expect("\(error)".contains("server"), "\(error)")
            }
            #expect(Date().timeIntervalSince(started) < 30, "a hang")
            #expect(steps.withLock { $0 }.contains("registered"))
        }
    }
}
