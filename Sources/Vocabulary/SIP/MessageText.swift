// SPDX-License-Identifier: Apache-2.0
//
// The text of an instant message (RFC 3428), safe to show: a stranger wrote it (V-028).

extension SIPMessage {
    /// The text of the body: of type `text/plain`, or of the first such part. Line ends are LF; every other control
    /// character, and what would turn the direction of text around, is a replacement character. UTF-8, or what the
    /// charset parameter says of US-ASCII and ISO 8859-1; anything else is read as UTF-8. nil: there is no such part.
    public var plainText: String? {
        guard !body.isEmpty, let part = bodyParts.first(where: { $0.type.type == "text" && $0.type.subtype == "plain" }) else {
            return nil
        }
        let charset = part.type.parameters["charset"]?.asciiLowercased ?? "utf-8"
        let text =
            charset == "iso-8859-1"
            ? String(String.UnicodeScalarView(part.content.map { Unicode.Scalar($0) })) : String(decoding: part.content, as: UTF8.self)
        return Self.safeText(text)
    }

    /// Text of several lines that is safe to show.
    package static func safeText(_ text: String) -> String {
        var out = ""
        var afterReturn = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\r":
                out.unicodeScalars.append("\n")
            case "\n":
                if !afterReturn { out.unicodeScalars.append("\n") }
            case "\t": out.unicodeScalars.append("\t")
            default: out.unicodeScalars.append(Text.isInvisible(scalar) ? "\u{fffd}" : scalar)
            }
            afterReturn = scalar == "\r"
        }
        return out
    }
}
