// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One Via value: a hop that the request took, and the way the response goes (RFC 3261 §20.42, RFC 3581).
public struct Via: Sendable, Hashable {
    /// nil for a transport that we do not know.
    public var transport: TransportProtocol? {
        didSet { if let transport { transportName = transport.viaName } }
    }
    /// As it came: `UDP`, `SCTP` …
    public private(set) var transportName: String
    public var host: Host
    public var port: UInt16?
    public var parameters: Parameters

    public init(transport: TransportProtocol, host: Host, port: UInt16? = nil, branch: String? = nil) {
        self.transport = transport
        transportName = transport.viaName
        self.host = host
        self.port = port
        parameters = Parameters()
        if let branch { parameters.set("branch", branch) }
    }

    /// Reads one value; it must fill the text.
    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var fields = ViaFields()
        var i = 0
        let span = bytes.span
        if let at = bytes.firstIndex(where: { $0 == 0x0d || $0 == 0x0a }) { throw SIPError(.control, at: at) }
        if let code = Grammar.via(span, &i, bytes.count, &fields) { throw SIPError(code, at: i) }
        guard i == bytes.count else { throw SIPError(.via, at: i) }
        self = Via(fields, bytes)
    }

    /// From fields that the grammar accepted.
    package init(_ fields: ViaFields, _ bytes: [UInt8]) {
        transport = fields.transport
        transportName = fields.transportName.text(bytes)
        host = Host(bytes, fields.host, isIPv6: fields.isIPv6)
        port = fields.port < 0 ? nil : UInt16(truncatingIfNeeded: fields.port)
        parameters = Parameters(headerParameters: bytes, fields.parameters)
    }

    public var branch: String? {
        get { parameters["branch"] }
        set {
            if let newValue { parameters.set("branch", newValue) } else { parameters.remove("branch") }
        }
    }

    /// Where the request really came from (RFC 3261 §18.2.1); read with or without brackets, written without (RFC 5118 §4.5).
    public var received: IPAddress? {
        get {
            guard let text = parameters["received"] else { return nil }
            let bare = text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
            return IPAddress(bare)
        }
        set {
            if let newValue { parameters.set("received", newValue.description) } else { parameters.remove("received") }
        }
    }

    /// Whether `rport` stands there, with or without a value (RFC 3581).
    public var hasRport: Bool {
        get { parameters.contains("rport") }
        set {
            if !newValue { parameters.remove("rport") } else if !hasRport { parameters.set("rport", nil) }
        }
    }

    public var rport: UInt16? {
        get { parameters["rport"].flatMap { UInt16($0) } }
        set { parameters.set("rport", newValue.map { "\($0)" }) }
    }

    /// `maddr` (RFC 3261 §18.1.1).
    public var maddr: String? { parameters["maddr"] }

    /// `host` or `host:port`.
    public var sentBy: String { port.map { "\(host):\($0)" } ?? host.description }
}

extension Via: CustomStringConvertible {
    public var description: String {
        let name = Text.isToken(transportName) ? transportName : "UNKNOWN"
        return "SIP/2.0/\(name) \(sentBy)\(parameters.headerText)"
    }
}
