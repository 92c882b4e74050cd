// SPDX-License-Identifier: Apache-2.0

import Essentials

extension CallAnalysis {
    /// The whole analysis for a terminal: each conversation with its verdict, its findings by number, its media and its ladder.
    ///
    /// - Parameter drawsLadders: false: verdicts and findings alone.
    public func text(width: Int = 110, drawsLadders: Bool = true) -> String {
        var lines = [summary]
        for finding in general { lines += ["", Self.line(finding, nil)] + Self.evidence(finding) }
        for conversation in conversations {
            lines += [
                "", "━━ \(conversation.title)", "   Call-ID \(Words.shown(conversation.callID)), \(conversation.messages.count) messages",
                "",
            ]
            if conversation.findings.isEmpty { lines.append("   " + conversation.verdict) }
            for (index, finding) in conversation.findings.enumerated() {
                lines.append(Self.line(finding, index + 1))
                if finding.severity != .note { lines += Self.evidence(finding) }
            }
            for place in conversation.media { lines.append("   " + Self.line(traffic.media[place])) }
            if drawsLadders { lines += ["", Ladder(conversation, of: traffic).text(width: width)] }
        }
        if let rest = remainder { lines += ["", rest] }
        return lines.joined(separator: "\n") + "\n"
    }

    /// One sentence on all of it.
    public var summary: String {
        let failed = conversations.count { $0.hasFailed }
        let calls = conversations.count { $0.kind == .call }
        let registrations = conversations.count { $0.kind == .registration }
        let rest = conversations.count - calls - registrations
        var parts: [String] = []
        if calls > 0 { parts.append(calls == 1 ? "1 call" : "\(calls) calls") }
        if registrations > 0 { parts.append(registrations == 1 ? "1 registration" : "\(registrations) registrations") }
        if rest > 0 { parts.append(rest == 1 ? "1 other conversation" : "\(rest) other conversations") }
        let unseen = self.unseen.map { " " + $0 } ?? ""
        guard !parts.isEmpty else { return "No SIP message was found." + unseen }
        return
            "\(Words.list(parts)) in \(traffic.messages.count) messages; \(failed == 0 ? "none failed" : failed == 1 ? "1 failed" : "\(failed) failed")."
            + unseen
    }

    /// What was hidden from the capture.
    private var unseen: String? {
        let parts = [("TLS", CaptureCounter.packetsOfTLS), ("WebSocket", .packetsOfWebSocket)].compactMap { name, counter in
            let count = traffic.counters[counter]
            return count == 0 ? nil : "\(count) \(count == 1 ? "packet" : "packets") of \(name)"
        }
        guard !parts.isEmpty else { return nil }
        return "\(Words.list(parts)) cannot be seen into: the trace of the phone (--trace) holds what they carried."
    }

    private static func line(_ finding: Finding, _ number: Int?) -> String {
        let mark =
            switch finding.severity {
            case .failure: "FAILED "
            case .warning: "WARNING"
            case .note: "note   "
            }
        return " \(number.map { "\($0)" } ?? "-") \(mark) \(finding.cause.sentence) (\(finding.cause.code))"
    }

    private static func evidence(_ finding: Finding) -> [String] {
        let text = finding.cause.evidence.map { "\($0.name): \($0.value)" }.joined(separator: " · ")
        return text.isEmpty ? [] : ["           " + text]
    }

    static func line(_ flow: MediaFlow) -> String {
        let share = Double(flow.lost) / Double(max(1, flow.packets + flow.lost))
        return "RTP \(flow.source) → \(flow.destination): \(flow.codec ?? "payload type \(flow.payloadType)"), \(flow.packets) packets in "
            + "\(Words.seconds((flow.last - flow.first).seconds)), \(flow.lost) lost (\(Words.percent(share)))"
            + (flow.jitterMilliseconds.map { ", jitter \(Words.milliseconds($0))" } ?? "") + ", SSRC \(String(flow.ssrc, radix: 16))"
    }

    /// What could not be read, if anything.
    var remainder: String? {
        let worth: Set<String> = [
            "framesCut", "fragmentsDropped", "datagramsNeverWhole", "segmentsMissing", "streamsDropped", "messagesUnreadable",
            "messagesDropped",
            "mediaFlowsDropped",
        ]
        let found = traffic.counters.nonzero.filter { worth.contains($0.name) }
        return found.isEmpty ? nil : "Not read: " + found.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    }
}

extension Words {
    static func milliseconds(_ value: Double) -> String {
        let tenths = value.isFinite ? Int((min(max(value, 0), 1e9) * 10).rounded()) : 0
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
