// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallDirectory
import CallServiceCore
import Essentials
import Foundation

extension CallSystem {
    /// The person at the call screen.
    public var user: ScriptedUser { ScriptedUser(system: self) }

    // MARK: What is seen

    /// What the call screen shows.
    public var screen: ScreenState { state.withLock { $0.machine.screen } }

    /// Everything that the call screen has shown, oldest first.
    public var screens: [ScreenState] { state.withLock { $0.screens } }

    /// A call as the screen shows it; nil: it is not there.
    public func shown(_ call: UUID) -> ScreenCall? { screen.calls.first { $0.uuid == UUIDValue(call) } }

    /// The call history, newest last.
    public var history: [HistoryEntry] { state.withLock { $0.machine.history } }

    /// What apps did wrong, oldest first.
    public var diagnostics: [Diagnostic] { state.withLock { $0.diagnostics } }

    /// The pitfalls that were met, oldest first, and forgets them.
    @discardableResult
    public func takePitfalls() -> [Pitfall] {
        state.withLock { state in
            defer { state.diagnostics = [] }
            return state.diagnostics.map(\.pitfall)
        }
    }

    /// The calls of all apps, as an observer sees them.
    public var calls: [CallSnapshot] { state.withLock { $0.machine.snapshots } }

    /// Whether the call's microphone is muted, as the system has it.
    public func isMuted(_ call: UUID) -> Bool { state.withLock { $0.machine.isMuted(UUIDValue(call)) } }

    /// Whether both calls are in one conference.
    public func areGrouped(_ one: UUID, _ other: UUID) -> Bool {
        state.withLock { state in
            let groups = [one, other].map { state.machine.group(of: UUIDValue($0)) }
            return groups[0] != nil && groups[0] == groups[1]
        }
    }

    /// Actions that no app has completed.
    public var pendingActions: Int { state.withLock { $0.machine.pendingActions } }

    // MARK: The world around

    /// Names of people, by address.
    public func setContacts(_ contacts: [(address: String, name: String)]) { state.withLock { $0.machine.contacts = contacts } }

    /// The service's process ends and begins again: every app's providers are reset.
    public func restart() async {
        feed { $0.machine.restart(now: $0.now) }
        await settle()
    }

    /// The service's settings app: makes a call directory extension known, enabled or not. Its lists are those in `directoryFolder`, if any.
    public func installDirectory(_ identifier: String, isEnabled: Bool = true) {
        let file = DirectoryFile(path: DirectoryFile.usualPath(of: identifier, in: directoryFolder))
        state.withLock { $0.machine.setDirectory(identifier, index: file, isEnabled: isEnabled) }
        enabled(identifier, isEnabled)
    }

    private func enabled(_ identifier: String, _ isEnabled: Bool) {
        state.withLock { $0.enabledDirectories[identifier] = isEnabled }
    }

    func readDirectory(_ identifier: String) {
        let file = DirectoryFile(path: DirectoryFile.usualPath(of: identifier, in: directoryFolder))
        state.withLock { state in
            state.machine.setDirectory(identifier, index: file, isEnabled: state.enabledDirectories[identifier] ?? true)
        }
    }

    /// The lists of that extension as they are in force; nil: none were loaded.
    public func directory(_ identifier: String) -> DirectoryFile? {
        DirectoryFile(path: DirectoryFile.usualPath(of: identifier, in: directoryFolder))
    }
}

// MARK: - Push

extension CallSystem {
    /// A VoIP push for an app, which is started if it is not running. Returns at once: `settle()` lets it arrive.
    @discardableResult
    public func push(_ payload: [String: Any], to bundle: String, type: String = PushType.voIP) -> PushVerdict {
        let data = (try? JSONSerialization.data(withJSONObject: payload, options: .sortedKeys)) ?? Data()
        return push(octets: [UInt8](data), to: bundle, type: type)
    }

    /// A push whose payload may be anything.
    @discardableResult
    public func push(octets: [UInt8], to bundle: String, type: String = PushType.voIP) -> PushVerdict {
        feed { $0.machine.deliverPush(bundle: bundle, type: type, payload: octets, now: $0.now) }
    }

    /// The push network gives that app another token.
    public func changePushToken(of bundle: String, type: String = PushType.voIP) async {
        feed { $0.machine.changePushToken(bundle: bundle, type: type, now: $0.now) }
        await settle()
    }

    /// The push network takes the token back.
    public func invalidatePushToken(of bundle: String, type: String = PushType.voIP) async {
        feed { $0.machine.invalidatePushToken(bundle: bundle, type: type, now: $0.now) }
        await settle()
    }

    /// The person installs the app anew.
    public func reinstall(_ bundle: String) { state.withLock { $0.machine.reinstall(bundle: bundle) } }
}
