// SPDX-License-Identifier: Apache-2.0

/// What one notification says. Plain text, without markup.
public struct DesktopNotification: Sendable, Hashable {
    /// A button: the key comes back when it is pressed.
    public struct Action: Sendable, Hashable {
        public var key: String
        public var label: String

        public init(key: String, label: String) {
            self.key = key
            self.label = label
        }
    }

    /// The program that it is from.
    public var app: String
    public var summary: String
    public var body: String
    public var actions: [Action]

    public init(app: String, summary: String, body: String, actions: [Action]) {
        self.app = app
        self.summary = summary
        self.body = body
        self.actions = actions
    }
}

/// What a notification server has to tell.
public enum NotificationEvent: Sendable, Hashable {
    /// Notifications are seen from now on. Without `hasActions` the server shows no buttons.
    case available(hasActions: Bool)
    /// They are not seen: why, in words. Told once, until they were seen again.
    case unavailable(reason: String)
    /// The person pressed a button of the notification of that key.
    case invoked(key: String, action: String)
    /// The person closed it. It is not shown again.
    case dismissed(key: String)
}

/// Shows notifications by keys of the caller's. Nothing here waits.
public protocol NotificationServer: Sendable {
    /// Begins; `tell` is called on a thread of the server's. Once only.
    func start(_ tell: @escaping @Sendable (NotificationEvent) -> Void)
    /// Shows a notification, or changes the one of that key.
    func show(_ key: String, _ notification: DesktopNotification)
    func close(_ key: String)
    /// Takes everything away. Nothing is told any more.
    func stop()
}
