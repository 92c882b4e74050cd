// SPDX-License-Identifier: Apache-2.0

/// Why something ended, was refused or went wrong: a stable dotted code, the evidence, and one plain sentence.
/// Code and evidence are for programs; the sentence is for the person who reads it.
public struct Cause: Sendable, Hashable {
    /// Stable and dotted, such as `call.busy`, `registration.refused.password`, `transport.unreachable`.
    /// All codes stand in `docs/causes.md`.
    public var code: String
    /// What was seen: name and value, in the order that tells the story. Never holds a secret.
    public var evidence: [Evidence]
    /// One plain English sentence.
    public var sentence: String
    /// The SIP status, where one decided.
    public var status: Int?

    public struct Evidence: Sendable, Hashable {
        public var name: String
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(_ code: String, _ sentence: String, status: Int? = nil, evidence: [Evidence] = []) {
        self.code = code
        self.sentence = sentence
        self.status = status
        self.evidence = evidence
    }
}
