// SPDX-License-Identifier: Apache-2.0

import Crypto
import HandsetCommand
import SIPAgent
import Testing

@Suite struct RegistrationSettingsTests {
    private func settings(_ options: String...) throws -> RegistrationSettings {
        try RegistrationSettings(try invocation("register", options: ["--account", "sip:a@b"] + options))
    }

    private func invocation(_ subcommand: String, options: [String]) throws -> Invocation {
        guard case .run(let invocation) = try Invocation.parse([subcommand] + options) else { throw UsageError("help") }
        return invocation
    }

    @Test func `push parameters are read, and the token does not print`() throws {
        let push = try #require(try settings("--push", "provider=apns,prid=00fc13adff78512,param=ABCD.org.example.voip").push)
        #expect(push.provider == "apns" && push.parameter == "ABCD.org.example.voip")
        #expect(push.prid == Secret("00fc13adff78512"))
        #expect(!"\(push)".contains("00fc13adff78512"))
    }

    @Test(arguments: [
        "provider=apns", "prid=secret-token", "provider=apns,prid=", "secret-token", "provider=a,provider=b,prid=secret-token",
    ])
    func `what is no push option is wrong usage, and is not repeated`(text: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try settings("--push", text) }
        #expect(failure?.status == .usage)
        #expect(failure?.sentence.contains("secret-token") == false)
    }

    @Test func `a GRUU needs the name of the device`() throws {
        #expect(throws: CommandFailure.self) { try settings("--gruu", "public") }
        #expect(throws: CommandFailure.self) { try settings("--gruu", "public", "--instance", "my phone") }
        let it = try settings("--gruu", "temporary", "--instance", "urn:uuid:00000000-0000-1000-8000-000a95a0e128")
        #expect(it.gruu == .temporary && it.instance == "urn:uuid:00000000-0000-1000-8000-000a95a0e128")
    }
}
