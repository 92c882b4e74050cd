// SPDX-License-Identifier: Apache-2.0
//
// A SIP message as JSON, for `parse`: every field in order, as it came and typed where its form is known.

import SIP

extension SIPMessage {
    var json: JSONValue {
        let start: JSONValue =
            isRequest
            ? .object(("kind", "request"), ("method", .string(method.rawValue)), ("uri", requestURI.json))
            : .object(("kind", "response"), ("status", .count(statusCode)), ("reason", .string(reasonPhrase)))
        let fields = headers.map { name, value in
            JSONValue.object(
                ("name", .string(name)), ("value", .string(value)), ("typed", HeaderName(name).flatMap { Self.typed($0, value) }))
        }
        let leniencies = leniency.all.map { JSONValue.string($0) }
        return .object(
            ("start", start), ("headers", .array(fields)), ("body", bodyJSON), ("lenient", leniencies.isEmpty ? nil : .array(leniencies)))
    }

    private var bodyJSON: JSONValue? {
        guard !body.isEmpty else { return nil }
        let text = String(validating: body, as: UTF8.self)
        let hexadecimal = text == nil ? body.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() : nil
        return .object(
            ("type", .text(contentType.map { "\($0.type)/\($0.subtype)" })), ("octets", .count(body.count)), ("text", .text(text)),
            ("hexadecimal", .text(hexadecimal)))
    }

    /// The typed form of one field; nil where its form is not known or not kept. A list field gives an array.
    private static func typed(_ name: HeaderName, _ field: String) -> JSONValue? {
        let values = name.values(in: field).map { typedValue(name, $0) }
        if values.allSatisfy({ $0 == nil }) { return nil }
        if name.isList { return .array(values.map { $0 ?? .null }) }
        return values.first ?? nil
    }

    private static func typedValue(_ name: HeaderName, _ text: String) -> JSONValue? {
        switch name {
        case .via: (try? Via(text)).map(\.json)
        case .from, .to, .contact, .route, .recordRoute, .replyTo, .referTo:
            text == "*" ? "*" : (try? NameAddress(text)).map(\.json)
        case .cseq: (try? CSeq(text)).map { .object(("number", .integer(Int64($0.number))), ("method", .string($0.method.rawValue))) }
        case .contentLength, .maxForwards, .expires, .minExpires: Int64(text).map { .integer($0) }
        case .contentType, .accept:
            (try? MediaType(text)).map {
                .object(("type", .string($0.type)), ("subtype", .string($0.subtype)), ("parameters", $0.parameters.json))
            }
        case .wwwAuthenticate, .proxyAuthenticate:
            (try? Challenge(text)).map { .object(("scheme", .string($0.scheme)), ("parameters", $0.parameters.json)) }
        case .authorization, .proxyAuthorization:
            (try? Credentials(text)).map { .object(("scheme", .string($0.scheme)), ("parameters", $0.parameters.json)) }
        case .date: (try? SIPDate(text)).map { .object(("seconds", .integer($0.secondsSince1970))) }
        case .retryAfter:
            (try? RetryAfter(text)).map { .object(("seconds", .integer(Int64($0.delay))), ("comment", .text($0.comment))) }
        case .warning:
            (try? Warning(text)).map { .object(("code", .count($0.code)), ("agent", .string($0.agent)), ("text", .string($0.text))) }
        case .callID, .allow, .supported, .require, .proxyRequire, .unsupported, .inReplyTo: .string(text)
        default: nil
        }
    }
}

extension URI {
    var json: JSONValue {
        switch self {
        case .sip(let uri):
            .object(
                ("scheme", .string(uri.isSecure ? "sips" : "sip")), ("user", .text(uri.user)), ("password", .text(uri.password)),
                ("host", .string(uri.host.description)), ("port", .count(uri.port.map(Int.init))), ("parameters", uri.parameters.json),
                ("headers", uri.headers.isEmpty ? nil : .object(uri.headers.map { JSONValue.Member($0.name, .string($0.value)) })))
        case .tel(let uri): .object(("scheme", "tel"), ("number", .string(uri.number)), ("parameters", uri.parameters.json))
        case .other(let scheme, _): .object(("scheme", .string(scheme)), ("text", .string(description)))
        }
    }
}

extension NameAddress {
    var json: JSONValue {
        .object(("display", .text(displayName)), ("uri", uri.json), ("parameters", parameters.json))
    }
}

extension Via {
    var json: JSONValue {
        .object(
            ("transport", .string(transportName)), ("host", .string(host.description)), ("port", .count(port.map(Int.init))),
            ("parameters", parameters.json))
    }
}

extension Parameters {
    /// An object; a parameter without a value is `true`. nil: there are none.
    var json: JSONValue? {
        guard !isEmpty else { return nil }
        return .object(items.map { JSONValue.Member($0.name, $0.value.map { .string($0) } ?? true) })
    }
}
