// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A phone that says what the test tells it, over UDP on loopback: a peer that does what no phone would.
final class ScriptedPhone: Sendable {
    private struct State {
        var requests: [String] = []
        var from = sockaddr_in()
        var answersBye = true
        /// When each packet of sound came, and whether it was more than silence.
        var sound: [(at: ContinuousClock.Instant, isLoud: Bool)] = []
        var isOver = false
    }

    let port: Int
    private let soundPort: Int
    private let handles: (sip: Int32, sound: Int32)
    private let state = Mutex(State())

    init() throws {
        let ports = (sip: try Bench.freePort(), sound: try Bench.freePort() & ~1)
        (port, soundPort) = ports
        handles = (try Self.open(ports.sip), try Self.open(ports.sound))
        Thread.detachNewThread { [self] in listen() }
    }

    var address: String { "sip:peer@127.0.0.1:\(port)" }

    /// From now on nobody answers there.
    func falls(silent: Bool) { state.withLock { $0.answersBye = !silent } }

    func stop() { state.withLock { $0.isOver = true } }

    /// How many of the packets that came within the last `seconds` held more than silence.
    func loudPackets(within seconds: Double) -> Int {
        let start = ContinuousClock.now - .seconds(seconds)
        return state.withLock { $0.sound.count { $0.at >= start && $0.isLoud } }
    }

    /// Waits for so many requests of that method, repeats included; answers the last one of these.
    @discardableResult
    func wait(for method: String, count: Int = 1, within seconds: Double = 10) async throws -> String {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let requests = state.withLock { $0.requests }
            let found = requests.filter { $0.hasPrefix(method + " ") }
            if found.count >= count { return found[count - 1] }
            guard ContinuousClock.now < end else {
                throw Subprocess.Failure(description: "no \(method), number \(count): \(requests.joined(separator: "\n"))")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    func respond(_ status: String, to request: String, withSound: Bool = false) {
        let lines = request.components(separatedBy: "\r\n")
        func fields(_ name: String) -> [String] { lines.filter { $0.hasPrefix(name + ":") } }
        let to = fields("To").map { $0.contains(";tag=") ? $0 : $0 + ";tag=peer" }
        var head = ["SIP/2.0 \(status)"] + fields("Via") + fields("From") + to + fields("Call-ID") + fields("CSeq")
        var body = ""
        if withSound {
            head += ["Contact: <\(address)>", "Content-Type: application/sdp"]
            body =
                ["v=0", "o=peer 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=audio \(soundPort) RTP/AVP 0"]
                .joined(separator: "\r\n") + "\r\n"
        }
        send((head + ["Content-Length: \(body.utf8.count)", "", ""]).joined(separator: "\r\n") + body)
    }

    // MARK: Sockets

    private static func open(_ port: Int) throws -> Int32 {
        let handle = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
        }
        guard isBound else { throw Subprocess.Failure(description: "no socket at \(port)") }
        return handle
    }

    private func send(_ message: String) {
        let bytes = Array(message.utf8)
        var to = state.withLock { $0.from }
        _ = withUnsafePointer(to: &to) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(handles.sip, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func listen() {
        var waiting = [handles.sip, handles.sound].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !state.withLock({ $0.isOver }) {
            guard poll(&waiting, nfds_t(waiting.count), 20) > 0 else { continue }
            for one in waiting where one.revents != 0 {
                var from = sockaddr_in()
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let count = withUnsafeMutablePointer(to: &from) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(one.fd, &buffer, buffer.count, 0, $0, &length) }
                }
                guard count > 0 else { continue }
                if one.fd == handles.sip { hear(String(decoding: buffer[0..<count], as: UTF8.self), from) } else { hear(buffer[0..<count]) }
            }
        }
        close(handles.sip)
        close(handles.sound)
    }

    private func hear(_ message: String, _ from: sockaddr_in) {
        guard !message.hasPrefix("SIP/2.0") else { return }
        let isFarewell = state.withLock { state in
            state.requests.append(message)
            state.from = from
            return state.answersBye && message.hasPrefix("BYE ")
        }
        if isFarewell { respond("200 OK", to: message) }
    }

    /// PCMU says nothing by octets near 0xff and 0x7f.
    private func hear(_ packet: ArraySlice<UInt8>) {
        let isLoud = packet.dropFirst(12).contains { $0 & 0x7f < 0x60 }
        state.withLock { $0.sound.append((.now, isLoud)) }
    }
}
