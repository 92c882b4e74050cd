// SPDX-License-Identifier: Apache-2.0

import CDBus
import Crypto

/// Why the secret service could not do what was asked.
public struct SecretStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words, without a full stop; never holds a secret.
    public var reason: String
    public var description: String { reason }

    public init(reason: String) { self.reason = reason }
}

/// The Secret Service on the person's session bus. Every call waits: 5 s at most, or two minutes where the person is asked to unlock.
public enum SecretStore {
    /// A name and a value by which a secret is found again.
    public typealias Attribute = (name: String, value: String)

    /// The longest secret, in octets.
    public static let longest = 4096

    /// Keeps a secret; one with the same attributes is replaced.
    ///
    /// - Parameter label: what the person sees in the keyring's list.
    public static func store(_ secret: Secret, label: String, attributes: [Attribute]) throws(SecretStoreError) {
        let (status, reason) = secret.reveal { octets in
            unsafe withAttributes(attributes) { list, reason, room in
                unsafe octets.withUnsafeBytes { bytes in
                    guard let base = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1) else { return -1 }
                    return unsafe cdbus_secret_store(label, list, base, bytes.count, reason, room)
                }
            }
        }
        guard status == 0 else { throw SecretStoreError(reason: reason) }
    }

    /// The secret with these attributes; nil: there is none.
    public static func find(attributes: [Attribute]) throws(SecretStoreError) -> Secret? {
        var content = [UInt8](repeating: 0, count: longest)
        var length = content.count
        let (status, reason) = unsafe withAttributes(attributes) { list, reason, room in
            unsafe content.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe cdbus_secret_find(list, base, &length, reason, room)
            }
        }
        if status == 1 { return nil }
        guard status == 0 else { throw SecretStoreError(reason: reason) }
        return Secret(utf8: Array(content[..<min(length, content.count)]))
    }

    /// Removes the secret with these attributes; false: there was none.
    public static func forget(attributes: [Attribute]) throws(SecretStoreError) -> Bool {
        let (status, reason) = unsafe withAttributes(attributes) { list, reason, room in unsafe cdbus_secret_forget(list, reason, room) }
        guard status >= 0 else { throw SecretStoreError(reason: reason) }
        return status == 0
    }

    /// Hands the attributes as a list of C strings, and room for a reason, to `body`.
    @unsafe private static func withAttributes(
        _ attributes: [Attribute], _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafeMutablePointer<CChar>, Int) -> Int32
    ) -> (Int32, String) {
        // All texts in one array, so that one scope keeps them in place.
        var text: [CChar] = []
        var starts: [Int] = []
        for word in attributes.flatMap({ [$0.name, $0.value] }) {
            starts.append(text.count)
            text += word.utf8.map { CChar(bitPattern: $0 == 0 ? 0x20 : $0) } + [0]
        }
        text.append(0)
        var reason = [CChar](repeating: 0, count: 256)
        let status = unsafe text.withUnsafeBufferPointer { characters -> Int32 in
            guard let base = characters.baseAddress else { return -1 }
            var pointers: [UnsafePointer<CChar>?] = unsafe starts.map { unsafe base + $0 }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeBufferPointer { list in
                unsafe reason.withUnsafeMutableBufferPointer { room in
                    guard let list = list.baseAddress, let place = room.baseAddress else { return -1 }
                    return unsafe body(list, place, room.count)
                }
            }
        }
        return (status, String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}
