// SPDX-License-Identifier: Apache-2.0
//
// `application/dialog-info+xml` (RFC 4235 §4): the dialogs of a line, for its busy lamp.

/// A document about the dialogs of an entity.
public struct DialogInformation: Sendable, Hashable {
    /// RFC 4235 §3.7.1, the states of the machine.
    public enum State: String, Sendable, Hashable, CaseIterable {
        case trying, proceeding, early, confirmed, terminated
    }

    /// One side of a dialog.
    public struct Participant: Sendable, Hashable {
        /// The identity as a URI, as it came.
        public var identity: String?
        public var displayName: String?
        /// The Contact URI.
        public var target: String?

        public init(identity: String? = nil, displayName: String? = nil, target: String? = nil) {
            self.identity = identity
            self.displayName = displayName
            self.target = target
        }
    }

    public struct Dialog: Sendable, Hashable {
        /// Names the dialog within the entity.
        public var id: String
        public var callID: String?
        public var localTag: String?
        public var remoteTag: String?
        /// Whether the entity called; nil: not said.
        public var isInitiator: Bool?
        public var state: State
        /// Why it came to this state: `cancelled`, `rejected`, `replaced`, `local-bye`, `remote-bye`, `error`, `timeout`.
        public var event: String?
        /// The SIP status that led here.
        public var code: Int?
        public var local: Participant
        public var remote: Participant

        public init(
            id: String, callID: String? = nil, localTag: String? = nil, remoteTag: String? = nil, isInitiator: Bool? = nil,
            state: State, event: String? = nil, code: Int? = nil, local: Participant = Participant(),
            remote: Participant = Participant()
        ) {
            self.id = id
            self.callID = callID
            self.localTag = localTag
            self.remoteTag = remoteTag
            self.isInitiator = isInitiator
            self.state = state
            self.event = event
            self.code = code
            self.local = local
            self.remote = remote
        }
    }

    /// Counts up by one with every document of a subscription.
    public var version: UInt32
    /// All dialogs of the entity (full), or those that changed (partial).
    public var isFull: Bool
    /// Whose dialogs these are.
    public var entity: String
    public var dialogs: [Dialog]

    public static let mediaType = "application/dialog-info+xml"
    static let namespace = "urn:ietf:params:xml:ns:dialog-info"

    public init(version: UInt32, isFull: Bool, entity: String, dialogs: [Dialog] = []) {
        self.version = version
        self.isFull = isFull
        self.entity = entity
        self.dialogs = dialogs
    }

    /// Reads a document. Elements of other namespaces are left aside.
    public init(parsing bytes: [UInt8], limits: EventBodyLimits = .default) throws(EventBodyError) {
        let root = try XMLElement(parsing: bytes, limits: limits)
        guard root.name == "dialog-info", root.namespace == Self.namespace, let entity = root.attribute("entity"),
            let version = root.attribute("version").flatMap({ UInt32($0) })
        else { throw EventBodyError(.unexpected) }
        let elements = root.all("dialog")
        guard elements.count <= limits.dialogs else { throw EventBodyError(.limit) }
        let dialogs = elements.compactMap { Dialog($0) }
        self.init(version: version, isFull: root.attribute("state") != "partial", entity: safeLine(entity), dialogs: dialogs)
    }

    /// The document.
    public func serialized() -> [UInt8] {
        XMLElement(
            "dialog-info", namespace: Self.namespace,
            attributes: [.init("version", "\(version)"), .init("state", isFull ? "full" : "partial"), .init("entity", entity)],
            children: dialogs.map(\.element)
        ).document()
    }
}

extension DialogInformation.Dialog {
    fileprivate init?(_ element: XMLElement) {
        guard let id = element.attribute("id"), let stateElement = element.child("state"),
            let state = DialogInformation.State(rawValue: stateElement.trimmedText)
        else { return nil }
        let direction = element.attribute("direction")
        self.init(
            id: safeLine(id), callID: element.attribute("call-id").map(safeLine), localTag: element.attribute("local-tag").map(safeLine),
            remoteTag: element.attribute("remote-tag").map(safeLine),
            isInitiator: direction == "initiator" ? true : direction == "recipient" ? false : nil, state: state,
            event: stateElement.attribute("event").map(safeLine),
            code: stateElement.attribute("code").flatMap { Int($0) }.flatMap { (100...699).contains($0) ? $0 : nil },
            local: .init(element.child("local")), remote: .init(element.child("remote")))
    }

    fileprivate var element: XMLElement {
        var attributes = [XMLElement.Attribute("id", id)]
        for (name, value) in [("call-id", callID), ("local-tag", localTag), ("remote-tag", remoteTag)] {
            if let value { attributes.append(.init(name, value)) }
        }
        if let isInitiator { attributes.append(.init("direction", isInitiator ? "initiator" : "recipient")) }
        var stateAttributes: [XMLElement.Attribute] = []
        if let event { stateAttributes.append(.init("event", event)) }
        if let code { stateAttributes.append(.init("code", "\(code)")) }
        let space = DialogInformation.namespace
        var children = [XMLElement("state", namespace: space, attributes: stateAttributes, text: state.rawValue)]
        for (name, side) in [("local", local), ("remote", remote)] where side != .init() {
            children.append(XMLElement(name, namespace: space, children: side.elements))
        }
        return XMLElement("dialog", namespace: space, attributes: attributes, children: children)
    }
}

extension DialogInformation.Participant {
    fileprivate init(_ element: XMLElement?) {
        let identity = element?.child("identity")
        self.init(
            identity: identity.map { safeLine($0.trimmedText) },
            displayName: (identity?.attribute("display") ?? identity?.attribute("display-name")).map(safeLine),
            target: element?.child("target")?.attribute("uri").map(safeLine))
    }

    fileprivate var elements: [XMLElement] {
        let space = DialogInformation.namespace
        var result: [XMLElement] = []
        if let identity {
            let name = displayName.map { [XMLElement.Attribute("display", $0)] } ?? []
            result.append(XMLElement("identity", namespace: space, attributes: name, text: identity))
        }
        if let target { result.append(XMLElement("target", namespace: space, attributes: [.init("uri", target)])) }
        return result
    }
}

/// One line that is safe to show and to log: controls and the marks that turn the direction of text are replaced.
func safeLine(_ text: String) -> String {
    func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
    guard text.unicodeScalars.contains(where: isUnsafe) || text.unicodeScalars.count > 1024 else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(1024).map { isUnsafe($0) ? "\u{fffd}" : $0 }))
}
