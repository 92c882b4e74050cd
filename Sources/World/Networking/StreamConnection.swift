// SPDX-License-Identifier: Apache-2.0

import CPosix
import Essentials
import SIPAgent

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The limits of a connection.
public struct StreamOptions: Sendable {
    /// Octets that may wait to be sent; more closes the connection with `FlowFailure.limit`.
    public var queueLimit = 1 << 20
    /// How long opening may take.
    public var connectTimeout = Interval.milliseconds(10_000)
    /// How long closing waits for what is still to be sent.
    public var closeTimeout = Interval.milliseconds(2_000)

    public init() {}
}

/// A TCP connection on a loop. Belongs to the loop; open until `onClosed` was called, once, whoever ended it.
///
/// No handler is ever called from inside a method of this class.
public final class StreamConnection: ByteStream {
    private enum State {
        case connecting
        case open
        /// `close` was called; what is queued is still to be sent.
        case closing
        case closed
    }

    private let loop: EventLoop
    private let descriptor: Int32
    private let options: StreamOptions
    private var state: State
    public private(set) var local: SocketAddress
    public let remote: SocketAddress

    public var onConnected: (() -> Void)?
    /// A piece of the stream, up to 64 KiB.
    public var onReceive: (([UInt8]) -> Void)?
    public var onClosed: ((FlowFailure) -> Void)?

    /// Octets to be sent; those before `offset` are.
    private var queue: [UInt8] = []
    private var offset = 0
    public var isOpen: Bool { state == .open }
    /// Octets that wait to be sent.
    public var queued: Int { queue.count - offset }
    private var isFlushPlanned = false
    private var isBlocked = false
    private var timer: TimerToken?

    /// Opens a connection; `onConnected` or `onClosed` follows.
    public init(loop: EventLoop, to remote: SocketAddress, options: StreamOptions = StreamOptions()) throws(NetworkError) {
        let fd = cposix_socket(remote.family, 0)
        guard fd >= 0 else { throw NetworkError(errno: -fd, context: "tcp to \(remote)") }
        var address = remote.system
        let status = unsafe cposix_connect(fd, &address)
        guard status == 0 || status == -EINPROGRESS else {
            cposix_close(fd)
            throw NetworkError(errno: -status, context: "tcp to \(remote)")
        }
        self.loop = loop
        self.options = options
        self.remote = remote
        descriptor = fd
        local = SocketAddress(remote.ip.isV6 ? .anyV6 : .anyV4, 0)
        state = .connecting
        cposix_option(fd, remote.family, Int32(CPOSIX_OPTION_NO_DELAY), 1)
        loop.watch(fd, for: .writable) { [self] in handle($0) }
        timer = loop.schedule(at: loop.now + options.connectTimeout) { [self] in
            timer = nil
            finish(.timedOut)
        }
    }

    /// An accepted one.
    init(loop: EventLoop, accepted fd: Int32, remote: SocketAddress, options: StreamOptions) {
        self.loop = loop
        self.options = options
        self.remote = remote
        descriptor = fd
        var address = cposix_address()
        local = unsafe cposix_local_address(fd, &address) == 0 ? SocketAddress(address) : remote
        state = .open
        cposix_option(fd, remote.family, Int32(CPOSIX_OPTION_NO_DELAY), 1)
        loop.watch(fd, for: .readable) { [self] in handle($0) }
    }

    /// Queues octets; they leave at the end of the turn, or as soon as the connection is up.
    public func send(_ bytes: [UInt8]) {
        guard state == .open || state == .connecting, !bytes.isEmpty else { return }
        guard queued + bytes.count <= options.queueLimit else {
            state = .closing
            loop.atEndOfTurn { [self] in finish(.limit) }
            return
        }
        queue.append(contentsOf: bytes)
        planFlush()
    }

    /// Closes after what is queued is sent.
    public func close() {
        switch state {
        case .closing, .closed: return
        case .connecting:
            state = .closing
            loop.atEndOfTurn { [self] in finish(.closedLocally) }
        case .open:
            state = .closing
            guard queued > 0 else {
                loop.atEndOfTurn { [self] in finish(.closedLocally) }
                return
            }
            timer = loop.schedule(at: loop.now + options.closeTimeout) { [self] in
                timer = nil
                finish(.closedLocally)
            }
            planFlush()
        }
    }

    private func planFlush() {
        guard !isFlushPlanned, !isBlocked, state != .connecting else { return }
        isFlushPlanned = true
        loop.atEndOfTurn { [self] in
            isFlushPlanned = false
            flush()
        }
    }

    private func flush() {
        guard state == .open || state == .closing else { return }
        while queued > 0 {
            let count = unsafe queue.withUnsafeBufferPointer { octets in
                let start = unsafe octets.baseAddress.map { unsafe $0 + offset }
                return unsafe cposix_write(descriptor, start, octets.count - offset)
            }
            if count < 0 {
                if count == -Int(EINTR) { continue }
                guard count == -Int(EAGAIN) else { return finish(FlowFailure(errno: Int32(-count))) }
                isBlocked = true
                loop.setInterest(descriptor, state == .closing ? .writable : [.readable, .writable])
                compact()
                return
            }
            offset += count
        }
        queue.removeAll(keepingCapacity: queue.capacity <= 1 << 15)
        offset = 0
        if state == .closing { finish(.closedLocally) }
    }

    /// Gives back what is sent, once it is the larger part.
    private func compact() {
        guard offset > queue.count / 2 else { return }
        queue.removeFirst(offset)
        offset = 0
    }

    // MARK: Readiness

    private func handle(_ readiness: Readiness) {
        if state == .connecting {
            connectEnded()
            return
        }
        if readiness.contains(.writable), isBlocked {
            isBlocked = false
            loop.setInterest(descriptor, .readable)
            flush()
        }
        if !readiness.isDisjoint(with: [.readable, .failed]) { receive() }
    }

    private func connectEnded() {
        let error = cposix_take_error(descriptor)
        guard error == 0 else { return finish(FlowFailure(errno: error)) }
        if let timer { loop.cancel(timer) }
        timer = nil
        var address = cposix_address()
        if unsafe cposix_local_address(descriptor, &address) == 0 { local = SocketAddress(address) }
        state = .open
        loop.setInterest(descriptor, .readable)
        onConnected?()
        if queued > 0 { planFlush() }
    }

    private func receive() {
        guard state == .open || state == .closing else { return }
        switch loop.receiveBuffer.read(descriptor) {
        case .success(let bytes) where bytes.isEmpty: finish(state == .closing ? .closedLocally : .closedByPeer)
        case .success(let bytes): if state == .open { onReceive?(bytes) }
        case .failure(let fault):
            guard fault.errorNumber != EAGAIN, fault.errorNumber != EINTR else { return }
            finish(FlowFailure(errno: fault.errorNumber))
        }
    }

    private func finish(_ failure: FlowFailure) {
        guard state != .closed else { return }
        state = .closed
        if let timer { loop.cancel(timer) }
        timer = nil
        loop.unwatch(descriptor)
        cposix_close(descriptor)
        queue = []
        offset = 0
        let told = onClosed
        onConnected = nil
        onReceive = nil
        onClosed = nil
        told?(failure)
    }
}
