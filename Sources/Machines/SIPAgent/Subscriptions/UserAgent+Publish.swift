// SPDX-License-Identifier: Apache-2.0
//
// Publishing our own state (RFC 3903):
//
//   publishing ─2xx, SIP-ETag─► published ─refresh due─► PUBLISH, SIP-If-Match, no body ─2xx, new ETag─► published
//                                  │ another state ─► PUBLISH, SIP-If-Match, body
//                                  │ 412 ─► the server forgot it: PUBLISH, body, without SIP-If-Match
//                                  │ 408, 5xx, lost network ─► waiting ─back-off─► as before
//                                  └ unpublish ─► PUBLISH, SIP-If-Match, Expires 0 ─► over

import Essentials
import SIP

final class Publication {
    let id: PublicationID
    let account: AccountID
    let event: EventType
    var body: [UInt8]
    var type: String
    var expires: Int
    /// What the server calls the published state; nil: it has none of ours.
    var etag: String?
    let callID: String
    var local: NameAddress
    var sequence: UInt32
    var request: ClientRequest?
    /// The body in the server is not this one.
    var isChanged = true
    var isEnding = false
    var failures = 0
    var rounds = 0
    var status: PublicationStatus?

    init(
        id: PublicationID, account: AccountID, event: EventType, body: [UInt8], type: String, expires: Int, local: NameAddress,
        callID: String, sequence: UInt32
    ) {
        self.id = id
        self.account = account
        self.event = event
        self.body = body
        self.type = type
        self.expires = expires
        self.local = local
        self.callID = callID
        self.sequence = sequence
    }
}

extension UserAgent {
    /// Publishes a state of the account's address of record and keeps it published until `unpublish`.
    ///
    /// - Parameter expires: seconds to ask for, 1...4294967295.
    public func publish(
        _ accountID: AccountID, event: EventType, body: [UInt8], type: String, expires: Int = 3600, now: MonotonicTime
    ) throws(AgentError) -> PublicationID {
        guard let account = try eventAccount(accountID) else { throw AgentError(.unknownAccount, "\(accountID) is not known") }
        subscriptions.lastPublication &+= 1
        let id = PublicationID(rawValue: subscriptions.lastPublication)
        var local = account.identity
        local.tag = random.token(10)
        let publication = Publication(
            id: id, account: accountID, event: event, body: body, type: type, expires: min(max(expires, 1), Int(UInt32.max)),
            local: local, callID: random.token(22), sequence: UInt32(random.integer(in: 1...30_000)))
        subscriptions.publications[id] = publication
        counters.increment(.publications)
        sendPublish(publication, now: now)
        pump(now)
        return id
    }

    /// Replaces the published state.
    public func publish(_ id: PublicationID, body: [UInt8], now: MonotonicTime) throws(AgentError) {
        guard let publication = subscriptions.publications[id], !publication.isEnding else {
            throw AgentError(.unknownDialog, "\(id) is not known")
        }
        publication.body = body
        publication.isChanged = true
        // The user hears when the new state is there, though nothing else changes.
        publication.status = nil
        if publication.request == nil { sendPublish(publication, now: now) }
        pump(now)
    }

    /// Takes the published state back; `.ended` follows in any case.
    public func unpublish(_ id: PublicationID, now: MonotonicTime) {
        guard let publication = subscriptions.publications[id] else { return }
        endByUser(publication, now: now)
        pump(now)
    }

    func endByUser(_ publication: Publication, now: MonotonicTime) {
        guard !publication.isEnding else { return }
        publication.isEnding = true
        timers.cancel(.event(.publication(publication.id)))
        if let request = publication.request {
            if abandonSearch(of: request) {
                publication.request = nil
                sendOrEnd(publication, now: now)
            }
        } else {
            sendOrEnd(publication, now: now)
        }
    }

    private func sendOrEnd(_ publication: Publication, now: MonotonicTime) {
        if publication.etag == nil { over(publication, EventCauses.unpublished) } else { sendPublish(publication, now: now) }
    }

