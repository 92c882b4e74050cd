// SPDX-License-Identifier: Apache-2.0

import SIP

extension HandsetCommand {
    /// Prints a message as `SIPMessage.receive` sees it, or where it is wrong.
    static func runParse(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        let bytes: [UInt8]
        do { bytes = try TextFile.read(context.invocation.operands.first ?? "-") } catch { throw .failed("\(error).") }
        let result = ParseReport(bytes)
        LineOutput.standardOutput.write(context.invocation.has("--json") ? result.json.description : result.json.indented)
        guard let complaint = result.complaint else { return .success }
        throw .failed(complaint)
    }
}

/// What `parse` tells about the octets of one message.
package struct ParseReport: Sendable {
    package let json: JSONValue
    /// One sentence with the place if the message is not taken.
    package let complaint: String?

    package init(_ bytes: [UInt8]) {
        switch SIPMessage.receive(bytes) {
        case .message(let message):
            json = message.json
            complaint = nil
        case .refuse(_, let status, let error): (json, complaint) = Self.failure(bytes, error, status)
        case .drop(let error): (json, complaint) = Self.failure(bytes, error, nil)
        }
    }

    private static func failure(_ bytes: [UInt8], _ error: SIPError, _ status: Int?) -> (JSONValue, String) {
        let before = bytes.prefix(max(0, error.offset))
        let line = before.count { $0 == 0x0a } + 1
        let column = before.count - (before.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        let json = JSONValue.object(
            (
                "error",
                .object(
                    ("code", .string(error.code.rawValue)), ("text", .string(error.reason)), ("offset", .count(error.offset)),
                    ("line", .count(line)), ("column", .count(column)), ("status", .count(status)))
            ))
        return (json, "\(error.reason) (\(error.code.rawValue), octet \(error.offset), line \(line), column \(column))")
    }
}
