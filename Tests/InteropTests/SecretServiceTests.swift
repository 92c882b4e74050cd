// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import SecretStore
import Testing

extension Interop {
    /// GNOME's keyring on a bus of the test's own.
    @Suite struct SecretServiceTests {
        @Test func aSecretIsKeptFoundReplacedAndForgotten() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let bus = try await SessionBus(in: folder)
            let address = bus.address
            let environment = [
                "DBUS_SESSION_BUS_ADDRESS": address, "HOME": folder, "XDG_DATA_HOME": folder + "/data", "XDG_RUNTIME_DIR": folder,
                "DISPLAY": "",
            ]
            try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
            let keyring = try Subprocess(
                "/usr/bin/gnome-keyring-daemon",
                ["--foreground", "--unlock", "--components=secrets", "--control-directory=\(folder)/control"],
                environment: environment)
            keyring.write("keyring-password")
            keyring.endInput()
            setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
            defer { unsetenv("DBUS_SESSION_BUS_ADDRESS") }
            let attributes: [SecretStore.Attribute] = [("application", "handset-test"), ("account", "sip:1001@example.net")]
            // The service is on the bus a moment before its collection is there.
            for _ in 0..<200 {
                if (try? SecretStore.store(Secret("draft"), label: "Handset test", attributes: attributes)) != nil { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try SecretStore.find(attributes: attributes) == Secret("draft"), "\(keyring.transcript)")
            for text in ["first-secret", "zweites Geheimnis ☎", ""] {
                try SecretStore.store(Secret(text), label: "Handset test", attributes: attributes)
                #expect(try SecretStore.find(attributes: attributes) == Secret(text))
            }
            #expect(try SecretStore.find(attributes: [("application", "handset-test"), ("account", "other")]) == nil)
            #expect(try SecretStore.forget(attributes: attributes))
            #expect(try SecretStore.find(attributes: attributes) == nil)
            #expect(try !SecretStore.forget(attributes: attributes))
            await keyring.stop()
            await bus.stop()
            #expect(throws: SecretStoreError.self) { try SecretStore.find(attributes: attributes) }
        }
    }
}
