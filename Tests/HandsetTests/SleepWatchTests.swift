// SPDX-License-Identifier: Apache-2.0

import Essentials
import Handset
import Networking
import Testing

@Suite struct SleepWatchTests {
    @Test func `a sleep is told once, with its length; the time before and trifles are not`() {
        var suspended = Interval.seconds(1000)
        var watch = SleepWatch { suspended }
        #expect(watch.slept() == nil)
        suspended = .milliseconds(1_000_500)
        #expect(watch.slept() == nil)
        suspended = .seconds(1060)
        #expect(watch.slept() == .seconds(60))
        #expect(watch.slept() == nil)
    }

    @Test func `the system's clock of sleep does not run while the machine is awake`() {
        let before = SuspendClock.suspended
        var watch = SleepWatch { SuspendClock.suspended }
        #expect(watch.slept() == nil)
        #expect(SuspendClock.suspended - before < .milliseconds(100))
    }
}
