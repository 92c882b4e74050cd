// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import SIPAgent

extension CommandEvent {
    /// The value of `event`.
    package var name: String {
        switch self {
        case .listening: "listening"
        case .registration: "registration"
        case .call: "call"
        case .media: "media"
        case .playback: "playback"
        case .dtmf: "dtmf"
        case .hold: "hold"
        case .notice(_, let notice): notice.name
        case .transfer: "transfer"
        case .conference: "conference"
        case .statistics: "statistics"
        case .network: "network"
        case .warning: "warning"
        case .ended: "ended"
        case .notification(let event): event.name
        case .device: "device"
        case .sound: "sound"
        case .voice: "voice"
        case .level: "level"
        case .program: "program"
        case .done: "done"
        case .error: "error"
        case .binding: "binding"
        case .step: "step"
        }
    }

    /// The object that `--json` prints.
    package func json(at time: MonotonicTime) -> JSONValue {
        var members = [JSONValue.Member("event", .string(name)), JSONValue.Member("time", .seconds(time))]
        if case .object(let own) = fields { members += own }
        return .object(members)
    }

    private var fields: JSONValue {
        switch self {
        case .listening(let transport, let address, let port):
            .object(("transport", .string(transport)), ("address", .string("\(address)")), ("port", .integer(Int64(port))))
        case .registration(let account, let it):
            .object(
                ("phone", .text(it.phone)), ("account", .string(account)), ("state", .string(it.state)), ("status", .count(it.status)),
                ("reason", .text(it.reason)), ("expires", .count(it.expires)), ("cause", .text(it.cause)),
                ("trigger", .text(it.trigger)),
                ("server", .text(it.server?.description)), ("tls", .text(it.tls)), ("flows", .count(it.flows)),
                ("gruu", .text(it.gruu)),
                ("serviceRoute", it.serviceRoute.map { .array($0.map { .string($0) }) }), ("push", it.hasPush.map { .bool($0) }))
        case .call(let reference, let it):
            reference.object(
                ("direction", .string(it.direction)), ("state", .string(it.state)), ("status", .count(it.status)),
                ("reason", .text(it.reason)), ("remote", .string(it.remote)), ("account", .text(it.account)))
        case .media(let reference, let it):
            reference.object(
                ("codec", .string(it.codec)), ("direction", .string(it.direction)), ("local", .text(it.local?.description)),
                ("remote", .text(it.remote?.description)), ("secured", .bool(it.secured)))
        case .playback(let reference, let state, let file): reference.object(("state", .string(state)), ("file", .string(file)))
        case .dtmf(let reference, let it):
            reference.object(
                ("direction", .string(it.direction)), ("digit", .string(String(it.digit))), ("method", .string(it.method)),
                ("ms", .integer(Int64(it.milliseconds))))
        case .hold(let reference, let side, let state): reference.object(("by", .string(side)), ("state", .string(state)))
        case .notice(let reference, let notice): reference.object(notice.members)
        case .transfer(let reference, let it):
            (reference ?? .none).object(
                ("direction", .string(it.direction)), ("state", .string(it.state)), ("status", .count(it.status)),
                ("reason", .text(it.reason)), ("target", .text(it.target)), ("by", .text(it.by)), ("with", .text(it.with)),
                ("cause", .text(it.cause)))
        case .conference(let members): .object(("members", .array(members.map { .string($0) })))
        case .statistics(let reference, let it): reference.object(Self.statisticsMembers(it))
        case .network(let state, let addresses, let phone):
            .object(
                ("phone", .text(phone)), ("state", .string(state)), ("addresses", .array(addresses.map { .string("\($0)") })))
        case .warning(let code, let text, let reference):
            (reference ?? .none).object(("code", .string(code)), ("text", .string(text)))
        case .ended(let reference, let cause, let duration): reference.object(Self.endMembers(cause, duration))
        case .notification(let event): event.fields
        case .device(let it):
            .object(
                ("name", .string(it.name)), ("description", .string(it.description)), ("direction", .string(it.direction.rawValue)),
                ("backend", .string(it.backend)), ("default", .bool(it.isDefault)))
        case .sound(let device, let state, let reason):
            .object(("device", .string(device)), ("state", .string(state)), ("reason", .text(reason)))
        case .voice(let state, let name, let reason): .object(("state", .string(state)), ("by", .text(name)), ("reason", .text(reason)))
        case .level(let port, let it):
            .object(
                ("port", .string(port)), ("given", .hundredths(it.givenLevel)), ("given_peak", .hundredths(it.givenPeak)),
                ("heard", .hundredths(it.heardLevel)), ("heard_peak", .hundredths(it.heardPeak)))
        case .program(let reference, let it): reference.object(Self.programMembers(it))
        case .done(let command, let reference, let port):
            (reference ?? .none).object(("command", .string(command)), ("port", .text(port)))
        case .error(let command, let text, let reference):
            (reference ?? .none).object(("command", .string(command)), ("text", .string(text)))
        case .binding(let user, let state, let contact, let expires):
            .object(("user", .string(user)), ("state", .string(state)), ("contact", .string(contact)), ("expires", .count(expires)))
        case .step(let name, let text): .object(("step", .string(name)), ("text", .string(text)))
        }
    }

