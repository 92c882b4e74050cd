// SPDX-License-Identifier: Apache-2.0
//
// Names for a machine: `DNSQuestion` in, `DNSAnswer` out. c-ares asks and repeats; its sockets and its time run on the loop.
// The choice among the records (RFC 3263), caches and health are the machine's.

import CCares
import Essentials
import SIPAgent

/// What the resolver counts.
public enum ResolverCounter: Int, CounterName {
    case asked
    case answeredLocally
    case answered
    case failed
    /// A message that cannot be read (V-014).
    case malformed
    /// More questions at once than `ResolverOptions.questions`.
    case refused
}

public struct ResolverOptions: Sendable {
    /// The name server, `HOST:PORT` with an IP address; nil: those of the system.
    public var server: SocketAddress?
    /// Questions that may be open at once.
    public var questions = 512
    /// After this a question has failed, however many servers and tries are left.
    public var timeout = Interval.milliseconds(8_000)
    /// The first try of a server; each further one waits twice as long.
    public var tryTimeout = Interval.milliseconds(2_000)
    public var tries = 2
    /// Names that are known without asking.
    public var hostsFile: String? = "/etc/hosts"

    public init() {}
}

/// Resolves names on a loop. Belongs to the loop. Nothing is opened before the first question that needs a server.
@safe
public final class Resolver {
    private let loop: EventLoop
    private let options: ResolverOptions
    private let onAnswer: (DNSAnswer) -> Void
    private var channel: ares_channel?
    private var isLibraryReady = false
    private var hosts: HostsFile?
    private var open: [UInt64: OpenQuestion] = [:]
    private var nextKey: UInt64 = 0
    private lazy var timer = LoopTimer(loop: loop) { [unowned self] in process(nil) }
    private var ready: [DNSAnswer] = []
    private var isClosed = false
    private var watched: [Int32] = []
    public private(set) var counters = Counters<ResolverCounter>()

    /// `onAnswer` is called on the loop, once for each question, never from inside `ask`.
    public init(loop: EventLoop, options: ResolverOptions = ResolverOptions(), onAnswer: @escaping (DNSAnswer) -> Void) {
        self.loop = loop
        self.options = options
        self.onAnswer = onAnswer
    }

    /// Asks. The answer comes within `ResolverOptions.timeout`.
    public func ask(_ question: DNSQuestion) {
        guard !isClosed else { return }
        counters.increment(.asked)
        let hosts = hosts ?? HostsFile(path: options.hostsFile ?? "")
        self.hosts = hosts
        if let address = IPAddress(question.name) {
            counters.increment(.answeredLocally)
            let isWanted = question.type == (address.isV6 ? .aaaa : .a)
            return finish(question, isWanted ? .records([DNSRecord(.address(address), timeToLive: .max)]) : DNSResult.none)
        }
        if let known = hosts.answer(question) {
            counters.increment(.answeredLocally)
            return finish(question, known)
        }
        guard open.count < options.questions else {
            counters.increment(.refused)
            return finish(question, .failed("more than \(options.questions) questions are open"))
        }
        guard !question.name.isEmpty, question.name.utf8.count <= 253, !question.name.utf8.contains(0) else {
            return finish(question, DNSResult.none)
        }
        if let reason = start() { return finish(question, .failed(reason)) }
        query(question)
    }

