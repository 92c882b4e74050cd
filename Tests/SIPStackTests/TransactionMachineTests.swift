// SPDX-License-Identifier: Apache-2.0
//
// The four machines by themselves: every state, every event (RFC 3261 §17, RFC 6026).

import Essentials
import SIPAgent
import Testing

private let times = TransactionTimes()

@Suite("INVITE client machine, RFC 3261 figure 5 with RFC 6026") struct InviteClientMachineTests {
    @Test("Timer A doubles from T1, and timer B is 64 T1")
    func calling() {
        var machine = InviteClientTransaction(isReliable: false)
        #expect(machine.start(times) == TransactionStep(.transmit, retransmission: .arm(times.t1), lifetime: .arm(times.t1 * 64)))
        for factor in [2, 4, 8, 16, 32, 64] as [Int64] {
            #expect(
                machine.retransmissionTimerFired(times) == TransactionStep(.transmit, retransmission: .arm(times.t1 * factor)))
        }
        #expect(machine.lifetimeTimerFired() == .end(.timedOut))
        #expect(machine.state == .terminated)
    }

    @Test("Over a reliable transport timer A is not armed and timer D is zero")
    func reliable() {
        var machine = InviteClientTransaction(isReliable: true)
        #expect(machine.start(times) == TransactionStep(.transmit, lifetime: .arm(times.t1 * 64)))
        #expect(machine.retransmissionTimerFired(times) == TransactionStep())
        #expect(machine.receive(status: 486, times) == .end([.acknowledge, .deliver]))
    }

    @Test("A provisional response stops both timers, later ones are delivered too")
    func proceeding() {
        var machine = InviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(
            machine.receive(status: 100, times)
                == TransactionStep([.deliver, .provisionalCame], retransmission: .cancel, lifetime: .cancel))
        #expect(machine.receive(status: 180, times).actions == .deliver)
        #expect(machine.retransmissionTimerFired(times) == TransactionStep())
        #expect(machine.cancelSent(times) == TransactionStep(lifetime: .arm(times.timeout)))
        #expect(machine.receive(status: 180, times).lifetime == .keep)
        #expect(machine.lifetimeTimerFired() == .end(.timedOut))
    }

    @Test("A refusal is acknowledged, each repeat again, until timer D")
    func completed() {
        var machine = InviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        let first = machine.receive(status: 404, times)
        #expect(first == TransactionStep([.acknowledge, .deliver], retransmission: .cancel, lifetime: .arm(times.d)))
        #expect(machine.receive(status: 404, times) == TransactionStep([.acknowledge, .absorbed]))
        #expect(machine.receive(status: 200, times) == TransactionStep(.unexpected))
        #expect(machine.receive(status: 180, times) == TransactionStep(.unexpected))
        #expect(machine.lifetimeTimerFired() == .end())
        #expect(machine.receive(status: 404, times) == TransactionStep(.unexpected))
    }

    @Test("Accepted lets every 2xx through until timer M, nothing else")
    func accepted() {
        var machine = InviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        _ = machine.receive(status: 180, times)
        #expect(
            machine.receive(status: 200, times) == TransactionStep(.deliver, retransmission: .cancel, lifetime: .arm(times.timeout)))
        #expect(machine.state == .accepted)
        #expect(machine.receive(status: 200, times) == TransactionStep(.deliver))
        #expect(machine.receive(status: 486, times) == TransactionStep(.unexpected))
        #expect(machine.transportFailed(times) == TransactionStep())
        #expect(machine.lifetimeTimerFired() == .end())
    }

    @Test("A transport error ends Calling and Completed, and gives Proceeding a limit")
    func transportErrors() {
        var machine = InviteClientTransaction(isReliable: true)
        _ = machine.start(times)
        #expect(machine.transportFailed(times) == .end(.transportFailed))
        machine = InviteClientTransaction(isReliable: true)
        _ = machine.start(times)
        _ = machine.receive(status: 180, times)
        #expect(machine.transportFailed(times) == TransactionStep(lifetime: .arm(times.timeout)))
        machine = InviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        _ = machine.receive(status: 500, times)
        #expect(machine.transportFailed(times) == .end())
    }
}

