// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Begin an outgoing call. It is fulfilled when the invitation is on its way, not when the other side answers.
open class CXStartCallAction: CXCallAction {
    private var target: CXHandle
    public var contactIdentifier: String?
    public var isVideo = false

    public var handle: CXHandle {
        get { target }
        set { target = CXHandle(type: newValue.type, value: newValue.value) }
    }

    override class var timeLimit: TimeInterval { 600 }

    public init(call callUUID: UUID, handle: CXHandle) {
        target = handle
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, handle: CXHandle, state: ActionState) {
        target = handle
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXStartCallAction) {
        target = action.target
        contactIdentifier = action.contactIdentifier
        isVideo = action.isVideo
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        guard let handle = coder.decodeObject(of: CXHandle.self, forKey: "handle") else { return nil }
        target = handle
        contactIdentifier = coder.decodeObject(of: NSString.self, forKey: "contactIdentifier") as String?
        isVideo = coder.decodeBool(forKey: "video")
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(target, forKey: "handle")
        if let contactIdentifier { coder.encode(contactIdentifier as NSString, forKey: "contactIdentifier") }
        coder.encode(isVideo, forKey: "video")
    }

    /// Done; the invitation went out at `dateStarted`.
    open func fulfill(withDateStarted dateStarted: Date) { state.finish(.fulfilled(dateStarted, nil)) }

    override func duplicate() -> CXAction { CXStartCallAction(copying: self) }
}

/// Answer a ringing call. It may be held unfulfilled while the signalling connects.
open class CXAnswerCallAction: CXCallAction {
    override class var timeLimit: TimeInterval { 60 }

    public override init(call callUUID: UUID) { super.init(call: callUUID) }
    override init(call callUUID: UUID, state: ActionState) { super.init(call: callUUID, state: state) }
    private init(copy action: CXAnswerCallAction) { super.init(copying: action) }
    public required init?(coder: NSCoder) { super.init(coder: coder) }

    /// Done; both ends could talk from `dateConnected` on.
    open func fulfill(withDateConnected dateConnected: Date) { state.finish(.fulfilled(dateConnected, nil)) }

    override func duplicate() -> CXAction { CXAnswerCallAction(copy: self) }
}

/// End a call, or decline it while it rings.
open class CXEndCallAction: CXCallAction {
    public override init(call callUUID: UUID) { super.init(call: callUUID) }
    override init(call callUUID: UUID, state: ActionState) { super.init(call: callUUID, state: state) }
    private init(copy action: CXEndCallAction) { super.init(copying: action) }
    public required init?(coder: NSCoder) { super.init(coder: coder) }

    /// Done; the call ended at `dateEnded`.
    open func fulfill(withDateEnded dateEnded: Date) { state.finish(.fulfilled(dateEnded, nil)) }

    override func duplicate() -> CXAction { CXEndCallAction(copy: self) }
}

/// Put a call on hold, or resume it.
open class CXSetHeldCallAction: CXCallAction {
    public var isOnHold: Bool

    public init(call callUUID: UUID, onHold: Bool) {
        isOnHold = onHold
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, onHold: Bool, state: ActionState) {
        isOnHold = onHold
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXSetHeldCallAction) {
        isOnHold = action.isOnHold
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        isOnHold = coder.decodeBool(forKey: "onHold")
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(isOnHold, forKey: "onHold")
    }

    override func duplicate() -> CXAction { CXSetHeldCallAction(copying: self) }
}

/// Silence the user's microphone for a call, or let it be heard again.
open class CXSetMutedCallAction: CXCallAction {
    public var isMuted: Bool

    public init(call callUUID: UUID, muted: Bool) {
        isMuted = muted
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, muted: Bool, state: ActionState) {
        isMuted = muted
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXSetMutedCallAction) {
        isMuted = action.isMuted
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        isMuted = coder.decodeBool(forKey: "muted")
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(isMuted, forKey: "muted")
    }

    override func duplicate() -> CXAction { CXSetMutedCallAction(copying: self) }
}

