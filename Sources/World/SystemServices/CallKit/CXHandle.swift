// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The address of the other end of a call, as the system sees it.
///
/// The value goes into the call history and comes back in a call-back, so it is unambiguous for the app, readable and no secret.
public class CXHandle: NSObject, NSCopying, NSSecureCoding {
    /// What kind of address the value is. There is no case zero.
    public enum HandleType: Int, Sendable {
        case generic = 1
        case phoneNumber = 2
        case emailAddress = 3
    }

    public let type: HandleType
    public let value: String

    public init(type: HandleType, value: String) {
        self.type = type
        self.value = value
    }

    public required init?(coder: NSCoder) {
        guard let type = HandleType(rawValue: coder.decodeInteger(forKey: "type")),
            let value = coder.decodeObject(of: NSString.self, forKey: "value")
        else { return nil }
        self.type = type
        self.value = value as String
    }

    public func encode(with coder: NSCoder) {
        coder.encode(type.rawValue, forKey: "type")
        coder.encode(value as NSString, forKey: "value")
    }

    public static var supportsSecureCoding: Bool { true }

    public func copy(with zone: NSZone? = nil) -> Any { CXHandle(type: type, value: value) }

    /// Whether both are of one type and one value.
    public func isEqual(to handle: CXHandle) -> Bool { type == handle.type && value == handle.value }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CXHandle).map(isEqual(to:)) ?? false }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(type)
        hasher.combine(value)
        return hasher.finalize()
    }
}
