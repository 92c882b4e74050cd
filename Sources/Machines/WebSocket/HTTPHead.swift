// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP/1.1 request or response (RFC 9112 §2.1): all that the handshake needs of HTTP.
struct HTTPHead {
    enum Fault: Error {
        case malformed
        /// More octets or fields than allowed.
        case tooLarge
    }

    /// The start line in its up to three parts: `GET`, `/`, `HTTP/1.1`.
    let start: [String]
    private var fields: [(name: String, value: String)] = []

    /// Where the head ends in `bytes`; nil: not yet.
    static func end(in bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 3..<bytes.count
        where bytes[index] == 10 && bytes[index - 1] == 13 && bytes[index - 2] == 10 && bytes[index - 3] == 13 {
            return index + 1
        }
        return nil
    }

    /// Reads a head without its empty line.
    init(_ bytes: ArraySlice<UInt8>, fieldLimit: Int) throws(Fault) {
        let text = String(decoding: bytes, as: UTF8.self)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
        guard let first = lines.popFirst() else { throw .malformed }
        start = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true).map(String.init)
        guard lines.count <= fieldLimit else { throw .tooLarge }
        for line in lines {
            // No line is folded any more (RFC 9112 §5.2), and no blank stands before the colon (§5.1).
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex, !line[..<colon].contains(where: \.isWhitespace) else {
                throw .malformed
            }
            fields.append((line[..<colon].lowercased(), Self.trimmed(line[line.index(after: colon)...])))
        }
    }

    /// The values of a field, `name` in lower case; each element of a list by itself.
    func list(_ name: String) -> [String] {
        fields.filter { $0.name == name }.flatMap { $0.value.split(separator: ",").map { Self.trimmed($0) } }
    }

    /// The one value of a field; nil where it is missing or there are several.
    func value(_ name: String) -> String? {
        let found = fields.filter { $0.name == name }
        return found.count == 1 ? found.first?.value : nil
    }

    func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
