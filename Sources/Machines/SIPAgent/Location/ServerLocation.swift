// SPDX-License-Identifier: Apache-2.0
//
// Locating SIP servers: RFC 3263 §4 without NAPTR.
//
//   numeric host ───────────────────────────────────────────────────────► that address
//   port given ──► A, AAAA ─────────────────────────────────────────────► addresses with that port
//   else ──► SRV _sip._udp (_sip._tcp, _sips._tcp) ──► none? next transport ──► none? A, AAAA with the default port
//              └► order by priority and weight ──► A, AAAA of each target ──► addresses with the record's port

import Essentials
import SIP

/// Finds out where to send requests for a URI; asks by effects (`nextQuestion`), is told by `handle`.
public final class ServerLocation {
    private struct Name {
        var host: String
        var port: UInt16
    }

    /// What a search waits for.
    private enum Stage {
        /// SRV records; the transports still to be asked for after this one.
        case services(TransportProtocol, rest: ArraySlice<TransportProtocol>)
        /// Addresses of these names, in order.
        case addresses(TransportProtocol, [Name])
    }

    private struct Search {
        var id: LocationID
        var host: String
        /// The transport where no SRV record decides.
        var fallback: TransportProtocol
        var stage: Stage
        /// Answers still to come, by key; those that came.
        var missing: [AnswerCache.Key]
        var results: [(key: AnswerCache.Key, result: DNSResult)] = []
        var saysNotOffered = false
    }

    public let configuration: LocationConfiguration
    public private(set) var counters = Counters<LocationCounter>()
    private let random: RandomSource
    private var cache: AnswerCache
    /// In order of their beginning.
    private var searches: [Search] = []
    private var asked: [(question: DNSQuestion, key: AnswerCache.Key)] = []
    private var questions: [DNSQuestion] = []
    private var results: [LocationResult] = []
    private var lastSearch: UInt64 = 0
    private var lastQuestion: UInt64 = 0

    public init(configuration: LocationConfiguration = LocationConfiguration(), random: RandomSource) {
        self.configuration = configuration
        self.random = random
        cache = AnswerCache(configuration)
    }

    /// Questions not answered yet.
    public var pendingQuestionCount: Int { asked.count }

    /// Starts to look for the server of `uri`; the outcome comes from `nextResult`, at once if nothing has to be asked.
    /// `transport` goes before what the URI says.
    public func locate(_ uri: SIPURI, transport: TransportProtocol? = nil, now: MonotonicTime) -> LocationID {
        lastSearch &+= 1
        let id = LocationID(rawValue: lastSearch)
        counters.increment(.searches)
        let wanted = transport ?? uri.transport ?? (uri.isSecure ? .tls : nil)
        if uri.isSecure, let wanted, !wanted.isSecure, wanted != .tcp, wanted != .ws {
            finish(id, .failure(.unsupported("a sips URI over " + wanted.rawValue)))
            return id
        }
        // RFC 3261 §26.2.2: sips over tcp (ws) means TLS over it.
        let secured = uri.isSecure ? (wanted == .ws || wanted == .wss ? TransportProtocol.wss : .tls) : wanted
        let plain = secured ?? configuration.transports.first ?? .udp
        switch uri.host {
        case .address(let address):
            let target = SignallingTarget(plain, SocketAddress(address, uri.port ?? plain.defaultPort))
            finish(id, .success(TargetList([target])))
        case .name(let host):
            guard searches.count < configuration.searches else {
                counters.increment(.limited)
                finish(id, .failure(.limit))
                return id
            }
            if let port = uri.port {
                let stage = Stage.addresses(plain, [Name(host: host, port: port)])
                searches.append(Search(id: id, host: host, fallback: plain, stage: stage, missing: []))
                ask(addressKeys([host]), at: searches.count - 1, now)
            } else {
                let transports = secured.map { [$0] } ?? configuration.transports
                searches.append(Search(id: id, host: host, fallback: plain, stage: .addresses(plain, []), missing: []))
                askServices(transports[...], at: searches.count - 1, now)
            }
            step(now)
        }
        return id
    }

    /// Gives up a search; nothing comes of it.
    public func abandon(_ id: LocationID) { searches.removeAll { $0.id == id } }

    /// Forgets all answers: the network changed.
    public func forget() { cache.clear() }

    /// The next question for the resolver.
    public func nextQuestion() -> DNSQuestion? { questions.isEmpty ? nil : questions.removeFirst() }

    /// The next outcome.
    public func nextResult() -> LocationResult? { results.isEmpty ? nil : results.removeFirst() }

    /// Takes an answer of the resolver.
    public func handle(_ answer: DNSAnswer, now: MonotonicTime) {
        guard let index = asked.firstIndex(where: { $0.question.id == answer.question.id }) else {
            counters.increment(.strayAnswers)
            return
        }
        counters.increment(.answers)
        let key = asked.remove(at: index).key
        if cache.keep(key, answer.result, now: now) { counters.increment(.cacheEvictions) }
        for index in searches.indices { note(key, answer.result, at: index) }
        step(now)
    }

    // MARK: Steps

    private func note(_ key: AnswerCache.Key, _ result: DNSResult, at index: Int) {
        guard let place = searches[index].missing.firstIndex(of: key) else { return }
        searches[index].missing.remove(at: place)
        searches[index].results.append((key, result))
    }

    /// Carries on every search that has all it asked for.
    private func step(_ now: MonotonicTime) {
        var index = 0
        while index < searches.count {
            guard searches[index].missing.isEmpty else {
                index += 1
                continue
            }
            let search = searches[index]
            switch search.stage {
            case .services(let transport, let rest): takeServices(transport, rest, at: index, now)
            case .addresses(let transport, let names):
                searches.remove(at: index)
                takeAddresses(transport, names, of: search)
            }
        }
    }

