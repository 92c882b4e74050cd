// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallDirectory
import CallServiceCore
import Foundation
import Synchronization

/// A telephone number as an integer: country code, then national number, without plus sign or leading zeros.
public typealias CXCallDirectoryPhoneNumber = Int64

/// The greatest number of a directory.
public let CXCallDirectoryPhoneNumberMax: CXCallDirectoryPhoneNumber = .max - 1

/// The principal object of a call directory extension: gives the system its lists once, at each load.
open class CXCallDirectoryProvider: NSObject, NSExtensionRequestHandling {
    public override init() {}

    /// Add the entries and complete the request.
    open func beginRequest(with context: CXCallDirectoryExtensionContext) {}

    public func beginRequest(with context: NSExtensionContext) {
        if let context = context as? CXCallDirectoryExtensionContext { beginRequest(with: context) }
    }
}

/// Hears that a load was refused.
public protocol CXCallDirectoryExtensionContextDelegate: NSObjectProtocol {
    func requestFailed(for extensionContext: CXCallDirectoryExtensionContext, withError error: any Error)
}

/// One load: takes the entries in ascending order, each list by itself.
public class CXCallDirectoryExtensionContext: NSExtensionContext {
    private let load: Mutex<DirectoryLoad>
    private let finish: @Sendable (DirectoryLoad) -> DirectoryError?
    private let link: AppLink
    private let isOver = Atomic(false)
    /// The extension, until its request is over: its app holds it nowhere, and it may be the delegate.
    private let provider = Mutex(SendableBox<CXCallDirectoryProvider?>(nil))

    public weak var delegate: (any CXCallDirectoryExtensionContextDelegate)?

    /// Whether the lists of the last load go on. Read it before anything is added.
    public let isIncremental: Bool

    init(link: AppLink, load: DirectoryLoad, finish: @escaping @Sendable (DirectoryLoad) -> DirectoryError?) {
        self.link = link
        self.load = Mutex(load)
        self.finish = finish
        isIncremental = load.isIncremental
    }

    public func addBlockingEntry(withNextSequentialPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) {
        load.withLock { $0.block(phoneNumber) }
    }

    public func removeBlockingEntry(withPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) { load.withLock { $0.unblock(phoneNumber) } }

    public func removeAllBlockingEntries() { load.withLock { $0.unblockAll() } }

    public func addIdentificationEntry(withNextSequentialPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber, label: String) {
        load.withLock { $0.label(phoneNumber, label) }
    }

    public func removeIdentificationEntry(withPhoneNumber phoneNumber: CXCallDirectoryPhoneNumber) {
        load.withLock { $0.unlabel(phoneNumber) }
    }

    public func removeAllIdentificationEntries() { load.withLock { $0.unlabelAll() } }

    /// All is said. The closure hears whether the host ended the request early.
    public func completeRequest(completionHandler completion: (@Sendable (Bool) -> Void)? = nil) {
        let isLate = end(interrupted: nil)
        link.deliver(on: link.privateQueue) { completion?(isLate) }
    }

    public func completeRequest() async -> Bool {
        await withCheckedContinuation { continuation in completeRequest { continuation.resume(returning: $0) } }
    }

    func hold(_ extension: CXCallDirectoryProvider) {
        provider.withLock { $0 = SendableBox(`extension`) }
    }

    /// The host's limit came first, or the extension was let go of.
    func interrupt(_ seen: String) { _ = end(interrupted: seen) }

    /// Whether it had ended before.
    private func end(interrupted seen: String?) -> Bool {
        if isOver.exchange(true, ordering: .acquiringAndReleasing) { return true }
        // Taken out, so that a list of a million is never there twice.
        let taken = load.withLock { load in
            if let seen { load.interrupt(seen) }
            defer { load = DirectoryLoad(isIncremental: load.isIncremental) }
            return load
        }
        // The delegate is told on another queue: whoever it is lives until then.
        let box = SendableBox((context: self, delegate: delegate))
        provider.withLock { $0 = SendableBox(nil) }
        guard let error = finish(taken) else { return false }
        link.deliver(on: link.privateQueue) {
            box.value.delegate?.requestFailed(
                for: box.value.context, withError: CXErrorCodeCallDirectoryManagerError(code: error.rawValue))
        }
        return false
    }
}
