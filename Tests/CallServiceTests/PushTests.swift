// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// VoIP pushes: callkit §4.8.
@Suite struct PushTests {
    static let bundle = "org.example.one"

    /// An app in the background whose registry waits for pushes; `handler` is its delegate's method, and returns whether it completes.
    private func registered(_ system: TestSystem, name: String = "one", handler: @escaping (TestApp, UInt64) -> Bool) -> TestApp {
        let app = system.app(name, describe: { $0.isForeground = false })
        listen(app, handler: handler)
        app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
        return app
    }

    private func listen(_ app: TestApp, handler: @escaping (TestApp, UInt64) -> Bool) {
        app.onMessage = { message in
            guard case .push(let number, _, _, _) = message else { return }
            let completes = handler(app, number)
            app.say(.pushHandlerReturned(number, isImplemented: true))
            if completes { app.say(.pushCompleted(number)) }
        }
    }

    private func reports(_ app: TestApp, _ number: UInt64) -> Bool {
        app.report(callA)
        return true
    }

    @Test func T121_registeringGivesOneToken() {
        system { system in
            let app = registered(system, handler: reports)
            #expect(app.tokens.count == 1 && app.tokens[0].bytes.count == 32)
            #expect(system.machine.pushTokens.map(\.token) == app.tokens)
        }
    }

    @Test func T122_typesBeforeTheDelegateAreTold() {
        system(expecting: [.pushRegistryLost]) { system in
            system.app().say(.registerPush(types: [PushType.voIP], hasDelegate: false))
        }
    }

    @Test func T124_aNewTokenIsTold() {
        system { system in
            let app = registered(system, handler: reports)
            system.machine.changePushToken(bundle: Self.bundle, type: PushType.voIP, now: system.now)
            system.pump()
            #expect(app.tokens.count == 2 && app.tokens[0] != app.tokens[1])
        }
    }

    @Test func T125_anInvalidTokenIsTold() {
        system { system in
            let app = registered(system, handler: reports)
            system.machine.invalidatePushToken(bundle: Self.bundle, type: PushType.voIP, now: system.now)
            system.pump()
            #expect(app.events.last == "token invalid")
            #expect(system.push() == .unregistered)
        }
    }

    @Test func T126_aReportInTheHandlerIsInTime() {
        system { system in
            _ = registered(system, handler: reports)
            #expect(system.push() == .delivered)
            #expect(system.state(callA) == .ringing)
            system.pass(.seconds(60))
        }
    }

    @Test func T127_aReportAfterTheHandlerIsLate() {
        system({ $0.mode = .strict }, expecting: [.pushNotReported, .pushReportedLate]) { system in
            let app = registered(system, handler: { _, _ in true })
            _ = system.push()
            #expect(system.terminated == ["\(app.id.rawValue) push.notReported"])
            system.pass(.seconds(1))
            app.report(callA)
        }
    }

    @Test func T128_aPushWithoutAReportIsTold() {
        system({ $0.mode = .strict }, expecting: [.pushNotReported]) { system in
            _ = registered(system, handler: { _, _ in true })
            _ = system.push()
            #expect(system.terminated.count == 1)
            system.pass(.seconds(8))
        }
    }

    @Test func T128_aHandlerThatDoesNotReturnIsCheckedAfterSevenSeconds() {
        system(expecting: [.pushNotReported]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            _ = system.push()
            system.pass(.seconds(6))
            #expect(system.diagnostics == [])
            system.pass(.seconds(2))
            app.say(.pushHandlerReturned(app.pushes[0].number, isImplemented: true))
            app.say(.pushCompleted(app.pushes[0].number))
        }
    }

    @Test func T129_theForegroundAndALiveCallAreExempt() {
        system { system in
            let app = registered(system, handler: { _, _ in true })
            app.say(.foreground(true))
            _ = system.push()
            app.say(.foreground(false))
            app.takeCall(callA)
            _ = system.push()
            #expect(app.pushes.map(\.mustReport) == [false, false])
        }
    }

