// SPDX-License-Identifier: Apache-2.0

/// A password, key or token: a text that no log, print, dump or debugger summary shows.
///
/// The content is reached only through `reveal`, so that a search for that word finds every use.
public struct Secret: Sendable, Hashable {
    private let content: [UInt8]

    public init(_ text: String) { content = Array(text.utf8) }

    public init(utf8 bytes: [UInt8]) { content = bytes }

    public var isEmpty: Bool { content.isEmpty }

    /// Hands the octets to `body`.
    public func reveal<Result>(_ body: ([UInt8]) -> Result) -> Result { body(content) }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
