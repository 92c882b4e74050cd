// SPDX-License-Identifier: Apache-2.0

/// What the command can do.
package enum Subcommand: String, CaseIterable, Sendable {
    case demo
    case serve
    case register
    case call
    case answer
    case phone
    case message
    case subscribe
    case explain
    case parse
    case sdpAnswer = "sdp-answer"
    case devices

    /// One sentence for `--help`.
    package var summary: String {
        switch self {
        case .demo: "A whole call between two phones through the embedded server, with recordings and a report."
        case .serve: "The embedded registrar and proxy with the services echo, tone, music and record; for tests, not for the Internet."
        case .register: "Register, show the result, stay and refresh."
        case .call: "Place a call; it ends when the other side or --duration ends it."
        case .answer: "Wait for calls and answer them."
        case .phone: "An interactive phone."
        case .message: "Send a message; status 0 when it was delivered, or a server has taken it."
        case .subscribe: "Show waiting messages, the calls of a line or somebody's presence, as they change."
        case .explain: "Say what happened in a trace or capture of calls and why it failed, and draw it."
        case .parse: "Print a SIP message as JSON, or where it is wrong."
        case .sdpAnswer: "Print the answer that this user agent gives to an SDP offer."
        case .devices: "List the loudspeakers and microphones that --device takes."
        }
    }

    /// The operands in `--help`.
    package var operandPlaceholder: String {
        switch self {
        case .call: "URI"
        case .message: "URI TEXT"
        case .subscribe: "[URI]"
        case .parse: "[FILE|-]"
        case .explain: "TRACE|PCAP"
        case .sdpAnswer: "FILE"
        case .demo, .serve, .register, .answer, .phone, .devices: ""
        }
    }

    /// How many operands may stand.
    package var operandCount: ClosedRange<Int> {
        switch self {
        case .call, .explain, .sdpAnswer: 1...1
        case .message: 2...2
        case .parse, .subscribe: 0...1
        case .demo, .serve, .register, .answer, .phone, .devices: 0...0
        }
    }

    /// The options with the heading under which `--help` shows them.
    package var options: [(heading: String, options: [OptionSpec])] {
        let own: [(String, [OptionSpec])] =
            switch self {
            case .demo: [("Options", OptionTable.demo)]
            case .serve: [("Options", OptionTable.serve)]
            case .register:
                [
                    ("Options", OptionTable.register + OptionTable.control), (Self.account, OptionTable.account),
                    ("Phone", OptionTable.network),
                ]
            case .call:
                [
                    (
                        "Options",
                        [OptionTable.from] + OptionTable.call + OptionTable.placing + [OptionTable.transfers] + OptionTable.control
                    ),
                    (Self.account, OptionTable.account + OptionTable.accountCalls),
                    ("Phone", OptionTable.network + OptionTable.calls), ("Media", OptionTable.media), ("Sound", OptionTable.sound),
                ]
            case .answer:
                [
                    ("Options", OptionTable.answer + [OptionTable.transfers] + OptionTable.control),
                    (Self.account, OptionTable.account + OptionTable.accountCalls),
                    ("Phone", OptionTable.network + OptionTable.calls), ("Media", OptionTable.media), ("Sound", OptionTable.sound),
                ]
            case .phone:
                [
                    ("Options", OptionTable.placing + [OptionTable.transfers] + OptionTable.control),
                    (Self.account, OptionTable.account + OptionTable.accountCalls),
                    ("Phone", OptionTable.network + OptionTable.calls), ("Media", OptionTable.media), ("Sound", OptionTable.sound),
                ]
            case .message:
                [
                    ("Options", [OptionTable.from] + OptionTable.control), (Self.account, OptionTable.account),
                    ("Phone", OptionTable.network),
                ]
            case .subscribe:
                [
                    ("Options", [OptionTable.from] + OptionTable.subscribe + OptionTable.control), (Self.account, OptionTable.account),
                    ("Phone", OptionTable.network),
                ]
            case .explain: [("Options", OptionTable.explain)]
            case .parse, .devices: []
            case .sdpAnswer: [("Options", [OptionTable.codecs, OptionTable.srtp])]
            }
        return own + [("Common", OptionTable.common)]
    }

    private static let account = "Account (options after an --account are its own, those before the first hold for all)"

    /// Subcommands of a later version, each with its sentence.
    package static let later: [String: String] = [:]
}
