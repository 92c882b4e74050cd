// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// An app's process in a test.
///
/// Objects of `CallKit`, `PushKit` and `AVFAudio` belong to the app in whose `run` they were made, or whose callback made them.
public final class SimulatedApp: Sendable {
    public let id: AppID
    package let link: AppLink
    private let system: CallSystem
    private let end = Mutex<(isOver: Bool, reason: Diagnostic?)>((false, nil))

    init(id: AppID, system: CallSystem, descriptor: AppDescriptor) {
        self.id = id
        self.system = system
        link = AppLink(
            descriptor, deliveries: system.deliveries, directoryFolder: system.directoryFolder, onDiagnostic: { _ in },
            onTermination: { _ in })
    }

    /// Runs code of this app.
    public func run<Result>(_ code: () throws -> Result) rethrows -> Result { try AppLink.$local.withValue(link) { try code() } }

    /// Runs code of this app.
    public func run<Result>(_ code: () async throws -> Result) async rethrows -> Result {
        try await AppLink.$local.withValue(link) { try await code() }
    }

    /// The person brings the app to the front, or leaves it.
    public func setForeground(_ isForeground: Bool) async {
        link.send(.foreground(isForeground))
        await system.settle()
    }

    /// The process ends without a word, as by a crash.
    public func kill() async {
        die(of: nil)
        await system.settle()
    }

    /// Whether the process is gone.
    public var isTerminated: Bool { end.withLock { $0.isOver } }

    /// Why the system ended the process: in strict mode, what Apple's kills a process for.
    public var terminationReason: Diagnostic? { end.withLock { $0.reason } }

    func die(of diagnostic: Diagnostic?) {
        let isFirst = end.withLock { end in
            guard !end.isOver else { return false }
            end = (true, diagnostic)
            return true
        }
        guard isFirst else { return }
        link.abandon()
        system.forget(id)
    }
}
