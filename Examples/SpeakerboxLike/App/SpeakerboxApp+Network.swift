// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallProbe
import Foundation
@preconcurrency import PushKit

// What the network tells: reported to the system.

extension SpeakerboxApp: PKPushRegistryDelegate {
    public func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {
        let text = Self.text(pushCredentials.token)
        CallProbe.tokenUploaded(text)
        uploadToken?(text)
    }

    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) { uploadToken?(nil) }

    public func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping @Sendable () -> Void
    ) {
        guard type == .voIP else { return completion() }
        let content = payload.dictionaryPayload
        let call = (content["call"] as? String).flatMap { UUID(uuidString: $0) } ?? UUID()
        let from = content["from"] as? String ?? "unknown"
        let isOver = (content["expires"] as? Double).map { $0 < Date().timeIntervalSince1970 } ?? (content["call"] == nil)
        log("push \(from)")
        // First of all the report: everything else may be slow.
        report(call, from: from, isInvited: false) { _ in completion() }
        if isOver {
            calls[call] = nil
            provider.reportCall(with: call, endedAt: nil, reason: .unanswered)
            return
        }
        signalling.connect()
    }

    /// Tells the system of an incoming call; it rings there.
    func report(_ uuid: UUID, from address: String, isInvited: Bool, then: @escaping @Sendable ((any Error)?) -> Void = { _ in }) {
        if calls[uuid] == nil {
            calls[uuid] = SpeakerCall(uuid: uuid, address: address, isOutgoing: false, isInvited: isInvited)
        }
        provider.reportNewIncomingCall(with: uuid, update: update(address)) { [weak self] error in
            self?.reported(uuid, error)
            then(error)
        }
    }

    private func reported(_ uuid: UUID, _ error: (any Error)?) {
        guard let error else {
            log("ringing")
            after(limits.ringing) { app in app.ringingIsOver(uuid) }
            return
        }
        // Known already, by the other way: it stays. Anything else: there is no call.
        if (error as? CXErrorCodeIncomingCallError)?.code == .callUUIDAlreadyExists { return }
        log("not shown \((error as NSError).code)")
        if let call = calls.removeValue(forKey: uuid), call.isInvited { signalling.decline(uuid) }
    }

    private func ringingIsOver(_ uuid: UUID) {
        guard let call = calls[uuid], !call.isOutgoing, !call.isConnected, call.answer == nil else { return }
        calls[uuid] = nil
        if call.isInvited { signalling.decline(uuid) }
        log("unanswered")
        provider.reportCall(with: uuid, endedAt: nil, reason: .unanswered)
    }

    private func update(_ address: String) -> CXCallUpdate {
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: .generic, value: address)
        update.localizedCallerName = address
        update.hasVideo = false
        update.supportsHolding = true
        update.supportsDTMF = true
        update.supportsGrouping = false
        update.supportsUngrouping = false
        return update
    }

    func happened(_ event: SignallingEvent) {
        switch event {
        case .registered: log("registered")
        case .invited(let uuid, let from): invited(uuid, from)
        case .ringing(let uuid): reached(uuid)
        case .connected(let uuid): connected(uuid)
        case .ended(let uuid, let ending): ended(uuid, ending)
        }
    }

    private func invited(_ uuid: UUID, _ from: String) {
        guard let call = calls[uuid] else { return report(uuid, from: from, isInvited: true) }
        call.isInvited = true
        log("invited")
        if call.isDeclined {
            calls[uuid] = nil
            signalling.decline(uuid)
        } else if call.answer != nil {
            signalling.answer(uuid)
        }
    }

    private func reached(_ uuid: UUID) {
        guard let call = calls[uuid], call.isOutgoing, !call.isReached else { return }
        call.isReached = true
        log("reached")
        provider.reportOutgoingCall(with: uuid, startedConnectingAt: nil)
    }

    private func connected(_ uuid: UUID) {
        guard let call = calls[uuid], !call.isConnected else { return }
        call.isConnected = true
        CallProbe.mediaStarted(uuid)
        log("connected")
        if call.isOutgoing {
            // An answer may come without any ringing.
            reached(uuid)
            provider.reportOutgoingCall(with: uuid, connectedAt: nil)
            provider.reportCall(with: uuid, updated: update(call.address))
        } else {
            call.answer?.fulfill()
            call.answer = nil
        }
    }

    private func ended(_ uuid: UUID, _ ending: CallEnding) {
        // Ended here first: the system knows.
        guard calls.removeValue(forKey: uuid) != nil else { return }
        let reason: CXCallEndedReason =
            switch ending {
            case .remote: .remoteEnded
            case .unanswered: .unanswered
            case .failed: .failed
            case .answeredElsewhere: .answeredElsewhere
            case .declinedElsewhere: .declinedElsewhere
            }
        log("ended \(reason)")
        provider.reportCall(with: uuid, endedAt: nil, reason: reason)
        CallProbe.mediaStopped(uuid)
    }
}
