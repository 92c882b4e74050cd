// SPDX-License-Identifier: Apache-2.0

/// A telephone number as a URI (RFC 3966).
public struct TelURI: Sendable, Hashable {
    /// As it came, with its visual separators: `+1-555-0100` or `7042`.
    public var number: String
    /// `phone-context`, `ext`, `isub` and others.
    public var parameters: Parameters

    public init(number: String, parameters: Parameters = Parameters()) {
        self.number = number
        self.parameters = parameters
    }

    /// Whether the number counts everywhere: it begins with "+".
    public var isGlobal: Bool { number.utf8.first == 0x2b }

    /// The number without visual separators (RFC 3966 §3): what is dialled and compared.
    public var digits: String { String(number.filter { !"-.()".contains($0) }) }

    public var phoneContext: String? { parameters["phone-context"] }
    /// `ext`
    public var phoneExtension: String? { parameters["ext"] }
    /// `isub`
    public var subaddress: String? { parameters["isub"] }

    /// Same number and parameters (RFC 3966 §4).
    public func isEquivalent(to other: TelURI) -> Bool {
        digits.asciiLowercased == other.digits.asciiLowercased && parameters.count == other.parameters.count
            && parameters.allSatisfy { parameter in
                // A name that wrongly stands twice means its first value, on both sides: a URI equals itself.
                other.parameters.contains(parameter.name)
                    && other.parameters[parameter.name]?.asciiLowercased == parameters[parameter.name]?.asciiLowercased
            }
            && other.parameters.allSatisfy { parameters.contains($0.name) }
    }

    /// From what follows `tel:`; nil if there is no digit or if something stands there that no number has.
    package init?(_ rest: ArraySlice<UInt8>) {
        let digits = rest.prefix { $0 != 0x3b }
        let allowed = digits.allSatisfy { isDigit($0) || Self.symbols.contains($0) || Grammar.isHex($0) }
        guard allowed, digits.contains(where: { isDigit($0) || $0 == 0x2a || $0 == 0x23 || Grammar.isHex($0) }),
            digits.dropFirst().allSatisfy({ $0 != 0x2b })
        else { return nil }
        number = String(decoding: digits, as: UTF8.self)
        let bytes = Array(rest)
        parameters = Parameters(uriParameters: bytes, ByteRange(digits.count, bytes.count))
    }

    /// "+", visual separators, "*" and "#".
    private static let symbols = Array("+-.()*#".utf8)
}

extension TelURI: CustomStringConvertible {
    public var description: String {
        let allowed = String(
            number.unicodeScalars.filter { scalar in
                scalar.isASCII && (Self.isAllowed(UInt8(truncatingIfNeeded: scalar.value)))
            }.map(Character.init))
        return "tel:" + (allowed.isEmpty ? "0" : allowed) + parameters.uriText
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        isDigit(byte) || Grammar.isHex(byte) || symbols.contains(byte)
    }
}
