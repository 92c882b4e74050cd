// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

/// The person at the call screen, as a test writes them. Each act is followed by every callback that it brings about.
///
/// An act that the screen does not offer throws `UserCommandRefusal`.
public struct ScriptedUser: Sendable {
    let system: CallSystem

    /// Any act, those included that have no method here.
    public func act(_ command: UserCommand) async throws {
        await system.runCallbacks()
        if let refusal = system.feed({ $0.machine.perform(command, now: $0.now) }) { throw refusal }
        await system.settle()
    }

    public func accept(_ call: UUID) async throws { try await act(.accept(UUIDValue(call))) }
    public func decline(_ call: UUID) async throws { try await act(.decline(UUIDValue(call))) }
    public func endAndAccept(_ call: UUID) async throws { try await act(.endAndAccept(UUIDValue(call))) }
    public func holdAndAccept(_ call: UUID) async throws { try await act(.holdAndAccept(UUIDValue(call))) }
    public func endHeldAndAccept(_ call: UUID) async throws { try await act(.endHeldAndAccept(UUIDValue(call))) }
    public func end(_ call: UUID) async throws { try await act(.end(UUIDValue(call))) }
    public func hold(_ call: UUID) async throws { try await act(.hold(UUIDValue(call), true)) }
    public func resume(_ call: UUID) async throws { try await act(.hold(UUIDValue(call), false)) }
    public func swap() async throws { try await act(.swap) }
    public func merge() async throws { try await act(.merge) }
    public func split(_ call: UUID) async throws { try await act(.split(UUIDValue(call))) }
    public func mute(_ call: UUID, _ isMuted: Bool = true) async throws { try await act(.mute(UUIDValue(call), isMuted)) }
    /// Presses keys of the pad one after another.
    public func press(_ keys: String, in call: UUID) async throws { try await act(.keys(UUIDValue(call), keys)) }
    public func speaker(_ isOn: Bool = true) async throws { try await act(.speaker(isOn)) }
    public func video(_ call: UUID) async throws { try await act(.video(UUIDValue(call))) }
    /// Calls back an entry of the history.
    public func redial(_ entry: HistoryEntry) async throws { try await act(.redial(entry.number)) }
    public func doNotDisturb(_ isOn: Bool = true) async throws { try await act(.doNotDisturb(isOn)) }
    /// Puts a number on the person's own block list.
    public func block(_ number: String) async throws { try await act(.block(number, true)) }

    /// A call of the mobile network comes; answers its name for the other acts.
    public func cellularCallComes(from name: String = "Mum") async throws -> UUID {
        let call = UUID()
        try await act(.cellularIncoming(UUIDValue(call), name: name))
        return call
    }

    /// The other side of a mobile call hangs up.
    public func cellularCallEnds(_ call: UUID) async throws { try await act(.cellularRemoteEnded(UUIDValue(call))) }

    /// The buttons that the screen has for that call.
    public func offers(_ call: UUID) -> [UserOffer] { system.shown(call)?.offers ?? [] }
}
