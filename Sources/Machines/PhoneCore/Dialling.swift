// SPDX-License-Identifier: Apache-2.0

import SIP
import SIPAgent

/// How what a user dials becomes a URI.
enum Dialling {
    /// A full `sip:`, `sips:` or `tel:` URI is taken as it is; `user@host` becomes a `sip:` URI; anything else is a
    /// number or name at the account's domain. Spaces and the visual separators of RFC 3966 §5.1.1 are taken out of
    /// numbers. Any other scheme is refused, not taken for a name.
    static func target(_ dialled: String, account: AccountConfiguration?) throws(PhoneError) -> URI {
        let text = trimmed(dialled)
        guard !text.isEmpty, text.utf8.count <= 1024 else { throw PhoneError(.badTarget, "Nothing that can be called was dialled.") }
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) else {
            throw PhoneError(.badTarget, "What was dialled holds a control character.")
        }
        let lower = text.prefix(5).lowercased()
        if lower.hasPrefix("sip:") || lower.hasPrefix("sips:") || lower.hasPrefix("tel:") { return try uri(text) }
        if text.prefix(while: { $0 != "@" }).contains(":") {
            throw PhoneError(.badTarget, "“\(text)” is of a kind that cannot be called; sip:, sips: and tel: can.")
        }
        if text.contains("@") { return try uri("sip:" + text) }
        guard let account else {
            throw PhoneError(.badTarget, "A number or name needs an account; without one dial a full sip: URI.")
        }
        var target = account.addressOfRecord
        target.user = isNumber(text) ? plain(text) : text
        target.password = nil
        target.parameters = Parameters()
        target.headers = []
        if let gateway = account.gatewayDomain, isNumber(text) {
            target.host = gateway
            target.port = nil
        }
        return .sip(target)
    }

    private static func uri(_ text: String) throws(PhoneError) -> URI {
        let uri: URI
        do {
            uri = try URI(text)
        } catch {
            throw PhoneError(.badTarget, "“\(text)” is not a URI that can be called: \(error.reason)")
        }
        // A `tel:` URI without a number (RFC 3966 §3) is read as one of no known scheme.
        if case .other = uri {
            throw PhoneError(.badTarget, "“\(text)” holds no telephone number.")
        }
        return uri
    }

    /// A number without its visual separators (RFC 3966 §5.1.1).
    static func plain(_ number: String) -> String { number.filter { !" -.()/".contains($0) } }

    static func isNumber(_ text: String) -> Bool {
        var digits = 0
        for character in text.utf8 {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "/"),
                UInt8(ascii: " "), UInt8(ascii: "*"), UInt8(ascii: "#"):
                continue
            default: return false
            }
        }
        return digits > 0
    }

    private static func trimmed(_ text: String) -> String {
        var slice = text[...]
        while let first = slice.first, first.isWhitespace { slice.removeFirst() }
        while let last = slice.last, last.isWhitespace { slice.removeLast() }
        return String(slice)
    }
}
