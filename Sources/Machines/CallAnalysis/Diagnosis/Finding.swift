// SPDX-License-Identifier: Apache-2.0

import SIPAgent

/// One thing that was found out about a conversation, with what shows it.
public struct Finding: Sendable, Hashable {
    public enum Severity: String, Sendable, Hashable, Comparable, CaseIterable {
        /// Why it did not work.
        case failure
        /// It worked, and will fail for somebody.
        case warning
        /// What happened.
        case note

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    public var severity: Severity
    /// The code stands in docs/causes.md.
    public var cause: Cause
    /// The messages that show it: indices into `Traffic.messages`, ascending.
    public var messages: [Int]

    public init(_ severity: Severity, _ cause: Cause, messages: [Int] = []) {
        self.severity = severity
        self.cause = cause
        self.messages = messages.sorted()
    }
}

/// The messages of one Call-ID, with the media that belongs to them and what was found.
public struct Conversation: Sendable {
    public enum Kind: String, Sendable, Hashable {
        case call
        case registration
        case subscription
        case message
        case other
    }

    public var callID: String
    public var kind: Kind
    /// From and To as a person reads them.
    public var title: String
    /// Indices into `Traffic.messages`, in the order of time.
    public var messages: [Int]
    /// Indices into `Traffic.media`.
    public var media: [Int] = []
    /// The gravest first.
    public var findings: [Finding] = []

    /// One sentence: the gravest finding's, or that nothing was wrong.
    public var verdict: String { findings.first?.cause.sentence ?? "Nothing went wrong that can be seen here." }

    public var hasFailed: Bool { findings.first?.severity == .failure }
}
