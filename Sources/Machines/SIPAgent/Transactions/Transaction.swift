// SPDX-License-Identifier: Apache-2.0
//
// One transaction as the transaction layer keeps it: the machine of RFC 3261 §17 and what it acts on.

import Essentials
import SIP

/// The four machines under one name.
enum TransactionMachine {
    case inviteClient(InviteClientTransaction)
    case nonInviteClient(NonInviteClientTransaction)
    case inviteServer(InviteServerTransaction)
    case nonInviteServer(NonInviteServerTransaction)

    var isClient: Bool {
        switch self {
        case .inviteClient, .nonInviteClient: true
        case .inviteServer, .nonInviteServer: false
        }
    }

    mutating func start(_ times: TransactionTimes) -> TransactionStep {
        switch self {
        case .inviteClient(var machine):
            let step = machine.start(times)
            self = .inviteClient(machine)
            return step
        case .nonInviteClient(var machine):
            let step = machine.start(times)
            self = .nonInviteClient(machine)
            return step
        case .inviteServer(var machine):
            let step = machine.start(times)
            self = .inviteServer(machine)
            return step
        case .nonInviteServer(var machine):
            let step = machine.start()
            self = .nonInviteServer(machine)
            return step
        }
    }

    /// A response came to a client transaction.
    mutating func receive(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch self {
        case .inviteClient(var machine):
            let step = machine.receive(status: status, times)
            self = .inviteClient(machine)
            return step
        case .nonInviteClient(var machine):
            let step = machine.receive(status: status, times)
            self = .nonInviteClient(machine)
            return step
        case .inviteServer, .nonInviteServer:
            return TransactionStep(.unexpected)
        }
    }

    /// The request of a server transaction came again.
    mutating func receiveRepeat() -> TransactionStep {
        switch self {
        case .inviteServer(var machine):
            let step = machine.receiveRepeat()
            self = .inviteServer(machine)
            return step
        case .nonInviteServer(var machine):
            let step = machine.receiveRepeat()
            self = .nonInviteServer(machine)
            return step
        case .inviteClient, .nonInviteClient:
            return TransactionStep(.unexpected)
        }
    }

    mutating func receiveACK(_ times: TransactionTimes) -> TransactionStep {
        guard case .inviteServer(var machine) = self else { return TransactionStep(.unexpected) }
        let step = machine.receiveACK(times)
        self = .inviteServer(machine)
        return step
    }

    /// The user of a server transaction responds.
    mutating func respond(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch self {
        case .inviteServer(var machine):
            let step = machine.respond(status: status, times)
            self = .inviteServer(machine)
            return step
        case .nonInviteServer(var machine):
            let step = machine.respond(status: status, times)
            self = .nonInviteServer(machine)
            return step
        case .inviteClient, .nonInviteClient:
            return TransactionStep(.unexpected)
        }
    }

    /// Timers A, E, G and the delay of 100.
    mutating func retransmissionTimerFired(_ times: TransactionTimes) -> TransactionStep {
        switch self {
        case .inviteClient(var machine):
            let step = machine.retransmissionTimerFired(times)
            self = .inviteClient(machine)
            return step
        case .nonInviteClient(var machine):
            let step = machine.retransmissionTimerFired(times)
            self = .nonInviteClient(machine)
            return step
        case .inviteServer(var machine):
            let step = machine.retransmissionTimerFired(times)
            self = .inviteServer(machine)
            return step
        case .nonInviteServer:
            return TransactionStep()
        }
    }

    /// Timers B, D, F, H, I, J, K, L, M.
    mutating func lifetimeTimerFired() -> TransactionStep {
        switch self {
        case .inviteClient(var machine):
            let step = machine.lifetimeTimerFired()
            self = .inviteClient(machine)
            return step
        case .nonInviteClient(var machine):
            let step = machine.lifetimeTimerFired()
            self = .nonInviteClient(machine)
            return step
        case .inviteServer(var machine):
            let step = machine.lifetimeTimerFired()
            self = .inviteServer(machine)
            return step
        case .nonInviteServer(var machine):
            let step = machine.lifetimeTimerFired()
            self = .nonInviteServer(machine)
            return step
        }
    }

    mutating func transportFailed(_ times: TransactionTimes) -> TransactionStep {
        switch self {
        case .inviteClient(var machine):
            let step = machine.transportFailed(times)
            self = .inviteClient(machine)
            return step
        case .nonInviteClient(var machine):
            let step = machine.transportFailed(times)
            self = .nonInviteClient(machine)
            return step
        case .inviteServer(var machine):
            let step = machine.transportFailed(times)
            self = .inviteServer(machine)
            return step
        case .nonInviteServer(var machine):
            let step = machine.transportFailed(times)
            self = .nonInviteServer(machine)
            return step
        }
    }
}

/// A live transaction. It holds a message only as long as the machine may send it again.
final class Transaction {
    let id: TransactionID
    let method: Method
    var machine: TransactionMachine
    /// The flow that it uses, and where on it.
    var flow: FlowID
    var destination: SocketAddress
    let transport: TransportProtocol

    /// What `transmit` sends: the request, or the last response.
    var octets: [UInt8] = []
    /// Client: what ACK and CANCEL are made from. Server: what 100 (Trying) is made from, until there is a response.
    var request: SIPMessage?

    var retransmissionTimer: TimerHandle?
    var lifetimeTimer: TimerHandle?

    // Client
    var clientKey: ClientKey?
    /// What a response must have of the request, besides the branch: Call-ID and CSeq number.
    var fingerprint: UInt64 = 0
    /// A CANCEL that waits for a provisional response.
    var waitingCancel: [(name: HeaderName, value: String)]?
    /// An answer came that could not be read, and was told.
    var hasUnreadableResponse = false
    /// The stack's own CANCEL: its user is not told of it.
    var isInternal = false

    // Server
    var serverKey: ServerKey?
    var mergeKey: MergeKey?
    /// The Via that responses carry on top, where it differs from what came.
    var stampedVia: String?
    /// Under which source this unanswered INVITE is counted.
    var countedSource: IPAddress?
    /// The last provisional response: where the To tag of a 200 to CANCEL comes from.
    var provisional: SIPMessage?

    init(
        id: TransactionID, method: Method, machine: TransactionMachine, flow: FlowID, destination: SocketAddress,
        transport: TransportProtocol
    ) {
        self.id = id
        self.method = method
        self.machine = machine
        self.flow = flow
        self.destination = destination
        self.transport = transport
    }
}
