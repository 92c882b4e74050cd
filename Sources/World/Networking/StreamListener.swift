// SPDX-License-Identifier: Apache-2.0

import CPosix
import Essentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A listening TCP socket on a loop. Belongs to the loop and stays open until `close`.
public final class StreamListener {
    private let loop: EventLoop
    private let descriptor: Int32
    private let options: StreamOptions
    /// Where it is bound; the port is the real one if 0 was asked for.
    public let local: SocketAddress
    public private(set) var isOpen = true

    /// Each connection; false refuses it (closes it at once).
    public var onAccept: ((StreamConnection) -> Void)?
    /// Asked before a connection is made of what came.
    public var mayAccept: (() -> Bool)?

    public init(loop: EventLoop, local: SocketAddress, options: StreamOptions = StreamOptions()) throws(NetworkError) {
        let fd = cposix_socket(local.family, 0)
        guard fd >= 0 else { throw NetworkError(errno: -fd, context: "tcp \(local)") }
        cposix_option(fd, local.family, Int32(CPOSIX_OPTION_REUSE_ADDRESS), 1)
        if local.ip.isV6 { cposix_option(fd, 6, Int32(CPOSIX_OPTION_V6ONLY), 1) }
        var address = local.system
        var status = unsafe cposix_bind(fd, &address)
        if status == 0 { status = cposix_listen(fd, 512) }
        if status == 0 { status = unsafe cposix_local_address(fd, &address) }
        guard status == 0 else {
            cposix_close(fd)
            throw NetworkError(errno: -status, context: "tcp \(local)")
        }
        self.loop = loop
        self.options = options
        descriptor = fd
        self.local = SocketAddress(address)
        loop.watch(fd, for: .readable) { [self] _ in acceptAll() }
    }

    public func close() {
        guard isOpen else { return }
        isOpen = false
        loop.unwatch(descriptor)
        cposix_close(descriptor)
        onAccept = nil
        mayAccept = nil
    }

    private func acceptAll() {
        for _ in 0..<64 where isOpen {
            var remote = cposix_address()
            let fd = unsafe cposix_accept(descriptor, &remote)
            if fd < 0 {
                if fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM { pause() }
                if fd == -ECONNABORTED || fd == -EINTR { continue }
                return
            }
            guard mayAccept?() ?? true else {
                cposix_close(fd)
                continue
            }
            let connection = StreamConnection(loop: loop, accepted: fd, remote: SocketAddress(remote), options: options)
            if let onAccept { onAccept(connection) } else { connection.close() }
        }
    }

    /// The connection stays in the backlog while there is no descriptor for it; without a pause the loop would spin.
    private func pause() {
        loop.setInterest(descriptor, [])
        loop.schedule(at: loop.now + .milliseconds(100)) { [self] in
            if isOpen { loop.setInterest(descriptor, .readable) }
        }
    }
}
