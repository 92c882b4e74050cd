// SPDX-License-Identifier: Apache-2.0
//
// What a trace must not show: whatever lets its reader act as the user, guess the password off-line, or decrypt the media.

/// Masks secrets in the text of a SIP message.
package enum SecretMask {
    package static let mask = "***"

    /// Parameters of the authentication header fields that can be used or attacked (RFC 7616 §3.4, RFC 8760).
    private static let digestParameters = ["response", "rspauth", "cnonce", "nextnonce", "auts"]
    private static let authenticationFields = [
        "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info",
    ]
    /// Fields whose whole value is a credential.
    private static let wholeFields = ["cookie", "set-cookie", "x-api-key", "identity-key"]
    /// Parameters of URIs and contacts that are push tokens (RFC 8599) or SDES-like keys.
    private static let tokenParameters = ["pn-prid", "pn-param", "password", "access_token"]

    /// `message` with every secret replaced; line ends and everything else stay.
    package static func masked(_ message: String) -> String {
        var result = ""
        result.reserveCapacity(message.utf8.count)
        var field = ""
        for line in lines(of: message) {
            let content = line.content
            // A folded line (RFC 3261 §7.3.1) belongs to the field above it.
            if !(content.utf8.first == 0x20 || content.utf8.first == 0x09) {
                field =
                    content.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).first.map { trimmed($0).lowercased() }
                    ?? ""
            }
            result += maskedLine(content, field: field)
            result += line.end
        }
        return result
    }

    private static func lines(of text: String) -> [(content: Substring, end: Substring)] {
        var result: [(Substring, Substring)] = []
        let scalars = text.unicodeScalars
        var start = scalars.startIndex
        while start < scalars.endIndex {
            let end = scalars[start...].firstIndex { $0 == "\r" || $0 == "\n" } ?? scalars.endIndex
            var next = end
            while next < scalars.endIndex, scalars[next] == "\r" || scalars[next] == "\n" { next = scalars.index(after: next) }
            result.append((Substring(scalars[start..<end]), Substring(scalars[end..<next])))
            start = next
        }
        return result
    }

    private static func maskedLine(_ line: Substring, field: String) -> String {
        if authenticationFields.contains(field) { return maskedAuthentication(line) }
        if wholeFields.contains(field), let colon = line.firstIndex(of: ":") { return line[...colon] + " " + mask }
        if line.hasPrefix("a=crypto:"), let inline = range(of: "inline:", in: line) { return line[..<inline.upperBound] + mask }
        if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:" + mask }
        if line.hasPrefix("k=") { return "k=" + mask }
        return maskedParameters(tokenParameters, in: maskedUserInfo(String(line)))
    }

    /// Digest: its dangerous parameters. Any other scheme: all after its name.
    private static func maskedAuthentication(_ line: Substring) -> String {
        let start = line.firstIndex(of: ":").map { line.index(after: $0) } ?? line.startIndex
        let value = trimmed(line[start...])
        let scheme = value.prefix { $0 != " " && $0 != "\t" }.lowercased()
        if scheme == "bearer" || scheme == "basic", let found = range(of: String(value.prefix(scheme.count)), in: line) {
            return line[..<found.upperBound] + " " + mask
        }
        return maskedParameters(digestParameters, in: String(line))
    }

    /// The password of `sip:user:password@host`, which RFC 3261 §19.1.1 allows and advises against.
    private static func maskedUserInfo(_ line: String) -> String {
        var result = ""
        var rest = Substring(line)
        while let scheme = range(of: "sip:", in: rest) ?? range(of: "sips:", in: rest) {
            result += rest[..<scheme.upperBound]
            rest = rest[scheme.upperBound...]
            let user = rest.prefix { !"@>;, \t\"<?".contains($0) }
            guard rest[user.endIndex...].first == "@", let colon = user.firstIndex(of: ":") else { continue }
            result += user[...colon] + mask
            rest = rest[user.endIndex...]
        }
        return result + rest
    }

    private static func maskedParameters(_ names: [String], in line: String) -> String {
        var text = line
        for name in names {
            var rest = Substring(text)
            var result = ""
            while let found = range(of: name, in: rest) {
                let before = rest[..<found.lowerBound].last
                var after = rest[found.upperBound...]
                result += rest[..<found.upperBound]
                after = skipped(after, into: &result)
                guard before.map({ !isTokenCharacter($0) }) ?? true, after.first == "=" else {
                    rest = after
                    continue
                }
                result += "="
                after = skipped(after.dropFirst(), into: &result)
                (rest, result) = (valueSkipped(after), result + mask)
            }
            text = result + rest
        }
        return text
    }

    private static func skipped(_ text: Substring, into result: inout String) -> Substring {
        let blank = text.prefix { $0 == " " || $0 == "\t" }
        result += blank
        return text[blank.endIndex...]
    }

    /// What comes after a token or a quoted string.
    private static func valueSkipped(_ text: Substring) -> Substring {
        guard text.first == "\"" else { return text.drop { isTokenCharacter($0) || "/+=:".contains($0) } }
        var rest = text.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\" { rest = rest.dropFirst() }
        }
        return rest
    }

    private static func isTokenCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-.!%*_+`'~".contains(character))
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }

    /// The first place of `word`, which is ASCII, upper and lower case alike.
    private static func range(of word: String, in text: Substring) -> Range<Substring.Index>? {
        let wanted = Array(word.lowercased().utf8)
        let utf8 = text.utf8
        var start = utf8.startIndex
        while start < utf8.endIndex {
            var (index, matched) = (start, 0)
            while matched < wanted.count, index < utf8.endIndex, lowered(utf8[index]) == wanted[matched] {
                index = utf8.index(after: index)
                matched += 1
            }
            if matched == wanted.count { return start..<index }
            start = utf8.index(after: start)
        }
        return nil
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
}
