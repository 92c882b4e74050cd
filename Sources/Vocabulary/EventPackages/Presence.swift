// SPDX-License-Identifier: Apache-2.0
//
// `application/pidf+xml` (RFC 3863): whether somebody can be reached, how, and what they say of themselves; of RFC 4480
// the activities of the person.

/// A presence document.
public struct Presence: Sendable, Hashable {
    /// One way to reach the presentity.
    public struct Tuple: Sendable, Hashable {
        public var id: String
        /// `open` or `closed`; nil: not said.
        public var isOpen: Bool?
        public var contact: String?
        public var note: String?

        public init(id: String, isOpen: Bool?, contact: String? = nil, note: String? = nil) {
            self.id = id
            self.isOpen = isOpen
            self.contact = contact
            self.note = note
        }
    }

    /// Whose presence this is: `pres:` or `sip:` URI, as it came.
    public var entity: String
    public var tuples: [Tuple]
    /// What the presentity says of itself.
    public var note: String?
    /// RFC 4480 §3.2: `away`, `busy`, `on-the-phone`, `meal` and others.
    public var activities: [String]

    public static let mediaType = "application/pidf+xml"
    static let namespace = "urn:ietf:params:xml:ns:pidf"
    static let dataModel = "urn:ietf:params:xml:ns:pidf:data-model"
    static let rich = "urn:ietf:params:xml:ns:pidf:rpid"

    public init(entity: String, tuples: [Tuple] = [], note: String? = nil, activities: [String] = []) {
        self.entity = entity
        self.tuples = tuples
        self.note = note
        self.activities = activities
    }

    /// A state of one's own: one tuple.
    public init(entity: String, isOpen: Bool, contact: String? = nil, note: String? = nil, activities: [String] = []) {
        self.init(entity: entity, tuples: [Tuple(id: "phone", isOpen: isOpen, contact: contact)], note: note, activities: activities)
    }

    /// Whether the presentity can be reached in any way; nil: nothing is said.
    public var isOpen: Bool? {
        let said = tuples.compactMap(\.isOpen)
        return said.isEmpty ? nil : said.contains(true)
    }

    /// The first note of the document, or of a tuple.
    public var shownNote: String? { note ?? tuples.lazy.compactMap(\.note).first }

    /// Reads a document. Elements that are not known are left aside.
    public init(parsing bytes: [UInt8], limits: EventBodyLimits = .default) throws(EventBodyError) {
        let root = try XMLElement(parsing: bytes, limits: limits)
        guard root.name == "presence", root.namespace == Self.namespace, let entity = root.attribute("entity") else {
            throw EventBodyError(.unexpected)
        }
        let elements = root.all("tuple")
        guard elements.count <= limits.tuples else { throw EventBodyError(.limit) }
        let tuples = elements.map { element in
            Tuple(
                id: safeLine(element.attribute("id") ?? ""), isOpen: Self.basic(element.child("status")?.child("basic")?.trimmedText),
                contact: element.child("contact").map { safeLine($0.trimmedText) },
                note: element.child("note").map { safeLine($0.trimmedText) })
        }
        let persons = root.children.filter { $0.name == "person" && $0.namespace == Self.dataModel }
        let activities = persons.flatMap(\.children).filter { $0.name == "activities" && $0.namespace == Self.rich }
            .flatMap(\.children).filter { $0.namespace == Self.rich && $0.name != "note" }.map(\.name)
        let personNote = persons.flatMap(\.children).first { $0.name == "note" }.map { safeLine($0.trimmedText) }
        self.init(
            entity: safeLine(entity), tuples: tuples, note: root.child("note").map { safeLine($0.trimmedText) } ?? personNote,
            activities: Array(activities.prefix(limits.tuples)))
    }

    private static func basic(_ text: String?) -> Bool? {
        switch text?.lowercased() {
        case "open": true
        case "closed": false
        default: nil
        }
    }

    /// The document.
    public func serialized() -> [UInt8] {
        let space = Self.namespace
        var children = tuples.map { tuple in
            var inner: [XMLElement] = []
            let basic = tuple.isOpen.map { [XMLElement("basic", namespace: space, text: $0 ? "open" : "closed")] } ?? []
            inner.append(XMLElement("status", namespace: space, children: basic))
            if let contact = tuple.contact { inner.append(XMLElement("contact", namespace: space, text: contact)) }
            if let note = tuple.note { inner.append(XMLElement("note", namespace: space, text: note)) }
            return XMLElement("tuple", namespace: space, attributes: [.init("id", tuple.id)], children: inner)
        }
        if let note { children.append(XMLElement("note", namespace: space, text: note)) }
        let named = activities.filter { !$0.isEmpty && $0.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x2d } && $0.first != "-" }
        if !named.isEmpty {
            let list = XMLElement("activities", namespace: Self.rich, children: named.map { XMLElement($0, namespace: Self.rich) })
            children.append(
                XMLElement("person", namespace: Self.dataModel, attributes: [.init("id", "person")], children: [list]))
        }
        return XMLElement("presence", namespace: space, attributes: [.init("entity", entity)], children: children).document()
    }
}
