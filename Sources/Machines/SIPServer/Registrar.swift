// SPDX-License-Identifier: Apache-2.0
//
// The registrar: RFC 3261 §10.3, steps 4 to 8. Who asks was made sure of before (step 3, SIPServer+Authentication).
//
//   REGISTER ── Contact: none      → list what is there
//            ── Contact: *         → take all back (Expires: 0 only)
//            ── Contact: a;q, b …  → add, refresh or take back each; all or nothing

import Essentials
import SIP
import SIPAgent

struct Registrar {
    /// What a REGISTER led to.
    enum Outcome {
        /// 200; the bindings changed are for the owner's events.
        case accepted(MessageBuilder, added: [Binding], removed: [Binding])
        /// A refusal: nothing was changed.
        case refused(MessageBuilder, status: Int, ServerCounter)
    }

    let configuration: ServerConfiguration
    var store = LocationStore()

    /// Handles a REGISTER for `user`, a user of ours.
    ///
    /// - Parameters:
    ///   - tag: the To tag of the response.
    ///   - makeName: gives the user part of a temporary GRUU, another one each time.
    mutating func register(
        _ request: SIPMessage, user: String, source: MessageSource, tag: String, makeName: () -> String, now: MonotonicTime
    ) -> Outcome {
        let present = store.bindings(of: user, now: now)
        if request.hasWildcardContact { return removeAll(request, user: user, present: present, tag: tag, now: now) }

        var list = present
        var added: [Binding] = []
        var removed: [Binding] = []
        for contact in request.contacts {
            // Contacts of other schemes (a desk phone's tel:) cannot be called by this server and are passed over.
            guard let uri = contact.uri.sip else { continue }
            let expires: UInt32
            switch granted(contact, request) {
            case .seconds(let seconds): expires = seconds
            case .tooBrief:
                var response = request.makeResponse(status: 423, toTag: tag)
                response.add(.minExpires, "\(configuration.minimumExpires)")
                return .refused(response, status: 423, .intervalsTooBrief)
            }
            let flowName = flowName(contact, request)
            let index =
                list.firstIndex { flowName != nil && $0.flowName == flowName }
                // Two flows of one device may have one Contact (RFC 5626 §6).
                ?? list.firstIndex { binding in
                    binding.uri.isEquivalent(to: uri)
                        && (flowName == nil || binding.flowName == nil || binding.flowName?.instance != flowName?.instance)
                }
            // Step 7: the same registering device must count upwards, or the request is an old one that came late.
            if let index, list[index].callID == request.callID, request.cseq.number <= list[index].cseq {
                return refuse(request, tag, 500, "Registration Out of Order", .registrationsRefused)
            }
            if expires == 0 {
                if let index { removed.append(list.remove(at: index)) }
                continue
            }
            var binding = Binding(contact, uri: uri, expires: now + .seconds(Int64(expires)), of: request, source: source)
            binding.flowName = flowName
            if givesGRUU(request), binding.instance != nil {
                // Each refresh brings a new one, and the earlier ones go on working (RFC 5627 §3.1.2).
                let earlier = index.map { list[$0].temporaryNames } ?? []
                binding.temporaryNames = earlier.suffix(Self.maximumTemporaryNames - 1) + [makeName()]
            }
            if let index {
                binding.sequence = list[index].sequence
                let earlier = list[index].formerAddresses + [list[index].source.remote]
                binding.formerAddresses = Array(earlier.filter { $0 != source.remote }.suffix(Self.maximumFormerAddresses))
                list[index] = binding
            } else {
                list.append(binding)
            }
            added.append(binding)
        }
        if list.count > present.count {
            if list.count > configuration.maximumContactsPerUser {
                return refuse(request, tag, 403, "Too Many Contacts", .contactsPerUserLimit)
            }
            if store.count + list.count - present.count > configuration.maximumContacts {
                return refuse(request, tag, 503, "Too Many Registrations", .contactsLimit)
            }
        }
        if !added.isEmpty || !removed.isEmpty { store.set(user, list) }
        return .accepted(answer(request, user: user, tag: tag, now: now), added: added, removed: removed)
    }

    /// The flow that a contact is registered for (RFC 5626 §6): if the device asks for it, and comes from there without a
    /// proxy in between that would have to keep the flow itself.
    private func flowName(_ contact: NameAddress, _ request: SIPMessage) -> FlowName? {
        guard configuration.knowsFlows, request.supported.contains("outbound"), request.vias.count == 1, let instance = contact.instance,
            let number = contact.registrationID
        else { return nil }
        return FlowName(instance: instance, number: number)
    }

    /// Temporary GRUUs of one contact that work at a time.
    private static let maximumTemporaryNames = 8
    /// Addresses of before that are kept of one contact.
    private static let maximumFormerAddresses = 4

