// SPDX-License-Identifier: Apache-2.0
//
// From records to targets: NAPTR (RFC 3263 §4.1, RFC 3403), SRV (§4.2, RFC 2782), A and AAAA.

import Essentials
import SIP

extension ServerLocation {
    // MARK: Services

    /// NAPTR and SRV records, all at once: one round trip.
    ///
    /// - Parameter isOpen: no transport is given, so that NAPTR may choose one; or it is one that only NAPTR knows.
    func askServices(at index: Int, isOpen: Bool, _ now: MonotonicTime) {
        let search = searches[index]
        var keys: [AnswerCache.Key] = isOpen ? [AnswerCache.Key(name: search.host, type: .naptr)] : []
        for transport in search.transports {
            if let prefix = Self.servicePrefix(transport) { keys.append(AnswerCache.Key(name: prefix + search.host, type: .srv)) }
        }
        guard !keys.isEmpty else { return askDefault(at: index, now) }
        ask(keys, at: index, now)
    }

    func takeServices(at index: Int, _ now: MonotonicTime) {
        let services = usableServices(at: index)
        if let first = services.first {
            follow(first, rest: services.dropFirst(), at: index, now)
        } else {
            takeOwnServices(at: index, now)
        }
    }

    /// The services of the NAPTR records that we can use, by order and preference.
    private func usableServices(at index: Int) -> [Service] {
        guard case .records(let records)? = searches[index].result(searches[index].host, .naptr) else { return [] }
        var found: [(order: UInt16, preference: UInt16, service: Service)] = []
        var offered: [String] = []
        if records.count > configuration.naptrRecords { counters.increment(.recordsCut) }
        for record in records.prefix(configuration.naptrRecords) {
            guard case .naptr(let order, let preference, let flags, let name, let replacement) = record.value,
                flags.asciiLowercased == "s", let transport = Self.transport(ofService: name), !replacement.isEmpty
            else { continue }
            guard searches[index].transports.contains(transport) else {
                offered.append(name)
                continue
            }
            found.append((order, preference, Service(transport: transport, replacement: Self.normalized(replacement))))
        }
        searches[index].offered = offered
        // Stable: equal ones stay in the order of the answer.
        let order = found.indices.sorted {
            (found[$0].order, found[$0].preference, $0) < (found[$1].order, found[$1].preference, $1)
        }
        return order.map { found[$0].service }
    }

    private func follow(_ service: Service, rest: ArraySlice<Service>, at index: Int, _ now: MonotonicTime) {
        searches[index].stage = .replacement(service, rest: rest)
        ask([AnswerCache.Key(name: service.replacement, type: .srv)], at: index, now)
    }

    func takeReplacement(_ service: Service, _ rest: ArraySlice<Service>, at index: Int, _ now: MonotonicTime) {
        if takeRecords(of: service.replacement, service.transport, at: index, now) { return }
        if let next = rest.first {
            follow(next, rest: rest.dropFirst(), at: index, now)
        } else {
            takeOwnServices(at: index, now)
        }
    }

    /// The SRV records of the name itself; without any, its addresses.
    private func takeOwnServices(at index: Int, _ now: MonotonicTime) {
        let search = searches[index]
        for transport in search.transports {
            guard let prefix = Self.servicePrefix(transport) else { continue }
            if takeRecords(of: prefix + search.host, transport, at: index, now) { return }
        }
        if searches[index].saysNotOffered {
            searches.remove(at: index)
            finish(search.id, .failure(.notOffered(name: search.host)))
        } else if !search.offered.isEmpty, !search.transports.allSatisfy(\.isWebSocket) {
            searches.remove(at: index)
            finish(search.id, .failure(.transportNotOffered(name: search.host, offered: search.offered)))
        } else {
            askDefault(at: index, now)
        }
    }

    /// RFC 3263 §4.2: no SRV records, so the addresses of the name itself.
    private func askDefault(at index: Int, _ now: MonotonicTime) {
        let host = searches[index].host
        let transport = searches[index].fallback
        searches[index].stage = .addresses(transport, [Name(host: host, port: transport.defaultPort)])
        ask(addressKeys([host]), at: index, now)
    }

