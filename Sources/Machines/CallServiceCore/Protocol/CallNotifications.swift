// SPDX-License-Identifier: Apache-2.0
//
//   ScreenState ── update ──▶ ┌───────────────────┐ ── show, change, close ──▶ notification server
//   button's key ─ command ─▶ └───────────────────┘ ── UserCommand ──▶ call service

/// What the notification of one incoming call says: plain text, within the limits.
public struct CallNotification: Hashable, Sendable {
    public var call: UUIDValue
    /// The app's name.
    public var app: String
    /// Who calls.
    public var title: String
    public var text: String
    /// The buttons, in the order in which they are shown.
    public var offers: [UserOffer]
}

/// The notifications of incoming calls that the person is to see.
public struct CallNotifications: Sendable {
    /// Everything that is written came over a network.
    public struct Limits: Sendable, Hashable {
        /// Characters of a caller's and of an app's name.
        public var name = 120
        /// Notifications at once; of more calls nothing is seen here.
        public var count = 4

        public init() {}
    }

    public enum Effect: Hashable, Sendable {
        /// Shows it, or changes the one of that call.
        case show(CallNotification)
        case close(UUIDValue)
    }

    public let limits: Limits
    public private(set) var shown: [CallNotification] = []
    /// Calls that were left out, since there were too many.
    public private(set) var omitted = 0

    public init(limits: Limits = Limits()) { self.limits = limits }

    /// The screen changed: what is to be done so that the notifications fit it, those that go first.
    public mutating func update(_ screen: ScreenState) -> [Effect] {
        let ringing = screen.calls.filter { $0.state == .ringing && !$0.offers.isEmpty }
        omitted += max(0, ringing.count - limits.count)
        let wanted = ringing.prefix(limits.count).map(notification)
        var effects = shown.filter { old in !wanted.contains { $0.call == old.call } }.map { Effect.close($0.call) }
        effects += wanted.filter { !shown.contains($0) }.map { Effect.show($0) }
        shown = wanted
        return effects
    }

    private func notification(_ call: ScreenCall) -> CallNotification {
        let app = ScreenText.plain(call.appName, limit: limits.name)
        let kind = call.isVideo ? "Incoming video call" : "Incoming call"
        let name = ScreenText.plain(call.name, limit: limits.name)
        return CallNotification(
            call: call.uuid, app: app.isEmpty ? "Telephone" : app, title: name.isEmpty ? "Unknown caller" : name,
            text: app.isEmpty ? kind : "\(kind) · \(app)", offers: call.offers)
    }

    /// What a button of a call's notification means; nil: the call is not shown any more, or has no such button.
    public func command(_ key: String, call: UUIDValue) -> UserCommand? {
        guard let notification = shown.first(where: { $0.call == call }),
            let offer = notification.offers.first(where: { ScreenText.word($0) == key })
        else { return nil }
        return ScreenText.answer(offer, to: call)
    }

    /// A button's words.
    public static func label(_ offer: UserOffer) -> String {
        switch offer {
        case .accept: "Accept"
        case .decline: "Decline"
        case .endAndAccept: "End and accept"
        case .holdAndAccept: "Hold and accept"
        case .endHeldAndAccept: "End held and accept"
        case .end, .hold, .resume, .swap, .merge, .split, .mute, .keypad, .video: ScreenText.word(offer)
        }
    }
}
