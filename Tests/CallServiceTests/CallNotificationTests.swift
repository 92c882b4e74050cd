// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Testing

/// What the desktop shows of incoming calls, and what its buttons mean.
@Suite struct CallNotificationTests {
    private func shown(_ effects: [CallNotifications.Effect]) -> CallNotification? {
        for case .show(let notification) in effects { return notification }
        return nil
    }

    @Test func aRingingCallIsShownOnceAndClosedWhenItIsTaken() {
        system { system in
            var notifications = CallNotifications()
            let app = system.app()
            #expect(notifications.update(system.machine.screen) == [])
            app.report(callA, CallUpdate(localizedCallerName: "Ana"))
            let first = shown(notifications.update(system.machine.screen))
            #expect(first?.app == "one" && first?.title == "Ana" && first?.text == "Incoming call · one")
            #expect(first?.offers == [.accept, .decline])
            #expect(notifications.update(system.machine.screen) == [], "nothing changed")
            #expect(notifications.command("hold-and-accept", call: callA) == nil, "it has no such button")
            #expect(notifications.command("default", call: callA) == nil, "a click on the text accepts nothing")
            #expect(system.person(try! #require(notifications.command("accept", call: callA))) == nil)
            #expect(notifications.update(system.machine.screen) == [.close(callA)])
            #expect(notifications.command("decline", call: callA) == nil, "a button that comes late means nothing")
        }
    }

    @Test func aSecondCallHasTheButtonsOfASecondCallAndLosesThemWithTheFirst() {
        system { system in
            var notifications = CallNotifications()
            let app = system.app()
            app.report(callA)
            _ = system.person(.accept(callA))
            app.report(callB, CallUpdate(localizedCallerName: "Berta", hasVideo: true))
            let second = shown(notifications.update(system.machine.screen))
            #expect(second?.call == callB && second?.text == "Incoming video call · one")
            #expect(second?.offers.contains(.holdAndAccept) == true && second?.offers.contains(.endAndAccept) == true)
            #expect(notifications.command("hold-and-accept", call: callB) == .holdAndAccept(callB))
            #expect(notifications.command("end-and-accept", call: callB) == .endAndAccept(callB))
            _ = system.person(.end(callA))
            #expect(shown(notifications.update(system.machine.screen))?.offers == [.accept, .decline])
        }
    }

    @Test(
        arguments: [
            ("", "Unknown caller"), ("   ", "Unknown caller"), ("A\u{1b}[2J\nB", "A\u{fffd}[2J\u{fffd}B"),
            ("\u{202e}ana", "\u{fffd}ana"), ("<b>&</b>", "<b>&</b>"), (String(repeating: "x", count: 8), "xxxxxxxx"),
            (String(repeating: "x", count: 9), "xxxxxxx…"),
            ("e" + String(repeating: "\u{301}", count: 500), "e" + String(repeating: "\u{301}", count: 31) + "…"),
        ])
    func aNameFromTheNetworkIsOneBoundedLine(name: String, title: String) {
        var limits = CallNotifications.Limits()
        limits.name = 8
        var notifications = CallNotifications(limits: limits)
        var screen = ScreenState()
        screen.calls = [call(callA, name)]
        #expect(shown(notifications.update(screen))?.title == title)
    }

    @Test func moreCallsThanTheLimitAreCountedAndNotShown() {
        var limits = CallNotifications.Limits()
        limits.count = 1
        var notifications = CallNotifications(limits: limits)
        var screen = ScreenState()
        screen.calls = [call(callA, "a"), call(callB, "b")]
        #expect(notifications.update(screen).count == 1)
        #expect(notifications.shown.map(\.call) == [callA] && notifications.omitted == 1)
    }

    @Test func doNotDisturbSilencesWhatRings() {
        system { system in
            let app = system.app()
            app.report(callA)
            #expect(system.machine.screen.ringing?.call == callA)
            #expect(system.person(.doNotDisturb(true)) == nil)
            #expect(system.machine.screen.ringing == nil && system.machine.screen.calls.map(\.uuid) == [callA])
            #expect(system.person(.doNotDisturb(false)) == nil)
            #expect(system.machine.screen.ringing?.call == callA)
        }
    }

    private func call(_ uuid: UUIDValue, _ name: String) -> ScreenCall {
        ScreenCall(
            uuid: uuid, bundle: "org.example.one", appName: "one", name: name, isOutgoing: false, state: .ringing, isMuted: false,
            isVideo: false, group: 1, connectedAt: nil, offers: [.accept, .decline])
    }
}
