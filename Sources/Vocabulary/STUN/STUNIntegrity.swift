// SPDX-License-Identifier: Apache-2.0

import Crypto

/// What two sides share so that a message can be trusted (RFC 8489 §9).
public enum STUNCredential: Sendable, Hashable {
    /// A password for one use, agreed by other means, as ICE does (§9.1).
    case shortTerm(password: Secret)
    /// An account at a server (§9.2). User and realm are taken as they are: who has other than ASCII prepares them before (RFC 8265).
    case longTerm(username: String, realm: String, password: Secret)

    /// The key of MESSAGE-INTEGRITY (§9.1.1, §9.2.2).
    public func key(_ cryptography: any Cryptography) -> Secret {
        switch self {
        case .shortTerm(let password): password
        case .longTerm(let username, let realm, let password):
            password.reveal { octets in
                Secret(utf8: cryptography.hash(.md5, Array("\(username):\(realm):".utf8) + octets))
            }
        }
    }
}

extension STUNMessage {
    /// Whether the message carries MESSAGE-INTEGRITY made with that key (§14.5).
    public func isAuthentic(_ key: Secret, _ cryptography: any Cryptography) -> Bool {
        guard let offset = integrityOffset, let code = value(.messageIntegrity) else { return false }
        // The length is that of a message which ends with MESSAGE-INTEGRITY.
        var signed = Array(bytes[..<offset])
        let length = UInt16(truncatingIfNeeded: offset + 24 - Self.headerOctets)
        signed[2] = UInt8(truncatingIfNeeded: length >> 8)
        signed[3] = UInt8(truncatingIfNeeded: length)
        return isEqualInConstantTime(cryptography.hmac(.sha1, key: key, signed), code)
    }
}
