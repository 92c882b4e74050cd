// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// The causes of transfers and replaced calls.
extension Causes {
    static let replaced = Cause("call.replaced", "Another call took the place of this one.")

    /// A REFER that came in and was not followed.
    static func transferForbidden(_ status: Int) -> Cause {
        Cause(
            "transfer.refused-here", "Somebody wanted to transfer this phone to another number, and that was refused.", status: status,
            evidence: [.init("status", "\(status)")])
    }

    /// A final answer to our REFER other than 2xx.
    static func transferRefused(_ response: SIPMessage, _ failure: DigestFailure?) -> Cause {
        if let withheld = withheld("transfer.refused.foreign", response, failure) { return withheld }
        let isUnknown = [405, 420, 501].contains(response.statusCode)
        return Cause(
            isUnknown ? "transfer.unsupported" : "transfer.refused",
            isUnknown ? "The other side's phone cannot be transferred." : "The other side refused the transfer.",
            status: response.statusCode, evidence: evidence(response))
    }

    static let transferRejected = Cause("transfer.refused", "The other side refused the transfer.", status: 603)

    static func transferFailure(_ failure: RequestFailure) -> Cause {
        switch failure {
        case .timedOut: Cause("transfer.no-response", "The other side did not respond to the transfer.", status: 408)
        case .transport(let flow):
            Cause(
                "transfer.unreachable", "The other side cannot be reached over the network.", status: 503,
                evidence: [.init("network", flow.text)])
        case .notLocated(let reason):
            Cause(
                "transfer.unreachable", "No address was found for the other side's name.", evidence: [.init("name", printable(reason.text))]
            )
        case .notSecure, .tooLarge, .noLocalAddress, .noNetwork:
            Cause("transfer.unreachable", "This phone has no transport that leads there.")
        }
    }

    /// The other side's call to the target failed.
    static func transferFailed(_ fragment: StatusFragment) -> Cause {
        Cause(
            "transfer.failed", "The transfer failed: the new call was not answered.", status: fragment.statusCode,
            evidence: [.init("status", "\(fragment.statusCode) \(fragment.reasonPhrase)")])
    }

    /// The subscription ended without a final status.
    static func transferUnknown(_ reason: String?) -> Cause {
        Cause(
            "transfer.no-outcome", "The other side did not tell how the transfer went.",
            evidence: reason.map { [.init("reason", printable($0))] } ?? [])
    }

    static let transferUnreported = Cause("transfer.no-report", "The other side took the transfer and then told nothing of it.")
}
