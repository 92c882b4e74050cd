// SPDX-License-Identifier: Apache-2.0
//
// Apple only, and not compiled on Linux: the path monitor says that something changed, the addresses are read anew.

#if canImport(Network)
    import Dispatch
    import Network

    /// Calls `changed` on the loop whenever the system says that paths changed.
    final class NetworkPathMonitor {
        private let monitor = NWPathMonitor()

        init(loop: EventLoop, _ changed: @escaping @Sendable () -> Void) {
            monitor.pathUpdateHandler = { _ in loop.execute { changed() } }
            monitor.start(queue: DispatchQueue(label: "handset-network"))
        }

        deinit { monitor.cancel() }
    }
#endif
