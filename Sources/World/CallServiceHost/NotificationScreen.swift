// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import DesktopNotifications

/// The call screen as notifications of the desktop: what rings, with its buttons. Belongs to the loop.
final class NotificationScreen {
    private let server: any NotificationServer
    private var notifications: CallNotifications

    /// `heard` is called on a thread of the server's.
    init(_ server: any NotificationServer, limits: CallNotifications.Limits, heard: @escaping @Sendable (NotificationEvent) -> Void) {
        self.server = server
        notifications = CallNotifications(limits: limits)
        server.start(heard)
    }

    func update(_ screen: ScreenState) {
        for effect in notifications.update(screen) {
            switch effect {
            case .show(let notification):
                server.show(
                    notification.call.description,
                    DesktopNotification(
                        app: notification.app, summary: notification.title, body: notification.text,
                        actions: notification.offers.map { .init(key: ScreenText.word($0), label: CallNotifications.label($0)) }))
            case .close(let call): server.close(call.description)
            }
        }
    }

    /// What the person wants who pressed a button; nil: it was none, or of a call that is over.
    func command(_ event: NotificationEvent) -> UserCommand? {
        guard case .invoked(let key, let action) = event,
            let call = notifications.shown.first(where: { $0.call.description == key })?.call
        else { return nil }
        return notifications.command(action, call: call)
    }

    func stop() { server.stop() }
}
