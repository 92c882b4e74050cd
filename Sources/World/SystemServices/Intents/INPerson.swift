// SPDX-License-Identifier: Apache-2.0

import Foundation

public enum INPersonHandleType: Int, Sendable {
    case unknown = 0
    case emailAddress = 1
    case phoneNumber = 2
}

/// How a person is reached: the value is exactly that of the call's `CXHandle`.
public class INPersonHandle: NSObject {
    public let value: String?
    public let type: INPersonHandleType

    public init(value: String?, type: INPersonHandleType) {
        self.value = value
        self.type = type
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? INPersonHandle else { return false }
        return value == other.value && type == other.type
    }

    public override var hash: Int { value.hashValue }
}

/// A person whom a call goes to.
public class INPerson: NSObject {
    public let personHandle: INPersonHandle?
    public let nameComponents: PersonNameComponents?
    public let displayName: String
    public let contactIdentifier: String?
    public let customIdentifier: String?

    /// An image has no meaning here: Apple's parameter `image` takes nil only.
    public init(
        personHandle: INPersonHandle, nameComponents: PersonNameComponents?, displayName: String?, image: Never?,
        contactIdentifier: String?, customIdentifier: String?
    ) {
        self.personHandle = personHandle
        self.nameComponents = nameComponents
        self.displayName = displayName ?? personHandle.value ?? ""
        self.contactIdentifier = contactIdentifier
        self.customIdentifier = customIdentifier
    }
}

/// An intent and how it came about.
public class INInteraction: NSObject {
    public let intent: INIntent

    public init(intent: INIntent, response: Never?) { self.intent = intent }
}

/// What the system hands to the app when the user chose an entry of the history or the video button.
///
/// Foundation on Linux has no such class, so it stands here, with as much of it as a calling app reads.
public class NSUserActivity: NSObject {
    public let activityType: String
    public var title: String?
    public var userInfo: [AnyHashable: Any]?
    /// The intent behind the activity.
    public package(set) var interaction: INInteraction?

    public init(activityType: String) { self.activityType = activityType }
}
