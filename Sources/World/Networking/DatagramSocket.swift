// SPDX-License-Identifier: Apache-2.0

import CPosix
import Essentials
import SIPAgent

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a datagram socket is for.
public struct DatagramOptions: Sendable {
    /// Octets that may wait to be sent; more are dropped with `FlowFailure.limit`.
    public var queueLimit = 4 << 20
    /// SO_RCVBUF; the system may give less.
    public var receiveBuffer = 4 << 20
    /// ICMP errors come back with the destination they are about.
    public var reportsErrors = true
    /// The differentiated services code point: 46 (EF) for speech (RFC 4594 §4.1), 24 or 40 for signalling.
    public var codePoint: UInt8 = 0
    /// Datagrams taken from the system at once, 1...32: few for a socket that gets one now and then.
    public var batch = 32

    public init() {}
}

/// A UDP socket on a loop: receives and sends in batches. Belongs to the loop and stays open until `close`.
public final class DatagramSocket {
    /// Octets, source, and when the kernel got them.
    public typealias Receiver = (Span<UInt8>, SocketAddress, MonotonicTime) -> Void

    private let loop: EventLoop
    private let descriptor: Int32
    private let options: DatagramOptions
    /// Where it is bound; the port is the real one if 0 was asked for.
    public let local: SocketAddress
    public private(set) var isOpen = true

    /// Called for each datagram.
    public var onReceive: Receiver?
    /// Called after the last datagram of a turn.
    public var onBatchEnd: (() -> Void)?
    /// A datagram to that address was refused, or could not be sent.
    public var onSendFailed: ((SocketAddress, FlowFailure) -> Void)?
    /// Datagrams that were longer than 64 KiB or did not come whole.
    public private(set) var truncated: UInt64 = 0

    private var bytes: [UInt8] = []
    private var outgoing: [cposix_outgoing] = []
    private var sent = 0
    private var isFlushPlanned = false
    private var isBlocked = false

    /// Opens and binds a socket. An IPv6 socket takes IPv6 only, so that it never stands in the way of an IPv4 one.
    public init(loop: EventLoop, local: SocketAddress, options: DatagramOptions = DatagramOptions()) throws(NetworkError) {
        let fd = cposix_socket(local.family, 1)
        guard fd >= 0 else { throw NetworkError(errno: -fd, context: "udp \(local)") }
        func set(_ option: Int, _ value: Int32) { cposix_option(fd, local.family, Int32(option), value) }
        if local.ip.isV6 { set(CPOSIX_OPTION_V6ONLY, 1) }
        set(CPOSIX_OPTION_RECEIVE_BUFFER, Int32(clamping: options.receiveBuffer))
        set(CPOSIX_OPTION_TIMESTAMPS, 1)
        if options.reportsErrors { set(CPOSIX_OPTION_ERROR_QUEUE, 1) }
        if options.codePoint > 0 { set(CPOSIX_OPTION_TRAFFIC_CLASS, Int32(options.codePoint & 63) << 2) }
        var address = local.system
        var status = unsafe cposix_bind(fd, &address)
        if status == 0 { status = unsafe cposix_local_address(fd, &address) }
        guard status == 0 else {
            cposix_close(fd)
            throw NetworkError(errno: -status, context: "udp \(local)")
        }
        self.loop = loop
        self.options = options
        descriptor = fd
        self.local = SocketAddress(address)
        let watched = loop.watch(fd, for: .readable) { [self] in handle($0) }
        guard watched == 0 else {
            isOpen = false
            cposix_close(fd)
            throw NetworkError(errno: watched, context: "udp \(local)")
        }
    }

    /// Closes at once; what was queued in this turn is sent first.
    public func close() {
        guard isOpen else { return }
        flush()
        isOpen = false
        loop.unwatch(descriptor)
        cposix_close(descriptor)
        onReceive = nil
        onBatchEnd = nil
        onSendFailed = nil
    }

    // MARK: Sending

    /// Queues a datagram; it leaves at the end of the turn.
    public func send(_ datagram: [UInt8], to remote: SocketAddress) { send(datagram[...], to: remote) }

