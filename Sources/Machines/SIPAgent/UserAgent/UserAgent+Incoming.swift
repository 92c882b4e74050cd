// SPDX-License-Identifier: Apache-2.0
//
// Requests that come in (RFC 3261 §8.2, §12.2.2), in the order of the RFC: method, Request-URI, dialog, extensions, body.

import Essentials
import SIP

extension UserAgent {
    /// The Allow of all we send.
    static let allowedMethods = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, PRACK, UPDATE, REFER, NOTIFY, MESSAGE"
    private static let sipScheme = Array("sip:".utf8)
    private static let sipsScheme = Array("sips:".utf8)
    private static let acceptedBodies = "application/sdp"
    private static let acceptedInfoBodies = "application/dtmf-relay, application/dtmf"

    /// A new server transaction.
    func handleRequest(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        guard life != .stopped else {
            refuse(request, transaction, 503, now: now)
            return
        }
        let method = request.method
        switch method {
        case .invite, .bye, .options, .info, .prack, .update, .refer, .notify, .subscribe, .message: break
        case .register, .publish:
            counters.increment(.methodNotAllowed)
            refuse(request, transaction, 405, [(.allow, Self.allowedMethods)], now: now)
            return
        case .ack, .cancel: return
        default:
            counters.increment(.methodUnknown)
            refuse(request, transaction, 501, [(.allow, Self.allowedMethods)], now: now)
            return
        }
        if !hasKnownScheme(request) {
            counters.increment(.unsupportedScheme)
            refuse(request, transaction, 416, now: now)
            return
        }
        if isInsecure(request, source) {
            counters.increment(.sipsWithoutTLS)
            refuse(request, transaction, 403, reason: "SIPS Needs TLS", now: now)
            if insecureCallWarnings.admits(now) { emit(.warning(Causes.insecureRequest(request, source))) }
            return
        }
        if method == .notify || method == .subscribe || method == .message,
            handleEventRequest(request, method, transaction, source, now: now)
        {
            return
        }
        if request.hasToTag, !request.toTagRange.isEmpty {
            handleDialogRequest(request, method, transaction, source, now: now)
            return
        }
        guard method == .invite || method == .options || method == .refer else {
            counters.increment(.unknownDialog)
            refuse(request, transaction, 481, now: now)
            return
        }
        guard checkExtensions(request, transaction, now: now) else { return }
        if method == .options {
            answerOptions(request, transaction, now: now)
        } else if method == .refer {
            let rate = configuration.referralsPerCall
            guard isBearable(request, transaction, &referralPace, rate, "referralsPerCall", now: now) else { return }
            handleInitialRefer(request, transaction, source, now: now)
        } else if checkBody(request, transaction, now: now) {
            handleInitialInvite(request, transaction, source, now: now)
        }
    }

    /// §8.2.2.1.
    private func hasKnownScheme(_ request: SIPMessage) -> Bool {
        if request.bytes(in: request.requestURIRange).starts(with: Self.sipScheme) { return true }
        if case .other = request.requestURI { return false }
        return true
    }

    /// A request for a `sips` URI that did not come over TLS: somebody on the way broke the promise of the scheme (RFC 3261
    /// §26.2.2; RFC 5630 §3.1.2 takes the exception for the last hop away). Acting on it would make it look kept.
    private func isInsecure(_ request: SIPMessage, _ source: MessageSource) -> Bool {
        guard !source.transport.isSecure else { return false }
        // The colon has that bit already.
        return request.bytes(in: request.requestURIRange).prefix(5).elementsEqual(Self.sipsScheme) { $0 | 0x20 == $1 }
    }

    /// A request with a To tag: within a dialog, or 481 (§12.2.2).
    private func handleDialogRequest(
        _ request: SIPMessage, _ method: Method, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) {
        let id = DialogID(callID: request.callID, localTag: request.toTag, remoteTag: request.fromTag)
        guard let sessionID = dialogs[id], let session = sessions[sessionID] else {
            counters.increment(.unknownDialog)
            refuse(request, transaction, 481, now: now)
            return
        }
        guard checkExtensions(request, transaction, now: now) else { return }
        guard acceptSequence(request, id, session) else {
            counters.increment(.lowSequence)
            refuse(request, transaction, 500, now: now)
            return
        }
        guard isBearable(request, method, transaction, session, now: now) else { return }
        switch method {
        case .bye: handleBye(request, transaction, session, id, now: now)
        case .invite:
            if checkBody(request, transaction, now: now) { handleReinvite(request, transaction, session, source, now: now) }
        case .info: handleInfo(request, transaction, session, now: now)
        case .prack: handlePrack(request, transaction, session, id, now: now)
        case .update:
            if request.body.isEmpty || checkBody(request, transaction, now: now) {
                handleUpdate(request, transaction, session, id, source, now: now)
            }
        case .refer: handleRefer(request, transaction, session, id, now: now)
        case .message: handleMessage(request, transaction, source, session: session, now: now)
        case .notify, .subscribe: refuseEvent(request, transaction, now: now)
        default: answerOptions(request, transaction, now: now)
        }
    }

    private func acceptSequence(_ request: SIPMessage, _ id: DialogID, _ session: InviteSession) -> Bool {
        if session.dialog?.id == id { return session.dialog?.accept(sequence: request.cseqNumber) ?? true }
        guard let index = session.earlyDialogs.firstIndex(where: { $0.id == id }) else { return true }
        return session.earlyDialogs[index].accept(sequence: request.cseqNumber)
    }

    /// What a request may require of us.
    private static let understood = [timerTag, reliableTag, replacesTag, "norefersub", "tdialog"]

