// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Each mistake is committed and told by its code: pushes, reports, history, region (P-68 to P-98).
@Suite struct PushPitfallTests {
    /// An app in the background that handles a push by `handler` and completes it.
    private func sleeper(_ system: TestSystem, handler: @escaping (TestApp, UInt64) -> Void) -> TestApp {
        let app = system.app(describe: { $0.isForeground = false })
        app.onMessage = { message in
            guard case .push(let number, _, _, _) = message else { return }
            handler(app, number)
            app.say(.pushHandlerReturned(number, isImplemented: true))
            app.say(.pushCompleted(number))
        }
        app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
        return app
    }

    @Test func P68_aPushWithoutAReport() {
        system(expecting: [.pushNotReported]) { system in
            _ = sleeper(system) { _, _ in }
            _ = system.push()
            system.pass(.seconds(60))
        }
    }

    @Test func P68_aHandlerThatIsNotWritten() {
        system(expecting: [.pushNotReported]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            _ = system.push()
            app.say(.pushHandlerReturned(app.pushes[0].number, isImplemented: false))
            app.say(.pushCompleted(app.pushes[0].number))
        }
    }

    @Test func P69_aReportThatIsLate() {
        system(expecting: [.pushNotReported, .pushReportedLate]) { system in
            let app = sleeper(system) { _, _ in }
            _ = system.push()
            system.pass(.seconds(1))
            app.report(callA)
        }
    }

    @Test func P70_aPushForACancel() {
        system(expecting: [.pushCancelByPush]) { system in
            _ = sleeper(system) { app, number in app.probe(.pushWasCancel(push: number)) }
            _ = system.push()
        }
    }

    @Test func P71_aPushTheAppFiltered() {
        system(expecting: [.pushFilteredByApp]) { system in
            _ = sleeper(system) { app, number in app.probe(.pushDropped(push: number, reason: "logged out")) }
            _ = system.push()
        }
    }

    @Test func P72_aPushThatIsNotCompleted() {
        system(expecting: [.pushCompletionMissing]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.onMessage = { message in
                guard case .push(let number, _, _, _) = message else { return }
                app.report(callA)
                app.say(.pushHandlerReturned(number, isImplemented: true))
            }
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            _ = system.push()
            system.pass(.seconds(31))
        }
    }

    @Test func P73_deliveryStops() {
        system({ $0.voipFailureLimit = 1 }, expecting: [.pushNotReported, .pushDeliveryStopped]) { system in
            _ = sleeper(system) { _, _ in }
            _ = system.push()
            #expect(system.push() == .stopped)
        }
    }

    @Test func P73_crashesCountAsWell() {
        system({ $0.voipFailureLimit = 1 }, expecting: [.pushDeliveryStopped]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            _ = system.push()
            app.crash()
            #expect(system.push() == .stopped)
            #expect(system.diagnostics.map(\.bundle) == ["org.example.one"])
        }
    }

    @Test func P74_oneCallUnderTwoUUIDs() {
        system(expecting: [.pushDuplicate]) { system in
            let app = sleeper(system) { app, _ in app.report(callB) }
            app.report(callA)
            app.probe(.identity(call: callA, text: "0000000a-0000-0000-0000-00000000000a"))
            _ = system.push()
        }
    }

    @Test func P75_lockedStorage() {
        system(expecting: [.pushProtectedData]) { system in
            _ = sleeper(system) { app, _ in
                app.probe(.readProtectedData(isAvailable: false))
                app.report(callA)
            }
            _ = system.push()
        }
    }

