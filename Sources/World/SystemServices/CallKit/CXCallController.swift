// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation

/// Asks the system for actions on the person's behalf: what a button in the app means.
public class CXCallController: NSObject {
    private let link: AppLink
    private let queue: DispatchQueue
    /// The calls of the whole system.
    public let callObserver: CXCallObserver

    /// Completions come on a serial queue of the controller's own.
    public override convenience init() { self.init(queue: DispatchQueue(label: "handset.calls.controller")) }

    /// Completions come on `queue`.
    public init(queue: DispatchQueue) {
        link = AppLink.current
        self.queue = queue
        callObserver = CXCallObserver()
    }

    /// Asks for a transaction. Without an error it will be passed to the provider, which is not yet done; with one, which is of
    /// `CXErrorCodeRequestTransactionError`, nothing of it happens.
    public func request(_ transaction: CXTransaction, completion: @escaping @Sendable ((any Error)?) -> Void) {
        let described = transaction.described
        link.ask({ .request($0, described) }) { [link, queue] answer in
            var error: CXErrorCodeRequestTransactionError? = CXErrorCodeRequestTransactionError(.unknown)
            if case .requested(_, let code)? = answer { error = code.map { CXErrorCodeRequestTransactionError(code: $0) } }
            link.deliver(on: queue) { [error] in completion(error) }
        }
    }

    public func requestTransaction(with actions: [CXAction], completion: @escaping @Sendable ((any Error)?) -> Void) {
        request(CXTransaction(actions: actions), completion: completion)
    }

    public func requestTransaction(with action: CXAction, completion: @escaping @Sendable ((any Error)?) -> Void) {
        request(CXTransaction(action: action), completion: completion)
    }

    public func request(_ transaction: CXTransaction) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            request(transaction) { continuation.resume(with: $0.map { .failure($0) } ?? .success(())) }
        }
    }

    public func requestTransaction(with actions: [CXAction]) async throws { try await request(CXTransaction(actions: actions)) }

    public func requestTransaction(with action: CXAction) async throws { try await request(CXTransaction(action: action)) }
}
