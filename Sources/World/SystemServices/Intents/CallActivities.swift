// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

/// Where an app on Linux takes the activities that iOS hands to its scene or app delegate.
///
/// Not Apple's: it is used in the folder of an app's adapters, which calls the same function as `scene(_:continue:)` does on iOS.
public enum CallActivities {
    /// Calls `handler` on `queue` (nil: main) for each activity; true: taken. Activities that came before are not lost.
    public static func handle(queue: DispatchQueue? = nil, by handler: @escaping @Sendable (NSUserActivity) -> Bool) {
        let link = AppLink.current
        link.handle(.activity) { message in
            guard case .activity(let number, let description) = message else { return }
            link.deliver(on: queue) {
                if handler(activity(description)) { link.send(.activityHandled(number)) }
            }
        }
    }

    private static func activity(_ description: ActivityDescription) -> NSUserActivity {
        let type: INPersonHandleType =
            switch description.handle.kind {
            case .phoneNumber: .phoneNumber
            case .emailAddress: .emailAddress
            case .generic: .unknown
            }
        let person = INPerson(
            personHandle: INPersonHandle(value: description.handle.value, type: type), nameComponents: nil, displayName: nil, image: nil,
            contactIdentifier: nil, customIdentifier: nil)
        let (identifier, intent): (String, INIntent) =
            switch description.kind {
            case .startCall:
                (
                    INStartCallIntentIdentifier,
                    INStartCallIntent(
                        callRecordFilter: nil, callRecordToCallBack: nil, audioRoute: .unknown, destinationType: .normal,
                        contacts: [person], callCapability: description.isVideo ? .videoCall : .audioCall)
                )
            case .startAudioCall: (INStartAudioCallIntentIdentifier, INStartAudioCallIntent(contacts: [person]))
            case .startVideoCall: (INStartVideoCallIntentIdentifier, INStartVideoCallIntent(contacts: [person]))
            }
        let activity = NSUserActivity(activityType: identifier)
        activity.interaction = INInteraction(intent: intent, response: nil)
        return activity
    }
}