    @Test func P76_aLaunchThatTakesTooLong() {
        system(expecting: [.pushSlowLaunch]) { system in
            sleeper(system) { _, _ in }.crash()
            #expect(system.push() == .appStarted)
            system.pass(.seconds(6))
            // Nobody waits for that call any more.
            _ = sleeper(system) { app, _ in app.report(callA) }
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func P77_aReportThatWaitsForBegin() {
        system({ $0.registrationDelay = .seconds(1) }, expecting: [.pushGatedOnBegin, .pushNotReported, .pushReportedLate]) { system in
            let app = sleeper(system) { app, _ in app.probe(.waitsForBegin) }
            _ = system.push()
            system.pass(.seconds(1))
            app.report(callA)
        }
    }

    @Test func P78_aRegistryThatIsReleased() {
        system(expecting: [.pushRegistryLost]) { system in
            let app = sleeper(system) { _, _ in }
            app.say(.pushRegistryReleased)
            #expect(system.push() == .appStarted)
            #expect(system.launches == [])
        }
    }

    @Test(arguments: ["<32 bytes>", "0FA", "", "{length = 32, bytes = 0x740f4707 61bb78ad}"])
    func P79_aTokenInAnotherForm(text: String) {
        system(expecting: [.pushTokenFormat]) { system in
            let app = system.app()
            app.say(.tokenUploaded("000fa0ff"))
            app.say(.tokenUploaded(text))
        }
    }

    @Test func P84_aRefusedReportIsIgnored() {
        system(expecting: [.reportErrorIgnored]) { system in
            let app = system.app()
            system.person(.doNotDisturb(true))
            app.report(callA)
            app.probe(.signalling(call: callB, .ringing))
            app.report(callB)
            app.probe(.signalling(call: callA, .declined))
            system.pass(.seconds(3))
        }
    }

    @Test func P85_twoRingingScreens() {
        system(expecting: [.reportDoubleUI, .reportDoubleUI]) { system in
            let app = system.app()
            app.report(callA)
            app.probe(.ringing(call: callA, .screen), .ringing(call: callA, .sound))
        }
    }

    @Test func P86_aReportForAnUnknownCall() {
        system(expecting: [.reportUnknownCall, .reportUnknownCall]) { system in
            let app = system.app()
            app.ended(callA)
            app.takeCall(callB)
            app.ended(callB)
            app.ended(callB)
        }
    }

    @Test func P87_anAnswerThatIsLost() {
        system(expecting: [.answerHandlersLate]) { system in
            let app = system.app()
            app.decide = { _ in
                app.probe(.answerLost(call: callA))
                return .failed
            }
            app.takeCall(callA)
        }
    }

    @Test func P88_anAnswerPastTheSystem() {
        system(expecting: [.answerBypassed]) { system in
            let app = system.app()
            app.report(callA)
            app.probe(.signalling(call: callA, .connected))
        }
    }

    @Test func P89_anActivityNobodyHandles() {
        system(expecting: [.historyNotHandled]) { system in
            let app = system.app(configure: { $0.supportedHandleTypes = [.generic] })
            app.report(callA)
            app.ended(callA)
            system.person(.redial(system.history[0].number))
            system.pass(.seconds(11))
        }
    }

    @Test func P90_theVideoButtonStartsASecondCall() {
        system(expecting: [.outgoingSecondWithoutHold, .historyVideoConfused]) { system in
            let app = system.app(configure: { $0.supportsVideo = true })
            app.takeCall(callA)
            system.person(.video(callA))
            app.start(callB, Handle(.generic, "ana"), isVideo: true)
        }
    }

    @Test func P91_anAddressNobodyCanRead() {
        system(expecting: [.historyOpaqueHandle]) { system in
            let app = system.app()
            app.report(callA, CallUpdate(remoteHandle: Handle(.generic, callC.description)))
            app.ended(callA)
        }
    }

    @Test func P98_callKitWhereItMustBeOff() {
        system(expecting: [.regionForbidden, .regionForbidden, .regionForbidden]) { system in
            let app = system.app(describe: { $0.mayUseCallKit = false })
            #expect(app.report(callA) == 1)
            #expect(app.start(callB) == 1)
        }
    }

    @Test func aSilentServiceTellsNothingAndAStrictOneEndsTheProcess() {
        system({ $0.mode = .silent }) { system in
            let app = sleeper(system) { _, _ in }
            _ = system.push()
            #expect(app.pushes.count == 1)
        }
        system({ $0.mode = .strict }, expecting: [.pushNotReported]) { system in
            let app = sleeper(system) { _, _ in }
            _ = system.push()
            #expect(system.terminated == ["\(app.id.rawValue) push.notReported"])
        }
    }

    @Test func everyPitfallHasARowOfItsOwn() {
        #expect(Pitfall.allCases.count == 108)
        #expect(Set(Pitfall.allCases.map(\.code)).count == 108)
        for pitfall in Pitfall.allCases {
            #expect(!pitfall.advice.isEmpty && pitfall.advice.hasSuffix(".") && !pitfall.rules.isEmpty && pitfall.code.contains("."))
        }
        #expect(Pitfall.audioBeforeActivate.label == "P-50" && Pitfall.outgoingOrder.label == nil)
        let text = Diagnostic(.audioBeforeActivate, bundle: "b", call: callA, at: TestSystem.start, seen: "Seen.").description
        #expect(text == "audio.beforeActivate (P-50) [AUD-2, AUD-3] b call \(callA): Seen. Start audio in didActivate.")
    }
}