    @Test func T130_afterThreeFailuresDeliveryStops() {
        let failures = [Pitfall.pushNotReported, .pushNotReported, .pushNotReported, .pushDeliveryStopped]
        system({ $0.voipFailureLimit = 3 }, expecting: failures) { system in
            let app = registered(system, handler: { _, _ in true })
            for _ in 0..<3 { #expect(system.push() == .delivered) }
            #expect(system.push() == .stopped)
            #expect(app.pushes.count == 3)
            system.machine.reinstall(bundle: Self.bundle)
            listen(app, handler: reports)
            #expect(system.push() == .delivered)
        }
    }

    @Test func T131_aRefusedReportCountsAndTheCompletionIsStillDue() {
        for completes in [true, false] {
            system(expecting: completes ? [] : [.pushCompletionMissing]) { system in
                _ = registered(
                    system,
                    handler: { app, _ in
                        #expect(app.report(callA) == 3)
                        return completes
                    })
                system.person(.doNotDisturb(true))
                _ = system.push()
                system.pass(.seconds(40))
            }
        }
    }

    @Test func T132_aCallThatIsOverIsReportedAndEnded() {
        system { system in
            _ = registered(
                system,
                handler: { app, _ in
                    app.report(callA)
                    app.ended(callA)
                    return true
                })
            _ = system.push()
            #expect(system.machine.screen.calls == [])
            #expect(system.history.map(\.outcome) == [.missed])
            system.pass(.seconds(40))
        }
    }

    @Test func T133_aPayloadThatMakesNoSenseIsReportedAndEnded() {
        system { system in
            _ = registered(
                system,
                handler: { app, _ in
                    app.report(callA, CallUpdate(localizedCallerName: "Unknown"))
                    app.ended(callA, .failed)
                    return true
                })
            #expect(system.push(Self.bundle, "{") == .badPayload)
            #expect(system.push(Self.bundle, "[1]") == .badPayload)
            #expect(system.push(Self.bundle, #"{"call":17,"x":{"y":[null,true,-1.5e3,"\u00e9\n"]}}"#) == .delivered)
            #expect(system.history.map(\.name) == ["Unknown"])
        }
    }

    @Test func T134_onePushAndOneConnectionAreOneCall() {
        for pushComesFirst in [true, false] {
            system { system in
                let app = registered(system, handler: reports)
                if pushComesFirst { _ = system.push() }
                #expect(app.report(callA) == (pushComesFirst ? 2 : nil))
                if !pushComesFirst { _ = system.push() }
                #expect(app.calls.count == 1)
            }
        }
    }

    @Test func T135_aLatePushIsReportedAndEndedAsUnanswered() {
        system { system in
            _ = registered(
                system,
                handler: { app, _ in
                    app.report(callA)
                    app.ended(callA, .unanswered)
                    return true
                })
            system.pass(.seconds(30))
            _ = system.push()
            #expect(system.history.map(\.reason) == [.unanswered])
        }
    }

    @Test func T136_aSleepingAppIsStartedAndReportsWithoutStorage() {
        system { system in
            registered(system, handler: reports).crash()
            system.onLaunch = { _ in
                _ = self.registered(
                    system,
                    handler: { app, _ in
                        app.probe(.readProtectedData(isAvailable: true))
                        return self.reports(app, 0)
                    })
            }
            #expect(system.push() == .appStarted)
            #expect(system.launches == [Self.bundle])
            #expect(system.state(callA) == .ringing)
            system.pass(.seconds(40))
        }
    }

    @Test func T137_aSlowLaunchIsTold() {
        system(expecting: [.pushSlowLaunch]) { system in
            registered(system, handler: reports).crash()
            #expect(system.push() == .appStarted)
            let app = system.app("one", describe: { $0.isForeground = false })
            system.pass(.seconds(6))
            listen(app, handler: reports)
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            #expect(system.state(callA) == .ringing)
        }
    }

    @Test func theBudgetOfOneLaunchDoesNotEndTheNext() {
        system { system in
            registered(system, handler: reports).crash()
            #expect(system.push() == .appStarted)
            let first = registered(system, handler: reports)
            #expect(system.state(callA) == .ringing)
            first.crash()
            system.pass(.seconds(4))
            #expect(system.push() == .appStarted)
            system.pass(.seconds(2))
            _ = registered(
                system,
                handler: { app, _ in
                    app.report(callB)
                    return true
                })
            #expect(system.state(callB) == .ringing)
        }
    }

    @Test func T139_aCompletionThatIsNotCalledIsTold() {
        system(expecting: [.pushCompletionMissing]) { system in
            _ = registered(
                system,
                handler: { app, _ in
                    app.report(callA)
                    return false
                })
            _ = system.push()
            system.pass(.seconds(29))
            #expect(system.diagnostics == [])
            system.pass(.seconds(2))
        }
    }

    @Test func T140_reportingTheKnownCallAgainCounts() {
        system { system in
            let app = registered(
                system,
                handler: { app, _ in
                    #expect(app.report(callA) == 2)
                    return true
                })
            app.report(callA)
            _ = system.push(Self.bundle, #"{"call":"x"}"#)
            system.pass(.seconds(10))
        }
    }

    @Test func T151_anAppThatDidNotRegisterGetsNoPush() {
        system { system in
            _ = system.app()
            #expect(system.push() == .unregistered)
            #expect(system.machine.counters[.pushesRefused] == 1)
        }
    }

    @Test func T193_theNotificationExtensionsRoute() {
        system { system in
            let app = registered(system, handler: reports)
            #expect(app.voipPayload(#"{"call":"x"}"#) == 2)
            let ordinary = system.app("one.plain")
            #expect(ordinary.voipPayload(#"{"call":"x"}"#) == 2)
            let service = system.app("one.service", describe: { $0.mayFilterNotifications = true }, makesProvider: false)
            #expect(service.voipPayload(#"{"call":"x"}"#) == nil)
            #expect(system.state(callA) == .ringing)
            let stranger = system.app("stranger", describe: { $0.mayFilterNotifications = true }, makesProvider: false)
            #expect(stranger.voipPayload(#"{"call":"x"}"#) == 1)
        }
    }

    @Test func T194_aVoIPPushIsForACall() {
        system { system in
            _ = registered(system, handler: reports)
            #expect(system.push(Self.bundle, #"{"aps":{"content-available":1}}"#) == .notACall)
            #expect(system.push(Self.bundle, "{\"call\":\"" + String(repeating: "x", count: 5120) + "\"}") == .payloadTooLarge)
        }
    }
}
