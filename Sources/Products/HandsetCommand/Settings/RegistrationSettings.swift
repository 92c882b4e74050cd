// SPDX-License-Identifier: Apache-2.0

import Crypto
import SIPAgent

/// The options of an account that are about its registration: `--push`, `--gruu`, `--instance`, `--realm`.
package struct RegistrationSettings: Sendable {
    package var push: PushParameters?
    package var gruu: GRUUUse
    package var instance: String?
    /// The only realm whose challenges are answered; nil: that of the account's server.
    package var realm: String?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        push = try invocation.value("--push").map { text throws(CommandFailure) in try Self.push(text) }
        gruu = invocation.value("--gruu").flatMap(GRUUUse.init) ?? .off
        instance = invocation.value("--instance")
        realm = invocation.value("--realm")
        if let instance, !Self.isURN(instance) { throw .usage("--instance takes a URN such as urn:uuid:…, not \"\(instance)\".") }
        if gruu != .off, instance == nil { throw .usage("--gruu needs --instance: what names this device at every start.") }
    }

    /// `provider=apns,prid=TOKEN,param=TOPIC`; what stands there is a secret and not repeated.
    private static func push(_ text: String) throws(CommandFailure) -> PushParameters {
        var values: [String: String] = [:]
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            guard pair.count == 2, ["provider", "prid", "param"].contains(pair[0]), values[pair[0]] == nil else {
                throw .usage("--push takes provider=NAME,prid=TOKEN and perhaps param=TEXT.")
            }
            values[pair[0]] = pair[1]
        }
        guard let provider = values["provider"], let prid = values["prid"] else {
            throw .usage("--push needs both provider and prid.")
        }
        return PushParameters(provider: provider, prid: Secret(prid), parameter: values["param"])
    }

    private static func isURN(_ text: String) -> Bool {
        text.lowercased().hasPrefix("urn:") && text.utf8.count > 6
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x3c && $0 != 0x3e && $0 != 0x22 && $0 != 0x5c }
    }
}
