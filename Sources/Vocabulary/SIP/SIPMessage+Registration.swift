// SPDX-License-Identifier: Apache-2.0
//
// The fields and parameters that registration brings besides RFC 3261: Path (RFC 3327), Service-Route (RFC 3608),
// GRUU (RFC 5627), Feature-Caps (RFC 6809) and push (RFC 8599).

extension SIPMessage {
    /// The proxies that requests to the registered contact pass, the one next to the registrar first (RFC 3327 §4).
    public var paths: [NameAddress] { addresses(.path) }
    /// The proxies that requests of the registered user pass, in their order (RFC 3608 §5).
    public var serviceRoutes: [NameAddress] { addresses(.serviceRoute) }
    /// What the elements on the way can do: the parameters of each `*` (RFC 6809 §6.3). What cannot be read is left out.
    public var featureCapabilities: [Parameters] {
        values(.featureCaps).compactMap { value in
            guard let read = try? ParameterizedValue(value), read.value == "*" else { return nil }
            return read.parameters
        }
    }
}

extension NameAddress {
    /// Contact of an answer to REGISTER: the public GRUU of this contact (RFC 5627 §4.2).
    public var publicGRUU: SIPURI? { gruu("pub-gruu") }
    /// Contact of an answer to REGISTER: the newest temporary GRUU of this contact (RFC 5627 §4.2).
    public var temporaryGRUU: SIPURI? { gruu("temp-gruu") }
    /// The device that the contact is, as a URN without its brackets: `+sip.instance` (RFC 5626 §4.1).
    public var instance: String? {
        guard let text = parameters["+sip.instance"], text.count > 2, text.first == "<", text.last == ">" else { return nil }
        return String(text.dropFirst().dropLast())
    }
    /// The number of the flow that the contact was registered over: `reg-id`, 1... (RFC 5626 §4.2).
    public var registrationID: UInt32? { parameters["reg-id"].flatMap { UInt32($0) }.flatMap { $0 > 0 ? $0 : nil } }

    private func gruu(_ name: String) -> SIPURI? {
        guard let text = parameters[name], let uri = (try? URI(text))?.sip, uri.parameters.contains("gr") else { return nil }
        return uri
    }
}

extension SIPURI {
    /// The instance of a GRUU (RFC 5627 §3): its `gr` parameter; the empty text for a temporary one, nil: no GRUU.
    public var globallyRoutableInstance: String? { parameters.contains("gr") ? parameters["gr"] ?? "" : nil }
}
