// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

/// What a push is for.
public struct PKPushType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An incoming call, and nothing else.
    public static let voIP = PKPushType(rawValue: "PKPushTypeVoIP")
    public static let complication = PKPushType(rawValue: "PKPushTypeComplication")
    public static let fileProvider = PKPushType(rawValue: "PKPushTypeFileProvider")
}

/// The address by which a push reaches this app on this device.
public class PKPushCredentials: NSObject {
    public let type: PKPushType
    /// Its length is not fixed. Its text form is two lower-case hexadecimal digits an octet, nothing else.
    public let token: Data

    init(type: PKPushType, token: Data) {
        self.type = type
        self.token = token
    }
}

/// A push as it came.
public class PKPushPayload: NSObject {
    public let type: PKPushType
    public let dictionaryPayload: [AnyHashable: Any]

    init(type: PKPushType, dictionaryPayload: [AnyHashable: Any]) {
        self.type = type
        self.dictionaryPayload = dictionaryPayload
    }
}

/// Whether the push must be reported as a call (iOS 26.4).
public final class PKVoIPPushMetadata: NSObject, Sendable {
    /// False in the foreground, during a call, and for a push that is too old.
    public let mustReport: Bool

    init(mustReport: Bool) { self.mustReport = mustReport }
}

/// Registers the app for pushes. One at every launch, held strongly, the delegate set before the types.
public class PKPushRegistry: NSObject {
    private let core: RegistryCore

    /// The delegate is called on `queue`, which is serial; nil: the main one.
    public init(queue: DispatchQueue?) {
        core = RegistryCore(link: AppLink.current, queue: queue)
        super.init()
        core.start(self)
    }

    deinit { core.released() }

    public weak var delegate: (any PKPushRegistryDelegate)? {
        get { core.delegate }
        set { core.delegate = newValue }
    }

    /// Assigning it registers.
    public var desiredPushTypes: Set<PKPushType>? {
        get { core.types }
        set { core.types = newValue }
    }

    /// The last token known; nil: none, or it was taken back.
    public func pushToken(for type: PKPushType) -> Data? { core.token(type) }
}
