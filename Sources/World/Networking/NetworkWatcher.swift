// SPDX-License-Identifier: Apache-2.0
//
// The addresses of this machine, and who is told when they change: one netlink socket a loop, shared by its phones.
//
//   RTM_NEWADDR, DELADDR, NEWLINK, NEWROUTE … ─▶ drain ─▶ read all addresses ─ differ? ─▶ every subscriber

import CPosix
import Essentials
import SIPAgent

extension NetworkState {
    /// The addresses of this machine now: those of interfaces that are up, loopback and link-local ones left out; those that
    /// the default routes use are marked.
    public static func current() -> NetworkState {
        var entries = [cposix_interface](repeating: cposix_interface(), count: 256)
        let count = unsafe entries.withUnsafeMutableBufferPointer { unsafe cposix_interfaces($0.baseAddress, Int32($0.count)) }
        // Documentation addresses (RFC 5737, RFC 3849): what leads there is the default route. Nothing is sent.
        let defaults = [
            localAddress(toward: SocketAddress(.v4(0xc000_0201), 9)),
            localAddress(toward: SocketAddress(.v6(0x2001_0db8_0000_0000, 1), 9)),
        ].compactMap { $0 }
        var addresses: [LocalAddress] = []
        for entry in entries.prefix(Int(max(0, count))) {
            let ip = SocketAddress(entry.address).ip
            guard !addresses.contains(where: { $0.ip == ip }) else { continue }
            addresses.append(
                LocalAddress(ip, prefixLength: Int(entry.prefix), isDefault: defaults.contains(ip), interface: name(of: entry)))
        }
        return NetworkState(addresses)
    }

    private static func name(of entry: cposix_interface) -> String {
        unsafe withUnsafeBytes(of: entry.interface) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// Tells when addresses of this machine come or go. Belongs to the loop, one for each.
public final class NetworkWatcher {
    /// Names a subscriber.
    public struct Token: Hashable, Sendable {
        let number: UInt64
    }

    private unowned let loop: EventLoop
    private var descriptor: Int32?
    private var subscribers: [(token: Token, told: (NetworkState) -> Void)] = []
    private var lastToken: UInt64 = 0
    private var last = NetworkState([])
    #if canImport(Network)
        private var monitor: NetworkPathMonitor?
    #endif

    init(loop: EventLoop) { self.loop = loop }

    /// Calls `told` on the loop with each change from now on; nil if the system cannot tell of changes.
    public func subscribe(_ told: @escaping (NetworkState) -> Void) -> Token? {
        guard descriptor != nil || open() else { return nil }
        lastToken += 1
        let token = Token(number: lastToken)
        subscribers.append((token, told))
        return token
    }

    public func unsubscribe(_ token: Token) {
        subscribers.removeAll { $0.token == token }
        if subscribers.isEmpty { close() }
    }

    private func open() -> Bool {
        #if canImport(Network)
            monitor = NetworkPathMonitor(loop: loop) { [weak self] in self?.review() }
            last = NetworkState.current()
            descriptor = -1
            return true
        #else
            let fd = cposix_network_watch()
            guard fd >= 0 else { return false }
            guard loop.watch(fd, for: .readable, { [weak self] _ in self?.readable() }) == 0 else {
                cposix_close(fd)
                return false
            }
            descriptor = fd
            last = NetworkState.current()
            return true
        #endif
    }

    private func close() {
        guard let fd = descriptor else { return }
        descriptor = nil
        #if canImport(Network)
            monitor = nil
        #endif
        guard fd >= 0 else { return }
        loop.unwatch(fd)
        cposix_close(fd)
    }

    private func readable() {
        guard let descriptor, cposix_network_drain(descriptor) == 1 else { return }
        review()
    }

    private func review() {
        let state = NetworkState.current()
        guard state != last else { return }
        last = state
        for subscriber in subscribers { subscriber.told(state) }
    }
}
