// SPDX-License-Identifier: Apache-2.0
//
// Locating SIP servers (RFC 3263 §4): which transport, which port, which addresses.
//
//   numeric host ─────────────────────────────────────────────────────────────► that address
//   port given ───► A, AAAA ──────────────────────────────────────────────────► addresses with that port
//   ws, wss ──────► NAPTR SIP+D2W, SIPS+D2W ─► SRV of its replacement ─► addresses; none ─► A, AAAA
//   transport ────► SRV _sip._udp (_sip._tcp, _sips._tcp) ─► A, AAAA of each ──► addresses with the record's port
//                     └ none ─► A, AAAA ───────────────────────────────────────► addresses with the default port
//   else ─┬─► NAPTR: the first service that we can use ─► SRV of its replacement
//         └─► SRV for each transport, asked beside it: used where NAPTR has nothing

import Essentials
import SIP

/// Finds out where to send requests for a URI; asks by effects (`nextQuestion`), is told by `handle`.
public final class ServerLocation {
    struct Name {
        var host: String
        var port: UInt16
    }

    /// A service that a NAPTR record names: its transport, and where its SRV records are.
    struct Service {
        var transport: TransportProtocol
        var replacement: String
    }

    /// What a search waits for.
    enum Stage {
        /// NAPTR records, if the transport is open, and SRV records for each transport.
        case services
        /// SRV records of the first of these services.
        case replacement(Service, rest: ArraySlice<Service>)
        /// Addresses of these names, in order.
        case addresses(TransportProtocol, [Name])
    }

    struct Search {
        var id: LocationID
        var host: String
        /// The transports that may be chosen, in order of preference.
        var transports: [TransportProtocol]
        /// The transport where no record decides.
        var fallback: TransportProtocol
        var stage = Stage.services
        /// Answers still to come, by key; those that came.
        var missing: [AnswerCache.Key] = []
        var results: [(key: AnswerCache.Key, result: DNSResult)] = []
        /// SRV records say that there is no such service.
        var saysNotOffered = false
        /// What NAPTR offers that we cannot use.
        var offered: [String] = []

        func result(_ name: String, _ type: DNSRecordType) -> DNSResult? {
            results.first { $0.key.name == name && $0.key.type == type }?.result
        }
    }

    public let configuration: LocationConfiguration
    public internal(set) var counters = Counters<LocationCounter>()
    let random: RandomSource
    private var cache: AnswerCache
    private var health: TargetHealth
    /// The order in which SRV records were drawn, by name, the newest last: kept as long as the records are the same, so
    /// that one registration does not wander between servers.
    var draws: [(name: String, records: [ServiceRecord], order: [ServiceRecord])] = []
    /// In order of their beginning.
    var searches: [Search] = []
    private var asked: [(question: DNSQuestion, key: AnswerCache.Key)] = []
    private var questions: [DNSQuestion] = []
    private var results: [LocationResult] = []
    private var lastSearch: UInt64 = 0
    private var lastQuestion: UInt64 = 0

    public init(configuration: LocationConfiguration = LocationConfiguration(), random: RandomSource) {
        self.configuration = configuration
        self.random = random
        cache = AnswerCache(configuration)
        health = TargetHealth(limit: configuration.failing)
    }

    /// Questions not answered yet.
    public var pendingQuestionCount: Int { asked.count }

