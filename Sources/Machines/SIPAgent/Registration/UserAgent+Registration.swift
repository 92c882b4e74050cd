// SPDX-License-Identifier: Apache-2.0
//
// Registering (RFC 3261 §10.2): REGISTER and what follows from its answers. States: Registration.swift.

import Essentials
import SIP

extension UserAgent {
    /// Registers the account, or refreshes; also the way back from `.refused`.
    public func register(_ id: AccountID, now: MonotonicTime) {
        guard life == .running, let account = accounts[id] else { return }
        if account.registration.request != nil {
            account.registration.wanted = .register
            return
        }
        account.registration.failures = 0
        account.pushIsRefused = false
        account.wasToldOfPush = false
        sendRegister(account, .asked, now: now)
        pump(now)
    }

    /// Removes the account's binding; `.unregistered` follows in any case.
    public func unregister(_ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id] else { return }
        for flow in account.further { unregister(flow.id, now: now) }
        timers.cancel(.registration(id))
        if let request = account.registration.request {
            account.registration.wanted = .unregister
            if abandonSearch(of: request) { finish(request, .failure(.timedOut), now: now) }
        } else if account.registration.mayBeBound {
            sendUnregister(account, now: now)
        } else {
            becomeUnregistered(account)
        }
        pump(now)
    }

    func sendRegister(_ account: Account, _ trigger: RegistrationTrigger, now: MonotonicTime) {
        account.detail.trigger = trigger
        switch account.registration.state {
        case .registered, .registering: break
        case .idle, .waiting, .refused, .unregistering: emit(.registration(account.id, .registering))
        }
        account.registration.state = .registering
        send(account, expires: account.registration.expires, now: now)
    }

    private func sendUnregister(_ account: Account, now: MonotonicTime) {
        account.registration.state = .unregistering
        emit(.registration(account.id, .unregistering))
        send(account, expires: 0, now: now)
    }

    private func send(_ account: Account, expires: Int, now: MonotonicTime) {
        timers.cancel(.registration(account.id))
        account.registration.sequence &+= 1
        let sequence = account.registration.sequence
        let registrar = account.configuration.registrar ?? account.domainURI
        var requestURI = registrar
        requestURI.user = nil
        if account.configuration.proxy != nil || account.configuration.registrar != nil { requestURI = account.domainURI }
        var local = account.identity
        local.tag = account.registration.fromTag
        var message = MessageBuilder(request: .register, uri: URI.sip(requestURI).asRequestURI)
        if let proxy = account.configuration.proxy { message.add(.route, Self.route(proxy)) }
        message.add(.maxForwards, "70")
        message.add(.from, local.description)
        message.add(.to, account.identity.description)
        message.add(.callID, account.registration.callID)
        message.add(.cseq, "\(sequence) REGISTER")
        message.add(.allow, Self.allowedMethods)
        message.add(.supported, registerOptions(account))
        message.add(.expires, "\(expires)")
        let request = ClientRequest(
            .register(account.id), account: account.id, method: .register, message: message, sequence: sequence,
            nextHop: .sip(account.serverURI), contact: .registration(expires: expires), local: local,
            requestURI: URI.sip(requestURI).asRequestURI)
        request.mayChangeTarget = true
        account.registration.request = request
        let limit = expires > 0 ? configuration.registrationLimit : configuration.unregistrationLimit
        timers.arm(.registrationLimit(account.id), at: now + limit)
        start(request, now: now)
    }

    /// The bindings of a REGISTER: ours, and the one that is outdated with a time of 0.
    func addBindings(to message: inout MessageBuilder, _ contact: SIPURI, expires: Int, account: Account?) {
        message.removeAll(.contact)
        var own = NameAddress(uri: .sip(contact))
        if let account {
            describeBinding(&own, account)
            describeFlow(&own, account)
        }
        own.parameters.set("expires", "\(expires)")
        message.add(.contact, own.description)
        guard let account else { return }
        account.registration.contact = contact
        // A registrar that knows the flow replaces its binding by itself (RFC 5626 §6).
        for outdated in account.registration.outdatedContacts where !outdated.matchesBinding(contact) && !account.outbound.isConfirmed {
            var old = NameAddress(uri: .sip(outdated))
            old.parameters.set("expires", "0")
            message.add(.contact, old.description)
        }
    }

    // MARK: Answers

    func handleRegisterOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id], account.registration.request === request else { return }
        account.registration.request = nil
        timers.cancel(.registrationLimit(id))
        let wanted = account.registration.wanted
        account.registration.wanted = nil
        if account.registration.state == .unregistering {
            becomeUnregistered(account)
            if wanted == .register, !account.isRemoved { register(id, now: now) }
            return
        }
        if wanted == .unregister {
            sendUnregister(account, now: now)
            return
        }
        switch outcome {
        case .failure(let failure):
            retryLater(account, Causes.registrationFailure(failure), after: nil, now: now)
        case .response(let response, _, let source):
            handleRegisterResponse(response, source, request, account, now: now)
        }
    }

    private func becomeUnregistered(_ account: Account) {
        account.registration.state = .idle
        account.registration.contact = nil
        account.registration.outdatedContacts = []
        account.detail = RegistrationDetail()
        account.outbound = AccountFlow()
        timers.cancel(.keepAlive(account.id))
        emit(.registration(account.id, .unregistered))
        forgetIfRemoved(account)
    }

    private func handleRegisterResponse(
        _ response: SIPMessage, _ source: MessageSource, _ request: ClientRequest, _ account: Account, now: MonotonicTime
    ) {
        let status = response.statusCode
        switch status {
        case 200..<300:
            account.flow = source.transport.isReliable ? source.flow : nil
            if source.transport.isSecure, !account.configuration.tls.verifiesCertificate {
                emit(.warning(Causes.unverified(account.configuration)))
            }
            registered(response, source, account, now: now)
        case 423:
            // §10.2.8: ask again for at least Min-Expires (B-024).
            let minimum = response.first(.minExpires).flatMap { Int($0.trimmedASCII) } ?? 0
            account.registration.intervalRounds += 1
            if minimum > account.registration.expires, minimum <= Int(UInt32.max), account.registration.intervalRounds <= 2 {
                account.registration.expires = minimum
                sendRegister(account, account.detail.trigger, now: now)
            } else {
                refuse(account, Causes.registrationRefused(response, request.challengeFailure))
            }
        case 439 where registerWithoutOutbound(account, now: now): break
        case 555 where registerWithoutPush(response, account, now: now): break
        case 408, 429, 480, 500..<600:
            retryLater(account, Causes.registrationUnavailable(response), after: response.retryAfter, now: now)
        default:
            refuse(account, Causes.registrationRefused(response, request.challengeFailure))
        }
    }

    /// A refusal is final: a wrong password must not be tried again by itself.
    private func refuse(_ account: Account, _ cause: Cause) {
        account.registration.state = .refused
        leaveFlow(account)
        account.registration.contact = nil
        account.registration.intervalRounds = 0
        emit(.registration(account.id, .refused(cause)))
        forgetIfRemoved(account)
    }

    private func retryLater(_ account: Account, _ cause: Cause, after: Interval?, now: MonotonicTime) {
        leaveFlow(account)
        let policy = account.configuration.retryPolicy
        guard policy.initial > .zero, life == .running, !account.isRemoved else {
            account.registration.state = .idle
            emit(.registration(account.id, .failed(cause, retryAfter: nil)))
            forgetIfRemoved(account)
            return
        }
        // A server that wants us back sooner than the first wait must not make us hammer it: Retry-After: 0 would be a
        // loop at the speed of the network.
        let wanted = after.flatMap { $0 >= policy.initial ? $0 : nil }
        let delay = wanted ?? backOff(policy, failures: account.registration.failures)
        account.registration.failures += 1
        account.registration.state = .waiting
        timers.arm(.registration(account.id), at: now + delay)
        emit(.registration(account.id, .failed(cause, retryAfter: delay)))
        followWithFurtherFlows(account, now: now)
    }

    /// Doubling waits, each shortened by up to a half at random.
    func backOff(_ policy: RetryPolicy, failures: Int) -> Interval {
        let doubled = policy.initial * (Int64(1) << Int64(min(failures, 20)))
        let longest = min(doubled, max(policy.maximum, policy.initial))
        return longest - .seconds(longest.seconds / 2 * random.fraction())
    }

    private func registered(_ response: SIPMessage, _ source: MessageSource, _ account: Account, now: MonotonicTime) {
        account.registration.intervalRounds = 0
        account.registration.outdatedContacts = []
        let own = ownBinding(response, account)
        let granted = grantedTime(response, own, account)
        guard granted > 0 else {
            retryLater(account, Causes.bindingRefused(response), after: nil, now: now)
            return
        }
        account.registration.failures = 0
        takeGrant(response, source, own: own, account)
        let until = now + .seconds(Int64(granted))
        account.registration.state = .registered(until: until)
        if rewriteContact(response, account) {
            sendRegister(account, .addressChanged, now: now)
        } else {
            let delay = Registration.refreshDelay(granted: granted, margin: account.detail.pushRefresh)
            timers.arm(.registration(account.id), at: now + delay)
        }
        emit(
            .registration(
                account.id,
                .registered(until: until, expires: granted, status: response.statusCode, reason: response.reasonPhrase)))
        keepFlow(account, response, source, now: now)
        followWithFurtherFlows(account, now: now)
    }

    /// Our binding, found by user, host and port among all Contacts (§10.2.4, B-001…B-003).
    private func ownBinding(_ response: SIPMessage, _ account: Account) -> NameAddress? {
        guard let own = account.registration.contact else { return nil }
        let found = response.contacts.first { $0.uri.sip.map { Self.isBinding($0, own) } ?? false }
        if found == nil { counters.increment(.bindingMissing) }
        return found
    }

    /// The time granted to our binding (B-025); a registrar that does not name it is taken by its Expires field, else at
    /// our word.
    private func grantedTime(_ response: SIPMessage, _ own: NameAddress?, _ account: Account) -> Int {
        let general = response.expires.map { Int($0) } ?? account.registration.expires
        guard let text = own?.parameters.value("expires") else { return general }
        return UInt32(text.trimmedASCII).map { Int($0) } ?? general
    }

    /// The same user, host and port; a registrar may leave the default port out.
    private static func isBinding(_ uri: SIPURI, _ own: SIPURI) -> Bool {
        var (full, mine) = (uri, own)
        full.port = uri.port ?? uri.transport?.defaultPort ?? TransportProtocol.udp.defaultPort
        mine.port = own.port ?? own.transport?.defaultPort ?? TransportProtocol.udp.defaultPort
        return full.matchesBinding(mine)
    }

    /// Takes up the address under which the registrar sees us (RFC 3581), at most once until a response confirms it
    /// (B-026); true: register again at once.
    private func rewriteContact(_ response: SIPMessage, _ account: Account) -> Bool {
        let via = response.topVia
        guard via.transport == .udp, let contact = account.registration.contact, case .address(let own) = contact.host,
            let ownPort = contact.port
        else { return false }
        let seen = SocketAddress(via.received ?? own, via.rport ?? ownPort)
        if seen == SocketAddress(own, ownPort) {
            account.mayRewriteContact = true
            return false
        }
        guard account.mayRewriteContact else { return false }
        account.mayRewriteContact = false
        // Calls still name the old one to the other side.
        if account.publicAddress != nil { account.outbound.refreshesCalls = true }
        account.publicAddress = seen
        account.registration.outdate(contact)
        counters.increment(.contactRewritten)
        return true
    }

    func registrationDue(_ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id], account.registration.request == nil else { return }
        var trigger = RegistrationTrigger.due
        if case .waiting = account.registration.state { trigger = .retry }
        sendRegister(account, account.lostFlow ? .connectionLost : trigger, now: now)
        account.lostFlow = false
    }
}

extension SIPMessage {
    /// Retry-After (RFC 3261 §20.33) in seconds, comment and parameters left aside; at most a day.
    var retryAfter: Interval? {
        guard let value = first(.retryAfter) else { return nil }
        let digits = value.trimmedASCII.prefix { $0.isASCII && $0.isNumber }
        guard let seconds = Int64(digits) else { return digits.isEmpty ? nil : .seconds(86_400) }
        return .seconds(min(seconds, 86_400))
    }
}

extension StringProtocol {
    /// Without blanks at either end.
    var trimmedASCII: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
