// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A session bus of the test's own, that starts nothing by itself.
struct SessionBus {
    let daemon: Subprocess
    let address: String

    init(in folder: String) async throws {
        // No service directories: the bus would start a server of its own for whoever asks too early.
        try """
        <busconfig><type>session</type><listen>unix:path=\(folder)/bus</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
        </busconfig>
        """.write(toFile: folder + "/bus.conf", atomically: true, encoding: .utf8)
        daemon = try Subprocess("/usr/bin/dbus-daemon", ["--config-file=\(folder)/bus.conf", "--nofork", "--print-address=1"])
        address = try await daemon.wait(within: 5, for: "address of the bus") { $0.hasPrefix("unix:") ? $0 : nil }
    }

    func stop() async { await daemon.stop() }
}
