// SPDX-License-Identifier: Apache-2.0

/// The passwords of all tests that write logs or traces. Each is a word that nothing else would hold, so that it can be looked
/// for (`scripts/scan-secrets`).
public enum Secrets {
    /// What `user` of a test's server has for a password; those of docs/kamailio.md among them.
    public static func password(of user: String) -> String { "\(user)-secret" }

    /// A password that no server knows.
    public static let wrong = "mistaken-secret"
}
