// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Binding without credentials (RFC 8489 §3, §6.3.1), as a SIP server answers it on its own port (RFC 5626 §8).
public enum STUNBinding {
    /// A binding request: FINGERPRINT tells it from SIP.
    public static func request(_ transaction: STUNTransactionID) -> [UInt8] {
        STUNMessageBuilder(.request, transaction: transaction).build(fingerprint: true)
    }

    /// The answer to a request from `source`: its address as it is seen here, or 420 where the request wants something that is
    /// not understood. nil for what is no binding request: it is not answered.
    public static func response(to message: STUNMessage, from source: SocketAddress) -> [UInt8]? {
        guard message.kind == .request, message.method == .binding else { return nil }
        let unknown = message.notUnderstood()
        if !unknown.isEmpty {
            var builder = STUNMessageBuilder(.failure, transaction: message.transaction)
            builder.add(STUNErrorCode.unknownAttribute)
            builder.add(unknown: unknown)
            return builder.build(fingerprint: message.hasFingerprint)
        }
        var builder = STUNMessageBuilder(.success, transaction: message.transaction)
        builder.addMapped(SocketAddress(source.ip.unmapped, source.port))
        return builder.build(fingerprint: message.hasFingerprint)
    }
}
