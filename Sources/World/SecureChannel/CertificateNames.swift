// SPDX-License-Identifier: Apache-2.0
//
// Whose certificate is it: RFC 5922 §7.1 (which names of a certificate are SIP domains) and §7.2 (how they are compared).

import COpenSSL
import Essentials

/// The names that a certificate stands for.
package struct CertificateNames: Sendable, Hashable {
    /// The URIs among the subject alternative names, as they stand.
    package var uris: [String] = []
    package var dnsNames: [String] = []
    package var addresses: [IPAddress] = []
    package var commonNames: [String] = []
    /// Whether there are subject alternative names, of whatever kind.
    package var hasAlternatives = false

    package init() {}

    /// For people and for evidence: `URI:sip:example.net`.
    package var texts: [String] {
        uris.map { "URI:" + $0 } + dnsNames.map { "DNS:" + $0 } + addresses.map { "IP:\($0)" } + commonNames.map { "CN:" + $0 }
    }

    /// Whether the certificate is that of `expected`: a domain, or a numeric address.
    package func cover(_ expected: String) -> Bool {
        let expected = Self.normalized(expected)
        guard !expected.isEmpty else { return false }
        if let address = IPAddress(expected) {
            if addresses.contains(where: { $0.unmapped == address.unmapped }) { return true }
            return identities.contains { IPAddress($0)?.unmapped == address.unmapped }
        }
        return identities.contains(expected)
    }

    /// The SIP domain identities (§7.1), in lower case.
    private var identities: [String] {
        let domains = uris.compactMap(Self.domain)
        if !domains.isEmpty { return domains }
        if hasAlternatives { return dnsNames.map(Self.normalized) }
        return commonNames.map(Self.normalized)
    }

    /// The domain of a `sip:` URI without user; nil for every other URI: `sips` and URIs with a user stand for no domain (§7.1).
    private static func domain(_ uri: String) -> String? {
        let text = uri.lowercased()
        guard text.hasPrefix("sip:") else { return nil }
        let rest = text.dropFirst(4)
        guard !rest.contains("@") else { return nil }
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            return String(rest[rest.index(after: rest.startIndex)..<end])
        }
        let host = normalized(String(rest.prefix { $0 != ":" && $0 != ";" && $0 != "?" && $0 != "/" }))
        return host.isEmpty ? nil : host
    }

    /// Lower case, without the dot at the end.
    private static func normalized(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

extension CertificateNames {
    /// Names that are looked at in one certificate.
    private static let limit = 200

    /// Reads them from a certificate. A name with a NUL or another control character counts for nothing: it was made to deceive.
    @unsafe init(_ certificate: OpaquePointer) {
        self.init()
        if let names = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) {
            hasAlternatives = true
            let list = OpaquePointer(names)
            defer { unsafe GENERAL_NAMES_free(list) }
            for index in 0..<min(unsafe openssl_name_count(list), Int32(Self.limit)) { unsafe take(list, index) }
        } else {
            // An extension that cannot be read is not the same as none.
            hasAlternatives = unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0
        }
        guard let subject = unsafe X509_get_subject_name(certificate) else { return }
        var place = unsafe X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        while place >= 0, commonNames.count < Self.limit {
            if let entry = unsafe X509_NAME_get_entry(subject, place), let data = unsafe X509_NAME_ENTRY_get_data(entry) {
                var text: UnsafeMutablePointer<UInt8>?
                let count = unsafe ASN1_STRING_to_UTF8(&text, data)
                if count > 0, let start = unsafe text {
                    let octets = unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
                    if let name = Self.text(octets) { commonNames.append(name) }
                }
                unsafe CRYPTO_free(text, #fileID, #line)
            }
            place = unsafe X509_NAME_get_index_by_NID(subject, NID_commonName, place)
        }
    }

    @unsafe private mutating func take(_ list: OpaquePointer, _ index: Int32) {
        var kind: Int32 = 0
        var start: UnsafePointer<UInt8>?
        let count = unsafe openssl_name(list, index, &kind, &start)
        guard count > 0, let first = unsafe start else { return }
        let octets = unsafe Array(UnsafeBufferPointer(start: first, count: Int(count)))
        switch kind {
        case GEN_URI: if let name = Self.text(octets) { uris.append(name) }
        case GEN_DNS: if let name = Self.text(octets) { dnsNames.append(name) }
        case GEN_IPADD: if let address = IPAddress(octets: octets) { addresses.append(address) }
        default: break
        }
    }

    private static func text(_ octets: [UInt8]) -> String? {
        guard octets.count <= 512, octets.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return nil }
        return String(decoding: octets, as: UTF8.self)
    }
}

extension IPAddress {
    /// The address of 4 or 16 octets in network order.
    fileprivate init?(octets: [UInt8]) {
        func number(_ range: Range<Int>) -> UInt64 { octets[range].reduce(0) { $0 << 8 | UInt64($1) } }
        switch octets.count {
        case 4: self = .v4(UInt32(truncatingIfNeeded: number(0..<4)))
        case 16: self = .v6(number(0..<8), number(8..<16))
        default: return nil
        }
    }
}
