// SPDX-License-Identifier: Apache-2.0

import PhoneCore
import SIP
import SIPAgent

/// The options of how calls behave.
package struct CallFeatureSettings: Sendable {
    package var refusesSecondCall: Bool
    package var gateway: PSTNGateway?
    package var isLateOffer: Bool
    package var gatewayNumber: String?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        refusesSecondCall = invocation.value("--call-waiting") == "off"
        gateway = try invocation.value("--gateway").map { text throws(CommandFailure) in try Self.gateway(text) }
        isLateOffer = invocation.has("--late-offer")
        gatewayNumber = invocation.value("--gateway-number")
        if gateway != nil, invocation.value("--account") == nil { throw .usage("--gateway needs --account.") }
        if gatewayNumber != nil, gateway == nil { throw .usage("--gateway-number needs --gateway.") }
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
    }

    /// Sets what belongs to the account.
    func apply(to account: inout AccountConfiguration) {
        account.calls.gateway = gateway
    }

    /// Sets what belongs to one call.
    func apply(to options: inout CallOptions) {
        options.isLateOffer = isLateOffer
        options.gatewayNumber = gatewayNumber
    }
}