    /// Goes on to the addresses of SRV records; false: there are none.
    private func takeRecords(of name: String, _ transport: TransportProtocol, at index: Int, _ now: MonotonicTime) -> Bool {
        guard case .records(let found)? = searches[index].result(name, .srv) else { return false }
        var records: [ServiceRecord] = []
        for record in found {
            if case .srv(let priority, let weight, let port, let target) = record.value {
                records.append(ServiceRecord(priority: priority, weight: weight, port: port, target: Self.normalized(target)))
            }
        }
        if records.count > configuration.records {
            counters.increment(.recordsCut)
            // The best ones are kept, wherever they stand in the answer.
            let order = records.indices.sorted { (records[$0].priority, $0) < (records[$1].priority, $1) }
            records = order.prefix(configuration.records).map { records[$0] }
        }
        if !records.isEmpty, records.allSatisfy({ $0.target.isEmpty }) { searches[index].saysNotOffered = true }
        records.removeAll { $0.target.isEmpty }
        guard !records.isEmpty else { return false }
        let names = draw(name, records).map { Name(host: $0.target, port: $0.port) }
        searches[index].stage = .addresses(transport, names)
        ask(addressKeys(names.map(\.host)), at: index, now)
        return true
    }

    /// The order of the records: drawn once, and again when they change.
    private func draw(_ name: String, _ records: [ServiceRecord]) -> [ServiceRecord] {
        let known = records.sorted { ($0.priority, $0.weight, $0.port, $0.target) < ($1.priority, $1.weight, $1.port, $1.target) }
        if let index = draws.firstIndex(where: { $0.name == name }) {
            if draws[index].records == known { return draws[index].order }
            draws.remove(at: index)
        }
        let order = orderedByRFC2782(records, random: random)
        if draws.count >= 64 { draws.removeFirst() }
        draws.append((name, known, order))
        return order
    }

    // MARK: Addresses

    func takeAddresses(_ transport: TransportProtocol, _ names: [Name], of search: Search, _ now: MonotonicTime) {
        var targets: [SignallingTarget] = []
        for name in names {
            for address in addresses(of: name.host, in: search) {
                let target = SignallingTarget(transport, SocketAddress(address, name.port), name: search.host)
                if !targets.contains(target) { targets.append(target) }
            }
        }
        guard targets.isEmpty else { return finish(search.id, targets, now: now) }
        let hosts = names.map(\.host)
        var failure = LocationFailure.noAddress(name: search.host)
        for (key, result) in search.results where hosts.contains(key.name) {
            switch result {
            case .failed(let reason):
                return finish(search.id, .failure(.unanswered(name: key.name, reason: reason)))
            case .absent(nameExists: false, _): failure = .noSuchName(name: key.name)
            case .absent, .records: break
            }
        }
        finish(search.id, .failure(failure))
    }

    /// The addresses of a name, the families by turns (RFC 8305 §4): the second target is never one of the same kind if
    /// there is another.
    private func addresses(of host: String, in search: Search) -> [IPAddress] {
        // SRV targets may not be addresses (RFC 2782), but some are.
        if let address = IPAddress(host) { return [address] }
        let families = addressTypes.map { addresses(of: host, $0, in: search) }
        var found: [IPAddress] = []
        for place in 0..<(families.map(\.count).max() ?? 0) {
            for family in families where place < family.count { found.append(family[place]) }
        }
        return found
    }

    private func addresses(of host: String, _ type: DNSRecordType, in search: Search) -> [IPAddress] {
        guard case .records(let records)? = search.result(host, type) else { return [] }
        var found: [IPAddress] = []
        for record in records {
            guard case .address(let address) = record.value, address.isV6 == (type == .aaaa) else { continue }
            guard found.count < configuration.addresses else {
                counters.increment(.recordsCut)
                break
            }
            found.append(address)
        }
        return found
    }

    private var addressTypes: [DNSRecordType] {
        var types: [DNSRecordType] = []
        if configuration.usesIPv4 { types.append(.a) }
        if configuration.usesIPv6 { types.append(.aaaa) }
        return configuration.prefersIPv6 ? types.reversed() : types
    }

    func addressKeys(_ hosts: [String]) -> [AnswerCache.Key] {
        var keys: [AnswerCache.Key] = []
        for host in hosts where IPAddress(host) == nil {
            for type in addressTypes {
                let key = AnswerCache.Key(name: host, type: type)
                if !keys.contains(key) { keys.append(key) }
            }
        }
        return keys
    }

    // MARK: Names

    private static func servicePrefix(_ transport: TransportProtocol) -> String? {
        switch transport {
        case .udp: "_sip._udp."
        case .tcp: "_sip._tcp."
        case .tls: "_sips._tcp."
        case .ws, .wss: nil
        }
    }

    /// RFC 3263 §4.1, RFC 7118 §7.
    private static func transport(ofService name: String) -> TransportProtocol? {
        switch name.asciiLowercased {
        case "sip+d2u": .udp
        case "sip+d2t": .tcp
        case "sips+d2t": .tls
        case "sip+d2w": .ws
        case "sips+d2w": .wss
        default: nil
        }
    }

    /// Lower case, without the dot at the end.
    private static func normalized(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}