    private func sendPublish(_ publication: Publication, now: MonotonicTime) {
        guard let account = accounts[publication.account] else {
            over(publication, EventCauses.publisherGone)
            return
        }
        timers.cancel(.event(.publication(publication.id)))
        if publication.status == nil { tell(publication, .publishing) }
        publication.sequence &+= 1
        let request = makeRequest(
            .publish, .publish(publication.id), account: account, to: .sip(account.configuration.addressOfRecord),
            nextHop: .sip(account.firstHop ?? account.serverURI), local: publication.local, callID: publication.callID,
            sequence: publication.sequence,
            contact: .none)
        request.message.add(.event, publication.event.description)
        request.message.add(.expires, publication.isEnding ? "0" : "\(publication.expires)")
        if let etag = publication.etag { request.message.add(.sipIfMatch, etag) }
        if !publication.isEnding, publication.isChanged || publication.etag == nil {
            request.message.setBody(publication.body, type: publication.type)
            publication.isChanged = false
        }
        publication.request = request
        start(request, now: now)
    }

    func publicationDue(_ id: PublicationID, now: MonotonicTime) {
        guard let publication = subscriptions.publications[id], publication.request == nil else { return }
        sendPublish(publication, now: now)
    }

    func handlePublishOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ id: PublicationID, now: MonotonicTime) {
        guard let publication = subscriptions.publications[id], publication.request === request else { return }
        publication.request = nil
        let wasEnd = request.message.first(.expires) == "0"
        if publication.isEnding, wasEnd {
            over(publication, EventCauses.unpublished)
            return
        }
        switch outcome {
        case .failure(let failure): retry(publication, EventCauses.publicationFailure(failure), after: nil, now: now)
        case .response(let response, _, _): handle(response, request, publication, now: now)
        }
    }

    private func handle(_ response: SIPMessage, _ request: ClientRequest, _ publication: Publication, now: MonotonicTime) {
        switch response.statusCode {
        case 200..<300:
            publication.etag = response.sipETag
            publication.failures = 0
            publication.rounds = 0
            let granted = response.expires.map { Int($0) } ?? publication.expires
            tell(publication, .published(expires: granted))
            if publication.isEnding {
                sendOrEnd(publication, now: now)
            } else if publication.isChanged {
                sendPublish(publication, now: now)
            } else {
                let delay = max(Registration.refreshDelay(granted: granted), configuration.leastSubscriptionInterval)
                timers.arm(.event(.publication(publication.id)), at: now + delay)
            }
        case 412:
            // §4.1: the server does not know that state any more.
            counters.increment(.publicationOutdated)
            publication.etag = nil
            publication.rounds += 1
            if publication.isEnding {
                over(publication, EventCauses.unpublished)
            } else if publication.rounds <= 2 {
                sendPublish(publication, now: now)
            } else {
                retry(publication, EventCauses.publicationRefused(response, nil), after: nil, now: now)
            }
        case 423:
            let least = response.minExpires.map { Int($0) } ?? 0
            publication.rounds += 1
            if least > publication.expires, publication.rounds <= 2, !publication.isEnding {
                publication.expires = least
                // A refused PUBLISH changed nothing: its body is still to come.
                publication.isChanged = true
                sendPublish(publication, now: now)
            } else {
                over(publication, EventCauses.publicationRefused(response, request.challengeFailure))
            }
        case let status where EventCauses.isPassing(status):
            retry(publication, EventCauses.publicationRefused(response, nil), after: response.retryAfter, now: now)
        default:
            over(publication, EventCauses.publicationRefused(response, request.challengeFailure))
        }
    }

    private func retry(_ publication: Publication, _ cause: Cause, after: Interval?, now: MonotonicTime) {
        let policy = accounts[publication.account]?.configuration.retryPolicy ?? .none
        guard policy.initial > .zero, life == .running, !publication.isEnding else {
            over(publication, publication.isEnding ? EventCauses.unpublished : cause)
            return
        }
        publication.isChanged = true
        let wanted = after.flatMap { $0 >= policy.initial ? $0 : nil }
        let delay = wanted ?? policy.wait(failures: publication.failures, random)
        publication.failures += 1
        timers.arm(.event(.publication(publication.id)), at: now + delay)
        tell(publication, .retrying(cause, after: delay))
    }

    private func over(_ publication: Publication, _ cause: Cause) {
        timers.cancel(.event(.publication(publication.id)))
        subscriptions.publications[publication.id] = nil
        tell(publication, .ended(cause))
    }

    private func tell(_ publication: Publication, _ status: PublicationStatus) {
        if let old = publication.status, old == status { return }
        publication.status = status
        emit(.event(.publication(publication.id, status)))
    }
}
