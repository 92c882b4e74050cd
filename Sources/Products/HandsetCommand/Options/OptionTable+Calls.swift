// SPDX-License-Identifier: Apache-2.0

extension OptionTable {
    /// How calls behave.
    package static let calls = [
        OptionSpec(
            "--call-waiting", "on|off", .choice(["on", "off"]), "Whether a second call may ring; off refuses it with 486 (default on)."),
        OptionSpec(
            "--auto-answer", "off|trusted|any", .choice(["off", "trusted", "any"]),
            "Answer where the caller asks for it (RFC 5373): never, from the account's server, from anybody (default off)."),
        OptionSpec(
            "--reliable", "required|supported", .choice(["required", "supported"]),
            "When ringing is told reliably (100rel): where the caller requires or supports it (default required)."),
    ]

    /// How calls of an account behave.
    package static let accountCalls = [
        OptionSpec(
            "--request-header", "'METHOD N: V'", .text, "A header field for every request of a method, such as 'REGISTER X-Site: 4'.",
            repeats: true),
        OptionSpec(flag: "--preferred-identity", "Tell the account's server as whom we call (P-Preferred-Identity)."),
        OptionSpec(flag: "--strict-proxy", "The --proxy is a strict router (RFC 2543)."),
        OptionSpec(
            "--gateway", "HOST[:PORT]", .text, "Where a number is called when it cannot be reached over IP: a gateway to telephones."),
    ].map(\.ofAccount)

    /// How a call is placed.
    package static let placing = [
        OptionSpec(flag: "--anonymous", "Do not tell the other side who calls (RFC 3323)."),
        OptionSpec(flag: "--late-offer", "Leave the offer to the other side: the INVITE has no description."),
        OptionSpec("--gateway-number", "NUMBER", .text, "What to call at --gateway (default: the number that was dialled)."),
    ]
}
