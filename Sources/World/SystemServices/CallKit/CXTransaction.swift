// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Actions that are asked for together: all are accepted or none. They are not performed as one: each completes by itself.
public class CXTransaction: NSObject, NSCopying, NSSecureCoding {
    public let uuid: UUID
    public private(set) var actions: [CXAction]

    public override init() {
        uuid = UUID()
        actions = []
    }

    public init(actions: [CXAction]) {
        uuid = UUID()
        self.actions = actions
    }

    public convenience init(action: CXAction) { self.init(actions: [action]) }

    /// A transaction as it is delivered.
    init(uuid: UUID, actions: [CXAction]) {
        self.uuid = uuid
        self.actions = actions
    }

    public required init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "uuid"), let uuid = UUID(uuidString: text as String) else {
            return nil
        }
        let classes: [AnyClass] = [
            NSArray.self, CXAction.self, CXCallAction.self, CXStartCallAction.self, CXAnswerCallAction.self, CXEndCallAction.self,
            CXSetHeldCallAction.self, CXSetMutedCallAction.self, CXSetGroupCallAction.self, CXPlayDTMFCallAction.self,
            CXSetTranslatingCallAction.self,
        ]
        guard let actions = coder.decodeObject(of: classes, forKey: "actions") as? [CXAction] else { return nil }
        self.uuid = uuid
        self.actions = actions
    }

    public func encode(with coder: NSCoder) {
        coder.encode(uuid.uuidString as NSString, forKey: "uuid")
        coder.encode(NSArray(array: actions), forKey: "actions")
    }

    public static var supportsSecureCoding: Bool { true }

    /// Whether every action is complete; true while there are none.
    public var isComplete: Bool { actions.allSatisfy(\.isComplete) }

    public func addAction(_ action: CXAction) { actions.append(action) }

    public func copy(with zone: NSZone? = nil) -> Any {
        CXTransaction(uuid: uuid, actions: actions.map { $0.duplicate() })
    }
}
