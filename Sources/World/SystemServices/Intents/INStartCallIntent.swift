// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The names of activities that ask the app for a call; a class's name is its activity type.
public let INStartCallIntentIdentifier = "INStartCallIntent"
public let INStartAudioCallIntentIdentifier = "INStartAudioCallIntent"
public let INStartVideoCallIntentIdentifier = "INStartVideoCallIntent"

/// Something that a person asked for outside of the app: from the call history, the call screen, by voice.
public class INIntent: NSObject {
    public internal(set) var identifier: String?
}

/// Call these people back, or call them: from the history or by voice (iOS 13).
public class INStartCallIntent: INIntent {
    public let callRecordFilter: INCallRecordFilter?
    public let callRecordToCallBack: INCallRecord?
    public let audioRoute: INCallAudioRoute
    public let destinationType: INCallDestinationType
    public let contacts: [INPerson]?
    public let recordTypeForRedialing: INCallRecordType
    public let callCapability: INCallCapability

    public init(
        callRecordFilter: INCallRecordFilter?, callRecordToCallBack: INCallRecord?, audioRoute: INCallAudioRoute,
        destinationType: INCallDestinationType, contacts: [INPerson]?, callCapability: INCallCapability
    ) {
        self.callRecordFilter = callRecordFilter
        self.callRecordToCallBack = callRecordToCallBack
        self.audioRoute = audioRoute
        self.destinationType = destinationType
        self.contacts = contacts
        self.callCapability = callCapability
        recordTypeForRedialing = .unknown
        super.init()
    }

    /// The form of iOS 13, deprecated in 14.
    public init(
        audioRoute: INCallAudioRoute, destinationType: INCallDestinationType, contacts: [INPerson]?,
        recordTypeForRedialing: INCallRecordType, callCapability: INCallCapability
    ) {
        callRecordFilter = nil
        callRecordToCallBack = nil
        self.audioRoute = audioRoute
        self.destinationType = destinationType
        self.contacts = contacts
        self.callCapability = callCapability
        self.recordTypeForRedialing = recordTypeForRedialing
        super.init()
    }
}

/// Call these people with sound (iOS 10, deprecated in 13).
public class INStartAudioCallIntent: INIntent {
    public let destinationType: INCallDestinationType
    public let contacts: [INPerson]?

    public init(destinationType: INCallDestinationType, contacts: [INPerson]?) {
        self.destinationType = destinationType
        self.contacts = contacts
        super.init()
    }

    public convenience init(contacts: [INPerson]?) { self.init(destinationType: .unknown, contacts: contacts) }
}

/// Call these people with a picture (iOS 10, deprecated in 13).
public class INStartVideoCallIntent: INIntent {
    public let contacts: [INPerson]?

    public init(contacts: [INPerson]?) {
        self.contacts = contacts
        super.init()
    }
}

public enum INCallCapability: Int, Sendable {
    case unknown = 0
    case audioCall = 1
    case videoCall = 2
}

public enum INCallDestinationType: Int, Sendable {
    case unknown = 0
    case normal = 1
    case emergency = 2
    case voicemail = 3
    case redial = 4
    case callBack = 5
}

public enum INCallAudioRoute: Int, Sendable {
    case unknown = 0
    case speakerphoneAudioRoute = 1
    case bluetoothAudioRoute = 2
}

public enum INCallRecordType: Int, Sendable {
    case unknown = 0
    case outgoing = 1
    case missed = 2
    case received = 3
    case latest = 4
    case voicemail = 5
    case ringing = 6
    case inProgress = 7
    case onHold = 8
}

/// How an app answers an intent.
public enum INStartCallIntentResponseCode: Int, Sendable {
    case unspecified = 0
    case ready = 1
    case continueInApp = 2
    case userConfirmationRequired = 3
    case failure = 4
    case failureRequiringAppLaunch = 5
    case failureCallingServiceNotAvailable = 6
    case failureContactNotSupportedByApp = 7
    case failureAirplaneModeEnabled = 8
    case failureUnableToHandOff = 9
    case failureAppConfigurationRequired = 10
    case failureCallInProgress = 11
    case failureCallRinging = 12
    case failureRequiringInAppAuthentication = 13
}

/// Which entries of the history are meant (iOS 14).
public class INCallRecordFilter: NSObject {
    public let participants: [INPerson]?
    public let callCapability: INCallCapability

    public init(participants: [INPerson]?, callCapability: INCallCapability) {
        self.participants = participants
        self.callCapability = callCapability
    }
}

/// One entry of the history (iOS 14).
public class INCallRecord: NSObject {
    public let identifier: String
    public let dateCreated: Date?
    public let callRecordType: INCallRecordType
    public let callCapability: INCallCapability

    public init(identifier: String, dateCreated: Date?, callRecordType: INCallRecordType, callCapability: INCallCapability) {
        self.identifier = identifier
        self.dateCreated = dateCreated
        self.callRecordType = callRecordType
        self.callCapability = callCapability
    }
}
