// SPDX-License-Identifier: Apache-2.0

import AppLink
import Foundation
import Synchronization

/// What became of an action.
enum ActionResult: Sendable {
    /// Done. A date that the app gave: of the invitation, the connection or the end. The engine: of a translation.
    case fulfilled(Date?, CXTranslationEngine?)
    case failed
    /// The app wrote no method for it.
    case notImplemented
}

/// Who handed an action to the app: the provider. It hears of each completion, also of one too many.
protocol ActionHolder: AnyObject, Sendable {
    func completed(_ action: UUID, _ result: ActionResult)
    /// The app let go of the last object of an action that it never completed.
    func released(_ action: UUID)
}

/// What the objects of one delivered action share.
final class ActionState: Sendable {
    struct Content {
        var isComplete = false
        var timeoutDate: Date
        /// Part of a transaction that was asked for.
        var wasRequested = false
        weak var holder: (any ActionHolder)?
    }

    let uuid: UUID
    let content: Mutex<Content>

    init(uuid: UUID, timeoutDate: Date, isComplete: Bool = false, holder: (any ActionHolder)? = nil) {
        self.uuid = uuid
        content = Mutex(Content(isComplete: isComplete, timeoutDate: timeoutDate, holder: holder))
    }

    /// Without a holder nothing happens: nobody delivered this object.
    func finish(_ result: ActionResult) {
        let holder = content.withLock { content in
            if content.holder != nil { content.isComplete = true }
            return content.holder
        }
        holder?.completed(uuid, result)
    }
}

/// Something that is to happen to a call: the app asks for it through `CXCallController`, and does it when its provider delivers it.
///
/// A delivered action is fulfilled or failed once, from any queue, before `timeoutDate`. Its `uuid` is its own, never the call's.
open class CXAction: NSObject, NSCopying, NSSecureCoding {
    let state: ActionState

    /// How long after its making an object of this class may be completed, until it is delivered.
    class var timeLimit: TimeInterval { 5 }

    public override init() {
        state = ActionState(uuid: UUID(), timeoutDate: AppLink.current.now.addingTimeInterval(Self.timeLimit))
    }

    /// A copy of `action`: its identity and completeness, held by nobody.
    init(copying action: CXAction) {
        let content = action.state.content.withLock { ($0.isComplete, $0.timeoutDate) }
        state = ActionState(uuid: action.uuid, timeoutDate: content.1, isComplete: content.0)
    }

    /// An action as it is delivered.
    init(state: ActionState) { self.state = state }

    public required init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "uuid"), let uuid = UUID(uuidString: text as String) else {
            return nil
        }
        state = ActionState(
            uuid: uuid, timeoutDate: Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "timeoutDate")),
            isComplete: coder.decodeBool(forKey: "complete"))
    }

    deinit {
        let holder = state.content.withLock { $0.isComplete ? nil : $0.holder }
        holder?.released(state.uuid)
    }

    /// The identity of the action.
    public var uuid: UUID { state.uuid }
    /// Whether it was fulfilled or failed.
    public var isComplete: Bool { state.content.withLock { $0.isComplete } }
    /// By when a delivered action must be complete.
    public var timeoutDate: Date { state.content.withLock { $0.timeoutDate } }

    /// Says that the action was done.
    open func fulfill() { state.finish(.fulfilled(nil, nil)) }

    /// Says that the action could not be done.
    open func fail() { state.finish(.failed) }

    open func encode(with coder: NSCoder) {
        coder.encode(uuid.uuidString as NSString, forKey: "uuid")
        coder.encode(timeoutDate.timeIntervalSinceReferenceDate, forKey: "timeoutDate")
        coder.encode(isComplete, forKey: "complete")
    }

    open class var supportsSecureCoding: Bool { true }

    open func copy(with zone: NSZone? = nil) -> Any { duplicate() }

    func duplicate() -> CXAction { CXAction(copying: self) }
}

/// An action on one call.
open class CXCallAction: CXAction {
    /// The identity of the call.
    public let callUUID: UUID

    public init(call callUUID: UUID) {
        self.callUUID = callUUID
        super.init()
    }

    init(copying action: CXCallAction) {
        callUUID = action.callUUID
        super.init(copying: action)
    }

    init(call callUUID: UUID, state: ActionState) {
        self.callUUID = callUUID
        super.init(state: state)
    }

    public required init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "callUUID"), let uuid = UUID(uuidString: text as String) else {
            return nil
        }
        callUUID = uuid
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(callUUID.uuidString as NSString, forKey: "callUUID")
    }

    override func duplicate() -> CXAction { CXCallAction(copying: self) }
}