/// Join the group of another call, or leave the group.
open class CXSetGroupCallAction: CXCallAction {
    /// The call whose group is joined; nil: leave the group.
    public var callUUIDToGroupWith: UUID?

    public init(call callUUID: UUID, callUUIDToGroupWith: UUID?) {
        self.callUUIDToGroupWith = callUUIDToGroupWith
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, callUUIDToGroupWith: UUID?, state: ActionState) {
        self.callUUIDToGroupWith = callUUIDToGroupWith
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXSetGroupCallAction) {
        callUUIDToGroupWith = action.callUUIDToGroupWith
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        callUUIDToGroupWith = coder.decodeObject(of: NSString.self, forKey: "groupWith").flatMap { UUID(uuidString: $0 as String) }
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        if let callUUIDToGroupWith { coder.encode(callUUIDToGroupWith.uuidString as NSString, forKey: "groupWith") }
    }

    override func duplicate() -> CXAction { CXSetGroupCallAction(copying: self) }
}

/// Send digits.
open class CXPlayDTMFCallAction: CXCallAction {
    /// There is no case zero.
    public enum ActionType: Int, Sendable {
        /// A key on the pad.
        case singleTone = 1
        /// Digits after a comma.
        case softPause = 2
        /// Digits after a semicolon, sent when the user agrees.
        case hardPause = 3
    }

    public var digits: String
    public var type: ActionType

    public init(call callUUID: UUID, digits: String, type: ActionType) {
        self.digits = digits
        self.type = type
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, digits: String, type: ActionType, state: ActionState) {
        self.digits = digits
        self.type = type
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXPlayDTMFCallAction) {
        digits = action.digits
        type = action.type
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        guard let digits = coder.decodeObject(of: NSString.self, forKey: "digits"),
            let type = ActionType(rawValue: coder.decodeInteger(forKey: "type"))
        else { return nil }
        self.digits = digits as String
        self.type = type
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(digits as NSString, forKey: "digits")
        coder.encode(type.rawValue, forKey: "type")
    }

    override func duplicate() -> CXAction { CXPlayDTMFCallAction(copying: self) }
}

/// Who translates a call (iOS 26).
public enum CXTranslationEngine: Int, Sendable {
    case `default` = 0
    case custom = 1
}

/// Begin or stop to translate a connected call (iOS 26).
public final class CXSetTranslatingCallAction: CXCallAction, @unchecked Sendable {
    public let isTranslating: Bool
    public let localLanguage: String
    public let remoteLanguage: String

    public init(call callUUID: UUID, isTranslating: Bool, localLanguage: String, remoteLanguage: String) {
        self.isTranslating = isTranslating
        self.localLanguage = localLanguage
        self.remoteLanguage = remoteLanguage
        super.init(call: callUUID)
    }

    init(call callUUID: UUID, isTranslating: Bool, localLanguage: String, remoteLanguage: String, state: ActionState) {
        self.isTranslating = isTranslating
        self.localLanguage = localLanguage
        self.remoteLanguage = remoteLanguage
        super.init(call: callUUID, state: state)
    }

    private init(copying action: CXSetTranslatingCallAction) {
        isTranslating = action.isTranslating
        localLanguage = action.localLanguage
        remoteLanguage = action.remoteLanguage
        super.init(copying: action)
    }

    public required init?(coder: NSCoder) {
        guard let local = coder.decodeObject(of: NSString.self, forKey: "localLanguage"),
            let remote = coder.decodeObject(of: NSString.self, forKey: "remoteLanguage")
        else { return nil }
        isTranslating = coder.decodeBool(forKey: "translating")
        localLanguage = local as String
        remoteLanguage = remote as String
        super.init(coder: coder)
    }

    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(isTranslating, forKey: "translating")
        coder.encode(localLanguage as NSString, forKey: "localLanguage")
        coder.encode(remoteLanguage as NSString, forKey: "remoteLanguage")
    }

    /// Done, by `engine`.
    public func fulfill(using engine: CXTranslationEngine) { state.finish(.fulfilled(nil, engine)) }

    override func duplicate() -> CXAction { CXSetTranslatingCallAction(copying: self) }
}
