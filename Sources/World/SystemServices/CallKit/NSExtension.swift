// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a host runs an app extension in. Foundation on Linux has none, so it stands here with what calling code sees of it.
open class NSExtensionContext: NSObject {
    /// Items that the host hands in: none for a call directory.
    open var inputItems: [Any] { [] }
}

/// An object that answers a host's request.
public protocol NSExtensionRequestHandling: NSObjectProtocol {
    func beginRequest(with context: NSExtensionContext)
}
