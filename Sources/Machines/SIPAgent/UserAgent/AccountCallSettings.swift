// SPDX-License-Identifier: Apache-2.0

import SIP

/// How an account's calls behave.
public struct AccountCallSettings: Sendable {
    /// The most calls of the account at once, both ways; one more that comes in is refused with 486. nil: no limit of its own.
    public var maximumCalls: Int?
    /// Whether a call that comes in while another is up is refused as busy; nil: as the phone's setting says.
    public var refusesSecondCall: Bool?
    /// Where a call goes on that cannot be completed over IP; nil: nowhere.
    public var gateway: PSTNGateway?

    /// What the account's server asserts of callers (P-Asserted-Identity, Remote-Party-ID) is shown; from anybody else it never is.
    public var trustsServer = true
    /// Says in P-Preferred-Identity (RFC 3325 §9.2) as whom we call, to the account's own server only. An anonymous call says it in
    /// any case.
    public var sendsPreferredIdentity = false
    /// The proxy is a strict router (RFC 2543): it wants itself in the Request-URI.
    public var proxyIsStrictRouter = false
    /// Header fields of our own for requests of one method; those that the protocol sets itself are left out.
    public var headers: [MethodHeader] = []

    /// A header field that goes into every request of a method.
    public struct MethodHeader: Sendable, Hashable {
        public var method: Method
        public var name: HeaderName
        public var value: String
        public init(_ method: Method, _ name: HeaderName, _ value: String) {
            self.method = method
            self.name = name
            self.value = value
        }
    }

    public init() {}
}

/// A gateway to the telephone network through which a call goes on that could not be completed over IP.
public struct PSTNGateway: Sendable, Hashable {
    /// The domain that the number is called at.
    public var domain: Host
    public var port: UInt16?
    /// The final answers after which the call goes on: nobody there, or a network in trouble. A person who declines or is busy
    /// is not called again.
    public var statuses: Set<Int>
    /// Whether the call goes on as well when nothing answers or no address is found.
    public var whenUnreachable: Bool

    /// By default after 404, 408, 410, 480, 484, 500…504, 604 and 606.
    public init(
        domain: Host, port: UInt16? = nil, statuses: Set<Int> = [404, 408, 410, 480, 484, 500, 501, 502, 503, 504, 604, 606],
        whenUnreachable: Bool = true
    ) {
        self.domain = domain
        self.port = port
        self.statuses = statuses
        self.whenUnreachable = whenUnreachable
    }
}
