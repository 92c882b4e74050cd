// SPDX-License-Identifier: Apache-2.0

import Foundation

// The shape is the one that Apple's importer gives an error domain: a struct over NSError with a nested enum of codes. `code` answers the
// unknown case for a number that is not listed, where the inherited getter would end the process.

/// The domain of `CXError`.
public let CXErrorDomain = "com.apple.CallKit.error"

/// What is wrong with a use of the framework as a whole.
public struct CXError: CustomNSError, _BridgedStoredNSError, Hashable, Error {
    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    /// An error of any number, listed or not.
    package init(code: Int) { _nsError = NSError(domain: Self._nsErrorDomain, code: code) }
    public static var _nsErrorDomain: String { CXErrorDomain }
    public static var errorDomain: String { CXErrorDomain }
    /// `unknownError` for a number that is not listed; the true one is in `errorCode`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknownError }

    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = CXError
        case unknownError = 0
        case unentitled = 1
        case invalidArgument = 2
        case missingVoIPBackgroundMode = 3
    }

    public static var unknownError: Code { .unknownError }
    public static var unentitled: Code { .unentitled }
    public static var invalidArgument: Code { .invalidArgument }
    public static var missingVoIPBackgroundMode: Code { .missingVoIPBackgroundMode }
}

/// The domain of `CXErrorCodeIncomingCallError`.
public let CXErrorDomainIncomingCall = "com.apple.CallKit.error.incomingcall"

/// Why a reported incoming call is not shown.
public struct CXErrorCodeIncomingCallError: CustomNSError, _BridgedStoredNSError, Hashable, Error {
    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    /// An error of any number, listed or not.
    package init(code: Int) { _nsError = NSError(domain: Self._nsErrorDomain, code: code) }
    public static var _nsErrorDomain: String { CXErrorDomainIncomingCall }
    public static var errorDomain: String { CXErrorDomainIncomingCall }
    /// `unknown` for a number that is not listed; the true one is in `errorCode`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = CXErrorCodeIncomingCallError
        case unknown = 0
        case unentitled = 1
        case callUUIDAlreadyExists = 2
        case filteredByDoNotDisturb = 3
        case filteredByBlockList = 4
        case filteredDuringRestrictedSharingMode = 5
        case callIsProtected = 6
        case filteredBySensitiveParticipants = 7
    }

    public static var unknown: Code { .unknown }
    public static var unentitled: Code { .unentitled }
    public static var callUUIDAlreadyExists: Code { .callUUIDAlreadyExists }
    public static var filteredByDoNotDisturb: Code { .filteredByDoNotDisturb }
    public static var filteredByBlockList: Code { .filteredByBlockList }
    public static var filteredDuringRestrictedSharingMode: Code { .filteredDuringRestrictedSharingMode }
    public static var callIsProtected: Code { .callIsProtected }
    public static var filteredBySensitiveParticipants: Code { .filteredBySensitiveParticipants }
}

/// The domain of `CXErrorCodeRequestTransactionError`.
public let CXErrorDomainRequestTransaction = "com.apple.CallKit.error.requesttransaction"

/// Why a transaction was refused as a whole.
public struct CXErrorCodeRequestTransactionError: CustomNSError, _BridgedStoredNSError, Hashable, Error {
    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    /// An error of any number, listed or not.
    package init(code: Int) { _nsError = NSError(domain: Self._nsErrorDomain, code: code) }
    public static var _nsErrorDomain: String { CXErrorDomainRequestTransaction }
    public static var errorDomain: String { CXErrorDomainRequestTransaction }
    /// `unknown` for a number that is not listed; the true one is in `errorCode`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = CXErrorCodeRequestTransactionError
        case unknown = 0
        case unentitled = 1
        case unknownCallProvider = 2
        case emptyTransaction = 3
        case unknownCallUUID = 4
        case callUUIDAlreadyExists = 5
        case invalidAction = 6
        case maximumCallGroupsReached = 7
        case callIsProtected = 8
    }

    public static var unknown: Code { .unknown }
    public static var unentitled: Code { .unentitled }
    public static var unknownCallProvider: Code { .unknownCallProvider }
    public static var emptyTransaction: Code { .emptyTransaction }
    public static var unknownCallUUID: Code { .unknownCallUUID }
    public static var callUUIDAlreadyExists: Code { .callUUIDAlreadyExists }
    public static var invalidAction: Code { .invalidAction }
    public static var maximumCallGroupsReached: Code { .maximumCallGroupsReached }
    public static var callIsProtected: Code { .callIsProtected }
}

/// The domain of `CXErrorCodeCallDirectoryManagerError`.
public let CXErrorDomainCallDirectoryManager = "com.apple.CallKit.error.calldirectorymanager"

/// Why a call directory extension was not loaded. Other numbers occur in the field: they read as `unknown`.
public struct CXErrorCodeCallDirectoryManagerError: CustomNSError, _BridgedStoredNSError, Hashable, Error {
    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    /// An error of any number, listed or not.
    package init(code: Int) { _nsError = NSError(domain: Self._nsErrorDomain, code: code) }
    public static var _nsErrorDomain: String { CXErrorDomainCallDirectoryManager }
    public static var errorDomain: String { CXErrorDomainCallDirectoryManager }
    /// `unknown` for a number that is not listed; the true one is in `errorCode`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = CXErrorCodeCallDirectoryManagerError
        case unknown = 0
        case noExtensionFound = 1
        case loadingInterrupted = 2
        case entriesOutOfOrder = 3
        case duplicateEntries = 4
        case maximumEntriesExceeded = 5
        case extensionDisabled = 6
        case currentlyLoading = 7
        case unexpectedIncrementalRemoval = 8
    }

    public static var unknown: Code { .unknown }
    public static var noExtensionFound: Code { .noExtensionFound }
    public static var loadingInterrupted: Code { .loadingInterrupted }
    public static var entriesOutOfOrder: Code { .entriesOutOfOrder }
    public static var duplicateEntries: Code { .duplicateEntries }
    public static var maximumEntriesExceeded: Code { .maximumEntriesExceeded }
    public static var extensionDisabled: Code { .extensionDisabled }
    public static var currentlyLoading: Code { .currentlyLoading }
    public static var unexpectedIncrementalRemoval: Code { .unexpectedIncrementalRemoval }
}

/// The domain of `CXErrorCodeNotificationServiceExtensionError`.
public let CXErrorDomainNotificationServiceExtension = "com.apple.CallKit.error.notificationserviceextension"

/// Why a payload of a notification service extension is not taken for a VoIP push.
public struct CXErrorCodeNotificationServiceExtensionError: CustomNSError, _BridgedStoredNSError, Hashable, Error {
    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    /// An error of any number, listed or not.
    package init(code: Int) { _nsError = NSError(domain: Self._nsErrorDomain, code: code) }
    public static var _nsErrorDomain: String { CXErrorDomainNotificationServiceExtension }
    public static var errorDomain: String { CXErrorDomainNotificationServiceExtension }
    /// `unknown` for a number that is not listed; the true one is in `errorCode`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = CXErrorCodeNotificationServiceExtensionError
        case unknown = 0
        case invalidClientProcess = 1
        case missingNotificationFilteringEntitlement = 2
    }

    public static var unknown: Code { .unknown }
    public static var invalidClientProcess: Code { .invalidClientProcess }
    public static var missingNotificationFilteringEntitlement: Code { .missingNotificationFilteringEntitlement }
}