    private static func statisticsMembers(_ it: StreamStatistics) -> [JSONValue.Member] {
        [
            JSONValue.Member("sent", .integer(Int64(clamping: it.packetsSent))),
            JSONValue.Member("received", .integer(Int64(clamping: it.packetsReceived))),
            JSONValue.Member("lost", .integer(Int64(clamping: it.packetsLost))),
            JSONValue.Member("late", .integer(Int64(clamping: it.packetsLate))),
            JSONValue.Member("duplicated", .integer(Int64(clamping: it.packetsDuplicated))),
            JSONValue.Member("jitter", .hundredths(it.jitterMilliseconds)),
            JSONValue.Member("delay", it.roundTripMilliseconds.map { .hundredths($0) } ?? .null),
            JSONValue.Member("buffer", .hundredths(it.bufferMilliseconds)),
            JSONValue.Member("concealed", .integer(Int64(clamping: it.framesConcealed))),
            JSONValue.Member("recovered", .integer(Int64(clamping: it.packetsRecovered))),
            JSONValue.Member("restored", .integer(Int64(clamping: it.packetsRestored))),
            JSONValue.Member("redundancy", .integer(Int64(it.redundancy))),
            JSONValue.Member("octets", .integer(Int64(clamping: it.octetsSent))),
            JSONValue.Member("redundant", .integer(Int64(clamping: it.redundancyOctetsSent))),
            JSONValue.Member("mouth_to_ear", it.mouthToEarMilliseconds.map { .hundredths($0) } ?? .null),
            JSONValue.Member("level", .hundredths(it.receivedLevel)),
            JSONValue.Member("level_sent", .hundredths(it.sentLevel)),
            JSONValue.Member("loss_sent", it.remoteFractionLost.map { .hundredths($0) } ?? .null),
            JSONValue.Member("score_now", it.liveScore.map { .hundredths($0) } ?? .null),
            JSONValue.Member("score_sent", it.remoteScore.map { .hundredths($0) } ?? .null),
            JSONValue.Member("score", it.score.map { .hundredths($0) } ?? .null),
        ]
    }

    private static func programMembers(_ it: Program) -> [JSONValue.Member] {
        let members: [(String, JSONValue?)] = [
            ("state", .string(it.state)), ("process", .count(it.process)), ("mark", .text(it.mark)), ("status", .count(it.status)),
            ("reason", .text(it.reason)), ("heard", it.figures.map { .integer(Int64(clamping: $0.heard)) }),
            ("lost", it.figures.map { .integer(Int64(clamping: $0.heardLost)) }),
            ("spoken", it.figures.map { .integer(Int64(clamping: $0.spoken)) }),
            ("flushed", it.figures.map { .integer(Int64(clamping: $0.flushed)) }),
            ("marks", it.figures.map { .integer(Int64(clamping: $0.marks)) }),
            ("full", it.figures.map { .integer(Int64(clamping: $0.timesFull)) }),
        ]
        return members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } }
    }

    private static func endMembers(_ cause: Cause, _ duration: Interval?) -> [JSONValue.Member] {
        var members = [JSONValue.Member("cause", .string(cause.code)), JSONValue.Member("text", .string(cause.sentence))]
        if let status = cause.status { members.append(JSONValue.Member("status", .integer(Int64(status)))) }
        if !cause.evidence.isEmpty {
            let evidence = cause.evidence.map { JSONValue.object(("name", .string($0.name)), ("value", .string($0.value))) }
            members.append(JSONValue.Member("evidence", .array(evidence)))
        }
        members.append(JSONValue.Member("duration", duration.map { .hundredths($0.seconds) } ?? .integer(0)))
        return members
    }
}

extension CommandEvent.CallReference {
    /// An event that belongs to no call.
    fileprivate static let none = Self("")

    fileprivate func object(_ members: (String, JSONValue?)...) -> JSONValue {
        object(members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
    }

    fileprivate func object(_ members: [JSONValue.Member]) -> JSONValue {
        var all: [JSONValue.Member] = []
        if let phone { all.append(JSONValue.Member("phone", .string(phone))) }
        if !call.isEmpty { all.append(JSONValue.Member("call", .string(call))) }
        return .object(all + members)
    }
}

extension JSONValue {
    static func text(_ value: String?) -> JSONValue? { value.map { .string($0) } }
    static func count(_ value: Int?) -> JSONValue? { value.map { .integer(Int64($0)) } }

    /// Seconds of a clock, to the microsecond.
    package static func seconds(_ time: MonotonicTime) -> JSONValue { .decimal(Double(time.nanoseconds / 1000) / 1e6) }

    /// A figure with two decimals.
    static func hundredths(_ value: Double) -> JSONValue { .decimal((value * 100).rounded() / 100) }
}
