// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// What stands between phones and a server on loopback: passes connections on, and datagrams as a NAT does, each client from a
/// port of its own. Connections can be cut, and ports be changed.
final class Relay: Sendable {
    private struct State {
        var target: UInt16 = 0
        /// Both ends of each connection.
        var pairs: [(client: Int32, server: Int32)] = []
        /// The NAT's sockets, by the port of the client.
        var bindings: [UInt16: Int32] = [:]
        var isOver = false
    }

    /// Where phones connect and send to.
    let port: Int
    private let listener: Int32
    private let datagrams: Int32
    private let state = Mutex(State())

    init() throws {
        port = try Bench.freePort()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard Self.bind(listener, port), Self.bind(datagrams, port), listen(listener, 16) == 0 else {
            throw Subprocess.Failure(description: "no sockets for the relay")
        }
        Thread.detachNewThread { [self] in run() }
    }

    /// Passes everything on to that port from now on.
    func lead(to port: Int) { state.withLock { $0.target = UInt16(port) } }

    /// Connections that are up.
    var connections: Int { state.withLock { $0.pairs.count } }

    /// Breaks every connection at both ends, without a farewell.
    func cut() {
        state.withLock { state in
            for pair in state.pairs { for handle in [pair.client, pair.server] { Self.reset(handle) } }
            state.pairs = []
        }
    }

    /// Forgets every binding: the next datagram of a client leaves from another port, and what comes to the old one is lost.
    func rebind() {
        state.withLock { state in
            for handle in state.bindings.values { close(handle) }
            state.bindings = [:]
        }
    }

    func stop() { state.withLock { $0.isOver = true } }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func bind(_ handle: Int32, _ port: Int) -> Bool {
        var address = address(port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.bind(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        } == 0
    }

    private static func reset(_ handle: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(handle, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Foundation.linger>.size))
        close(handle)
    }

    // MARK: The thread

    private func run() {
        while true {
            var handles = [listener, datagrams].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let isOver = state.withLock { state in
                for handle in state.pairs.flatMap({ [$0.client, $0.server] }) + state.bindings.values {
                    handles.append(pollfd(fd: handle, events: Int16(POLLIN), revents: 0))
                }
                return state.isOver
            }
            guard !isOver else { break }
            guard poll(&handles, nfds_t(handles.count), 20) > 0 else { continue }
            for handle in handles where handle.revents != 0 { state.withLock { serve(handle.fd, &$0) } }
        }
        state.withLock { state in
            for pair in state.pairs { for handle in [pair.client, pair.server] { close(handle) } }
            for handle in state.bindings.values { close(handle) }
        }
        close(listener)
        close(datagrams)
    }

    private func serve(_ handle: Int32, _ state: inout State) {
        if handle == listener { return accept(&state) }
        if handle == datagrams { return out(&state) }
        if let client = state.bindings.first(where: { $0.value == handle })?.key { return back(handle, to: client) }
        guard let place = state.pairs.firstIndex(where: { $0.client == handle || $0.server == handle }) else { return }
        let pair = state.pairs[place]
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(handle, &buffer, buffer.count, 0)
        if count > 0 {
            _ = send(handle == pair.client ? pair.server : pair.client, buffer, count, Int32(MSG_NOSIGNAL))
        } else {
            close(pair.client)
            close(pair.server)
            state.pairs.remove(at: place)
        }
    }

    private func accept(_ state: inout State) {
        let client = Foundation.accept(listener, nil, nil)
        guard client >= 0 else { return }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(Int(state.target))
        let isUp =
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            } == 0
        guard isUp else {
            Self.reset(client)
            close(server)
            return
        }
        state.pairs.append((client, server))
    }

    /// From a client to the server.
    private func out(_ state: inout State) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var from = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &from) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(datagrams, &buffer, buffer.count, 0, $0, &length) }
        }
        guard count > 0 else { return }
        let client = UInt16(bigEndian: from.sin_port)
        let handle = state.bindings[client] ?? socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        if state.bindings[client] == nil {
            guard Self.bind(handle, 0) else { return }
            state.bindings[client] = handle
        }
        deliver(buffer[0..<count], over: handle, to: Int(state.target))
    }

    /// From the server to a client.
    private func back(_ handle: Int32, to client: UInt16) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(handle, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        deliver(buffer[0..<count], over: datagrams, to: Int(client))
    }

    private func deliver(_ bytes: ArraySlice<UInt8>, over handle: Int32, to port: Int) {
        var address = Self.address(port)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(handle, Array(bytes), bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
