// SPDX-License-Identifier: Apache-2.0

import HandsetCommand
import SIP
import Testing

/// The invocation of a command line that is right.
func invocation(_ arguments: String...) throws -> Invocation {
    guard case .run(let invocation) = try Invocation.parse(arguments) else { throw UsageError("asked for help") }
    return invocation
}

@Suite struct OptionTests {
    @Test func valuesFlagsAndOperandsAreRead() throws {
        let it = try invocation(
            "call", "--json", "--duration", "2.5", "sip:bob@example.net", "--header", "A: b", "--header=C: d=e", "--dtmf", "-1")
        #expect(it.subcommand == .call)
        #expect(it.operands == ["sip:bob@example.net"])
        #expect(it.has("--json"))
        #expect(it.value("--duration") == "2.5")
        #expect(it.all("--header") == ["A: b", "C: d=e"])
        #expect(it.value("--dtmf") == "-1")
        #expect(try invocation("parse", "-").operands == ["-"])
        #expect(try invocation("parse", "--", "--file").operands == ["--file"])
    }

    @Test(arguments: [
        [], ["nothing"], ["explain"], ["explain", "a", "b"], ["call"], ["call", "a", "b"], ["call", "a", "--nope"],
        ["call", "a", "--json=1"],
        ["call", "a", "--duration"],
        ["call", "a", "--duration", "x"], ["call", "a", "--duration", "-1"], ["call", "a", "--json", "--json"],
        ["call", "a", "--listen", "host"],
        ["call", "a", "--listen", "127.0.0.1:70000"], ["call", "a", "--rtp-ports", "100-90"], ["call", "a", "--codecs", "gsm"],
        ["call", "a", "--bitrate", "5"],
        ["call", "a", "--codecs", "pcmu,pcmu"], ["call", "a", "--transport", "sctp"], ["call", "a", "--ptime", "25"],
        ["call", "a", "--ws-path", "ws"], ["call", "a", "--ws-path", "/a b"], ["call", "a", "--keep-alive", "-1"],
        ["answer", "--status", "200"],
        ["answer", "--calls", "0"], ["answer", "x"], ["serve", "--listen", "127.0.0.1:5060"], ["sdp-answer"], ["parse", "a", "b"],
        ["register", "--record", "x"],
    ])
    func wrongUsageIsOneSentence(arguments: [String]) {
        let error = #expect(throws: UsageError.self) { try Invocation.parse(arguments) }
        #expect(error?.sentence.hasSuffix(".") == true, "\(error?.sentence ?? "")")
        #expect(error?.sentence.contains("\n") == false)
    }

    @Test(arguments: [
        ["--ice", "on"], ["--stun", "127.0.0.1:3478"],
        ["--turn", "turn:x"],
        ["--srtp", "prefer"], ["--srtp", "require"],
    ])
    func whatALaterStepBringsSaysSo(option: [String]) {
        let error = #expect(throws: UsageError.self) { try Invocation.parse(["call", "sip:a@b"] + option) }
        #expect(error?.sentence.contains("is not there yet: ") == true, "\(error?.sentence ?? "")")
        #expect(error?.sentence.contains(option[0]) == true)
        #expect(error?.sentence.hasSuffix(".") == true)
    }

    @Test(arguments: [
        ["--transport", "udp"], ["--transport", "tcp"], ["--transport", "ws"], ["--transport", "wss"], ["--ws-path", "/ws"],
        ["--keep-alive", "0"],
        ["--outbound", "off"], ["--ice", "off"], ["--srtp", "off"], ["--redundancy", "off"], ["--redundancy", "auto"],
        ["--redundancy", "2"], ["--complexity", "9"], ["--fec", "off"], ["--dtx", "on"], ["--audio-rate", "48000"], ["--report", "a.html"],
        ["--device", "null"],
        ["--device", "default"], ["--device", "out,in"],
        ["--codecs", "PCMA,pcmu"], ["--codecs", "opus,g722"],
        ["--bitrate", "24"], ["--listen", "[::1]:0"], ["--listen", "localhost:5070"], ["--listen", "tls:127.0.0.1:0"],
        ["--transport", "tls"], ["--ca", "f"], ["--pin", "ab"], ["--rtp-ports", "10000-10100"],
    ])
    func whatWorksIsTaken(option: [String]) throws {
        #expect(try invocation("answer", option[0], option[1]).value(option[0]) == option[1])
    }

    @Test(arguments: TransportProtocol.allCases) func theServerListensOverEveryTransport(transport: TransportProtocol) throws {
        let value = "\(transport.rawValue):127.0.0.1:5555"
        #expect(try invocation("serve", "--listen", value).all("--listen") == [value])
    }

    @Test(arguments: Subcommand.allCases)
    func helpShowsEveryOptionOfTheTable(subcommand: Subcommand) throws {
        guard case .help(let wanted) = try Invocation.parse([subcommand.rawValue, "--help"]) else {
            Issue.record("--help is not help")
            return
        }
        let text = Help.text(for: wanted)
        #expect(text.hasPrefix("usage: handset \(subcommand.rawValue)"))
        for option in subcommand.options.flatMap(\.options) {
            #expect(text.contains(option.name + " ") || text.contains(option.name + "\n"))
        }
        for name in ["--help", "--json", "--log-level", "--trace"] { #expect(text.contains(name)) }
        #expect(Help.text(for: nil).contains("  " + subcommand.rawValue))
        for line in (text + Help.text(for: nil)).split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
    }

    @Test(arguments: Subcommand.allCases)
    func noNameStandsTwice(subcommand: Subcommand) {
        let names = subcommand.options.flatMap(\.options).map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func optionsBelongToTheAccountAfterWhichTheyStand() throws {
        let it = try invocation(
            "answer", "--proxy", "sip:all", "--request-header", "REGISTER X: 1", "--listen", "127.0.0.1:0", "--account", "a@x", "--expires",
            "60", "--account", "b@y", "--proxy", "sip:own", "--no-register", "--request-header", "REGISTER Y: 2", "--json")
        #expect(it.value("--account") == "a@x" && it.has("--json") && it.accounts.count == 2)
        let (first, second) = (it.perAccount[0], it.perAccount[1])
        #expect(first.value("--account") == "a@x" && second.value("--account") == "b@y")
        #expect(first.value("--proxy") == "sip:all" && second.value("--proxy") == "sip:own")
        #expect(first.value("--expires") == "60" && second.value("--expires") == nil)
        #expect(!first.has("--no-register") && second.has("--no-register"))
        #expect(first.all("--request-header") == ["REGISTER X: 1"])
        #expect(second.all("--request-header") == ["REGISTER X: 1", "REGISTER Y: 2"])
        #expect(first.value("--listen") == "127.0.0.1:0" && second.has("--json"))
        #expect(throws: UsageError.self) { try invocation("answer", "--account", "a@x", "--expires", "1", "--expires", "2") }
        #expect(throws: UsageError.self) {
            try invocation("answer", "--account", "a@x", "--rtp-ports", "1-2", "--account", "b@x", "--rtp-ports", "3-4")
        }
    }

    @Test func secondsAreExact() {
        #expect(Seconds.parse("2.5")?.nanoseconds == 2_500_000_000)
        #expect(Seconds.parse("0.000000001")?.nanoseconds == 1)
        for text in ["", ".", "1.", ".5", "1e3", "-1", "+1", "99999999999999999999", "1.0000000001"] {
            #expect(Seconds.parse(text) == nil, "\(text)")
        }
    }
}
