// SPDX-License-Identifier: Apache-2.0
//
// Dialogs (RFC 3261 §12): the state that two user agents share, and the requests made within it.
//
//        UAC                                   UAS
//   route set  = Record-Route reversed    = Record-Route in order          (§12.1.1, §12.1.2)
//   target     = Contact of the response  = Contact of the request, refreshed by re-INVITE both ways
//   local tag  = From of the request      = To of the response
//   remote tag = To of the response       = From of the request; a missing tag is the empty one (RFC 2543 peers)

import Essentials
import SIP

/// What identifies a dialog (RFC 3261 §12): Call-ID, our tag, their tag.
struct DialogID: Hashable, Sendable {
    var callID: String
    var localTag: String
    var remoteTag: String
}

/// One dialog, early or confirmed.
struct Dialog: Sendable {
    let id: DialogID
    /// Our From in requests, with our tag, as it is written.
    let local: String
    /// Our To in requests, with their tag if they gave one, as it is written.
    private(set) var remote: String
    /// The number of our last request; nil-free: the first one of a UAS is 1.
    private(set) var localSequence: UInt32
    /// The highest number of their requests; nil until one came.
    private(set) var remoteSequence: UInt32?
    /// Where requests are aimed: their Contact.
    private(set) var remoteTarget: URI
    /// In the order in which our requests visit the hops.
    let routeSet: [NameAddress]
    var isEarly: Bool
    /// How the message that made the dialog came: the flow is used again where the next hop is at its other end.
    var source: MessageSource?

    /// The dialog of a response to our request (§12.1.2).
    init(target: URI, local: NameAddress, sequence: UInt32, response: SIPMessage) {
        id = DialogID(callID: response.callID, localTag: local.tag ?? "", remoteTag: response.toTag)
        self.local = local.description
        remote = response.first(.to) ?? ""
        localSequence = sequence
        remoteSequence = nil
        remoteTarget = response.contacts.first?.uri ?? target
        routeSet = response.recordRoutes.reversed()
        isEarly = response.statusCode < 200
    }

    /// The dialog that our response with `localTag` to their request makes (§12.1.1).
    init(request: SIPMessage, localTag: String, source: MessageSource) {
        id = DialogID(callID: request.callID, localTag: localTag, remoteTag: request.fromTag)
        local = bracketed(request.first(.to) ?? "") + ";tag=" + localTag
        remote = request.first(.from) ?? ""
        localSequence = 0
        remoteSequence = request.cseq.number
        remoteTarget = request.contacts.first?.uri ?? request.from.uri
        routeSet = request.recordRoutes
        isEarly = true
        self.source = source
    }

    /// The dialog that a NOTIFY makes for the subscriber (RFC 6665 §4.4.1).
    ///
    /// - Parameters:
    ///   - local: our From in the SUBSCRIBE, with its tag.
    ///   - sequence: the number of that SUBSCRIBE.
    init(notify: SIPMessage, local: NameAddress, sequence: UInt32, source: MessageSource) {
        id = DialogID(callID: notify.callID, localTag: local.tag ?? "", remoteTag: notify.fromTag)
        self.local = local.description
        remote = notify.first(.from) ?? ""
        localSequence = sequence
        remoteSequence = notify.cseq.number
        remoteTarget = notify.contacts.first?.uri ?? notify.from.uri
        routeSet = notify.recordRoutes
        isEarly = false
        self.source = source
    }

    /// The URI whose host is sent to: the first route, strict or loose, else the remote target (§12.2.1.1, §8.1.2).
    var nextHop: URI { routeSet.first?.uri ?? remoteTarget }

    /// A request within the dialog with the next sequence number (§12.2.1.1).
    mutating func makeRequest(_ method: Method) -> (message: MessageBuilder, requestURI: URI) {
        localSequence &+= 1
        return makeRequest(method, sequence: localSequence)
    }

    /// The same straight to the remote target, past the route set: a leniency for where that is dead.
    mutating func makeDirectRequest(_ method: Method) -> (message: MessageBuilder, requestURI: URI) {
        localSequence &+= 1
        return makeRequest(method, sequence: localSequence, routes: [])
    }

    /// The ACK to a 2xx of the INVITE with that number (§13.2.2.4); it does not count up.
    func makeACK(sequence: UInt32) -> MessageBuilder { makeRequest(.ack, sequence: sequence).message }

    /// What a route set makes of the Request-URI and the Route fields (§12.2.1.1), within dialogs and for preloaded routes.
    static func aim(_ routes: [NameAddress], at target: URI) -> (requestURI: URI, routes: [NameAddress]) {
        guard let first = routes.first, let hop = first.uri.sip, !hop.isLooseRouter else { return (target.asRequestURI, routes) }
        // A strict router expects itself in the Request-URI; the target travels as the last route.
        return (first.uri.asRequestURI, routes.dropFirst() + [NameAddress(uri: target)])
    }

    private func makeRequest(
        _ method: Method, sequence: UInt32, routes: [NameAddress]? = nil
    ) -> (message: MessageBuilder, requestURI: URI) {
        let (requestURI, routes) = Self.aim(routes ?? routeSet, at: remoteTarget)
        var builder = MessageBuilder(request: method, uri: requestURI)
        for route in routes { builder.add(.route, route.description) }
        builder.add(.maxForwards, "70")
        builder.add(.from, local)
        builder.add(.to, remote)
        builder.add(.callID, id.callID)
        builder.add(.cseq, "\(sequence) \(method.rawValue)")
        return (builder, requestURI)
    }

    /// Whether a request with this number is in order (§12.2.2); a lower one is answered 500.
    mutating func accept(sequence: UInt32) -> Bool {
        if let last = remoteSequence, sequence < last { return false }
        remoteSequence = sequence
        return true
    }

    /// A target refresh: the Contact of a re-INVITE or of its 2xx becomes the remote target (§12.2.1.2, §12.2.2).
    mutating func refreshTarget(from message: SIPMessage) {
        if let contact = message.contacts.first { remoteTarget = contact.uri }
        // RFC 4916 §4.4.1: who the peer is may change; the tag stays.
        if message.isRequest, let from = message.first(.from), from != remote { remote = from }
    }

    /// The number of a challenged request that is sent again within the dialog (§22.2).
    mutating func nextSequence() -> UInt32 {
        localSequence &+= 1
        return localSequence
    }
}

extension SIPMessage {
    /// The tags as the keys of dialogs have them: a missing one is the empty one.
    var fromTag: String { text(in: fromTagRange) }
    var toTag: String { text(in: toTagRange) }
}

/// A To that has no tag yet, such that a parameter may be put behind it: what has no brackets gets them.
private func bracketed(_ address: String) -> String {
    address.utf8.contains(UInt8(ascii: "<")) ? address : "<" + address.prefix { $0 != ";" } + ">"
}

extension URI {
    /// Without what a Request-URI may not have (RFC 3261 §19.1.1): header fields and the method parameter.
    var asRequestURI: URI {
        guard case .sip(var uri) = self else { return self }
        uri.headers = []
        uri.parameters.remove("method")
        return .sip(uri)
    }
}