@Suite("Non-INVITE client machine, RFC 3261 figure 6") struct NonInviteClientMachineTests {
    @Test("Timer E doubles up to T2, and timer F is 64 T1")
    func trying() {
        var machine = NonInviteClientTransaction(isReliable: false)
        #expect(machine.start(times) == TransactionStep(.transmit, retransmission: .arm(times.t1), lifetime: .arm(times.timeout)))
        for seconds in [1, 2, 4, 4, 4] as [Int64] {
            #expect(machine.retransmissionTimerFired(times) == TransactionStep(.transmit, retransmission: .arm(.seconds(seconds))))
        }
        #expect(machine.lifetimeTimerFired() == .end(.timedOut))
    }

    @Test("In Proceeding timer E runs T2, and timer F still ends it")
    func proceeding() {
        var machine = NonInviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(machine.receive(status: 100, times) == TransactionStep(.deliver))
        #expect(machine.retransmissionTimerFired(times) == TransactionStep(.transmit, retransmission: .arm(times.t2)))
        #expect(machine.lifetimeTimerFired() == .end(.timedOut))
    }

    @Test("The final response is delivered once, and timer K absorbs its repeats")
    func completed() {
        var machine = NonInviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(machine.receive(status: 200, times) == TransactionStep(.deliver, retransmission: .cancel, lifetime: .arm(times.t4)))
        #expect(machine.receive(status: 200, times) == TransactionStep(.absorbed))
        #expect(machine.receive(status: 100, times) == TransactionStep(.unexpected))
        #expect(machine.transportFailed(times) == TransactionStep())
        #expect(machine.retransmissionTimerFired(times) == TransactionStep())
        #expect(machine.lifetimeTimerFired() == .end())
    }

    @Test("Over a reliable transport there is no timer E and no timer K")
    func reliable() {
        var machine = NonInviteClientTransaction(isReliable: true)
        #expect(machine.start(times) == TransactionStep(.transmit, lifetime: .arm(times.timeout)))
        _ = machine.receive(status: 100, times)
        #expect(machine.retransmissionTimerFired(times) == TransactionStep())
        #expect(machine.receive(status: 200, times) == .end(.deliver))
    }

    @Test("A transport error ends Trying and Proceeding")
    func transportErrors() {
        var machine = NonInviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(machine.transportFailed(times) == .end(.transportFailed))
        machine = NonInviteClientTransaction(isReliable: false)
        _ = machine.start(times)
        _ = machine.receive(status: 100, times)
        #expect(machine.transportFailed(times) == .end(.transportFailed))
    }
}

@Suite("INVITE server machine, RFC 3261 figure 7 with RFC 6026") struct InviteServerMachineTests {
    @Test("100 is sent after 200 ms, or at once where the setting says so")
    func trying() {
        var machine = InviteServerTransaction(isReliable: false)
        #expect(machine.start(times) == TransactionStep(.deliver, retransmission: .arm(.milliseconds(200))))
        #expect(machine.receiveRepeat() == TransactionStep(.absorbed))
        #expect(machine.retransmissionTimerFired(times) == TransactionStep(.sendTrying))
        machine.tryingSent()
        #expect(machine.receiveRepeat() == TransactionStep([.absorbed, .transmit]))
        var hasty = InviteServerTransaction(isReliable: false)
        #expect(hasty.start(TransactionTimes(tryingDelay: .zero)) == TransactionStep([.sendTrying, .deliver]))
    }

    @Test("A provisional response stops the 100, and is repeated for each repeat of the INVITE")
    func proceeding() {
        var machine = InviteServerTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(machine.respond(status: 180, times) == TransactionStep(.transmit, retransmission: .cancel))
        #expect(machine.receiveRepeat() == TransactionStep([.absorbed, .transmit]))
        #expect(machine.receiveACK(times) == TransactionStep(.unexpected))
        #expect(machine.lifetimeTimerFired() == TransactionStep())
    }

    @Test("Timer G doubles up to T2 and timer H ends it without an ACK")
    func completed() {
        var machine = InviteServerTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(
            machine.respond(status: 486, times)
                == TransactionStep(.transmit, retransmission: .arm(times.t1), lifetime: .arm(times.timeout)))
        for seconds in [1, 2, 4, 4] as [Int64] {
            #expect(machine.retransmissionTimerFired(times) == TransactionStep(.transmit, retransmission: .arm(.seconds(seconds))))
        }
        #expect(machine.receiveRepeat() == TransactionStep([.absorbed, .transmit]))
        #expect(machine.respond(status: 200, times) == TransactionStep(.unexpected))
        #expect(machine.lifetimeTimerFired() == .end(.timedOut))
    }

