// SPDX-License-Identifier: Apache-2.0

import CallKit
import CallServiceTestKit
import Foundation
import Testing

/// Values, copies, archives and errors, without a service.
@Suite struct ValueTests {
    @Test("T-6: a fresh configuration has the defaults of the real one")
    func freshConfiguration() {
        let configuration = CXProviderConfiguration()
        #expect(configuration.maximumCallGroups == 2)
        #expect(configuration.maximumCallsPerCallGroup == 5)
        #expect(configuration.includesCallsInRecents)
        #expect(!configuration.supportsVideo)
        #expect(configuration.ringtoneSound == nil)
        #expect(configuration.iconTemplateImageData == nil)
        #expect(configuration.supportedHandleTypes.isEmpty)
        #expect(!configuration.supportsAudioTranslation)
        #expect(configuration.localizedName == nil)
        #expect(CXProviderConfiguration(localizedName: "Talk").localizedName == "Talk")
    }

    private static let call = UUID()
    private static func actions() -> [CXCallAction] {
        let start = CXStartCallAction(call: call, handle: CXHandle(type: .emailAddress, value: "a@example.net"))
        start.isVideo = true
        start.contactIdentifier = "contact"
        return [
            start, CXAnswerCallAction(call: call), CXEndCallAction(call: call), CXSetHeldCallAction(call: call, onHold: true),
            CXSetMutedCallAction(call: call, muted: true), CXSetGroupCallAction(call: call, callUUIDToGroupWith: UUID()),
            CXPlayDTMFCallAction(call: call, digits: "12#", type: .hardPause),
            CXSetTranslatingCallAction(call: call, isTranslating: true, localLanguage: "it", remoteLanguage: "en"),
        ]
    }

    private static func text(_ action: CXAction) -> String {
        let rest =
            switch action {
            case let action as CXStartCallAction:
                "\(action.handle.type) \(action.handle.value) \(action.isVideo) \(action.contactIdentifier ?? "-")"
            case let action as CXSetHeldCallAction: "\(action.isOnHold)"
            case let action as CXSetMutedCallAction: "\(action.isMuted)"
            case let action as CXSetGroupCallAction: "\(action.callUUIDToGroupWith?.uuidString ?? "-")"
            case let action as CXPlayDTMFCallAction: "\(action.digits) \(action.type)"
            case let action as CXSetTranslatingCallAction: "\(action.isTranslating) \(action.localLanguage) \(action.remoteLanguage)"
            default: ""
            }
        let call = (action as? CXCallAction)?.callUUID.uuidString ?? "-"
        return "\(type(of: action)) \(action.uuid) \(call) \(action.isComplete) \(rest)"
    }

    @Test("T-39: a copied and an archived action has the identity, call, fields and completeness of the first")
    func copiesAndArchives() throws {
        for action in Self.actions() {
            let copy = try #require(action.copy() as? CXAction)
            #expect(copy !== action)
            #expect(Self.text(copy) == Self.text(action))
            let archive = try NSKeyedArchiver.archivedData(withRootObject: action, requiringSecureCoding: true)
            let decoded = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CXAction.self, from: archive))
            #expect(Self.text(decoded) == Self.text(action))
            #expect(abs(decoded.timeoutDate.timeIntervalSince(action.timeoutDate)) < 0.001)
        }
    }

    @Test func aTransactionIsCopiedAndArchivedWithItsActions() throws {
        let transaction = CXTransaction(actions: Self.actions())
        let copy = try #require(transaction.copy() as? CXTransaction)
        #expect(copy.actions.map(Self.text) == transaction.actions.map(Self.text))
        #expect(zip(copy.actions, transaction.actions).allSatisfy { $0 !== $1 })
        let archive = try NSKeyedArchiver.archivedData(withRootObject: transaction, requiringSecureCoding: true)
        let decoded = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CXTransaction.self, from: archive))
        #expect(decoded.uuid == transaction.uuid)
        #expect(decoded.actions.map(Self.text) == transaction.actions.map(Self.text))
        #expect(CXTransaction().isComplete)
        #expect(!transaction.isComplete)
    }

    @Test func anActionThatNobodyDeliveredIsNotCompleted() {
        let action = CXAnswerCallAction(call: UUID())
        action.fulfill()
        action.fail()
        #expect(!action.isComplete)
    }

    @Test func deadlinesOfFreshActionsAreThoseOfTheFramework() {
        let now = Date()
        let limits = Self.actions().map { ("\(type(of: $0))", $0.timeoutDate.timeIntervalSince(now).rounded()) }
        for (name, limit) in limits {
            #expect(limit == (name == "CXStartCallAction" ? 600 : name == "CXAnswerCallAction" ? 60 : 5), "\(name)")
        }
        #expect(CXAction().timeoutDate.timeIntervalSince(now).rounded() == 5)
    }

    @Test func handlesAreEqualByTypeAndValue() throws {
        let one = CXHandle(type: .phoneNumber, value: "1")
        #expect(one == CXHandle(type: .phoneNumber, value: "1"))
        #expect(one.isEqual(to: CXHandle(type: .phoneNumber, value: "1")))
        #expect(one != CXHandle(type: .generic, value: "1"))
        #expect(one != CXHandle(type: .phoneNumber, value: "2"))
        #expect(Set([one, CXHandle(type: .phoneNumber, value: "1")]).count == 1)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: one, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CXHandle.self, from: archive) == one)
    }

    @Test func whatIsCopiedOnSetDoesNotFollowLaterChanges() throws {
        let update = CXCallUpdate()
        let other = try #require(update.copy() as? CXCallUpdate)
        other.localizedCallerName = "Ada"
        #expect(update.localizedCallerName == nil)
        let configuration = CXProviderConfiguration()
        configuration.ringtoneSound = "a.wav"
        let copy = try #require(configuration.copy() as? CXProviderConfiguration)
        configuration.ringtoneSound = "b.wav"
        #expect(copy.ringtoneSound == "a.wav")
    }

    private func fail(_ error: any Error) throws { throw error }

    @Test func errorsAreCaughtByTheirCodes() throws {
        do {
            try fail(CXErrorCodeRequestTransactionError(.invalidAction))
        } catch CXErrorCodeRequestTransactionError.invalidAction {
        }
        let error: any Error = CXErrorCodeIncomingCallError(.filteredByBlockList)
        #expect((error as? CXErrorCodeIncomingCallError)?.code == .filteredByBlockList)
        #expect((error as? CXErrorCodeRequestTransactionError) == nil)
        #expect((error as NSError).domain == CXErrorDomainIncomingCall)
        #expect((error as NSError).code == 4)
        #expect((error as NSError).userInfo.isEmpty)
    }

    @Test("T-166: an error number that is not listed is unknown, and no crash")
    func unlistedErrorNumber() throws {
        let error = CXErrorCodeCallDirectoryManagerError(_nsError: NSError(domain: CXErrorDomainCallDirectoryManager, code: 102))
        #expect(error.code == .unknown)
        #expect(error.errorCode == 102)
        #expect(((error as any Error) as NSError).code == 102)
        let branch: String
        switch error.code {
        case .loadingInterrupted, .entriesOutOfOrder: branch = "known"
        default: branch = "unknown"
        }
        #expect(branch == "unknown")
    }
}
