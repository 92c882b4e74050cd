// SPDX-License-Identifier: Apache-2.0
//
// Messages a second, and, under callgrind with two loop counts, instructions a message. Per message: `receive` with its
// owning message, then typed access to every Via, From, To, CSeq, Call-ID, every Contact and Content-Length.
//
// With -b it measures writing instead: a response to each message with a To tag, a Contact and the Record-Route.
//
//   ParseBench [-b] [-n ROUNDS] [-r REPEATS] FILE...

import Glibc
import SIP

@main struct ParseBench {
    static func main() {
        var rounds = 20_000
        var repeats = 5
        var builds = false
        var names: [String] = []
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "-b": builds = true
            case "-n": rounds = arguments.popFirst().flatMap { Int($0) } ?? rounds
            case "-r": repeats = max(1, arguments.popFirst().flatMap { Int($0) } ?? repeats)
            default: names.append(argument)
            }
        }
        let messages = names.map(read)
        guard !messages.isEmpty, !messages.contains(where: \.isEmpty) else {
            print("usage: ParseBench [-b] [-n ROUNDS] [-r REPEATS] FILE...")
            exit(2)
        }
        if rounds > 200 { _ = run(messages, rounds / 20, builds) }
        var times: [Double] = []
        var sum = 0
        for _ in 0..<repeats {
            let start = cpuTime()
            sum &+= run(messages, rounds, builds)
            times.append(cpuTime() - start)
        }
        times.sort()
        let count = Double(rounds * messages.count)
        let median = times[times.count / 2]
        print("handset    all: \(Int(count / median)) msg/s  \(Int(median / count * 1e9)) ns/msg  (median of \(repeats), check \(sum))")
    }

    @inline(never) static func run(_ messages: [[UInt8]], _ rounds: Int, _ builds: Bool) -> Int {
        var sum = 0
        if builds {
            let parsed = messages.compactMap { try? SIPMessage(parsing: $0) }
            for _ in 0..<rounds {
                for message in parsed { sum &+= answer(message) }
            }
            return sum
        }
        for _ in 0..<rounds {
            for bytes in messages { sum &+= touch(bytes) }
        }
        return sum
    }

    @inline(never) static func touch(_ bytes: [UInt8]) -> Int {
        guard case .message(let message) = SIPMessage.receive(bytes) else {
            print("a message does not parse")
            exit(1)
        }
        var sum = message.callIDRange.count &+ Int(message.cseqNumber) &+ message.cseqMethodRange.count
        sum &+= message.fromTagRange.count &+ message.toTagRange.count &+ (message.contentLength ?? 0)
        var cursor = SIPMessage.FieldCursor()
        var via = ViaFields()
        while message.nextVia(&cursor, &via) { sum &+= via.branch.count }
        cursor = SIPMessage.FieldCursor()
        var contact = AddressFields()
        while message.nextAddress(.contact, &cursor, &contact) { sum &+= contact.uri.host.count }
        return sum
    }

    @inline(never) static func answer(_ message: SIPMessage) -> Int {
        var builder = message.makeResponse(status: 200, toTag: "4711")
        builder.copy(.recordRoute, of: message)
        builder.add(.contact, "<sip:bob@192.0.2.4:5060>")
        return builder.build().bytes.count
    }

    static func read(_ name: String) -> [UInt8] {
        guard let file = unsafe fopen(name, "rb") else { return [] }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let byte = unsafe fgetc(file)
            if byte < 0 { return bytes }
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
    }

    static func cpuTime() -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
