// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What `--trace` wrote: the messages in order.
struct SignallingTrace {
    struct Entry {
        /// Seconds.
        var time: Double
        /// `sent INVITE`, `received 200 INVITE`.
        var step: String
        var message: String
        /// The value of a header field, the first one.
        func field(_ name: String) -> String? {
            message.components(separatedBy: "\r\n").first { $0.hasPrefix(name + ":") }.map {
                $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
            }
        }
    }

    let entries: [Entry]

    init(_ path: String) throws {
        entries = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard let direction = object?["direction"] as? String, let text = object?["message"] as? String,
                let time = object?["time"] as? Double
            else { return nil }
            var entry = Entry(time: time, step: direction, message: text)
            let first = text.split(separator: " ", maxSplits: 2)
            guard first.count > 1 else { return nil }
            let method = entry.field("CSeq")?.split(separator: " ").last ?? ""
            entry.step += first[0] == "SIP/2.0" ? " \(first[1]) \(method)" : " \(first[0])"
            return entry
        }
    }

    var steps: [String] { entries.map(\.step) }

    func count(_ step: String) -> Int { entries.count { $0.step == step } }

    /// How many requests of a method were sent, each counted once however often it was sent again (RFC 3261 §17.1.1.2, §17.1.2.2).
    func requests(_ method: String) -> Int {
        Set(entries.filter { $0.step == "sent " + method }.map { "\($0.field("Call-ID") ?? "") \($0.field("CSeq") ?? "")" }).count
    }

    func times(_ step: String) -> [Double] { entries.filter { $0.step == step }.map(\.time) }
}
