// SPDX-License-Identifier: Apache-2.0

import HandsetCommand
import Testing

@Suite struct ControlTests {
    @Test(arguments: [
        ("{\"command\":\"hold\"}", ControlCommand.Action.hold), ("{\"command\":\"resume\"}", .resume), ("{\"command\":\"mute\"}", .mute),
        ("{\"command\":\"unmute\"}", .unmute), ("{\"command\":\"dtmf\",\"digits\":\"4,a#\"}", .dtmf("4,A#")),
        ("{\"command\":\"transfer\",\"to\":\"sip:x@y\"}", .transfer(to: "sip:x@y")),
        ("{\"command\":\"attended\",\"with\":\"2\"}", .attended(with: "2")),
        ("{\"command\":\"refer\",\"peer\":\"100\",\"to\":\"200\"}", .refer(peer: "100", to: "200")),
        ("{\"command\":\"accept-transfer\"}", .acceptTransfer), ("{\"command\":\"reject-transfer\"}", .rejectTransfer(status: 603)),
        ("{\"command\":\"conference\"}", .conference([])), ("{\"command\":\"conference\",\"calls\":[\"1\",2]}", .conference(["1", "2"])),
        ("{\"command\":\"part\"}", .part),
        ("{\"command\":\"answer\"}", .answer), ("{\"command\":\"answer\",\"others\":\"hold\"}", .answerHolding),
        ("{\"command\":\"answer\",\"others\":\"end\"}", .answerEnding), ("{\"command\":\"swap\"}", .swap),
        ("{\"command\":\"reject\"}", .reject(status: 486)),
        ("{\"command\":\"reject\",\"status\":603}", .reject(status: 603)), ("{\"command\":\"hangup\"}", .hangUp),
        ("{\"command\":\"statistics\"}", .statistics), ("{\"command\":\"call\",\"to\":\"100\"}", .call("100")),
        ("{\"command\":\"quit\"}", .quit), ("{\"command\":\"accounts\"}", .accounts),
        ("{\"command\":\"request-offer\"}", .requestOffer),
        ("{\"command\":\"use\",\"account\":2}", .use),
    ])
    func everyCommandIsRead(line: String, action: ControlCommand.Action) throws {
        #expect(try ControlCommand(parsing: line).action == action)
        #expect(try ControlCommand(parsing: line).call == nil)
        let named = line.dropLast() + ",\"call\":\"3\"}"
        #expect(try ControlCommand(parsing: String(named)).call == "3")
        #expect(try ControlCommand(parsing: String(line.dropLast() + ",\"call\":3}")).call == "3")
    }

    @Test(arguments: [
        "", "hold", "{}", "[]", "{\"command\":1}", "{\"command\":\"dance\"}", "{\"command\":\"dtmf\"}",
        "{\"command\":\"dtmf\",\"digits\":\"\"}", "{\"command\":\"use\"}",
        "{\"command\":\"dtmf\",\"digits\":\"z\"}", "{\"command\":\"transfer\"}", "{\"command\":\"attended\",\"with\":2}",
        "{\"command\":\"answer\",\"others\":\"kill\"}",
        "{\"command\":\"conference\",\"calls\":[\"1\"]}", "{\"command\":\"refer\",\"peer\":\"1\"}",
        "{\"command\":\"reject\",\"status\":200}", "{\"command\":\"reject\",\"status\":486.5}",
    ])
    func whatIsWrongIsSaid(line: String) {
        let failure = #expect(throws: ControlCommand.Failure.self) { try ControlCommand(parsing: line) }
        #expect(failure?.text.isEmpty == false)
    }

    @Test func aLineMayNameAnAccount() throws {
        #expect(try ControlCommand(parsing: "{\"command\":\"call\",\"to\":\"100\",\"account\":\"sip:a@b\"}").account == "sip:a@b")
        #expect(try ControlCommand(parsing: "{\"command\":\"call\",\"to\":\"100\",\"account\":2}").account == "2")
        #expect(try ControlCommand(parsing: "{\"command\":\"call\",\"to\":\"100\"}").account == nil)
    }

    @Test func linesAreCutAtTheirEndsAndAtTheLimit() {
        var splitter = LineSplitter(longestLine: 5)
        #expect(splitter.append(Array("ab\r\nc".utf8)) == ["ab"])
        #expect(splitter.append(Array("d\n\nabcdefgh\nx".utf8)) == ["cd", "", "abcde"])
        #expect(splitter.rest == "x")
    }
}