    @Test("The ACK confirms, timer I absorbs its repeats")
    func confirmed() {
        var machine = InviteServerTransaction(isReliable: false)
        _ = machine.start(times)
        _ = machine.respond(status: 486, times)
        #expect(machine.receiveACK(times) == TransactionStep(retransmission: .cancel, lifetime: .arm(times.t4)))
        #expect(machine.receiveACK(times) == TransactionStep(.absorbed))
        #expect(machine.receiveRepeat() == TransactionStep(.absorbed))
        #expect(machine.respond(status: 486, times) == TransactionStep(.unexpected))
        #expect(machine.transportFailed(times) == TransactionStep())
        #expect(machine.lifetimeTimerFired() == .end())
    }

    @Test("Accepted absorbs INVITEs, lets 2xx and ACK through, until timer L")
    func accepted() {
        var machine = InviteServerTransaction(isReliable: false)
        _ = machine.start(times)
        #expect(
            machine.respond(status: 200, times) == TransactionStep(.transmit, retransmission: .cancel, lifetime: .arm(times.timeout)))
        #expect(machine.receiveRepeat() == TransactionStep(.absorbed))
        #expect(machine.respond(status: 200, times) == TransactionStep(.transmit))
        #expect(machine.respond(status: 486, times) == TransactionStep(.unexpected))
        #expect(machine.receiveACK(times) == TransactionStep(.deliver))
        #expect(machine.transportFailed(times) == TransactionStep(.transportFailed))
        #expect(machine.lifetimeTimerFired() == .end())
    }

    @Test("Over a reliable transport there is no timer G and no timer I, but timer H")
    func reliable() {
        var machine = InviteServerTransaction(isReliable: true)
        _ = machine.start(times)
        #expect(
            machine.respond(status: 404, times) == TransactionStep(.transmit, retransmission: .cancel, lifetime: .arm(times.timeout)))
        #expect(machine.retransmissionTimerFired(times) == TransactionStep())
        #expect(machine.receiveACK(times) == .end())
    }

    @Test("A transport error ends Proceeding and Completed")
    func transportErrors() {
        var machine = InviteServerTransaction(isReliable: true)
        _ = machine.start(times)
        #expect(machine.transportFailed(times) == .end(.transportFailed))
        machine = InviteServerTransaction(isReliable: true)
        _ = machine.start(times)
        _ = machine.respond(status: 404, times)
        #expect(machine.transportFailed(times) == .end(.transportFailed))
    }
}

@Suite("Non-INVITE server machine, RFC 3261 figure 8") struct NonInviteServerMachineTests {
    @Test("Trying drops repeats, Proceeding and Completed answer them, timer J ends it")
    func walk() {
        var machine = NonInviteServerTransaction(isReliable: false)
        #expect(machine.start() == TransactionStep(.deliver))
        #expect(machine.receiveRepeat() == TransactionStep(.absorbed))
        #expect(machine.respond(status: 100, times) == TransactionStep(.transmit))
        #expect(machine.receiveRepeat() == TransactionStep([.absorbed, .transmit]))
        #expect(machine.lifetimeTimerFired() == TransactionStep())
        #expect(machine.respond(status: 200, times) == TransactionStep(.transmit, lifetime: .arm(times.timeout)))
        #expect(machine.receiveRepeat() == TransactionStep([.absorbed, .transmit]))
        #expect(machine.respond(status: 500, times) == TransactionStep(.unexpected))
        #expect(machine.lifetimeTimerFired() == .end())
        #expect(machine.receiveRepeat() == TransactionStep(.unexpected))
    }

    @Test("Over a reliable transport the final response ends it")
    func reliable() {
        var machine = NonInviteServerTransaction(isReliable: true)
        _ = machine.start()
        #expect(machine.respond(status: 200, times) == .end(.transmit))
    }

    @Test("A transport error ends each state")
    func transportErrors() {
        for responses in [[], [100], [200]] {
            var machine = NonInviteServerTransaction(isReliable: false)
            _ = machine.start()
            for status in responses { _ = machine.respond(status: status, times) }
            #expect(machine.transportFailed(times) == .end(.transportFailed))
            #expect(machine.transportFailed(times) == TransactionStep())
        }
    }
}
