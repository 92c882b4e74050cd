// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// Settings that cannot be used: which, and why.
public struct SecureChannelError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The authorities cannot be read.
        case authorities = "secure.authorities"
        /// The certificate cannot be read.
        case certificate = "secure.certificate"
        /// The key cannot be read, or is encrypted.
        case key = "secure.key"
        /// The key is not the certificate's.
        case mismatch = "secure.key-mismatch"
        /// The library refused what has nothing to do with settings.
        case library = "secure.library"
    }

    public var code: Code
    /// One sentence for a person.
    public var reason: String
    /// The file, or what was given in its place.
    public var context: String

    public init(_ code: Code, _ reason: String, context: String) {
        self.code = code
        self.reason = reason
        self.context = context
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}

/// OpenSSL's queue of errors of this thread.
enum LibraryErrors {
    struct Entry {
        var reason: Int32
        var words: String
    }

    static func clear() { ERR_clear_error() }

    /// Takes all errors out; the first, which is the cause of the others.
    static func take() -> Entry? {
        var first: Entry?
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return first }
            if first == nil { first = Entry(reason: openssl_error_reason(code), words: words(code)) }
        }
    }

    private static func words(_ code: UInt) -> String {
        if let text = unsafe ERR_reason_error_string(code) { return unsafe String(cString: text) }
        return openssl_error_is_system(code) != 0 ? "the system refused it" : "error \(code)"
    }
}
