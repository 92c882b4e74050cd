// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

// Apple's objects and the values that go to the service, both ways.

extension CXHandle {
    var described: Handle { Handle(Handle.Kind(rawValue: type.rawValue) ?? .generic, value) }

    convenience init(_ handle: Handle) { self.init(type: HandleType(rawValue: handle.kind.rawValue) ?? .generic, value: handle.value) }
}

extension CXCallUpdate {
    var described: CallUpdate {
        CallUpdate(
            remoteHandle: (changes.remoteHandle ?? nil)?.described, localizedCallerName: changes.localizedCallerName ?? nil,
            supportsHolding: changes.supportsHolding, supportsGrouping: changes.supportsGrouping,
            supportsUngrouping: changes.supportsUngrouping, supportsDTMF: changes.supportsDTMF, hasVideo: changes.hasVideo)
    }
}

extension CXCall {
    convenience init(_ call: CallSnapshot) {
        self.init(
            uuid: UUID(call.uuid), isOutgoing: call.isOutgoing, isOnHold: call.isOnHold, hasConnected: call.hasConnected,
            hasEnded: call.hasEnded)
    }
}

extension CXProviderConfiguration {
    var described: ProviderConfiguration {
        var described = ProviderConfiguration()
        described.ringtoneSound = ringtoneSound
        described.ringtonePath = ringtoneSound.flatMap(Self.resource)
        described.iconTemplateImage = iconTemplateImageData.map { Octets([UInt8]($0)) }
        described.maximumCallGroups = maximumCallGroups
        described.maximumCallsPerCallGroup = maximumCallsPerCallGroup
        described.includesCallsInRecents = includesCallsInRecents
        described.supportsVideo = supportsVideo
        described.supportedHandleTypes = supportedHandleTypes.map(\.rawValue).sorted().compactMap(Handle.Kind.init)
        described.supportsAudioTranslation = supportsAudioTranslation
        return described
    }

    /// Where the app's resources hold that file. `HANDSET_RESOURCES` names their folder for a program without a bundle.
    private static func resource(_ name: String) -> String? {
        let folders = [ProcessInfo.processInfo.environment["HANDSET_RESOURCES"], Bundle.main.resourcePath].compactMap { $0 }
        return folders.map { $0 + "/" + name }.first { FileManager.default.isReadableFile(atPath: $0) }
    }
}

extension CXAction {
    var described: ActionDescription {
        let call = (self as? CXCallAction)?.callUUID
        var described = ActionDescription(
            uuid: UUIDValue(uuid), call: call.map { UUIDValue($0) } ?? UUIDValue(high: 0, low: 0), kind: describedKind,
            timeoutDate: WallTime(timeoutDate))
        described.isSpent = state.content.withLock { content in
            defer { content.wasRequested = true }
            return content.isComplete || content.wasRequested || content.holder != nil
        }
        return described
    }

    private var describedKind: ActionKind {
        switch self {
        case let action as CXStartCallAction:
            .start(handle: action.handle.described, contactIdentifier: action.contactIdentifier, isVideo: action.isVideo)
        case is CXAnswerCallAction: .answer
        case is CXEndCallAction: .end
        case let action as CXSetHeldCallAction: .setHeld(action.isOnHold)
        case let action as CXSetMutedCallAction: .setMuted(action.isMuted)
        case let action as CXSetGroupCallAction: .setGroup(with: action.callUUIDToGroupWith.map { UUIDValue($0) })
        case let action as CXPlayDTMFCallAction:
            .playDTMF(digits: action.digits, type: ActionKind.ToneType(rawValue: action.type.rawValue) ?? .singleTone)
        case let action as CXSetTranslatingCallAction:
            .setTranslating(action.isTranslating, localLanguage: action.localLanguage, remoteLanguage: action.remoteLanguage)
        default: .bare
        }
    }

    /// The object for an action that the service delivers; `state` is what its objects share.
    static func delivered(_ described: ActionDescription, state: ActionState) -> CXAction {
        let call = UUID(described.call)
        switch described.kind {
        case .start(let handle, let contact, let isVideo):
            let action = CXStartCallAction(call: call, handle: CXHandle(handle), state: state)
            action.contactIdentifier = contact
            action.isVideo = isVideo
            return action
        case .answer: return CXAnswerCallAction(call: call, state: state)
        case .end: return CXEndCallAction(call: call, state: state)
        case .setHeld(let isOnHold): return CXSetHeldCallAction(call: call, onHold: isOnHold, state: state)
        case .setMuted(let isMuted): return CXSetMutedCallAction(call: call, muted: isMuted, state: state)
        case .setGroup(let other):
            return CXSetGroupCallAction(call: call, callUUIDToGroupWith: other.map { UUID($0) }, state: state)
        case .playDTMF(let digits, let type):
            let type = CXPlayDTMFCallAction.ActionType(rawValue: type.rawValue) ?? .singleTone
            return CXPlayDTMFCallAction(call: call, digits: digits, type: type, state: state)
        case .setTranslating(let isTranslating, let local, let remote):
            return CXSetTranslatingCallAction(
                call: call, isTranslating: isTranslating, localLanguage: local, remoteLanguage: remote, state: state)
        case .bare: return CXCallAction(call: call, state: state)
        }
    }
}

extension CXTransaction {
    var described: TransactionDescription { TransactionDescription(uuid: UUIDValue(uuid), actions: actions.map(\.described)) }
}

extension ActionResult {
    var outcome: ActionOutcome {
        switch self {
        case .fulfilled(let date, let engine): .fulfilled(at: date.map { WallTime($0) }, engine: engine?.rawValue)
        case .failed, .notImplemented: .failed
        }
    }
}
