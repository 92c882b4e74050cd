// SPDX-License-Identifier: Apache-2.0

import CPosix
import Essentials

/// Room for one batch of datagrams of any size. One a loop: 2 MiB of addresses, of which only the pages that
/// datagrams touch become memory. Never leaves the loop.
@safe final class ReceiveBuffer {
    static let slot = 65_536
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private var datagrams = [cposix_datagram](repeating: cposix_datagram(), count: Int(CPOSIX_BATCH))

    init() { unsafe bytes = .allocate(capacity: Self.slot * Int(CPOSIX_BATCH)) }
    deinit { unsafe bytes.deallocate() }

    /// Receives a batch; the count or a negative errno.
    func receive(_ fd: Int32, limit: Int) -> Int {
        Int(
            unsafe datagrams.withUnsafeMutableBufferPointer {
                unsafe cposix_receive(fd, bytes.baseAddress, Self.slot, $0.baseAddress, Int32(max(1, min(limit, $0.count))))
            })
    }

    func from(_ index: Int) -> SocketAddress { SocketAddress(datagrams[index].from) }

    func time(_ index: Int) -> MonotonicTime { MonotonicTime(nanoseconds: datagrams[index].time) }

    /// Hands out the octets of the n-th datagram of the last batch.
    func withBytes<Result>(_ index: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        let length = min(Int(datagrams[index].length), Self.slot)
        return unsafe body(UnsafeBufferPointer(rebasing: bytes[Self.slot * index..<Self.slot * index + length]).span)
    }

    /// Reads what a stream has, at most 64 KiB: octets, an empty array at its end, or the errno.
    func read(_ fd: Int32) -> Result<[UInt8], StreamFault> {
        let count = unsafe cposix_read(fd, bytes.baseAddress, Self.slot)
        guard count >= 0 else { return .failure(StreamFault(errorNumber: Int32(-count))) }
        return .success(unsafe [UInt8](UnsafeBufferPointer(rebasing: bytes[0..<count])))
    }
}

struct StreamFault: Error {
    var errorNumber: Int32
}