    public func send(_ datagram: ArraySlice<UInt8>, to remote: SocketAddress) {
        guard isOpen else { return }
        guard remote.ip.isV6 == local.ip.isV6 else { return fail(remote, .unreachable) }
        guard bytes.count + datagram.count <= options.queueLimit else { return fail(remote, .limit) }
        outgoing.append(
            cposix_outgoing(to: remote.system, offset: UInt32(truncatingIfNeeded: bytes.count), length: UInt32(datagram.count)))
        bytes.append(contentsOf: datagram)
        planFlush()
    }

    /// Sends a datagram now; false if the system takes none at the moment. For media, where a late packet is worth nothing.
    public func sendNow(_ datagram: Span<UInt8>, to remote: SocketAddress) -> Bool {
        guard isOpen, remote.ip.isV6 == local.ip.isV6 else { return false }
        var single = cposix_outgoing(to: remote.system, offset: 0, length: UInt32(truncatingIfNeeded: datagram.count))
        let count = unsafe datagram.withUnsafeBufferPointer { unsafe cposix_send(descriptor, $0.baseAddress, &single, 1) }
        return count == 1
    }

    private func planFlush() {
        guard !isFlushPlanned, !isBlocked else { return }
        isFlushPlanned = true
        loop.atEndOfTurn { [self] in
            isFlushPlanned = false
            flush()
        }
    }

    /// Sends what is queued now rather than at the end of the turn.
    public func flush() {
        guard isOpen else { return }
        var isRepeated = false
        while sent < outgoing.count {
            let count = unsafe outgoing.withUnsafeBufferPointer { list in
                unsafe bytes.withUnsafeBufferPointer { octets in
                    let start = unsafe list.baseAddress.map { unsafe $0 + sent }
                    return unsafe cposix_send(descriptor, octets.baseAddress, start, Int32(clamping: list.count - sent))
                }
            }
            if count > 0 {
                sent += Int(count)
                isRepeated = false
            } else if count == -EAGAIN || count == -ENOBUFS {
                isBlocked = true
                loop.setInterest(descriptor, [.readable, .writable])
                return
            } else if !isRepeated {
                // The first error may be an old one that the socket still had to tell, about another destination.
                isRepeated = true
            } else {
                let remote = SocketAddress(outgoing[sent].to)
                sent += 1
                isRepeated = false
                fail(remote, FlowFailure(errno: -count))
            }
        }
        outgoing.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 17)
        sent = 0
    }

    /// Told at the end of the turn, never from inside `send`.
    private func fail(_ remote: SocketAddress, _ failure: FlowFailure) {
        loop.atEndOfTurn { [self] in onSendFailed?(remote, failure) }
    }

    // MARK: Receiving

    private func handle(_ readiness: Readiness) {
        if readiness.contains(.failed) { takeErrors() }
        if readiness.contains(.writable), isOpen, isBlocked {
            isBlocked = false
            loop.setInterest(descriptor, .readable)
            flush()
        }
        if readiness.contains(.readable), isOpen { receive() }
    }

    private func receive() {
        let buffer = loop.receiveBuffer
        var hasReceived = false
        // A few batches, then the other sockets have their turn.
        for _ in 0..<4 {
            let count = buffer.receive(descriptor, limit: options.batch)
            if count < 0 {
                if count == -Int(EINTR) { continue }
                if count != -Int(EAGAIN) { takeErrors() }
                break
            }
            for index in 0..<count {
                hasReceived = true
                let from = buffer.from(index)
                let time = buffer.time(index)
                buffer.withBytes(index) { onReceive?($0, from, time) }
                guard isOpen else { return }
            }
            if count < options.batch { break }
        }
        if hasReceived { onBatchEnd?() }
    }

    private func takeErrors() {
        var remote = cposix_address()
        var error: Int32 = 0
        // Without an error queue (Apple) the pending error has no destination; it is only cleared.
        _ = cposix_take_error(descriptor)
        for _ in 0..<64 {
            guard unsafe cposix_read_error(descriptor, &remote, &error) == 1 else { return }
            // The path is narrower than thought: the kernel fragments from now on and the sender repeats.
            guard error != 0, error != EMSGSIZE, remote.family != 0 else { continue }
            onSendFailed?(SocketAddress(remote), FlowFailure(errno: error))
            guard isOpen else { return }
        }
    }
}
