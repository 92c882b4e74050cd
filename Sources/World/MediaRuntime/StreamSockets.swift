// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import Networking

/// The two sockets of a stream: RTP on an even port and RTCP on the next (RFC 3550 §11).
struct StreamSockets {
    let rtp: DatagramSocket
    let rtcp: DatagramSocket

    func socket(_ kind: PacketKind) -> DatagramSocket { kind == .rtp ? rtp : rtcp }

    func close() {
        rtp.close()
        rtcp.close()
    }
}

/// Finds free pairs of ports.
struct PortPairs {
    private let address: IPAddress
    private let ports: ClosedRange<UInt16>?
    private let options: DatagramOptions
    /// The pair in the range that is tried first: the range is used in turn, so that late packets of an ended call do
    /// not meet the next one.
    private var next = 0

    init(address: IPAddress, ports: ClosedRange<UInt16>?, options: DatagramOptions) {
        self.address = address
        self.ports = ports
        self.options = options
    }

    mutating func open(on loop: EventLoop) throws(NetworkError) -> StreamSockets {
        guard let ports else { return try openAny(on: loop) }
        let first = Int(ports.lowerBound) + Int(ports.lowerBound & 1)
        let count = max(0, (Int(ports.upperBound) - first + 1) / 2)
        for _ in 0..<count {
            let port = UInt16(truncatingIfNeeded: first + 2 * (next % count))
            next += 1
            if let sockets = try pair(at: port, on: loop) { return sockets }
        }
        throw NetworkError(
            .noFreePort, "No pair of ports from \(ports.lowerBound) to \(ports.upperBound) is free for media.",
            context: "udp \(address) \(ports.lowerBound)-\(ports.upperBound)")
    }

    private func openAny(on loop: EventLoop) throws(NetworkError) -> StreamSockets {
        for _ in 0..<64 {
            let one = try DatagramSocket(loop: loop, local: SocketAddress(address, 0), options: options)
            // An odd port is the upper half of its pair.
            let other = SocketAddress(address, one.local.port ^ 1)
            if let second = try free(other, on: loop) {
                return one.local.port & 1 == 0 ? StreamSockets(rtp: one, rtcp: second) : StreamSockets(rtp: second, rtcp: one)
            }
            one.close()
        }
        throw NetworkError(.noFreePort, "No pair of ports is free for media.", context: "udp \(address)")
    }

    private func pair(at port: UInt16, on loop: EventLoop) throws(NetworkError) -> StreamSockets? {
        guard let rtp = try free(SocketAddress(address, port), on: loop) else { return nil }
        guard let rtcp = try free(SocketAddress(address, port + 1), on: loop) else {
            rtp.close()
            return nil
        }
        return StreamSockets(rtp: rtp, rtcp: rtcp)
    }

    /// nil if another socket has the port.
    private func free(_ local: SocketAddress, on loop: EventLoop) throws(NetworkError) -> DatagramSocket? {
        do throws(NetworkError) {
            return try DatagramSocket(loop: loop, local: local, options: options)
        } catch {
            guard error.code == .addressInUse else { throw error }
            return nil
        }
    }
}
