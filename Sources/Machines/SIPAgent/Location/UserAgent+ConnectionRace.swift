// SPDX-License-Identifier: Apache-2.0
//
// IPv6 and IPv4 side by side (RFC 8305): where a server has addresses of both families and no connection is up, the
// second family is tried soon after the first, and the request goes over the connection that is up first.
//
//   first ──connect───────────────(failed)──┐            up ─► the request goes over it, the other is closed
//            250 ms, or a failure ──► second ──connect──┘
//                                                        both failed, or 10 s (4 s, if there is another) ─► the next target

import Essentials
import SIP

/// Two connections, of which the first that is up is used.
struct ConnectionRace {
    let request: ClientRequest
    let targets: [SignallingTarget]
    /// The connections begun, in the order of the targets; nil: failed.
    var flows: [FlowID?] = []
    var failure = FlowFailure.timedOut

    /// Whether nothing can come of it any more.
    var isLost: Bool { flows.count == targets.count && flows.allSatisfy { $0 == nil } }
}

extension UserAgent {
    /// Races for the target that is next, if it is worth it: a connection has to be opened, and the server has an address
    /// of the other family too. True: the request waits for the race.
    func startRace(_ request: ClientRequest, now: MonotonicTime) -> Bool {
        let place = request.triedTargets
        let first = request.targets[place]
        guard first.transport.isReliable, first.flow == nil, !stack.hasConnection(first) else { return false }
        let rival = request.targets[(place + 1)...].firstIndex { target in
            target.transport == first.transport && target.address.ip.isV6 != first.address.ip.isV6
                && target.address.port == first.address.port
        }
        guard let rival else { return false }
        request.targets.insert(request.targets.remove(at: rival), at: place + 1)
        lastRace &+= 1
        races[lastRace] = ConnectionRace(request: request, targets: [first, request.targets[place + 1]])
        counters.increment(.connectionRaces)
        nextRunner(lastRace, now: now)
        return true
    }

    /// Begins the next connection of a race.
    private func nextRunner(_ id: UInt64, now: MonotonicTime) {
        guard var race = races[id] else { return }
        while race.flows.count < race.targets.count {
            let flow = stack.connect(race.targets[race.flows.count])
            race.flows.append(flow)
            if flow != nil { break }
        }
        races[id] = race
        if race.isLost {
            endRace(id, winner: nil, now: now)
        } else {
            let isComplete = race.flows.count == race.targets.count
            let settings = configuration.location
            // Where a third target waits, two silent ones are left as soon as any other.
            let waits = race.request.targets.count - race.request.triedTargets > race.targets.count && settings.patience > .zero
            let whole = waits ? min(settings.connectionLimit, settings.patience) : settings.connectionLimit
            let limit = isComplete ? whole : settings.connectionDelay
            timers.arm(.race(id), at: now + limit)
        }
    }

    /// The time of the first alone is over, or that of both.
    func raceDue(_ id: UInt64, now: MonotonicTime) {
        guard let race = races[id] else { return }
        if race.flows.count < race.targets.count {
            nextRunner(id, now: now)
        } else {
            endRace(id, winner: nil, now: now)
        }
    }

    /// A connection is up.
    func raceConnected(_ flow: FlowID, now: MonotonicTime) {
        guard let (id, place) = runner(flow) else { return }
        endRace(id, winner: place, now: now)
    }

    /// A connection failed; the other one begins at once if it has not begun.
    func raceFailed(_ flow: FlowID, _ failure: FlowFailure, now: MonotonicTime) {
        guard let (id, place) = runner(flow) else { return }
        races[id]?.flows[place] = nil
        races[id]?.failure = failure
        if let target = races[id]?.targets[place] { location.failed(target, now: now) }
        guard let race = races[id] else { return }
        if race.isLost {
            endRace(id, winner: nil, now: now)
        } else if race.flows.count < race.targets.count {
            nextRunner(id, now: now)
        }
    }

    private func runner(_ flow: FlowID) -> (UInt64, Int)? {
        guard !races.isEmpty else { return nil }
        for id in races.keys.sorted() {
            if let place = races[id]?.flows.firstIndex(of: flow) { return (id, place) }
        }
        return nil
    }

    private func endRace(_ id: UInt64, winner: Int?, now: MonotonicTime) {
        guard let race = races.removeValue(forKey: id) else { return }
        timers.cancel(.race(id))
        for (place, flow) in race.flows.enumerated() where place != winner {
            if let flow { stack.close(flow) }
        }
        let request = race.request
        let place = request.triedTargets
        guard let winner else {
            // Both are behind us.
            for (target, flow) in zip(race.targets, race.flows) where flow != nil { location.failed(target, now: now) }
            request.triedTargets = min(place + race.targets.count, request.targets.count)
            handleFailure(race.failure == .timedOut ? .timedOut : .transport(race.failure), request, now: now)
            return
        }
        if winner > 0 { request.targets.swapAt(place, place + winner) }
        request.triedTargets = place + 1
        var target = request.targets[place]
        target.flow = race.flows[winner]
        if !transmit(request, to: target, now: now) { handleFailure(.noLocalAddress, request, now: now) }
    }

    /// Gives up the race that a request waits for; false: it waits for none.
    func abandonRace(of request: ClientRequest) -> Bool {
        guard let id = races.first(where: { $0.value.request === request })?.key, let race = races.removeValue(forKey: id) else {
            return false
        }
        timers.cancel(.race(id))
        for flow in race.flows { if let flow { stack.close(flow) } }
        return true
    }
}
