// SPDX-License-Identifier: Apache-2.0
//
// What `dump`, a debugger or a test's report sees of the objects of the face (requirement F8): who they are. Behind them
// stands the whole machine, with the answers to challenges that are under way.

extension Phone: CustomReflectable {
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["settings": settings], displayStyle: .class) }
}

extension Account: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "configuration": configuration], displayStyle: .class)
    }
}

extension Call: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "direction": direction, "port": port, "incoming": incoming as Any], displayStyle: .class)
    }
}

extension Subscription: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "package": package], displayStyle: .class) }
}

extension Server: CustomReflectable {
    public nonisolated var customMirror: Mirror {
        Mirror(self, children: [(label: String?, value: Any)](), displayStyle: .class)
    }
}

extension Bridge: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
