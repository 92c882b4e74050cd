// SPDX-License-Identifier: Apache-2.0

extension OptionTable {
    /// How calls behave: of an account or, without one, of the phone.
    package static let calls = [
        OptionSpec(
            "--call-waiting", "on|off", .choice(["on", "off"]), "Whether a second call may ring; off refuses it with 486 (default on)."),
        OptionSpec(
            "--gateway", "HOST[:PORT]", .text, "Where a number is called when it cannot be reached over IP: a gateway to telephones."),
    ]

    /// How a call is placed.
    package static let placing = [
        OptionSpec(flag: "--late-offer", "Leave the offer to the other side: the INVITE has no description."),
        OptionSpec("--gateway-number", "NUMBER", .text, "What to call at --gateway (default: the number that was dialled)."),
    ]
}
