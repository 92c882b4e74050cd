// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A host in a URI or Via: a name or an address (RFC 3261 §25.1 `host`).
public enum Host: Hashable, Sendable {
    /// In lower case.
    case name(String)
    case address(IPAddress)

    /// Reads `example.com`, `192.0.2.1`, `[2001:db8::1]` or `2001:db8::1`.
    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var i = 0
        var range = ByteRange.none
        var isIPv6 = false
        var leniency: Leniency = []
        if let read = readIPv6(bytes) {
            self = .address(read.address)
            return
        }
        guard Grammar.host(bytes.span, &i, bytes.count, &range, &isIPv6, &leniency), i == bytes.count else {
            throw SIPError(.uri, at: i)
        }
        self = Host(bytes, range, isIPv6: isIPv6)
    }

    /// From a range that the grammar accepted.
    package init(_ bytes: [UInt8], _ range: ByteRange, isIPv6: Bool) {
        let slice = range.slice(bytes)
        if isIPv6, let read = readIPv6(Array(slice)) {
            self = .address(read.address)
        } else if let first = slice.first, isDigit(first), let address = IPAddress(utf8: slice) {
            self = .address(address)
        } else {
            self = .name(range.text(bytes).asciiLowercased)
        }
    }

    /// The address, if it is one.
    public var address: IPAddress? {
        if case .address(let address) = self { return address }
        return nil
    }
}

extension Host: CustomStringConvertible {
    /// As it is written in a URI: IPv6 in brackets.
    public var description: String {
        switch self {
        case .name(let name): name.isEmpty ? "invalid" : writable(name)
        case .address(let address): address.isV6 ? "[\(address)]" : "\(address)"
        }
    }

    /// A name given by a program may hold anything; what no host name may have becomes a hyphen.
    private func writable(_ name: String) -> String {
        if name.utf8.allSatisfy(CharacterClass.host.has) { return name }
        return String(decoding: name.utf8.map { CharacterClass.host.has($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }
}

/// Reads an IPv6 address without brackets, three colons leniently as two (`Leniency.tripleColon`).
func readIPv6(_ text: [UInt8]) -> (address: IPAddress, lenient: Bool)? {
    guard text.contains(0x3a) else { return nil }
    if let address = IPAddress(utf8: text) { return (address, false) }
    guard let at = text.indices.first(where: { $0 + 2 < text.count && text[$0...($0 + 2)].allSatisfy { $0 == 0x3a } })
    else { return nil }
    var repaired = text
    repaired.remove(at: at)
    return IPAddress(utf8: repaired).map { ($0, true) }
}