    /// Starts to look for the server of `uri`; the outcome comes from `nextResult`, at once if nothing has to be asked.
    ///
    /// - Parameters:
    ///   - transport: goes before what the URI says.
    ///   - offered: the transports that are there now, in order of preference; nil: all of the configuration.
    public func locate(
        _ uri: SIPURI, transport: TransportProtocol? = nil, among offered: [TransportProtocol]? = nil, now: MonotonicTime
    ) -> LocationID {
        lastSearch &+= 1
        let id = LocationID(rawValue: lastSearch)
        counters.increment(.searches)
        let wanted = transport ?? uri.transport
        if uri.isSecure, let wanted, !wanted.isSecure, wanted != .tcp, wanted != .ws {
            finish(id, .failure(.unsupported("a sips URI over " + wanted.rawValue)))
            return id
        }
        // RFC 3261 §26.2.2: sips over tcp (ws) means TLS over it.
        let fixed = uri.isSecure ? (wanted == .ws || wanted == .wss ? TransportProtocol.wss : .tls) : wanted
        let plain = fixed ?? offered?.first ?? configuration.transports.first ?? .udp
        switch uri.locationHost {
        case .address(let address):
            let target = SignallingTarget(plain, SocketAddress(address, uri.port ?? plain.defaultPort))
            finish(id, .success(TargetList([target])))
        case .name(let host):
            guard searches.count < configuration.searches else {
                counters.increment(.limited)
                finish(id, .failure(.limit))
                return id
            }
            let transports = fixed.map { [$0] } ?? offered ?? configuration.transports
            searches.append(Search(id: id, host: host, transports: transports, fallback: plain))
            if let port = uri.port {
                searches[searches.count - 1].stage = .addresses(plain, [Name(host: host, port: port)])
                ask(addressKeys([host]), at: searches.count - 1, now)
            } else {
                // RFC 7118 names no SRV service for WebSocket: its records are found by NAPTR alone, which is asked for that.
                askServices(at: searches.count - 1, isOpen: wanted == nil || plain.isWebSocket, now)
            }
            step(now)
        }
        return id
    }

    /// Gives up a search; nothing comes of it.
    public func abandon(_ id: LocationID) { searches.removeAll { $0.id == id } }

    /// Forgets all answers, and which targets failed: the network changed.
    public func forget() {
        cache.clear()
        health.clear()
    }

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

    // MARK: Health

    /// Whether some target failed lately.
    public var hasFailingTargets: Bool { !health.isEmpty }

    /// A target did not answer, could not be reached, or said 503: it comes after all others for a time.
    ///
    /// - Parameter time: nil: `LocationConfiguration.avoidance`.
    public func failed(_ target: SignallingTarget, for time: Interval? = nil, now: MonotonicTime) {
        counters.increment(.targetsFailed)
        health.failed(target, until: now + min(time ?? configuration.avoidance, configuration.longestAvoidance))
    }

    /// A target answered: it has its old place again.
    public func succeeded(_ target: SignallingTarget) { health.succeeded(target) }

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
            switch searches[index].stage {
            case .services: takeServices(at: index, now)
            case .replacement(let service, let rest): takeReplacement(service, rest, at: index, now)
            case .addresses(let transport, let names):
                let search = searches.remove(at: index)
                takeAddresses(transport, names, of: search, now)
            }
        }
    }

    /// Asks what the cache does not know and is not asked already.
    func ask(_ keys: [AnswerCache.Key], at index: Int, _ now: MonotonicTime) {
        let known = searches[index].results
        searches[index].missing = keys.filter { key in !known.contains { $0.key == key } }
        for key in searches[index].missing {
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

    func finish(_ id: LocationID, _ targets: [SignallingTarget], now: MonotonicTime) {
        var list = health.ordered(targets, now: now)
        if list != targets { counters.increment(.targetsAvoided) }
        if list.count > configuration.targets {
            counters.increment(.recordsCut)
            list.removeLast(list.count - configuration.targets)
        }
        finish(id, .success(TargetList(list)))
    }

    func finish(_ id: LocationID, _ outcome: Result<TargetList, LocationFailure>) {
        if case .failure = outcome { counters.increment(.failures) }
        results.append(LocationResult(id: id, outcome: outcome))
    }
}

extension SIPURI {
    /// The TARGET of RFC 3263 §4: the maddr parameter, else the host.
    var locationHost: Host {
        guard !parameters.isEmpty, let text = parameters["maddr"], !text.isEmpty else { return host }
        let bare = text.first == "[" && text.last == "]" ? String(text.dropFirst().dropLast()) : text
        return IPAddress(bare).map { .address($0) } ?? .name(text.asciiLowercased)
    }
}
