// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What changed of a call. It is a difference: a property that was never set says nothing, and the service keeps what it knew.
///
/// A fresh update reads as a new call starts: no video, everything else allowed.
public class CXCallUpdate: NSObject, NSCopying {
    /// What was set; nil: never set. For the two optional properties the outer optional is the mark.
    struct Changes {
        var remoteHandle: CXHandle??
        var localizedCallerName: String??
        var supportsHolding: Bool?
        var supportsGrouping: Bool?
        var supportsUngrouping: Bool?
        var supportsDTMF: Bool?
        var hasVideo: Bool?
    }

    var changes = Changes()

    public override init() {}

    public var remoteHandle: CXHandle? {
        get { changes.remoteHandle ?? nil }
        set { changes.remoteHandle = .some(newValue.map { CXHandle(type: $0.type, value: $0.value) }) }
    }

    /// The name to show. Without one the system works it out: contacts, then the identification list, then the handle.
    public var localizedCallerName: String? {
        get { changes.localizedCallerName ?? nil }
        set { changes.localizedCallerName = .some(newValue) }
    }

    public var supportsHolding: Bool {
        get { changes.supportsHolding ?? true }
        set { changes.supportsHolding = newValue }
    }

    public var supportsGrouping: Bool {
        get { changes.supportsGrouping ?? true }
        set { changes.supportsGrouping = newValue }
    }

    public var supportsUngrouping: Bool {
        get { changes.supportsUngrouping ?? true }
        set { changes.supportsUngrouping = newValue }
    }

    public var supportsDTMF: Bool {
        get { changes.supportsDTMF ?? true }
        set { changes.supportsDTMF = newValue }
    }

    public var hasVideo: Bool {
        get { changes.hasVideo ?? false }
        set { changes.hasVideo = newValue }
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CXCallUpdate()
        copy.changes = changes
        return copy
    }
}
