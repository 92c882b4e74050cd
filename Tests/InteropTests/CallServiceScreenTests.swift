// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// `handset-callservice screen` as a script uses it.
    @Suite struct CallServiceScreenTests {
        private func screen(_ service: CallServiceProcess) async throws -> Subprocess {
            let screen = try Subprocess(CallServiceProcess.executable, ["screen", "--socket", service.socket])
            _ = try await screen.wait(within: 10, for: "no call") { $0 == "no call" ? true : nil }
            return screen
        }

        private func says(_ screen: Subprocess, _ text: String) async throws {
            _ = try await screen.wait(within: 10, for: text) { $0.hasPrefix(text) ? true : nil }
        }

        @Test func aScriptIsThePersonUntilTheServiceIsGone() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let service = try await CallServiceProcess(in: folder, ["--ring-device", "null", "--no-notifications"])
            let screen = try await screen(service)
            let other = try await self.screen(service)
            screen.write("help")
            try await says(screen, "accept, decline, end-and-accept")
            screen.write("accept \u{1b}[4~")
            try await says(screen, "no command, or none that fits a call now: accept \u{fffd}[4~")
            screen.write("cellular Ana")
            try await says(screen, "1 ringing from Ana: accept decline")
            screen.write("accept")
            try await says(screen, "1 active from Ana")
            // Who leaves ends well, and nobody else.
            other.write("quit")
            #expect(try await other.exitStatus(within: 10) == 0)
            #expect(other.errorText == "")
            await service.program.stop()
            #expect(try await screen.exitStatus(within: 10) == 1)
            #expect(screen.errorText.contains("the call service is gone"))
        }
    }
}
