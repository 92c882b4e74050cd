// SPDX-License-Identifier: Apache-2.0

import PhoneCore
import SIP
import SIPAgent

/// The options of how calls behave.
package struct CallFeatureSettings: Sendable {
    package var refusesSecondCall: Bool
    package var gateway: PSTNGateway?
    package var isLateOffer: Bool
    package var isAnonymous: Bool
    package var autoAnswer: AutoAnswer
    package var ringsReliably: Bool
    package var requestHeaders: [AccountCallSettings.MethodHeader]
    package var sendsPreferredIdentity: Bool
    package var proxyIsStrict: Bool
    package var gatewayNumber: String?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        refusesSecondCall = invocation.value("--call-waiting") == "off"
        gateway = try invocation.value("--gateway").map { text throws(CommandFailure) in try Self.gateway(text) }
        isAnonymous = invocation.has("--anonymous")
        autoAnswer = invocation.value("--auto-answer").flatMap(AutoAnswer.init) ?? .off
        ringsReliably = invocation.value("--reliable") == "supported"
        sendsPreferredIdentity = invocation.has("--preferred-identity")
        proxyIsStrict = invocation.has("--strict-proxy")
        requestHeaders = []
        for text in invocation.all("--request-header") { requestHeaders.append(try Self.requestHeader(text)) }
        isLateOffer = invocation.has("--late-offer")
        gatewayNumber = invocation.value("--gateway-number")
        if gateway != nil, invocation.value("--account") == nil { throw .usage("--gateway needs --account.") }
        if gatewayNumber != nil, gateway == nil { throw .usage("--gateway-number needs --gateway.") }
    }

    private static func requestHeader(_ text: String) throws(CommandFailure) -> AccountCallSettings.MethodHeader {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2, let method = parts.first, !method.isEmpty, method.allSatisfy({ $0.isASCII && $0.isUppercase }) else {
            throw .usage("--request-header takes 'METHOD Name: value', not \"\(text.printable)\".")
        }
        let header = try CallSettings.header(parts[1], option: "--request-header")
        guard let name = HeaderName(header.name) else { throw .usage("--request-header takes 'METHOD Name: value'.") }
        return .init(Method(rawValue: method), name, header.value)
    }

    private static func gateway(_ text: String) throws(CommandFailure) -> PSTNGateway {
        guard let uri = try? URI("sip:" + text), let sip = uri.sip, sip.user == nil, sip.parameters.isEmpty, sip.headers.isEmpty else {
            throw .usage("--gateway takes HOST or HOST:PORT, not \"\(text.printable)\".")
        }
        return PSTNGateway(domain: sip.host, port: sip.port)
    }

    /// Sets what belongs to the phone.
    func apply(to core: inout PhoneConfiguration) {
        core.refusesSecondCall = refusesSecondCall
        core.autoAnswer = autoAnswer
        core.agent.reliableProgress = ringsReliably ? .whenSupported : .whenRequired
    }

    /// Sets what belongs to the account.
    func apply(to account: inout AccountConfiguration) {
        account.calls.gateway = gateway
        account.calls.headers = requestHeaders
        account.calls.sendsPreferredIdentity = sendsPreferredIdentity
        account.calls.proxyIsStrictRouter = proxyIsStrict
    }

    /// Sets what belongs to one call.
    func apply(to options: inout CallOptions) {
        options.isLateOffer = isLateOffer
        options.isAnonymous = isAnonymous
        options.gatewayNumber = gatewayNumber
    }
}