    /// Drops every open question without an answer and closes all sockets.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        timer.set(nil)
        for question in open.values { if let timeout = question.timeout { loop.cancel(timeout) } }
        open = [:]
        ready = []
        if let channel = unsafe channel { unsafe ares_destroy(channel) }
        unsafe channel = nil
        for fd in watched { loop.unwatch(fd) }
        watched = []
        if isLibraryReady { ares_library_cleanup() }
    }

    // MARK: The library

    /// Opens the channel; what went wrong, in words.
    private func start() -> String? {
        if unsafe channel != nil { return nil }
        if !isLibraryReady {
            guard ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS else { return "the resolver library does not start" }
            isLibraryReady = true
        }
        var settings = unsafe ares_options()
        unsafe settings.timeout = Int32(clamping: options.tryTimeout.millisecondsRoundedUp)
        unsafe settings.tries = Int32(clamping: options.tries)
        unsafe settings.ndots = 1
        unsafe settings.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
        unsafe settings.sock_state_cb = { context, fd, readable, writable in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<Resolver>.fromOpaque(context).takeUnretainedValue()
                .socketChanged(fd, readable: readable != 0, writable: writable != 0)
        }
        let mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SOCK_STATE_CB
        var opened: ares_channel?
        let status = unsafe ares_init_options(&opened, &settings, mask)
        guard status == ARES_SUCCESS, let opened = unsafe opened else { return Self.words(status) }
        unsafe channel = opened
        if let server = options.server {
            let status = unsafe ares_set_servers_ports_csv(opened, "\(server)")
            guard status == ARES_SUCCESS else { return Self.words(status) }
        }
        return nil
    }

    private func query(_ question: DNSQuestion) {
        let key = nextKey
        nextKey += 1
        let entry = OpenQuestion(resolver: self, key: key, question: question)
        open[key] = entry
        entry.timeout = loop.schedule(at: loop.now + options.timeout) { [weak self] in
            entry.timeout = nil
            guard let self else { return }
            answered(key, .failed("no answer within \(options.timeout.seconds) s"))
        }
        let context = unsafe Unmanaged.passRetained(entry).toOpaque()
        // Called exactly once, perhaps from inside this very call, and for what is left when the channel is destroyed.
        unsafe ares_query(
            channel, question.name, 1, Int32(question.type.code),
            { context, status, _, message, length in
                guard let context = unsafe context else { return }
                let entry = unsafe Unmanaged<OpenQuestion>.fromOpaque(context).takeRetainedValue()
                var bytes: [UInt8] = []
                if let message = unsafe message, length > 0 {
                    bytes = unsafe Array(UnsafeBufferPointer(start: message, count: Int(length)))
                }
                entry.resolver?.received(entry, status, bytes)
            }, context)
        setTimer()
    }

    private func received(_ entry: OpenQuestion, _ status: Int32, _ bytes: [UInt8]) {
        let result: DNSResult
        switch status {
        case ARES_SUCCESS:
            if let records = DNSMessage.records(in: bytes, of: entry.question.type, named: entry.question.name) {
                result =
                    records.isEmpty
                    ? .absent(nameExists: true, timeToLive: DNSMessage.negativeTimeToLive(in: bytes)) : .records(records)
            } else {
                counters.increment(.malformed)
                result = .failed("the name server's answer cannot be read")
            }
        case ARES_ENODATA, ARES_ENOTFOUND, ARES_EBADNAME:
            result = .absent(nameExists: status == ARES_ENODATA, timeToLive: DNSMessage.negativeTimeToLive(in: bytes))
        default:
            if status == ARES_EBADRESP { counters.increment(.malformed) }
            result = .failed(Self.words(status))
        }
        answered(entry.key, result)
    }

    private func answered(_ key: UInt64, _ result: DNSResult) {
        guard let entry = open.removeValue(forKey: key) else { return }
        if let timeout = entry.timeout { loop.cancel(timeout) }
        if case .failed = result { counters.increment(.failed) } else { counters.increment(.answered) }
        finish(entry.question, result)
    }

    private func finish(_ question: DNSQuestion, _ result: DNSResult) {
        ready.append(DNSAnswer(question, result))
        guard ready.count == 1 else { return }
        loop.atEndOfTurn { [self] in
            let answers = ready
            ready = []
            for answer in answers where !isClosed { onAnswer(answer) }
        }
    }

    // MARK: Its sockets and its time

    private func socketChanged(_ fd: Int32, readable: Bool, writable: Bool) {
        var interest: Readiness = []
        if readable { interest.insert(.readable) }
        if writable { interest.insert(.writable) }
        if interest.isEmpty {
            loop.unwatch(fd)
            watched.removeAll { $0 == fd }
        } else if watched.contains(fd) {
            loop.setInterest(fd, interest)
        } else {
            watched.append(fd)
            loop.watch(fd, for: interest) { [self] readiness in process((fd, readiness)) }
        }
    }

    private func process(_ event: (fd: Int32, readiness: Readiness)?) {
        guard let channel = unsafe channel else { return }
        let none = ares_socket_t(-1)
        guard let (fd, readiness) = event else {
            unsafe ares_process_fd(channel, none, none)
            return setTimer()
        }
        let reads = !readiness.isDisjoint(with: [.readable, .failed])
        unsafe ares_process_fd(channel, reads ? fd : none, readiness.contains(.writable) ? fd : none)
        setTimer()
    }

    private func setTimer() {
        guard let channel = unsafe channel else { return }
        var left = timeval()
        guard unsafe ares_timeout(channel, nil, &left) != nil else { return timer.set(nil) }
        let interval = Interval.seconds(Int64(left.tv_sec)) + .microseconds(Int64(left.tv_usec))
        timer.set(loop.now + interval)
    }

    private static func words(_ status: Int32) -> String {
        guard let words = unsafe ares_strerror(status) else { return "resolver error \(status)" }
        return unsafe String(cString: words)
    }
}

private final class OpenQuestion {
    weak var resolver: Resolver?
    let key: UInt64
    let question: DNSQuestion
    var timeout: TimerToken?

    init(resolver: Resolver, key: UInt64, question: DNSQuestion) {
        self.resolver = resolver
        self.key = key
        self.question = question
    }
}
