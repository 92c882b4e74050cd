// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A cryptographic generator: the kernel's, taken 256 octets at a time (RFC 8760 nonces, RFC 3550 SSRCs, tags, branches).
///
/// Not OpenSSL's, which takes a millisecond to seed: at the start of a program that is an eighth of what there is.
/// Used octets are erased from the buffer. A value belongs to one isolation; a copy would give the same numbers again,
/// so wrap it in a `RandomSource` at once.
public struct SecureRandom: RandomNumberGenerator {
    private var buffer = [UInt64](repeating: 0, count: 32)
    private var used = 32

    public init() {}

    public mutating func next() -> UInt64 {
        if used >= buffer.count {
            let filled = unsafe buffer.withUnsafeMutableBytes { bytes in
                guard let start = bytes.baseAddress else { return false }
                return unsafe getentropy(start, bytes.count) == 0
            }
            guard filled else {
                var system = SystemRandomNumberGenerator()
                return system.next()
            }
            used = 0
        }
        let value = buffer[used]
        buffer[used] = 0
        used += 1
        return value
    }
}