    private func givesGRUU(_ request: SIPMessage) -> Bool {
        configuration.givesGRUU && (request.supported + request.require).contains { $0.lowercased() == "gruu" }
    }

    /// Step 6: `Contact: *` takes all contacts back, and stands only alone and with `Expires: 0`.
    private mutating func removeAll(
        _ request: SIPMessage, user: String, present: [Binding], tag: String, now: MonotonicTime
    ) -> Outcome {
        guard request.expires == 0, request.contacts.isEmpty else {
            return refuse(request, tag, 400, "Wildcard Contact Needs Expires 0", .registrationsRefused)
        }
        if present.contains(where: { $0.callID == request.callID && request.cseq.number <= $0.cseq }) {
            return refuse(request, tag, 500, "Registration Out of Order", .registrationsRefused)
        }
        store.set(user, [])
        return .accepted(answer(request, user: user, tag: tag, now: now), added: [], removed: present)
    }

    private enum Grant {
        case seconds(UInt32)
        case tooBrief
    }

    /// The time for one contact: its own `expires`, else the Expires field, else the default (step 7). A value that is
    /// no number counts as 3600 (RFC 3261 §20.10 and §20.19 let a registrar choose).
    private func granted(_ contact: NameAddress, _ request: SIPMessage) -> Grant {
        let asked: UInt32
        if let text = contact.parameters.value("expires") {
            asked = UInt32(text) ?? (text.utf8.allSatisfy { (48...57).contains($0) } && !text.isEmpty ? .max : 3600)
        } else {
            asked = request.expires ?? configuration.defaultExpires
        }
        if asked == 0 { return .seconds(0) }
        if asked < configuration.minimumExpires { return .tooBrief }
        return .seconds(min(asked, configuration.maximumExpires))
    }

    private func refuse(
        _ request: SIPMessage, _ tag: String, _ status: Int, _ reason: String, _ counter: ServerCounter
    ) -> Outcome {
        .refused(request.makeResponse(status: status, reason: reason, toTag: tag), status: status, counter)
    }

    /// Step 8: 200 with every contact that the user has now and the seconds each has left.
    private func answer(_ request: SIPMessage, user: String, tag: String, now: MonotonicTime) -> MessageBuilder {
        var response = request.makeResponse(status: 200, toTag: tag)
        if request.contacts.contains(where: { flowName($0, request) != nil }) {
            response.add(.require, "outbound")
            if configuration.flowTimer > 0 { response.add(.flowTimer, "\(min(max(configuration.flowTimer, 5), 86_400))") }
        }
        for binding in store.bindings(of: user, now: now) {
            var contact = binding.contact
            let left = (binding.expires - now).millisecondsRoundedUp
            contact.parameters.set("expires", "\((left + 999) / 1000)")
            if givesGRUU(request) { addGRUUs(to: &contact, binding, user: user, domain: request.to.uri.sip?.host) }
            response.add(.contact, contact.description)
        }
        // RFC 3327 §5.3, RFC 3608 §6.3.
        for path in request.paths { response.add(.path, path.description) }
        for route in configuration.serviceRoute { response.add(.serviceRoute, NameAddress(uri: .sip(route)).description) }
        return response
    }

    /// RFC 5627 §5.2: the public and the newest temporary one.
    private func addGRUUs(to contact: inout NameAddress, _ binding: Binding, user: String, domain: Host?) {
        guard let instance = binding.instance, let domain else { return }
        var own = SIPURI(user: user, host: domain)
        own.parameters.set("gr", instance)
        contact.parameters.set("pub-gruu", own.description, isQuoted: true)
        guard let name = binding.temporaryNames.last else { return }
        var temporary = SIPURI(user: name, host: domain)
        temporary.parameters.set("gr", nil)
        contact.parameters.set("temp-gruu", temporary.description, isQuoted: true)
    }
}

extension Binding {
    init(_ contact: NameAddress, uri: SIPURI, expires: MonotonicTime, of request: SIPMessage, source: MessageSource) {
        var contact = contact
        preference = Self.preference(contact.parameters.value("q"))
        contact.parameters.remove("expires")
        self.contact = contact
        self.uri = uri
        self.expires = expires
        self.source = source
        callID = request.callID
        cseq = request.cseq.number
        sentBy = request.topVia
        flowName = nil
        path = request.paths
        flowIsOpen = true
        sequence = 0
    }

    /// `0.5` as 500; what is no qvalue counts as 1.0.
    static func preference(_ text: String?) -> Int {
        guard let text, let value = Double(text), value >= 0, value <= 1 else { return 1000 }
        return Int(value * 1000)
    }
}
