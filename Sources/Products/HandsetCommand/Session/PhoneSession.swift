// SPDX-License-Identifier: Apache-2.0
//
// One phone run by the command: prints its events, does what the options say, obeys control lines. It runs on the phone's
// loop, so an event costs no hop.

import Essentials
import Handset
import Media
import Networking
import PhoneCore
import SIPAgent

/// Runs a `Phone` for `register`, `call`, `answer` and `phone`.
actor PhoneSession {
    /// What is done with calls that come in.
    enum Incoming: Sendable {
        /// `call` and `register` take none.
        case refuse(status: Int)
        case answer(AnswerSettings)
        /// A person decides.
        case show
    }

    /// One call as the command shows it.
    struct Shown {
        var number: Int
        var direction: CallDirection
        var remote: String
        /// Whose call it is, where there are several accounts.
        var account: String?
        var isEstablished = false
        var hasMedia = false
        /// Its port of the bridge, once it has media.
        var port: PortID?
        /// Its player and its recorder.
        var filePorts: [PortID] = []
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    nonisolated let context: CommandContext
    nonisolated let media: MediaSettings
    nonisolated let incoming: Incoming
    let call: CallSettings?
    var features: CallFeatureSettings?
    var phone: Phone?
    var lines = Lines()
    /// Messages and subscriptions.
    var notifications = Notifications()
    var shown: [CallID: Shown] = [:]
    /// The ports that control lines opened.
    var openedPorts: Set<PortID> = []
    /// What is played and recorded, by its port.
    var files: [PortID: (call: CallID, path: String)] = [:]
    var transfers = Transfers()
    /// The port of `--device` while a call has media.
    var devicePort: PortID?
    /// What is done with its sound, as control lines may change it.
    var sound: Sound
    /// Programs by their ports, and the calls that they hold; kept until they have ended.
    var programs: [PortID: (call: CallID, reference: CommandEvent.CallReference)] = [:]
    nonisolated let relay: ProgramRelay
    /// What becomes the pages of `--report`.
    nonisolated let reports: CallReports?
    /// Figures that were asked for on behalf of a page only: they come in the order of asking and are not printed.
    var silentStatistics = 0
    /// It was told that the device does not work; the device itself waits for its return.
    var hasLostDevice = false
    /// The board and the terminal of the interactive phone.
    var display: Display?
    /// What was dialled last, for the call whose first event is about to come.
    var dialling = ""
    private var callNumber = 0
    private var endedCalls = 0
    private(set) var establishedCalls = 0
    /// `call`: a call with media was up and is over.
    private var hasTalked = false
    private let finished = AsyncStream<Outcome>.makeStream()
    private var isFinished = false

    /// How the session ended.
    enum Outcome: Sendable {
        case completed
        case failed(String)
        /// By a signal; why what the command was for is not done, or nil.
        case interrupted(unfinished: String?)
    }

    init(_ context: CommandContext, media: MediaSettings, incoming: Incoming, call: CallSettings? = nil, loop: EventLoop = .shared) {
        let relay = ProgramRelay()
        var context = context
        context.events.observer = { relay.take($0, $1) }
        self.relay = relay
        self.context = context
        self.media = media
        reports = media.reportFile == nil ? nil : CallReports()
        sound = Sound(media)
        self.incoming = incoming
        self.call = call
        self.loop = loop
    }

    // MARK: Life

    /// Opens the phone and adds the accounts, if any are given.
    func open(_ settings: [AccountSettings], maximumCalls: Int) async throws {
        guard let first = settings.first else { return }
        let trace = context.trace
        let log = context.log
        var phoneSettings = try first.phoneSettings(media: media, maximumCalls: maximumCalls, others: settings.dropFirst())
        features = first.calls
        phoneSettings.loop = loop
        if trace != nil || reports != nil {
            phoneSettings.trace = { [reports] record in
                trace?.write(record)
                reports?.note(record)
            }
        }
        phoneSettings.log = LogSettings(level: log.level.phoneLevel, includesMessages: false) { log($0) }
        let phone = try await Phone(phoneSettings) { [weak self] phone, event, now in
            self?.assumeIsolated { $0.handle(event, phone, now) }
        }
        self.phone = phone
        let accounts = try settings.compactMap { settings in try settings.account() }
        lines.names = accounts.map { "\($0.addressOfRecord)" }
        lines.registering = settings.count { $0.registers }
        if let wanted = context.invocation.value("--from") {
            guard let line = lines.index(of: wanted) else {
                await phone.stop()
                throw CommandFailure.usage("--from \(wanted.printable): there is no such account, or several fit.")
            }
            lines.current = line
        }
        for account in accounts { lines.accounts.append(try await phone.addAccount(account)) }
    }

    /// Places the call of `handset call`.
    func dialFirst(_ target: String) throws {
        guard let phone else { return }
        try dial(target, phone)
    }

    /// Waits for the end: `finish`, a signal, or the end of the control program's wishes; then closes the phone.
    func run() async -> Outcome {
        let signals = Task { [weak self] in
            for await _ in Interruption.stream() { await self?.interrupt() }
        }
        let control = Task { [weak self] in
            guard let self else { return }
            for await line in self.context.controlLines() { await self.obey(line) }
        }
        var outcome = Outcome.completed
        for await end in finished.stream {
            outcome = end
            break
        }
        signals.cancel()
        control.cancel()
        await close(outcome)
        return outcome
    }

    /// A signal came.
    private func interrupt() {
        var standing = Standing(context.invocation.subcommand)
        standing.isOnce = context.invocation.has("--once")
        if case .answer(let settings) = incoming { standing.awaitsCalls = settings.calls != nil && settings.status == nil }
        standing.calls = establishedCalls
        standing.accounts = lines.registering
        standing.registered = lines.registered.count
        standing.isSubscribed = notifications.hasSubscribed
        standing.reason = firstFailure
        finish(.interrupted(unfinished: standing.unfinished))
    }

    /// Ends the session; the first outcome counts.
    func finish(_ outcome: Outcome) {
        guard !isFinished else { return }
        isFinished = true
        finished.continuation.yield(outcome)
    }

    /// How long the end of a call, and of a registration, may wait for the other sides before the command ends without them; what
    /// they did not confirm by then is told (`call.bye-unanswered`).
    static let farewellLimit = Interval.seconds(4)
    /// The same after a signal, whose sender waits for us.
    static let interruptedLimit = Duration.milliseconds(1500)

    /// Hangs up, unregisters, finishes the files.
    private func close(_ outcome: Outcome) async {
        if case .interrupted = outcome { await phone?.stop(within: Self.interruptedLimit) } else { await phone?.stop() }
    }

    // MARK: Events

    func handle(_ event: PhoneEvent, _ phone: Phone, _ now: MonotonicTime) {
        defer { noteOnBoard(event, now) }
        report(event, phone, now)
        if let trace = context.trace, let cause = event.cause { trace.write(cause, isWarning: event.isWarning, at: now) }
        switch event {
        case .listening(let transport, let address):
            context.events.print(.listening(transport: transport.rawValue, address: address.ip, port: address.port))
        case .registration(let id, let state): registration(id, state, phone)
        case .incomingCall(let id, let call): incomingCall(id, call, phone)
        case .callState(let id, let state, let status, let reason): callState(id, state, status, reason, phone)
        case .media(let id, let media): mediaChanged(id, media, phone)
        case .hold(let id, let side, let isHeld):
            guard let reference = reference(id) else { return }
            context.events.print(.hold(reference, by: side.rawValue, state: isHeld ? "held" : "resumed"))
        case .holdFailed(let id, let cause), .digitFailed(let id, let cause): warn(id, cause)
        case .digitReceived(let id, let digit, let method, let milliseconds):
            printDigit(id, "received", digit, method, milliseconds)
        case .digitSent(let id, let digit, let method, let milliseconds): printDigit(id, "sent", digit, method, milliseconds)
        case .notice(let id, let notice): if let reference = reference(id) { context.events.print(.notice(reference, .init(notice))) }
        case .statistics(let id, let statistics, let isFinal): printStatistics(id, statistics, isFinal)
        case .transfer(let id, let event): transferChanged(id, event)
        case .conference(_, let members): conferenceChanged(members)
        case .ended(let id, let end): callEnded(id, end, phone)
        case .port(let event): portEvent(event, phone)
        case .network(let change):
            context.events.print(.network(state: change.kind.rawValue, addresses: change.addresses, phone: nil))
        case .warning(let id, let cause): warn(id, cause)
        case .subscription, .messageWaiting, .publication, .message: notification(event)
        case .mediaSource, .stopped: break
        }
    }

    private func incomingCall(_ id: CallID, _ call: IncomingCall, _ phone: Phone) {
        let name = call.displayName.map { "\"\($0)\" " } ?? ""
        add(id, .incoming, remote: "\(name)<\(call.remote)>", of: call.account)
        // It takes the place of a call, and is answered already.
        if call.replaces != nil { return }
        switch incoming {
        case .refuse(let status): try? phone.assumeIsolated { phone in try phone.reject(id, status: status) }
        case .show: break
        case .answer(let settings):
            if settings.delay > .zero {
                loop.schedule(at: loop.now + settings.delay) { [weak self] in self?.assumeIsolated { $0.decide(id, settings, phone) } }
            } else {
                decide(id, settings, phone)
            }
        }
    }

    private func decide(_ id: CallID, _ settings: AnswerSettings, _ phone: Phone) {
        phone.assumeIsolated { phone in
            if let status = settings.status { try? phone.reject(id, status: status) } else { try? phone.answer(id) }
        }
    }

    private func callState(_ id: CallID, _ state: CallState, _ status: Int, _ reason: String, _ phone: Phone) {
        if state == .calling, shown[id] == nil {
            // What the user did not dial is the call of a transfer.
            let target = dialling.isEmpty ? phone.assumeIsolated { $0.remote(of: id) }.map { "\($0)" } : dialling
            add(id, .outgoing, remote: target ?? "", of: phone.assumeIsolated { $0.account(of: id) })
            dialling = ""
        }
        guard let call = shown[id], let reference = reference(id) else { return }
        context.events.print(
            .call(
                reference,
                .init(
                    direction: call.direction.rawValue, state: state.rawValue, status: status > 0 ? status : nil,
                    reason: reason.isEmpty ? nil : reason, remote: call.remote,
                    account: call.account)))
        guard state == .confirmed, !call.isEstablished else { return }
        shown[id]?.isEstablished = true
        establishedCalls += 1
        established(id, phone)
    }

    private func callEnded(_ id: CallID, _ end: CallEnd, _ phone: Phone) {
        guard let reference = reference(id) else { return }
        context.events.print(.ended(reference, end.cause, duration: end.wasEstablished ? end.duration : nil))
        endedCalls += 1
        if call != nil {
            // Answered, but no media could be agreed on: nobody heard anything.
            let isDone = end.wasEstablished && shown[id]?.hasMedia == true
            if isDone { hasTalked = true }
            // A transfer or a second call goes on when the first is over.
            if endedCalls == callNumber { finish(hasTalked ? .completed : .failed(end.cause.sentence)) }
        } else if case .answer(let settings) = incoming, let calls = settings.calls, endedCalls >= calls {
            let isRefusal = settings.status != nil
            finish(establishedCalls > 0 || isRefusal ? .completed : .failed(end.cause.sentence))
        }
    }

    // MARK: Books

    /// Takes a call into the books.
    func add(_ id: CallID, _ direction: CallDirection, remote: String, of account: AccountID?) {
        callNumber += 1
        shown[id] = Shown(number: callNumber, direction: direction, remote: remote)
        if lines.names.count > 1 { shown[id]?.account = account.flatMap(lines.name) }
    }

    func reference(_ id: CallID) -> CommandEvent.CallReference? { shown[id].map { .init("\($0.number)") } }

    func warn(_ id: CallID?, _ cause: Cause) {
        context.events.print(.warning(code: cause.code, text: cause.sentence, call: id.flatMap(reference)))
    }

    private func printDigit(_ id: CallID, _ direction: String, _ digit: Character, _ method: DigitMethod, _ milliseconds: Int) {
        guard let reference = reference(id) else { return }
        context.events.print(
            .dtmf(reference, .init(direction: direction, digit: digit, method: method.rawValue, milliseconds: milliseconds)))
    }

    private func printStatistics(_ id: CallID, _ statistics: StreamStatistics, _ isFinal: Bool) {
        guard let reference = reference(id) else { return }
        if !isFinal, silentStatistics > 0 {
            silentStatistics -= 1
        } else if media.statisticsEvery != nil || !isFinal {
            context.events.print(.statistics(reference, statistics))
        }
        guard isFinal, let call = shown.removeValue(forKey: id) else { return }
        for port in call.filePorts { files[port] = nil }
        relay.remove(call: "\(call.number)")
        leaveDevice()
    }
}
