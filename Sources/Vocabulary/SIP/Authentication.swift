// SPDX-License-Identifier: Apache-2.0
//
//  challenge = scheme LWS param *( COMMA param )         WWW-Authenticate, Proxy-Authenticate
//  credentials likewise                                  Authorization, Proxy-Authorization         RFC 3261 §20.7, §22

/// What a server asks for (RFC 3261 §20.27, §20.44).
public struct Challenge: Sendable, Hashable, CustomStringConvertible {
    /// As it came: `Digest`.
    public var scheme: String
    public var parameters: Parameters

    public init(scheme: String, parameters: Parameters) {
        self.scheme = scheme
        self.parameters = parameters
    }

    /// Reads one challenge; it must fill the text.
    public init(_ text: String) throws(SIPError) {
        (scheme, parameters) = try AuthenticationGrammar.one(text)
    }

    public var isDigest: Bool { scheme.asciiLowercased == "digest" }

    public var description: String {
        AuthenticationGrammar.text(scheme, parameters, bare: ["algorithm", "stale", "userhash"])
    }
}

/// What a client answers (RFC 3261 §20.7, §20.28).
public struct Credentials: Sendable, Hashable, CustomStringConvertible {
    public var scheme: String
    public var parameters: Parameters

    public init(scheme: String, parameters: Parameters) {
        self.scheme = scheme
        self.parameters = parameters
    }

    public init(_ text: String) throws(SIPError) {
        (scheme, parameters) = try AuthenticationGrammar.one(text)
    }

    public var isDigest: Bool { scheme.asciiLowercased == "digest" }

    public var description: String {
        AuthenticationGrammar.text(scheme, parameters, bare: ["algorithm", "qop", "nc", "userhash"])
    }
}

/// Authentication-Info (RFC 3261 §20.6): parameters parted by commas, without a scheme.
public struct AuthenticationInfo: Sendable, Hashable, CustomStringConvertible {
    public var parameters: Parameters

    public init(parameters: Parameters) { self.parameters = parameters }

    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var i = 0
        parameters = try AuthenticationGrammar.parameters(bytes, &i)
        guard i == bytes.count else { throw SIPError(.field, at: i) }
    }

    public var description: String {
        AuthenticationGrammar.list(parameters, bare: ["qop", "nc"])
    }
}

enum AuthenticationGrammar {
    static func one(_ text: String) throws(SIPError) -> (String, Parameters) {
        let bytes = Array(text.utf8)
        var i = 0
        let result = try value(bytes, &i)
        guard i == bytes.count else { throw SIPError(.field, at: i) }
        return result
    }

    /// scheme LWS parameters
    static func value(_ bytes: [UInt8], _ i: inout Int) throws(SIPError) -> (String, Parameters) {
        let span = bytes.span
        Grammar.skipBlanks(span, &i, bytes.count)
        let start = i
        while i < bytes.count, CharacterClass.token.has(span[i]) { i += 1 }
        guard i > start, i < bytes.count, isBlank(span[i]) else { throw SIPError(.field, at: i) }
        let scheme = String(decoding: bytes[start..<i], as: UTF8.self)
        return (scheme, try parameters(bytes, &i))
    }

    /// Reads parameters up to the end, or up to the comma before another scheme.
    static func parameters(_ bytes: [UInt8], _ i: inout Int) throws(SIPError) -> Parameters {
        let span = bytes.span
        var out = Parameters()
        var fields = ParameterFields()
        var leniency: Leniency = []
        while true {
            let before = i
            guard Grammar.parameter(span, &i, bytes.count, &fields, &leniency) else { throw SIPError(.field, at: i) }
            guard fields.hasValue else {
                // A name without "=": the scheme of a further challenge, else a parameter that was cut off.
                guard before > 0, i < bytes.count, span[i] != 0x2c, out.count > 0 else { throw SIPError(.field, at: i) }
                i = before
                return out
            }
            guard fields.value.count <= ValueLimits.authenticationParameter else { throw SIPError(.limitAuthentication, at: i) }
            guard out.count < ValueLimits.parameters else { throw SIPError(.limitParameters, at: i) }
            out.append(Parameter(fields, bytes))
            guard i < bytes.count else { return out }
            guard span[i] == 0x2c else { throw SIPError(.field, at: i) }
            i += 1
        }
    }

    static func text(_ scheme: String, _ parameters: Parameters, bare: [String]) -> String {
        (Text.isToken(scheme) ? scheme : "Digest") + " " + list(parameters, bare: bare)
    }

    /// Everything is quoted but what the grammar wants bare, and what came bare in an extension.
    static func list(_ parameters: Parameters, bare: [String]) -> String {
        parameters.map { parameter in
            var parameter = parameter
            parameter.isQuoted = !bare.contains(parameter.name.asciiLowercased)
            return parameter.headerText
        }.joined(separator: ", ")
    }
}

extension SIPMessage {
    /// The challenges of all WWW-Authenticate or Proxy-Authenticate fields in order, also several in one field;
    /// malformed ones are left out.
    public func challenges(_ name: HeaderName) -> [Challenge] {
        var out: [Challenge] = []
        for text in values(name) {
            let bytes = Array(text.utf8)
            var i = 0
            while i < bytes.count {
                guard let (scheme, parameters) = try? AuthenticationGrammar.value(bytes, &i) else { break }
                out.append(Challenge(scheme: scheme, parameters: parameters))
            }
        }
        return out
    }

    /// The credentials of all Authorization or Proxy-Authorization fields; malformed ones are left out.
    public func credentials(_ name: HeaderName) -> [Credentials] {
        values(name).compactMap { try? Credentials($0) }
    }

    public var authenticationInfo: AuthenticationInfo? { first(.authenticationInfo).flatMap { try? AuthenticationInfo($0) } }
}