    /// §8.2.2.3: what is required and not supported is answered 420. Proxy-Require is for
    /// proxies, but a request that insists on it for us is refused as well.
    func checkExtensions(_ request: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) -> Bool {
        var missing = request.require
        if !missing.isEmpty { missing.removeAll { Self.understood.contains($0.asciiLowercased) } }
        if missing.isEmpty { missing = request.proxyRequire }
        guard !missing.isEmpty else { return true }
        counters.increment(.unsupportedExtension)
        refuse(request, transaction, 420, [(.unsupported, missing.joined(separator: ", "))], now: now)
        return false
    }

    /// §8.2.3: a body that we cannot read is answered 415, an answer that the caller could not read 406.
    private func checkBody(_ request: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) -> Bool {
        if !request.body.isEmpty, !isReadable(request) {
            counters.increment(.unsupportedMedia)
            refuse(
                request, transaction, 415, [(.accept, Self.acceptedBodies), (.acceptEncoding, "identity")], now: now)
            return false
        }
        let accepted = request.values(.accept)
        if !accepted.isEmpty, !accepted.contains(where: Self.coversSDP) {
            counters.increment(.notAcceptable)
            refuse(request, transaction, 406, now: now)
            return false
        }
        return true
    }

    private func isReadable(_ request: SIPMessage) -> Bool {
        for encoding in request.values(.contentEncoding) where encoding.trimmedASCII.lowercased() != "identity" { return false }
        if request.first(.contentType) == Self.acceptedBodies { return true }
        guard let type = request.contentType else { return false }
        if type.isSDP { return true }
        if type.isMultipart { return request.body(ofType: "application", "sdp") != nil || !requiresBody(request) }
        return !requiresBody(request)
    }

    /// §20.11: a body whose handling is optional may be left aside.
    private func requiresBody(_ request: SIPMessage) -> Bool {
        guard let disposition = request.first(.contentDisposition)?.lowercased() else { return true }
        return !disposition.filter { $0 != " " }.contains("handling=optional")
    }

    private static func coversSDP(_ accept: String) -> Bool {
        let type = accept.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        return type == "application/sdp" || type == "application/*" || type == "*/*"
    }

    /// §11.2.
    private func answerOptions(_ request: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) {
        var response = request.makeResponse(status: 200, toTag: responseTag(request))
        response.add(.allow, Self.allowedMethods)
        response.add(.accept, Self.acceptedBodies)
        response.add(.acceptEncoding, "identity")
        response.add(.supported, Self.understood.joined(separator: ", "))
        response.add(.allowEvents, Self.referPackage)
        stack.respond(transaction, response, now: now)
    }

    /// A new tag where the request has none in To.
    private func responseTag(_ request: SIPMessage) -> String? { request.hasToTag ? nil : random.token(10) }

    /// A final answer without further consequence.
    func refuse(
        _ request: SIPMessage, _ transaction: TransactionID, _ status: Int, _ headers: [(HeaderName, String)] = [],
        tag: String? = nil, reason: String? = nil, now: MonotonicTime
    ) {
        var response = request.makeResponse(status: status, reason: reason, toTag: tag ?? responseTag(request))
        for (name, value) in headers { response.add(name, value) }
        stack.respond(transaction, response, now: now)
    }

    // MARK: INFO

    /// RFC 6086 and the older habit: DTMF goes to the user, other packages are refused (B-060).
    private func handleInfo(_ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, now: MonotonicTime) {
        guard session.phase != .over else {
            refuse(request, transaction, 481, now: now)
            return
        }
        if request.first("Info-Package") != nil {
            refuse(request, transaction, 469, [("Recv-Info", "")], now: now)
            return
        }
        guard !request.body.isEmpty, let type = request.contentType else {
            refuse(request, transaction, 200, now: now)
            return
        }
        guard type.isDTMF else {
            counters.increment(.unsupportedMedia)
            refuse(request, transaction, 415, [(.accept, Self.acceptedInfoBodies)], now: now)
            return
        }
        refuse(request, transaction, 200, now: now)
        emit(.info(session.id, contentType: type.essence, body: Array(request.body)))
    }

    /// Sends an INFO within an established session; `infoAnswered` follows in any case.
    public func sendInfo(_ id: SessionID, contentType: String, body: [UInt8], now: MonotonicTime) {
        guard let session = sessions[id] else { return }
        guard session.phase == .established, session.openRequests < configuration.maximumPendingRequests,
            var dialog = session.dialog
        else {
            emit(.infoAnswered(id, status: 481, accepted: []))
            return
        }
        let request = makeRequest(.info, .info(id), in: &dialog, account: session.account)
        session.dialog = dialog
        request.message.setBody(body, type: contentType)
        start(request, now: now)
        pump(now)
    }

    func handleInfoOutcome(_ outcome: RequestOutcome, _ session: InviteSession, now: MonotonicTime) {
        guard session.phase != .over else { return }
        switch outcome {
        case .response(let response, _, _):
            emit(.infoAnswered(session.id, status: response.statusCode, accepted: response.accept ?? []))
            if response.statusCode == 481 { loseDialog(session, Causes.dialogLost(response), now: now) }
        case .failure:
            emit(.infoAnswered(session.id, status: 408, accepted: []))
        }
    }
}

extension MediaType {
    var isSDP: Bool { type == "application" && subtype == "sdp" }
    var isMultipart: Bool { type == "multipart" }
    var isDTMF: Bool { type == "application" && (subtype == "dtmf-relay" || subtype == "dtmf") }
    /// Without parameters.
    var essence: String { type + "/" + subtype }
}
