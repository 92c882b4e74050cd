// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallDirectory
import CallServiceCore
import Foundation

/// Asks the system about the app's call directory extension and has it loaded again.
public class CXCallDirectoryManager: NSObject {
    public enum EnabledStatus: Int, Sendable {
        case unknown = 0
        case disabled = 1
        case enabled = 2
    }

    private let link: AppLink

    private init(link: AppLink) { self.link = link }

    public class var sharedInstance: CXCallDirectoryManager {
        let link = AppLink.current
        return link.part { CXCallDirectoryManager(link: link) }
    }

    /// Runs the extension again. The completion comes when its lists are in force, or with an error of
    /// `CXErrorCodeCallDirectoryManagerError`; then the old lists stay.
    public func reloadExtension(withIdentifier identifier: String, completionHandler completion: (@Sendable ((any Error)?) -> Void)? = nil)
    {
        link.ask({ .reloadDirectory($0, extensionIdentifier: identifier) }) { [link] answer in
            var error: CXErrorCodeCallDirectoryManagerError? = CXErrorCodeCallDirectoryManagerError(.unknown)
            if case .directoryAnswer(_, let code)? = answer { error = code.map { CXErrorCodeCallDirectoryManagerError(code: $0) } }
            link.deliver(on: link.privateQueue) { [error] in completion?(error) }
        }
    }

    public func reloadExtension(withIdentifier identifier: String) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            reloadExtension(withIdentifier: identifier) { continuation.resume(with: $0.map { .failure($0) } ?? .success(())) }
        }
    }

    /// Whether the person allowed the extension; only a person can.
    public func getEnabledStatusForExtension(
        withIdentifier identifier: String, completionHandler completion: @escaping @Sendable (EnabledStatus, (any Error)?) -> Void
    ) {
        link.ask({ .directoryStatus($0, extensionIdentifier: identifier) }) { [link] answer in
            var status = EnabledStatus.unknown
            var error: CXErrorCodeCallDirectoryManagerError? = CXErrorCodeCallDirectoryManagerError(.unknown)
            if case .directoryStatus(_, let value, let code)? = answer {
                status = EnabledStatus(rawValue: value) ?? .unknown
                error = code.map { CXErrorCodeCallDirectoryManagerError(code: $0) }
            }
            link.deliver(on: link.privateQueue) { [status, error] in completion(status, error) }
        }
    }

    public func enabledStatusForExtension(withIdentifier identifier: String) async throws -> EnabledStatus {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<EnabledStatus, any Error>) in
            getEnabledStatusForExtension(withIdentifier: identifier) { status, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(status))
            }
        }
    }

    /// Opens the system's page of call directory extensions (iOS 13.4). There is none on Linux: the error is `unknown`.
    public func openSettings(completionHandler completion: (@Sendable ((any Error)?) -> Void)? = nil) {
        link.deliver(on: link.privateQueue) { completion?(CXErrorCodeCallDirectoryManagerError(.unknown)) }
    }

    public func openSettings() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            openSettings { continuation.resume(with: $0.map { .failure($0) } ?? .success(())) }
        }
    }
}
