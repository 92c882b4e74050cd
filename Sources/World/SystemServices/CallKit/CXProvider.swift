// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

/// An app's joint with the system's call service: reports what the network does, and hands the app what the person wants.
///
/// One in a process, made early at launch, its delegate set at once, kept for the life of the process and invalidated before its release.
public class CXProvider: NSObject {
    let core: ProviderCore

    public init(configuration: CXProviderConfiguration) {
        core = ProviderCore(link: AppLink.current, configuration: configuration)
        super.init()
        core.register(self)
    }

    deinit { core.released() }

    /// The delegate is held weakly. Without a queue it is called on the main one.
    public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) { core.setDelegate(delegate, queue: queue) }

    /// Copied on set and on get: a change of the object counts when it is assigned.
    public var configuration: CXProviderConfiguration {
        get { core.configuration }
        set { core.configuration = newValue }
    }

    /// Reports a call that came in. The system shows it and rings unless the completion has an error, which is one of
    /// `CXErrorCodeIncomingCallError`; then there is no such call for the system, and the app ends its side.
    public func reportNewIncomingCall(
        with uuid: UUID, update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        core.reportIncoming(uuid, update, completion: completion)
    }

    public func reportNewIncomingCall(with uuid: UUID, update: CXCallUpdate) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            reportNewIncomingCall(with: uuid, update: update) { continuation.resume(with: $0.map { .failure($0) } ?? .success(())) }
        }
    }

    /// Reports a change of a call: only what was set in `update` counts.
    public func reportCall(with uuid: UUID, updated update: CXCallUpdate) {
        core.send { .reportUpdated($0, call: UUIDValue(uuid), update.described) }
    }

    /// Reports that a call ended by the other side or by a failure; nil: just now.
    public func reportCall(with uuid: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
        let reason = CallEndedReason(rawValue: endedReason.rawValue) ?? .failed
        core.send { .reportEnded($0, call: UUIDValue(uuid), at: dateEnded.map { WallTime($0) }, reason) }
    }

    /// Reports that the other side of an outgoing call is being reached; nil: just now.
    public func reportOutgoingCall(with uuid: UUID, startedConnectingAt dateStartedConnecting: Date?) {
        core.send { .reportStartedConnecting($0, call: UUIDValue(uuid), at: dateStartedConnecting.map { WallTime($0) }) }
    }

    /// Reports that the other side of an outgoing call answered; nil: just now.
    public func reportOutgoingCall(with uuid: UUID, connectedAt dateConnected: Date?) {
        core.send { .reportConnected($0, call: UUIDValue(uuid), at: dateConnected.map { WallTime($0) }) }
    }

    /// Ends the provider's calls as failed. The delegate is not called any more.
    public func invalidate() { core.invalidate() }

    /// The transactions that were delivered and are not complete.
    public var pendingTransactions: [CXTransaction] { core.pendingTransactions }

    /// The incomplete actions of that class on that call.
    public func pendingCallActions(of callActionClass: AnyClass, withCall callUUID: UUID) -> [CXCallAction] {
        core.pendingTransactions.flatMap(\.actions).compactMap { $0 as? CXCallAction }.filter {
            !$0.isComplete && $0.callUUID == callUUID && $0.isKind(of: callActionClass)
        }
    }

    /// Hands the payload of an ordinary push to the app as if it were a VoIP push (iOS 14.5, notification service extensions only).
    ///
    /// From any other process the completion has `missingNotificationFilteringEntitlement`, before this method returns.
    public class func reportNewIncomingVoIPPushPayload(
        _ dictionaryPayload: [AnyHashable: Any], completion: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let link = AppLink.current
        guard link.descriptor.mayFilterNotifications else {
            completion?(CXErrorCodeNotificationServiceExtensionError(.missingNotificationFilteringEntitlement))
            return
        }
        let object = Dictionary(uniqueKeysWithValues: dictionaryPayload.map { (String(describing: $0.key.base), $0.value) })
        guard JSONSerialization.isValidJSONObject(object), let data = try? JSONSerialization.data(withJSONObject: object) else {
            link.deliver(on: link.privateQueue) { completion?(CXErrorCodeNotificationServiceExtensionError(.unknown)) }
            return
        }
        link.ask({ .reportVoIPPayload($0, Octets([UInt8](data))) }) { answer in
            var error: CXErrorCodeNotificationServiceExtensionError?
            if case .voipPayloadAnswer(_, let code)? = answer {
                error = code.map { CXErrorCodeNotificationServiceExtensionError(code: $0) }
            } else {
                error = CXErrorCodeNotificationServiceExtensionError(.unknown)
            }
            link.deliver(on: link.privateQueue) { [error] in completion?(error) }
        }
    }

    public class func reportNewIncomingVoIPPushPayload(_ dictionaryPayload: [AnyHashable: Any]) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            reportNewIncomingVoIPPushPayload(dictionaryPayload) { continuation.resume(with: $0.map { .failure($0) } ?? .success(())) }
        }
    }
}
