// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import SIP

/// Reads what `--trace FILE` wrote: messages, and the causes that the phone noted between them.
package struct TraceReader: Sendable {
    private var splitter = LineSplitter(longestLine: 1 << 20)
    private var traffic = Traffic()
    /// Lines that could not be read.
    package private(set) var unreadable = 0
    private var lineCount = 0
    private let limits: CaptureLimits
    private var octets = 0
    private var messageOctets = 0

    package init(limits: CaptureLimits = CaptureLimits()) { self.limits = limits }

    /// Takes a piece of the file; false: there is no line of a trace in what must have one (`CaptureLimits.unrecognised`), so the rest
    /// need not be read.
    package mutating func append(_ bytes: [UInt8]) -> Bool {
        octets += bytes.count
        for line in splitter.append(bytes) { take(line) }
        return lineCount > unreadable || octets < limits.unrecognised
    }

    /// All that was read; nil if not one line was a trace's.
    package mutating func finish() -> Traffic? {
        if let rest = splitter.rest { take(rest) }
        guard lineCount > unreadable else { return nil }
        traffic.counters.increment(.messagesUnreadable, by: UInt64(unreadable))
        traffic.messages = traffic.messages.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
            \.element)
        return traffic
    }

    private mutating func take(_ line: String) {
        guard line.utf8.contains(where: { $0 > 0x20 }) else { return }
        lineCount += 1
        if !read(line) { unreadable += 1 }
    }

    private mutating func read(_ line: String) -> Bool {
        guard let object = try? JSONValue(parsing: line), let seconds = object["time"]?.number else { return false }
        let time = MonotonicTime.zero + Interval.seconds(seconds)
        if let code = object["cause"]?.text ?? object["code"]?.text, let text = object["text"]?.text {
            var evidence: [String] = []
            if case .array(let values)? = object["evidence"] {
                evidence = values.compactMap { value in value["name"]?.text.map { "\($0): \(value["value"]?.text ?? "")" } }
            }
            guard traffic.causes.count < limits.causes else {
                traffic.counters.increment(.messagesDropped)
                return true
            }
            // `--json` says it by the kind of event.
            let severity = object["severity"]?.text.flatMap(Finding.Severity.init) ?? (object["event"]?.text == "warning" ? .warning : nil)
            traffic.causes.append(TracedCause(time: time, code: code, sentence: text, evidence: evidence, severity: severity))
            return true
        }
        // An event of `--json` of another kind says nothing here.
        if object["event"] != nil { return true }
        guard let direction = object["direction"]?.text, let remote = object["remote"]?.text.flatMap({ SocketAddress($0) }),
            let transport = object["transport"]?.text.flatMap(TransportProtocol.init), let text = object["message"]?.text
        else { return false }
        let message: SIPMessage
        switch SIPMessage.receive(Array(text.utf8)) {
        case .message(let found), .refuse(let found, _, _): message = found
        case .drop: return false
        }
        guard traffic.messages.count < limits.messages, messageOctets + text.utf8.count <= limits.messageOctets else {
            traffic.counters.increment(.messagesDropped)
            return true
        }
        messageOctets += text.utf8.count
        let local = object["local"]?.text.flatMap { SocketAddress($0) } ?? SocketAddress(.anyV4, 0)
        let isSent = direction == "sent"
        traffic.messages.append(
            SeenMessage(
                time: time, transport: transport, source: isSent ? local : remote, destination: isSent ? remote : local, message: message))
        return true
    }
}
