// SPDX-License-Identifier: Apache-2.0
//
// An analysis as JSON objects, one a line: `conversation` with its findings, media and rows, then `summary` (docs/explain.md).

import CallAnalysis
import Essentials
import SIPAgent

extension CallAnalysis {
    /// The objects in order.
    package var json: [JSONValue] {
        let causes = general.map { JSONValue.object([.init("object", "finding")] + $0.members) }
        return causes + conversations.map(json) + [summaryJSON]
    }

    private func json(_ conversation: Conversation) -> JSONValue {
        let ladder = Ladder(conversation, of: traffic)
        return .object(
            ("object", "conversation"), ("callID", .string(conversation.callID)), ("kind", .string(conversation.kind.rawValue)),
            ("title", .string(conversation.title)), ("failed", .bool(conversation.hasFailed)), ("verdict", .string(conversation.verdict)),
            ("findings", .array(conversation.findings.map { .object($0.members) })),
            ("media", .array(conversation.media.map { json(traffic.media[$0]) })),
            ("ladder", .array(ladder.rows.map { json($0, ladder) })))
    }

    private func json(_ flow: MediaFlow) -> JSONValue {
        .object(
            ("source", .string("\(flow.source)")), ("destination", .string("\(flow.destination)")), ("ssrc", .integer(Int64(flow.ssrc))),
            ("codec", .text(flow.codec)), ("payloadType", .count(Int(flow.payloadType))), ("packets", .count(flow.packets)),
            ("lost", .count(flow.lost)),
            ("jitter", flow.jitterMilliseconds.map { .decimal(JSONValue.rounded($0)) }),
            ("duration", .decimal(JSONValue.rounded((flow.last - flow.first).seconds))),
            ("reportedLoss", flow.reportedLoss.map { .decimal(JSONValue.rounded($0)) }))
    }

    private func json(_ row: Ladder.Row, _ ladder: Ladder) -> JSONValue {
        .object(
            ("seconds", .decimal(JSONValue.rounded(row.seconds))), ("from", .string(ladder.columns[row.from])),
            ("to", .string(ladder.columns[row.to])),
            ("kind", .string(row.kind.rawValue)), ("label", .string(row.label)), ("again", row.isAgain ? true : nil),
            ("findings", row.findings.isEmpty ? nil : .array(row.findings.map { .integer(Int64($0)) })))
    }

    private var summaryJSON: JSONValue {
        .object(
            ("object", "summary"), ("text", .string(summary)), ("conversations", .count(conversations.count)),
            ("failed", .count(conversations.count { $0.hasFailed })), ("messages", .count(traffic.messages.count)),
            ("counters", .object(traffic.counters.nonzero.map { .init($0.name, .integer(Int64(clamping: $0.value))) })))
    }
}

extension Finding {
    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("severity", .string(severity.rawValue)), .init("code", .string(cause.code)), .init("text", .string(cause.sentence)),
        ]
        if let status = cause.status { members.append(.init("status", .integer(Int64(status)))) }
        members.append(
            .init("evidence", .array(cause.evidence.map { .object(("name", .string($0.name)), ("value", .string($0.value))) })))
        return members
    }
}

extension JSONValue {
    /// Three decimals.
    fileprivate static func rounded(_ value: Double) -> Double { value.isFinite ? (value * 1000).rounded() / 1000 : 0 }
}
