// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Call history and calling back: callkit §4.7.
@Suite struct HistoryTests {
    private func phone(_ value: String) -> CallUpdate { CallUpdate(remoteHandle: Handle(.generic, value)) }

    /// A call that came, was taken and ended, and its entry's number.
    private func past(_ app: TestApp, _ update: CallUpdate) -> UInt64 {
        app.takeCall(callA, update)
        app.ended(callA)
        return app.system.machine.history.last?.number ?? 0
    }

    @Test func T114_callsMayStayOutOfTheHistory() {
        system { system in
            let app = system.app(configure: { $0.includesCallsInRecents = false })
            _ = past(app, phone("abc"))
            #expect(system.history == [] && system.machine.history == [])
        }
    }

    @Test func T115_callingBackIsAnActivity() {
        system { system in
            let app = system.app(configure: { $0.supportedHandleTypes = [.generic] })
            let entry = past(app, phone("abc"))
            #expect(system.person(.redial(entry)) == nil)
            #expect(app.activities == [ActivityDescription(kind: .startCall, handle: Handle(.generic, "abc"), isVideo: false)])
            #expect(system.machine.snapshots == [])
            #expect(app.start(callB, Handle(.generic, "abc")) == nil)
            system.pass(.seconds(20))
            #expect(system.state(callB) == .connecting)
        }
    }

    @Test func T116_anAddressOfAnotherKindCannotBeCalledBack() {
        system(expecting: [.configHandleTypes]) { system in
            let app = system.app(configure: { $0.supportedHandleTypes = [.phoneNumber] })
            #expect(system.person(.redial(past(app, phone("abc")))) == .noCallBack)
            #expect(app.activities == [])
        }
    }

    @Test func T117_videoIsCalledBackWithVideo() {
        system { system in
            let app = system.app(configure: { $0.supportedHandleTypes = [.generic] })
            var update = phone("abc")
            update.hasVideo = true
            system.person(.redial(past(app, update)))
            #expect(app.activities.map(\.isVideo) == [true])
            app.start(callB, Handle(.generic, "abc"), isVideo: true)
        }
    }

    @Test func T118_theVideoButtonIsAnActivity() {
        system(expecting: [.outgoingSecondWithoutHold, .historyVideoConfused]) { system in
            let app = system.app(configure: { $0.supportsVideo = true })
            app.takeCall(callA, phone("abc"))
            #expect(system.person(.video(callA)) == nil)
            #expect(app.activities == [ActivityDescription(kind: .startVideoCall, handle: Handle(.generic, "abc"), isVideo: true)])
            app.start(callB, Handle(.generic, "abc"), isVideo: true)
        }
    }

    @Test func T119_theActivityWaitsForTheAppToStart() throws {
        system { system in
            let first = system.app(configure: { $0.supportedHandleTypes = [.generic] })
            let entry = past(first, phone("abc"))
            first.crash()
            var second: TestApp?
            system.onLaunch = { _ in second = system.app("one", makesProvider: false) }
            system.person(.redial(entry))
            #expect(system.launches == ["org.example.one"])
            #expect(second?.activities == [])
            second?.say(.registerProvider(1, first.configuration))
            #expect(second?.activities.count == 1)
            #expect(second?.start(callB, Handle(.generic, "abc")) == nil)
            system.pass(.seconds(20))
        }
    }

    @Test func T120_anAppThatIsKilledLeavesNoCall() {
        system { system in
            let app = system.app("one")
            app.takeCall(callA)
            app.crash()
            #expect(system.machine.snapshots == [] && system.machine.audioOwner == nil)
            #expect(system.history.map(\.reason) == [.failed])
            #expect(system.app("one").start(callB) == nil)
        }
    }

    @Test func T178_videoThatIsAddedIsKept() {
        system { system in
            let app = system.app()
            app.takeCall(callA, phone("abc"))
            app.updated(callA, CallUpdate(hasVideo: true))
            #expect(system.machine.screen.calls[0].isVideo)
            app.ended(callA)
            #expect(system.history.map(\.isVideo) == [true])
        }
    }

    @Test func T181_theVideoButtonIsTheApps() {
        for supportsVideo in [false, true] {
            system { system in
                let app = system.app(configure: { $0.supportsVideo = supportsVideo })
                app.takeCall(callA, phone("abc"))
                #expect(system.offers(callA).contains(.video) == supportsVideo)
                if !supportsVideo { #expect(system.person(.video(callA)) == .notOffered) }
            }
        }
    }

    @Test func T190_aCallBackDuringACall() {
        system(expecting: [.outgoingSecondWithoutHold]) { system in
            let app = system.app(configure: { $0.supportedHandleTypes = [.generic] })
            let entry = past(app, phone("abc"))
            // The same peer is live: the app places no second call, and says that the activity is dealt with.
            app.takeCall(callB, phone("abc"))
            app.onMessage = { message in if case .activity(let number, _) = message { app.say(.activityHandled(number)) } }
            system.person(.redial(entry))
            system.pass(.seconds(20))
            #expect(app.calls.map(\.uuid) == [callB])
            // Another peer is live: a second Start, as any other.
            app.updated(callB, phone("def"))
            app.start(callC, Handle(.generic, "abc"))
            #expect(app.performed.suffix(2) == ["hold B", "start C"])
        }
    }

    @Test func theHistoryForgetsItsOldestEntries() {
        system({ $0.historyLength = 3 }) { system in
            let app = system.app()
            for number in UInt64(1)...5 {
                let call = UUIDValue(high: number, low: number)
                app.report(call)
                app.ended(call)
            }
            #expect(system.machine.history.map(\.call.high) == [3, 4, 5])
            #expect(system.machine.counters[.historyDropped] == 2)
        }
    }
}
