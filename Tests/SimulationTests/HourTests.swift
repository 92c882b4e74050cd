// SPDX-License-Identifier: Apache-2.0
//
// An hour of a hundred accounts and a thousand calls over networks that lose packets and change addresses. It runs in a
// process of its own, so that the memory measured is its alone. `HANDSET_HOUR=seed` repeats one seed and prints the story.

import Crypto
import Essentials
import Foundation
import HandsetTestKit
import PhoneCore
import SIPServer
import Testing

@Suite(.serialized) struct HourTests {
    private static let seed = ProcessInfo.processInfo.environment["HANDSET_HOUR"].flatMap { UInt64($0) }

    /// What `anHourOfAHundredAccountsLeaksNothing` starts.
    @Test(.enabled(if: seed != nil)) func hourInItsOwnProcess() throws {
        let hour = Hour(seed: try #require(Self.seed))
        hour.play()
        print(hour.story)
        #expect(hour.illegal == [], "\(hour.story)")
        #expect(hour.begun >= Hour.calls)
        // A caller may have no network, or the callee: but most calls come about.
        #expect(hour.established * 100 >= hour.begun * 90, "\(hour.story)")
        #expect(hour.growth <= 0.05, "\(hour.story)")
    }

    @Test(.enabled(if: seed == nil)) func anHourOfAHundredAccountsLeaksNothingAndLeavesNothingStuck() throws {
        let seed: UInt64 = 2_611
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--testing-library", "swift-testing", "--filter", "hourInItsOwnProcess"]
        process.environment = ProcessInfo.processInfo.environment.merging(["HANDSET_HOUR": "\(seed)"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let story = text.split(separator: "\n").first { $0.hasPrefix("seed ") }.map(String.init)
        #expect(process.terminationStatus == 0, "\(text.suffix(4_000))")
        print(try #require(story))
    }
}

/// A run of an hour, and what came of it.
private final class Hour {
    static let accounts = 100
    static let calls = 1_000

    let seed: UInt64
    let world: SimulatedWorld
    private var phones: [SimulatedPhone] = []
    private var random: SeededGenerator
    private(set) var begun = 0
    private(set) var established = 0
    private(set) var ended = 0
    private var moves = 0
    private var refused = 0
    private var causes: [String: Int] = [:]
    private var left: [String] = []
    /// Octets resident, minute by minute.
    private var memory: [Int] = []

    init(seed: UInt64) {
        self.seed = seed
        world = SimulatedWorld(seed: seed)
        random = SeededGenerator(seed: seed, for: "hour")
        let server = world.addServer("server", domain: "example.test", users: [:]) { configuration in
            configuration.users = (0..<Self.accounts).map { ServerUser("\(1_000 + $0)", password: Secret("secret \($0)")) }
        }
        for index in 0..<Self.accounts {
            let phone = world.addPhone("phone\(index)", user: "\(1_000 + index)", password: "secret \(index)", server: server)
            phone.keepsEvents = false
            phone.host.link = LinkConditions(
                delay: .milliseconds(5 + Int64(random.next() % 60)), jitter: .milliseconds(Int64(random.next() % 15)),
                loss: 0.02 * random.fraction())
            phone.onEvent = { [unowned self, unowned phone] in self.phone(phone, tells: $0) }
            phones.append(phone)
        }
    }

    func play() {
        for phone in phones { schedule(within: .seconds(60)) { try? phone.register() } }
        for _ in 0..<Self.calls { schedule(within: .seconds(3_400), after: .seconds(90)) { self.placeCall() } }
        // Every phone gets another address three times.
        for phone in phones + phones + phones { schedule(within: .seconds(3_400), after: .seconds(90)) { self.move(phone) } }
        for _ in 0..<60 {
            world.run(for: .seconds(60))
            memory.append(Self.residentOctets())
        }
        for phone in phones { phone.shutDown() }
        left = world.settle(within: .seconds(120))
    }

    private func schedule(within span: Interval, after start: Interval = .zero, _ action: @escaping () -> Void) {
        let offset = Int64(Double(span.nanoseconds) * random.fraction())
        world.schedule(after: start + .nanoseconds(offset), action)
    }

    private func placeCall() {
        let caller = phones[Int(random.next() % UInt64(phones.count))]
        var callee = Int(random.next() % UInt64(phones.count))
        if phones[callee] === caller { callee = (callee + 1) % phones.count }
        begun += 1
        do {
            let call = try caller.call("\(1_000 + callee)")
            let talk = Interval.milliseconds(2_000 + Int64(random.next() % 8_000))
            world.schedule(after: talk) { try? caller.perform { core, now throws(PhoneError) in try core.hangUp(call, now: now) } }
        } catch { refused += 1 }
    }

    private func move(_ phone: SimulatedPhone) {
        moves += 1
        phone.watchesNetwork = random.next() % 3 != 0
        phone.host.move()
    }

    private func phone(_ phone: SimulatedPhone, tells event: PhoneEvent) {
        switch event {
        case .incomingCall(let call, _):
            let delay = Interval.milliseconds(100 + Int64(random.next() % 1_500))
            world.schedule(after: delay) { try? phone.perform { core, now throws(PhoneError) in try core.answer(call, now: now) } }
        case .ended(_, let end):
            ended += 1
            if end.wasEstablished { established += 1 }
            causes[end.cause.code, default: 0] += 1
        default: break
        }
    }

    /// What may not be; empty: nothing.
    var illegal: [String] {
        var found = left.map { "left over: \($0)" }
        for phone in phones {
            found += (phone.heldAfterStop + phone.violations).map { "\(phone.host.name): \($0)" }
            if phone.core.callCount != 0 { found.append("\(phone.host.name) still has a call") }
        }
        return found
    }

    /// How much more memory the last ten minutes need than the plateau before: the mean of minutes 20 to 40.
    var growth: Double {
        func mean(_ minutes: Range<Int>) -> Double { Double(memory[minutes].reduce(0, +)) / Double(minutes.count) }
        return mean(50..<60) / mean(20..<40) - 1
    }

    var story: String {
        let ends = causes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return "seed \(seed): \(begun) calls placed, \(refused) refused at once, \(established) ends of established calls of \(ended) "
            + "in all (\(ends)), \(moves) changes of address, memory \(memory.first ?? 0) to \(memory.last ?? 0) octets, growth "
            + "\((growth * 1_000).rounded() / 10) %, illegal \(illegal.prefix(10))"
    }

    private static func residentOctets() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4_096
    }
}
