// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
@preconcurrency import PushKit
import Testing

/// Three mistakes that calling apps have shipped with, each in a dozen lines, and what the system says of them.
@Suite struct MistakeTests {
    /// Activates the audio session and starts audio in the answer, instead of waiting for `didActivate`.
    final class ImpatientApp: NSObject, CXProviderDelegate, @unchecked Sendable {
        func providerDidReset(_ provider: CXProvider) {}
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
            let session = AVAudioSession.sharedInstance()
            try? session.setCategory(.playAndRecord, mode: .voiceChat)
            try? session.setActive(true)
            CallProbe.audioStarted()
            action.fulfill()
        }
        func provider(_ provider: CXProvider, perform action: CXEndCallAction) { action.fulfill() }
    }

    @Test func audioStartedBeforeItsTimeIsCaught() async throws {
        let system = CallSystem()
        let delegate = ImpatientApp()
        let provider = system.launch("app.impatient").run { CXProvider(configuration: configuration()) }
        provider.setDelegate(delegate, queue: nil)
        let call = try await ring(provider)
        try await system.user.accept(call)
        #expect(system.takePitfalls() == [.audioSelfActivated, .audioBeforeActivate])
        provider.invalidate()
    }

    /// Asks its database who calls before it reports the pushed call.
    final class ThoroughApp: NSObject, CXProviderDelegate, PKPushRegistryDelegate, @unchecked Sendable {
        let provider: CXProvider
        let registry = PKPushRegistry(queue: nil)
        /// Asks, and goes on when the answer is there.
        let askDatabase: @Sendable (@escaping @Sendable () -> Void) -> Void

        init(_ configuration: CXProviderConfiguration, askDatabase: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
            self.askDatabase = askDatabase
            provider = CXProvider(configuration: configuration)
            super.init()
            provider.setDelegate(self, queue: nil)
            registry.delegate = self
            registry.desiredPushTypes = [.voIP]
        }

        func providerDidReset(_ provider: CXProvider) {}
        func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {}
        func pushRegistry(
            _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
            completion: @escaping @Sendable () -> Void
        ) {
            askDatabase { [self] in
                let update = CXCallUpdate()
                update.remoteHandle = CXHandle(type: .generic, value: "ada")
                provider.reportNewIncomingCall(with: UUID(), update: update) { _ in completion() }
            }
        }
    }

    @Test func aPushReportedTooLateIsCaughtAndFatalInStrictMode() async throws {
        var settings = CallSystem.usualSettings
        settings.mode = .strict
        let system = CallSystem(settings: settings)
        let process = system.launch("app.thorough") { $0.isForeground = false }
        let app = process.run { ThoroughApp(configuration()) { system.after(0.2, $0) } }
        await system.settle()
        system.push(["call": UUID().uuidString], to: "app.thorough")
        await system.settle()
        #expect(process.isTerminated, "Apple's system kills the process here")
        #expect(process.terminationReason?.pitfall == .pushNotReported)
        withExtendedLifetime(app) {}
    }

    /// Returns from `perform` without a word where it does not find the call.
    final class ForgetfulApp: NSObject, CXProviderDelegate, @unchecked Sendable {
        var known: Set<UUID> = []
        func providerDidReset(_ provider: CXProvider) {}
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
            // The call's name is `callUUID`.
            guard known.contains(action.uuid) else { return }
            action.fulfill()
        }
    }

    @Test func anActionThatIsForgottenIsCaughtAtOnce() async throws {
        let system = CallSystem()
        let delegate = ForgetfulApp()
        let provider = system.launch("app.forgetful").run { CXProvider(configuration: configuration()) }
        provider.setDelegate(delegate, queue: nil)
        let call = try await ring(provider)
        delegate.known.insert(call)
        try await system.user.accept(call)
        #expect(system.takePitfalls() == [.actionAbandoned])
        await system.advance(by: .seconds(61))
        #expect(system.takePitfalls() == [.actionUnanswered])
        #expect(system.history.map(\.reason) == [.failed])
        provider.invalidate()
    }

    private func configuration() -> CXProviderConfiguration {
        let configuration = CXProviderConfiguration()
        configuration.supportedHandleTypes = [.generic]
        return configuration
    }

    private func ring(_ provider: CXProvider) async throws -> UUID {
        let call = UUID()
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: .generic, value: "ada")
        try await provider.reportNewIncomingCall(with: call, update: update)
        return call
    }
}
