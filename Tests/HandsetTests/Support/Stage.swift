// SPDX-License-Identifier: Apache-2.0
//
// A loop in virtual time with phones on it, joined over the loopback interface: nothing waits for a clock.

import Essentials
import Handset
import Networking
import SIP
import Synchronization
import Testing

struct Missing: Error {}

func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

/// What many threads note and one reads.
final class Notes<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    var all: [Value] { values.withLock { $0 } }
    func add(_ value: Value) { values.withLock { $0.append(value) } }
}

struct Stage: Sendable {
    let loop: EventLoop

    init() throws { loop = try EventLoop.manual() }

    /// Lets virtual time pass, a millisecond at a time: sockets are looked at in between.
    func run(_ interval: Interval) {
        let end = loop.now + interval
        repeat { loop.run(for: .milliseconds(1)) } while loop.now < end
    }

    /// Runs until `done`; false if that took longer than a minute of virtual time.
    @discardableResult
    func run(until done: () -> Bool) -> Bool {
        let end = loop.now + .seconds(60)
        while !done() {
            guard loop.now < end else { return false }
            loop.run(for: .milliseconds(1))
        }
        return true
    }

    /// Runs a task on the loop to its end.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Notes<Result<Value, any Error>>()
        Task(executorPreference: loop) {
            do { result.add(.success(try await body())) } catch { result.add(.failure(error)) }
        }
        guard run(until: { !result.all.isEmpty }) else { throw Missing() }
        return try required(result.all.first).get()
    }

    /// Begins a task on the loop.
    func begin(_ body: @escaping @Sendable () async -> Void) { Task(executorPreference: loop) { await body() } }

    func settings(_ change: (inout PhoneSettings) -> Void = { _ in }) -> PhoneSettings {
        var settings = loopbackSettings(loop)
        change(&settings)
        return settings
    }

    /// A phone that notes what happens.
    func phone(_ change: (inout PhoneSettings) -> Void = { _ in }) throws -> Station {
        let settings = settings(change)
        let notes = Notes<PhoneEvent>()
        let phone = try perform { try await Phone(settings) { _, event, _ in notes.add(event) } }
        return Station(phone: phone, notes: notes, uri: try perform { "sip:phone@\(try required(await phone.listening.first).address)" })
    }
}

/// UDP on any port of the loopback interface.
func loopbackSettings(_ loop: EventLoop) -> PhoneSettings {
    PhoneSettings(listeners: [.init(.udp, SocketAddress(.loopbackV4, 0))], loop: loop)
}

/// A phone with what its handler saw, and its address.
struct Station: Sendable {
    let phone: Phone
    let notes: Notes<PhoneEvent>
    let uri: String

    var ends: [CallEnd] { notes.all.compactMap { if case .ended(_, let end) = $0 { end } else { nil } } }
    var incoming: [CallID] { notes.all.compactMap { if case .incomingCall(let id, _) = $0 { id } else { nil } } }
    var states: [CallState] { notes.all.compactMap { if case .callState(_, let state, _, _) = $0 { state } else { nil } } }
    var hasStopped: Bool { notes.all.contains { if case .stopped = $0 { true } else { false } } }
}

extension Stage {
    /// `from` calls `to`, which answers.
    func establish(_ from: Station, _ to: Station) throws -> (caller: Handset.Call, called: Handset.Call) {
        let called = Notes<Handset.Call>()
        begin {
            for await call in to.phone.incomingCalls {
                called.add(call)
                try? await call.answer()
                break
            }
        }
        let caller = try perform { try await from.phone.call(from: nil, to: to.uri) }
        guard run(until: { from.states.contains(.confirmed) && to.states.contains(.confirmed) }) else { throw Missing() }
        return (caller, try required(called.all.first))
    }
}
