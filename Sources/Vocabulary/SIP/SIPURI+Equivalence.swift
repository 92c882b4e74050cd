// SPDX-License-Identifier: Apache-2.0
//
// When two URIs are the same (RFC 3261 §19.1.4).

extension SIPURI {
    /// Equivalence by RFC 3261 §19.1.4: user and password with case, the rest without; `user`, `ttl`, `method`,
    /// `maddr` and `transport` must be in both or neither; other parameters count only where both have them.
    public func isEquivalent(to other: SIPURI) -> Bool {
        guard matchesBinding(other), isSecure == other.isSecure else { return false }
        guard Self.normalized(escapedPassword) == Self.normalized(other.escapedPassword) else { return false }
        for parameter in parameters {
            if let theirs = other.parameters.items.first(where: { $0.hasSameName(as: parameter) }) {
                // A name that wrongly stands twice means its first value, on both sides: a URI equals itself.
                guard parameters[parameter.name]?.asciiLowercased == theirs.value?.asciiLowercased else { return false }
            } else if parameter.mustMatch {
                return false
            }
        }
        for parameter in other.parameters where parameter.mustMatch && !parameters.contains(parameter.name) { return false }
        guard headers.count == other.headers.count else { return false }
        var rest = other.headers
        for header in headers {
            guard
                let index = rest.firstIndex(where: {
                    $0.value == header.value && $0.name.asciiLowercased == header.name.asciiLowercased
                })
            else { return false }
            rest.remove(at: index)
        }
        return true
    }

    /// Same user, host and port: enough to find our own binding among the Contacts of a registrar's answer
    /// (RFC 3261 §10.2.4), whatever parameters it added.
    public func matchesBinding(_ other: SIPURI) -> Bool {
        host == other.host && port == other.port && Self.normalized(escapedUser) == Self.normalized(other.escapedUser)
    }

    /// Escapes of unreserved characters resolved, the others in upper case: then octets can be compared.
    private static func normalized(_ text: String?) -> String? {
        guard let text, text.utf8.contains(0x25) else { return text }
        var out: [UInt8] = []
        let bytes = Array(text.utf8)
        var i = 0
        while i < bytes.count {
            guard bytes[i] == 0x25, i + 2 < bytes.count else {
                out.append(bytes[i])
                i += 1
                continue
            }
            let escape = Array(bytes[i...(i + 2)])
            let octet = Text.unescaped(escape).utf8.first ?? 0
            let isUnreserved = CharacterClass.password.has(octet) && !"&=+$,".utf8.contains(octet)
            out += isUnreserved ? [octet] : escape.map { $0 &- 0x61 < 26 ? $0 & ~0x20 : $0 }
            i += 3
        }
        return String(decoding: out, as: UTF8.self)
    }
}

extension Parameter {
    fileprivate func hasSameName(as other: Parameter) -> Bool { name.asciiLowercased == other.name.asciiLowercased }

    fileprivate var mustMatch: Bool { ["user", "ttl", "method", "maddr", "transport"].contains(name.asciiLowercased) }
}
