// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallDirectory
import CallServiceCore
import Foundation
import Synchronization

/// Where a program on Linux says which call directory extensions it holds.
///
/// Not Apple's: on iOS the extension's Info.plist names its principal class. It is used in the folder of an app's adapters.
public enum CallDirectoryExtensions {
    /// Bounds of one load.
    public struct Limits: Sendable {
        public var maximumEntries = 2_000_000
        /// From the request to its completion.
        public var time: TimeInterval = 30

        public init() {}
    }

    /// From now on a load of that extension makes a provider and asks it. Its lists stand at `path`; nil: the usual place.
    public static func register(
        _ identifier: String, limits: Limits = Limits(), path: String? = nil, provider: @escaping @Sendable () -> CXCallDirectoryProvider
    ) {
        let link = AppLink.current
        let host = link.part { DirectoryHost(link: link) }
        host.add(
            identifier,
            DirectoryHost.Extension(
                limits: limits, path: path ?? DirectoryFile.usualPath(of: identifier, in: link.directoryFolder), make: provider))
    }
}

/// Runs the extensions of this program when the service asks for it.
final class DirectoryHost: Sendable {
    struct Extension: Sendable {
        let limits: CallDirectoryExtensions.Limits
        let path: String
        let make: @Sendable () -> CXCallDirectoryProvider
    }

    private weak let link: AppLink?
    private let extensions = Mutex<[String: Extension]>([:])
    /// An extension has its own process on iOS; here it has its own queue.
    private let queue = DispatchQueue(label: "handset.calls.directory")

    init(link: AppLink) {
        self.link = link
        link.handle(.directory) { [weak self] in self?.receive($0) }
    }

    func add(_ identifier: String, _ found: Extension) { extensions.withLock { $0[identifier] = found } }

    private func receive(_ message: ServiceMessage) {
        guard let link, case .loadDirectory(let request, let identifier, let isIncremental) = message else { return }
        guard let found = extensions.withLock({ $0[identifier] }) else {
            return link.send(.directoryLoaded(request, code: DirectoryError.noExtensionFound.rawValue))
        }
        link.deliver(on: queue) { [queue] in
            Self.run(found, identifier, request, isIncremental: isIncremental, link: link, queue: queue)
        }
    }

    private static func run(
        _ found: Extension, _ identifier: String, _ request: RequestID, isIncremental: Bool, link: AppLink, queue: DispatchQueue
    ) {
        let isIncremental = isIncremental && DirectoryFile(path: found.path) != nil
        let load = DirectoryLoad(isIncremental: isIncremental, maximumEntries: found.limits.maximumEntries)
        let context = CXCallDirectoryExtensionContext(link: link, load: load) { load in
            write(load, found, identifier, request, link)
        }
        let provider = found.make()
        // An extension may complete later; it and its context live until then or until the limit.
        context.hold(provider)
        provider.beginRequest(with: context)
        let box = SendableBox(context)
        link.after(found.limits.time, on: queue) {
            box.value.interrupt("the extension did not complete its request within \(Int(found.limits.time)) s.")
        }
    }

    private static func write(
        _ load: DirectoryLoad, _ found: Extension, _ identifier: String, _ request: RequestID, _ link: AppLink
    ) -> DirectoryError? {
        var load = load
        var failure: DirectoryError?
        do {
            try DirectoryFile.write(&load, to: found.path)
        } catch {
            failure = error as? DirectoryError ?? .unknown
        }
        for remark in load.remarks + [load.fault].compactMap({ $0 }) { link.observed(remark.pitfall, remark.seen) }
        if failure == nil { link.send(.directoryChanged(extensionIdentifier: identifier)) }
        link.send(.directoryLoaded(request, code: failure?.rawValue))
        return failure
    }
}
