// SPDX-License-Identifier: Apache-2.0
//
// A small strict reader of XML 1.0 with namespaces: elements, attributes, text, CDATA, comments. No document type, no
// entities but the five of XML itself, nothing fetched, and a limit on everything, so that no input can be made to grow.

/// An element of a document, with its namespace resolved.
public struct XMLElement: Sendable, Hashable {
    /// The URI of the namespace; empty: none.
    public var namespace: String
    /// Without prefix.
    public var name: String
    public var attributes: [Attribute]
    public var children: [XMLElement]
    /// The text directly inside, put together.
    public var text: String

    public struct Attribute: Sendable, Hashable {
        /// Empty for an attribute without prefix.
        public var namespace: String
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String, namespace: String = "") {
            self.namespace = namespace
            self.name = name
            self.value = value
        }
    }

    public init(
        _ name: String, namespace: String = "", attributes: [Attribute] = [], children: [XMLElement] = [], text: String = ""
    ) {
        self.namespace = namespace
        self.name = name
        self.attributes = attributes
        self.children = children
        self.text = text
    }

    /// Reads a whole document.
    public init(parsing bytes: [UInt8], limits: EventBodyLimits = .default) throws(EventBodyError) {
        var reader = try XMLReader(bytes, limits)
        self = try reader.document()
    }

    /// The value of an attribute without prefix.
    public func attribute(_ name: String) -> String? { attributes.first { $0.name == name && $0.namespace.isEmpty }?.value }

    /// The first child of that name, in this element's namespace.
    public func child(_ name: String) -> XMLElement? { children.first { $0.name == name && $0.namespace == namespace } }

    /// All children of that name, in this element's namespace.
    public func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name && $0.namespace == namespace } }

    /// The text without blanks at either end.
    public var trimmedText: String { XMLElement.trimmed(text) }

    static func trimmed(_ text: String) -> String {
        var rest = text.unicodeScalars[...]
        while let first = rest.first, first == " " || first == "\t" || first == "\n" || first == "\r" { rest.removeFirst() }
        while let last = rest.last, last == " " || last == "\t" || last == "\n" || last == "\r" { rest.removeLast() }
        return String(rest)
    }
}

/// Writing: one element a line would be for people; this is for programs, so it is one line.
extension XMLElement {
    /// The document with its declaration. The names must be names; values and text may be anything.
    public func document() -> [UInt8] {
        var out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        write(to: &out, inherited: "")
        return Array(out.utf8)
    }

    private func write(to out: inout String, inherited: String) {
        out += "<" + name
        if namespace != inherited { out += " xmlns=\"" + Self.escaped(namespace) + "\"" }
        for attribute in attributes { out += " \(attribute.name)=\"" + Self.escaped(attribute.value) + "\"" }
        if children.isEmpty, text.isEmpty {
            out += "/>"
            return
        }
        out += ">" + Self.escaped(text)
        for child in children { child.write(to: &out, inherited: namespace) }
        out += "</\(name)>"
    }

    /// What no document may hold becomes a replacement character.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "\t", "\n", "\r": out += "&#\(scalar.value);"
            default: out.unicodeScalars.append(XMLReader.isCharacter(scalar.value) ? scalar : "\u{fffd}")
            }
        }
        return out
    }
}
