// SPDX-License-Identifier: Apache-2.0
//
// What the server side of the transport layer writes into the topmost Via (RFC 3261 §18.2.1, RFC 3581 §4), and where
// it sends responses (§18.2.2).

import Essentials
import SIP

/// The topmost Via of a request, completed by where the request came from.
struct ViaStamp {
    /// The topmost value with `received` and `rport`; nil where it needs neither.
    let via: String?
    /// Where responses go over a datagram flow, or over a new connection when that of the request is gone: the address
    /// of the packet's source, always; over datagrams its port where the Via has `rport`, else that of the Via.
    /// `maddr` is not obeyed: it would let a message choose whom we send to.
    let destination: SocketAddress

    init(_ request: SIPMessage, _ source: MessageSource) {
        let fields = request.topViaFields
        let address = source.remote.ip.unmapped
        let port =
            fields.port >= 0 ? UInt16(truncatingIfNeeded: fields.port) : (fields.transport ?? source.transport).defaultPort
        let isSymmetric = port == 0 || (fields.hasRport && source.transport == .udp)
        destination = SocketAddress(source.remote.ip, isSymmetric ? source.remote.port : port)
        let isPlain = !fields.hasRport && fields.received.isEmpty
        if isPlain, IPAddress(utf8: request.bytes(in: fields.host))?.unmapped == address {
            via = nil
            return
        }
        via =
            ViaStamp.spliced(request, fields, address, source.remote.port)
            ?? ViaStamp.rewritten(request, address, source.remote.port)
    }

    /// The usual shape, without taking the value apart: no `received`, an `rport` without value or none, nothing quoted.
    private static func spliced(_ request: SIPMessage, _ fields: ViaFields, _ address: IPAddress, _ port: UInt16) -> String? {
        guard fields.received.isEmpty, fields.rport < 0 else { return nil }
        let whole = request.bytes(in: fields.whole)
        var text: [UInt8] = []
        text.reserveCapacity(whole.count + 48)
        text.append(contentsOf: whole)
        if text.contains(UInt8(ascii: "\"")) { return nil }
        if fields.hasRport {
            guard let end = endOfRport(text) else { return nil }
            text.insert(contentsOf: ("=" + String(port)).utf8, at: end)
        }
        text.append(contentsOf: ";received=".utf8)
        text.append(contentsOf: address.description.utf8)
        return String(decoding: text, as: UTF8.self)
    }

    /// The place after `;rport`.
    private static func endOfRport(_ text: [UInt8]) -> Int? {
        let name = [UInt8](";rport".utf8)
        var start = 0
        while start + 6 <= text.count {
            var length = 0
            while length < 6, text[start + length] | 0x20 == name[length] | 0x20 { length += 1 }
            let end = start + 6
            if length == 6, end == text.count || text[end] == UInt8(ascii: ";") { return end }
            start += 1
        }
        return nil
    }

    private static func rewritten(_ request: SIPMessage, _ address: IPAddress, _ port: UInt16) -> String {
        var via = request.topVia
        // What the sender wrote there itself means nothing.
        via.received = address
        if via.hasRport { via.rport = port }
        return via.description
    }
}

extension MessageBuilder {
    /// Puts `via` in the place of the topmost Via value. Further values in the same field keep their place below it.
    mutating func replaceTopVia(_ via: String) {
        let line = first(.via) ?? ""
        removeFirst(.via)
        prepend(.via, via)
        guard line.utf8.contains(UInt8(ascii: ",")) else { return }
        var isQuoted = false
        var isEscaped = false
        for index in line.utf8.indices {
            let byte = line.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if !isQuoted, byte == UInt8(ascii: ",") {
                removeFirst(.via)
                prepend(.via, via + String(line[index...]))
                return
            }
        }
    }
}
