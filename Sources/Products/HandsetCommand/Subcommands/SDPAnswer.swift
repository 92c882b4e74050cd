// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import SIP

extension HandsetCommand {
    /// Prints the answer to an offer, as if our media were at 127.0.0.1:10000.
    static func runSDPAnswer(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        let bytes: [UInt8]
        do { bytes = try TextFile.read(context.invocation.operands.first ?? "-") } catch { throw .failed("\(error).") }
        do {
            let answer = try SDPAnswerReport.answer(to: bytes, codecs: context.invocation.value("--codecs"))
            if context.invocation.has("--json") {
                LineOutput.standardOutput.write(answer.json.description)
            } else {
                LineOutput.standardOutput.write(answer.text.split(separator: "\r\n").joined(separator: "\n").printableLines)
            }
            return .success
        } catch {
            throw .failed("\(error.reason) (\(error.code.rawValue), octet \(error.offset); a call would get \(error.status)).")
        }
    }
}

/// The answer of `sdp-answer`.
package struct SDPAnswerReport: Sendable {
    /// The description as it would be sent.
    package var text: String
    /// nil: the offer has no open audio line.
    package var audio: NegotiatedAudio?

    /// Answers a description, or the one in the body of a whole SIP message.
    package static func answer(to bytes: [UInt8], codecs: String?) throws(SDPError) -> SDPAnswerReport {
        let all = AudioCapabilities.allCodecs
        let capabilities =
            try codecs.map { list throws(SDPError) in try AudioCapabilities.parse(list, available: all) }
            ?? AudioCapabilities(codecs: all)
        var session = OfferAnswer(capabilities: capabilities, sessionID: 1)
        let offer = try session.read(body(of: bytes))
        let (answer, audio) = try session.answer(offer, local: SocketAddress(.loopbackV4, 10000), direction: .sendrecv)
        return SDPAnswerReport(text: String(decoding: answer.serialized(), as: UTF8.self), audio: audio)
    }

    private static func body(of bytes: [UInt8]) -> [UInt8] {
        guard !bytes.starts(with: "v=".utf8), case .message(let message) = SIPMessage.receive(bytes) else { return bytes }
        return message.body(ofType: "application", "sdp") ?? bytes
    }

    package var json: JSONValue {
        let agreed = audio.map {
            JSONValue.object(
                ("codec", .string($0.codec.name)), ("payloadType", .count(Int($0.codec.payloadType))),
                ("remote", .text($0.remote?.description)), ("direction", .string($0.direction.rawValue)),
                ("ptime", .count($0.packetTime)), ("events", .count($0.sendEventPayloadType.map(Int.init))))
        }
        return .object(("answer", .string(text)), ("audio", agreed ?? .null))
    }
}

extension String {
    /// Lines without control characters in them.
    fileprivate var printableLines: String { split(separator: "\n").map { String($0).printable }.joined(separator: "\n") }
}
