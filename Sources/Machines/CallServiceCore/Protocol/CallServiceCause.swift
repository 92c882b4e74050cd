// SPDX-License-Identifier: Apache-2.0

/// Why the call service refused something or could not do it: stable codes (docs/causes.md), each with one plain sentence.
public enum CallServiceCause: String, Hashable, Sendable, CaseIterable {
    case otherUser = "service.other-user"
    case tooManyPeers = "service.too-many-peers"
    case tooManyApps = "service.too-many-apps"
    case noHello = "service.no-hello"
    case wrongRole = "service.wrong-role"
    case goodbye = "service.goodbye"
    case appNotStarted = "service.app-not-started"
    case ringFile = "service.ring-file"
    case ringSilent = "service.ring-silent"
    case noNotifications = "service.no-notifications"
    case noButtons = "service.no-buttons"
    case buttonRefused = "service.button-refused"
    case tooLong = "wire.too-long"
    case tooDeep = "wire.too-deep"
    case tooManyItems = "wire.too-many-items"
    case truncated = "wire.truncated"
    case trailingOctets = "wire.trailing-octets"
    case unsupported = "wire.unsupported"
    case badText = "wire.bad-text"
    case badMessage = "wire.bad-message"

    /// What it means, for a person.
    public var sentence: String {
        switch self {
        case .otherUser: "The process belongs to another user, and this service is not for it."
        case .tooManyPeers: "More connections than the limit are open."
        case .tooManyApps: "More apps than the limit are connected."
        case .noHello: "The first message of an app was not its greeting."
        case .wrongRole: "The message is not one of that kind of connection: an app, a call screen and a push channel each have their own."
        case .goodbye: "The app said good-bye, or greeted a second time; its calls are over."
        case .appNotStarted: "An app that something waits for could not be started."
        case .ringFile: "The sound file cannot be played; a tone is heard instead."
        case .ringSilent: "The ringing is not heard: there is no such sound device, or no sound server."
        case .noNotifications: "Incoming calls are not shown by the desktop: there is no session bus or no notification server."
        case .noButtons: "The desktop's notifications have no buttons; calls are taken with handset-callservice screen."
        case .buttonRefused: "The button of a notification was pressed when the call did not offer it any more."
        case .tooLong: "A message is longer than the limit."
        case .tooDeep: "A message holds lists inside of lists deeper than the limit."
        case .tooManyItems: "A message holds more items than the limit."
        case .truncated: "A message ends before it is complete."
        case .trailingOctets: "A message has octets behind its end."
        case .unsupported: "A message has a form that is not used here."
        case .badText: "A message holds text that is not UTF-8."
        case .badMessage: "A message is of no known kind, or a field is missing or of another type."
        }
    }

    /// The code and its sentence; of a code that is not known here, the code alone.
    public static func words(_ code: String) -> String {
        guard let cause = CallServiceCause(rawValue: code) else { return ScreenText.plain(code, limit: 64) }
        return "\(code): \(cause.sentence)"
    }
}
