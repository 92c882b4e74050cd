// SPDX-License-Identifier: Apache-2.0
//
// Bodies of several parts (RFC 2046 §5.1):  --boundary CRLF fields CRLF CRLF content CRLF --boundary-- CRLF

/// One part of a body.
public struct BodyPart: Sendable {
    /// `text/plain` if the part names none (RFC 2046 §5.2).
    public var type: MediaType
    /// The fields of the part in order.
    public var headers: [(name: String, value: String)]
    public var content: ArraySlice<UInt8>
}

extension SIPMessage {
    /// The content of the body, or of the first part of it, with that type; nil if there is none.
    public func body(ofType type: String, _ subtype: String) -> [UInt8]? {
        guard !body.isEmpty, let whole = contentType else { return nil }
        let wanted = type == MediaType.sdp.type && subtype == MediaType.sdp.subtype ? MediaType.sdp : MediaType(type, subtype)
        if whole.type != "multipart" { return wanted.includes(whole) ? Array(body) : nil }
        return bodyParts.first { wanted.includes($0.type) }.map { Array($0.content) }
    }

    /// The body as its parts, in order and without levels: one part if the body is not multipart, none if there is no
    /// body or if its structure is broken or beyond the limits.
    public var bodyParts: [BodyPart] {
        guard !body.isEmpty, let type = contentType else { return [] }
        var parts: [BodyPart] = []
        guard Multipart.collect(BodyPart(type: type, headers: [], content: body), 0, &parts) else { return [] }
        return parts
    }
}

enum Multipart {
    /// Adds `part`, or its own parts if it is multipart; false if it is broken.
    static func collect(_ part: BodyPart, _ depth: Int, _ out: inout [BodyPart]) -> Bool {
        guard part.type.type == "multipart" else {
            guard out.count < ValueLimits.bodyParts else { return false }
            out.append(part)
            return true
        }
        guard depth < ValueLimits.bodyNesting, let boundary = part.type.parameters["boundary"], !boundary.isEmpty,
            boundary.utf8.count <= ValueLimits.boundary
        else { return false }
        for section in sections(part.content, Array("--".utf8) + Array(boundary.utf8)) {
            guard let inner = parse(section), collect(inner, depth + 1, &out) else { return false }
        }
        return true
    }

    /// What lies between the delimiters; without a closing one the last section goes to the end.
    private static func sections(_ content: ArraySlice<UInt8>, _ delimiter: [UInt8]) -> [ArraySlice<UInt8>] {
        var out: [ArraySlice<UInt8>] = []
        var open: Int?
        var line = content.startIndex
        while line < content.endIndex, out.count <= ValueLimits.bodyParts {
            let end = content[line...].firstIndex(of: 0x0a).map { $0 + 1 } ?? content.endIndex
            if content[line..<end].starts(with: delimiter) {
                var rest = content[(line + delimiter.count)..<end]
                let closes = rest.starts(with: [0x2d, 0x2d])
                if closes { rest = rest.dropFirst(2) }
                if rest.allSatisfy(isBlank) {
                    if let open { out.append(content[open..<max(open, beforeLineEnd(content, line))]) }
                    open = closes ? nil : end
                    if closes { return out }
                }
            }
            line = end
        }
        if let open { out.append(content[open...]) }
        return out
    }

    /// The line end before a delimiter belongs to the delimiter.
    private static func beforeLineEnd(_ content: ArraySlice<UInt8>, _ line: Int) -> Int {
        var end = line
        if end > content.startIndex, content[end - 1] == 0x0a { end -= 1 }
        if end > content.startIndex, content[end - 1] == 0x0d { end -= 1 }
        return end
    }

    private static func parse(_ section: ArraySlice<UInt8>) -> BodyPart? {
        var headers: [(name: String, value: String)] = []
        var line = section.startIndex
        while line < section.endIndex {
            let end = section[line...].firstIndex(of: 0x0a).map { $0 + 1 } ?? section.endIndex
            var text = section[line..<end]
            while let last = text.last, isBlank(last) { text.removeLast() }
            line = end
            if text.isEmpty { break }
            if let first = text.first, isBlank(first), !headers.isEmpty {
                headers[headers.count - 1].value += " " + Text.trimmed(String(decoding: text, as: UTF8.self))
                continue
            }
            guard let colon = text.firstIndex(of: 0x3a), headers.count < ValueLimits.parameters else { return nil }
            headers.append(
                (
                    Text.trimmed(String(decoding: text[..<colon], as: UTF8.self)),
                    Text.trimmed(String(decoding: text[(colon + 1)...], as: UTF8.self))
                ))
        }
        let named = headers.first { ["content-type", "c"].contains($0.name.asciiLowercased) }
        guard let named else { return BodyPart(type: MediaType("text", "plain"), headers: headers, content: section[line...]) }
        guard let type = try? MediaType(named.value) else { return nil }
        return BodyPart(type: type, headers: headers, content: section[line...])
    }
}
