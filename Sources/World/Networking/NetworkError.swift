// SPDX-License-Identifier: Apache-2.0

import CPosix
import SIPAgent

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system refused: a stable code, a plain reason and what was asked for.
public struct NetworkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Stable and dotted; see the constants.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another socket has the port.
        public static let addressInUse = Code(rawValue: "network.address.in-use")
        /// No interface of this machine has the address, or the family is not there.
        public static let addressNotAvailable = Code(rawValue: "network.address.not-available")
        /// Ports below 1024, mostly.
        public static let notPermitted = Code(rawValue: "network.not-permitted")
        /// No file descriptors or memory left.
        public static let exhausted = Code(rawValue: "network.exhausted")
        /// No free pair of ports in the range for media.
        public static let noFreePort = Code(rawValue: "network.ports.none-free")
        /// This build cannot do that transport.
        public static let transportNotSupported = Code(rawValue: "network.transport.not-supported")
        /// A certificate, a key or the authorities for TLS cannot be used, or there are none.
        public static let certificate = Code(rawValue: "network.tls.certificate")
        /// The text given for a name server is no address.
        public static let badNameServer = Code(rawValue: "network.dns.bad-server")
        /// Anything else.
        public static let system = Code(rawValue: "network.system")
    }

    public var code: Code
    /// One sentence for a person.
    public var reason: String
    /// What was being done: `udp 127.0.0.1:5060`.
    public var context: String
    /// The errno, or 0.
    public var errorNumber: Int32

    public init(_ code: Code, _ reason: String, context: String, errorNumber: Int32 = 0) {
        self.code = code
        self.reason = reason
        self.context = context
        self.errorNumber = errorNumber
    }

    /// The error for an errno that came of doing `context`.
    init(errno number: Int32, context: String) {
        let words = systemWords(number)
        switch number {
        case EADDRINUSE:
            self.init(.addressInUse, "The port of \(context) is in use by another socket.", context: context, errorNumber: number)
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            self.init(
                .addressNotAvailable, "This machine has no address for \(context).", context: context, errorNumber: number)
        case EACCES, EPERM:
            self.init(.notPermitted, "The system does not permit \(context).", context: context, errorNumber: number)
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            self.init(.exhausted, "The system has no room for \(context): \(words).", context: context, errorNumber: number)
        default:
            self.init(.system, "The system refused \(context): \(words).", context: context, errorNumber: number)
        }
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}

/// What the system says for an errno.
func systemWords(_ number: Int32) -> String {
    guard let words = unsafe strerror(number) else { return "error \(number)" }
    return unsafe String(cString: words)
}

extension FlowFailure {
    /// The failure for an errno of a socket.
    init(errno number: Int32) {
        switch number {
        case ECONNREFUSED: self = .refused
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EAFNOSUPPORT, EADDRNOTAVAIL: self = .unreachable
        case ETIMEDOUT: self = .timedOut
        case ECONNRESET, EPIPE, ECONNABORTED: self = .reset
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .limit
        default: self = .other(systemWords(number))
        }
    }
}
