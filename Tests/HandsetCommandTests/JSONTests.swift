// SPDX-License-Identifier: Apache-2.0

import HandsetCommand
import Testing

@Suite struct JSONTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-12", "9223372036854775807", "1.5", "\"\"", "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u007f\\u2028\"", "[]",
        "[1,[2,[]],{}]",
        "{\"a\":1,\"b\":{\"c\":[true,null]}}", "\"Jos\u{e9} \u{1f600}\"",
    ])
    func aValueIsWrittenAsItWasRead(text: String) throws {
        #expect(try JSONValue(parsing: text).description == text)
    }

    @Test func escapesAndSpaceAreUnderstood() throws {
        #expect(
            try JSONValue(parsing: " { \"a\" : \"\\u00e9\\ud83d\\ude00\\/\\b\\f\" , \"n\":1e3 } \r\n")
                == .object(("a", "\u{e9}\u{1f600}/\u{8}\u{c}"), ("n", .decimal(1000))))
    }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "tru", "nul", "+1", ".5", "--1",
        "1 2", "\"", "\"\\x\"", "\"\\u12\"",
        "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "1e999", "[1}", "infinity", "nan", "0x10",
    ])
    func whatIsNotJSONIsRefused(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }

    @Test func depthIsLimited() throws {
        #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: "[", count: 100_000)) }
        _ = try JSONValue(parsing: String(repeating: "[", count: 32) + String(repeating: "]", count: 32))
    }
}