    private func askServices(_ transports: ArraySlice<TransportProtocol>, at index: Int, _ now: MonotonicTime) {
        let host = searches[index].host
        guard let transport = transports.first(where: { servicePrefix($0) != nil }), let prefix = servicePrefix(transport) else {
            askDefault(at: index, now)
            return
        }
        let place = transports.firstIndex(of: transport) ?? transports.startIndex
        searches[index].stage = .services(transport, rest: transports[(place + 1)...])
        ask([AnswerCache.Key(name: prefix + host, type: .srv)], at: index, now)
    }

    /// RFC 3263 §4.2: no SRV records, so the addresses of the name itself.
    private func askDefault(at index: Int, _ now: MonotonicTime) {
        let host = searches[index].host
        let transport = searches[index].fallback
        searches[index].stage = .addresses(transport, [Name(host: host, port: transport.defaultPort)])
        ask(addressKeys([host]), at: index, now)
    }

    private func takeServices(
        _ transport: TransportProtocol, _ rest: ArraySlice<TransportProtocol>, at index: Int, _ now: MonotonicTime
    ) {
        var records: [ServiceRecord] = []
        for (_, result) in searches[index].results {
            guard case .records(let found) = result else { continue }
            for record in found {
                if case .srv(let priority, let weight, let port, let target) = record.value {
                    records.append(ServiceRecord(priority: priority, weight: weight, port: port, target: normalized(target)))
                }
            }
        }
        searches[index].results = []
        if records.count > configuration.records {
            counters.increment(.recordsCut)
            records.removeLast(records.count - configuration.records)
        }
        let isRefused = !records.isEmpty && records.allSatisfy { $0.target.isEmpty }
        records.removeAll { $0.target.isEmpty }
        guard records.isEmpty else {
            let names = orderedByRFC2782(records, random: random).map { Name(host: $0.target, port: $0.port) }
            searches[index].stage = .addresses(transport, names)
            ask(addressKeys(names.map(\.host)), at: index, now)
            return
        }
        if isRefused { searches[index].saysNotOffered = true }
        if rest.isEmpty {
            if searches[index].saysNotOffered {
                let search = searches.remove(at: index)
                finish(search.id, .failure(.notOffered(name: search.host)))
            } else {
                askDefault(at: index, now)
            }
        } else {
            askServices(rest, at: index, now)
        }
    }

    private func takeAddresses(_ transport: TransportProtocol, _ names: [Name], of search: Search) {
        var targets: [SignallingTarget] = []
        for name in names {
            for address in addresses(of: name.host, in: search) {
                let target = SignallingTarget(transport, SocketAddress(address, name.port), name: search.host)
                if !targets.contains(target) { targets.append(target) }
            }
        }
        if !targets.isEmpty {
            finish(search.id, .success(TargetList(targets)))
            return
        }
        for (key, result) in search.results {
            if case .failed(let reason) = result {
                finish(search.id, .failure(.unanswered(name: key.name, reason: reason)))
                return
            }
        }
        finish(search.id, .failure(.noAddress(name: search.host)))
    }

    private func addresses(of host: String, in search: Search) -> [IPAddress] {
        // SRV targets may not be addresses (RFC 2782), but some are.
        if let address = IPAddress(host) { return [address] }
        var found: [IPAddress] = []
        for type in addressTypes {
            for (key, result) in search.results where key.name == host && key.type == type {
                guard case .records(let records) = result else { continue }
                var taken = 0
                for record in records {
                    guard case .address(let address) = record.value, address.isV6 == (type == .aaaa) else { continue }
                    guard taken < configuration.addresses else {
                        counters.increment(.recordsCut)
                        break
                    }
                    taken += 1
                    found.append(address)
                }
            }
        }
        return found
    }

    // MARK: Questions

    private var addressTypes: [DNSRecordType] {
        var types: [DNSRecordType] = []
        if configuration.usesIPv4 { types.append(.a) }
        if configuration.usesIPv6 { types.append(.aaaa) }
        return configuration.prefersIPv6 ? types.reversed() : types
    }

    private func addressKeys(_ hosts: [String]) -> [AnswerCache.Key] {
        var keys: [AnswerCache.Key] = []
        for host in hosts where IPAddress(host) == nil {
            for type in addressTypes {
                let key = AnswerCache.Key(name: host, type: type)
                if !keys.contains(key) { keys.append(key) }
            }
        }
        return keys
    }

    /// Asks what the cache does not know and is not asked already.
    private func ask(_ keys: [AnswerCache.Key], at index: Int, _ now: MonotonicTime) {
        searches[index].missing = keys
        for key in keys {
            if let result = cache.result(key, now: now) {
                counters.increment(.cacheHits)
                note(key, result, at: index)
            } else if !asked.contains(where: { $0.key == key }) {
                counters.increment(.questions)
                lastQuestion &+= 1
                let question = DNSQuestion(id: lastQuestion, name: key.name, type: key.type)
                asked.append((question, key))
                questions.append(question)
            }
        }
    }

    private func servicePrefix(_ transport: TransportProtocol) -> String? {
        switch transport {
        case .udp: "_sip._udp."
        case .tcp: "_sip._tcp."
        case .tls: "_sips._tcp."
        case .ws, .wss: nil
        }
    }

    /// Lower case, without the dot at the end.
    private func normalized(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    private func finish(_ id: LocationID, _ outcome: Result<TargetList, LocationFailure>) {
        if case .failure = outcome { counters.increment(.failures) }
        results.append(LocationResult(id: id, outcome: outcome))
    }
}
