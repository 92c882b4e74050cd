// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Testing

/// The call screen in words, by which a script is the person.
@Suite struct ScreenTextTests {
    private func say(_ system: TestSystem, _ line: String) -> UserCommandRefusal? {
        guard let command = ScreenText.command(line, screen: system.machine.screen, newCall: { cellular }) else {
            Issue.record("no command: \(line)")
            return nil
        }
        return system.person(command)
    }

    @Test func aScriptIsThePerson() {
        system { system in
            let app = system.app()
            #expect(ScreenText.lines(system.machine.screen) == ["no call"])
            app.report(callA, CallUpdate(localizedCallerName: "Ana\u{1b}[2J"))
            #expect(ScreenText.lines(system.machine.screen) == ["1 ringing from Ana\u{fffd}[2J (one): accept decline"])
            #expect(say(system, "accept") == nil)
            app.report(callB)
            for line in [
                "hold-and-accept", "swap", "mute", "unmute", "keys 12#", "merge", "split", "speaker on", "headset on", "resume 2", "end",
            ] {
                #expect(say(system, line) == nil, "\(line)")
            }
            #expect(
                app.performed == [
                    "answer A", "hold A", "answer B", "hold B", "unhold A", "mute A", "unmute A", "digits 1: A", "digits 2: A",
                    "digits #: A",
                    "unhold B", "group with A: B", "hold B", "ungroup A", "hold A", "unhold B", "end B",
                    "unhold A",
                ])
            #expect(say(system, "cellular Mother") == nil)
            #expect(say(system, "end-and-accept") == nil)
            #expect(say(system, "cellular-ends") == nil)
            #expect(app.calls == [])
        }
    }

    @Test(arguments: ["", "dance", "accept 7", "keys", "speaker", "redial x", "hold", "directory on"])
    func whatIsNoCommandIsNone(line: String) {
        #expect(ScreenText.command(line, screen: ScreenState(), newCall: { cellular }) == nil)
    }
}
