// SPDX-License-Identifier: Apache-2.0
//
// The dialogs of one entity as its documents tell them (RFC 4235 §4.3):
//
//   full     ─► replaces the table                  (any version above the last; after a new subscription any)
//   partial  ─► version = last + 1: changes it      version > last + 1: one was lost, the full state is asked for
//   version <= last: an old document, left aside

/// The known dialogs of an entity.
public struct DialogTable: Sendable, Hashable {
    /// What a document did to the table.
    public enum Outcome: Sendable, Hashable {
        case changed
        /// Older than what is known.
        case outdated
        /// A document between was lost: ask for the full state (refresh the subscription).
        case gap
        /// More dialogs than the limit.
        case overLimit
    }

    /// In the order of their first coming. Terminated ones are told once, then forgotten.
    public private(set) var dialogs: [DialogInformation.Dialog] = []
    public private(set) var entity: String?
    private var version: UInt32?
    private let limit: Int

    public init(limits: EventBodyLimits = .default) { limit = limits.dialogs }

    /// Whether anything is going on.
    public var isBusy: Bool { dialogs.contains { $0.state != .terminated } }

    /// The state that a lamp shows: the furthest of all dialogs (`terminated`: idle).
    public var state: DialogInformation.State {
        let order: [DialogInformation.State] = [.confirmed, .early, .proceeding, .trying]
        return order.first { wanted in dialogs.contains { $0.state == wanted } } ?? .terminated
    }

    /// A new subscription begins: its versions start anew (§4.1).
    public mutating func restart() { version = nil }

    /// Takes a document.
    public mutating func apply(_ document: DialogInformation) -> Outcome {
        if let version {
            guard document.version > version else { return .outdated }
            guard document.isFull || document.version == version + 1 else { return .gap }
        } else if !document.isFull {
            return .gap
        }
        var changed = document.isFull ? [] : dialogs.filter { $0.state != .terminated }
        for dialog in document.dialogs {
            if let index = changed.firstIndex(where: { $0.id == dialog.id }) {
                changed[index] = dialog
            } else if changed.count < limit {
                changed.append(dialog)
            } else {
                return .overLimit
            }
        }
        dialogs = changed
        entity = document.entity
        version = document.version
        return .changed
    }
}
