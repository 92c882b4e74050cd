// SPDX-License-Identifier: Apache-2.0
//
// The location service of RFC 3261 §10: which contacts an address of record has, until when, and over which flow
// each was heard.

import Essentials
import SIP
import SIPAgent

/// One contact of one user (RFC 3261 §10.3, "binding").
public struct Binding: Sendable {
    /// The contact as registered, its parameters included, `expires` left out.
    public var contact: NameAddress
    /// The contact's SIP URI.
    public var uri: SIPURI
    /// The preference in thousandths, 0...1000 (RFC 3261 §20.10, `q`).
    public var preference: Int
    /// When the binding ends.
    public var expires: MonotonicTime
    public var callID: String
    public var cseq: UInt32
    /// The flow and address from which the registration came.
    public var source: MessageSource
    /// The host and port that the registering device gave in its Via, for telling a NAT in between.
    public var sentBy: Via
    /// The device and the number of its flow (RFC 5626 §6): what makes a binding the same after its address changed. nil:
    /// registered without.
    public var flowName: FlowName?
    /// The proxies that requests to this contact pass, the next one first (RFC 3327).
    public var path: [NameAddress] = []
    /// The user parts of its temporary GRUUs, the newest last (RFC 5627 §3.1.2).
    public var temporaryNames: [String] = []
    /// From where the same device and flow was registered before, the latest last: a dialog that began there has moved here.
    var formerAddresses: [SocketAddress] = []
    /// Whether the connection over which it was registered is still up.
    public var flowIsOpen: Bool
    /// The order of first registration over all users: what makes listings and forks repeatable.
    var sequence: UInt64
}

/// Which flow of which device a binding is for (RFC 5626 §4.1, §4.2).
public struct FlowName: Sendable, Hashable {
    /// The device, as a URN.
    public var instance: String
    /// `reg-id`, 1 or more.
    public var number: UInt32

    public init(instance: String, number: UInt32) {
        self.instance = instance
        self.number = number
    }
}

/// Bindings by user, in a fixed order: higher preference first, then the longer registered.
struct LocationStore {
    private var bindings: [String: [Binding]] = [:]
    private(set) var count = 0
    private var sequence: UInt64 = 0
    private var deadlines = DeadlineHeap<String>()

    /// The bindings of `user`, in order; those whose time has passed are left out.
    func bindings(of user: String, now: MonotonicTime) -> [Binding] {
        (bindings[user] ?? []).filter { $0.expires > now }
    }

    /// Whose temporary GRUU has this user part, and which contact it names.
    func owner(ofTemporary name: String, now: MonotonicTime) -> (user: String, binding: Binding)? {
        // A name belongs to one binding at most, so the order of keys shows nowhere.
        for (user, list) in bindings {
            if let found = list.first(where: { $0.expires > now && $0.temporaryNames.contains(name) }) { return (user, found) }
        }
        return nil
    }

    /// Replaces all bindings of `user`.
    mutating func set(_ user: String, _ list: [Binding]) {
        count += list.count - (bindings[user]?.count ?? 0)
        var list = list
        for index in list.indices where list[index].sequence == 0 {
            sequence += 1
            list[index].sequence = sequence
        }
        list.sort { ($1.preference, $0.sequence) < ($0.preference, $1.sequence) }
        for binding in list { deadlines.insert(user, at: binding.expires) }
        bindings[user] = list.isEmpty ? nil : list
    }

    /// When the next binding may end.
    var nextDeadline: MonotonicTime? { deadlines.next }

    /// Takes out what has ended, in order of time.
    mutating func expire(now: MonotonicTime) -> [(user: String, binding: Binding)] {
        var ended: [(user: String, binding: Binding)] = []
        while let user = deadlines.pop(until: now) {
            guard let list = bindings[user] else { continue }
            let gone = list.filter { $0.expires <= now }
            guard !gone.isEmpty else { continue }
            ended += gone.map { (user, $0) }
            count -= gone.count
            let kept = list.filter { $0.expires > now }
            bindings[user] = kept.isEmpty ? nil : kept
        }
        return ended
    }

    /// A connection ended: contacts that only it could reach are taken out and returned; others lose the flow.
    mutating func closeFlow(_ flow: FlowID) -> [(user: String, binding: Binding)] {
        var lost: [(user: String, binding: Binding)] = []
        // Only the users concerned are changed, and what is returned is put in order, so the order of keys shows nowhere.
        for user in bindings.keys.sorted() {
            guard let list = bindings[user], list.contains(where: { $0.source.flow == flow }) else { continue }
            var kept: [Binding] = []
            for var binding in list {
                if binding.source.flow == flow {
                    binding.flowIsOpen = false
                    if binding.isOnlyReachableByFlow {
                        lost.append((user, binding))
                        continue
                    }
                }
                kept.append(binding)
            }
            count += kept.count - list.count
            bindings[user] = kept.isEmpty ? nil : kept
        }
        return lost
    }
}

/// Whether a NAT stands between: the device names itself, in Contact and Via, by an address from which its message
/// did not come.
func isBehindNAT(contact: SIPURI, via: Via, source: SocketAddress) -> Bool {
    guard case .address(let contactIP) = contact.host else { return false }
    if contactIP.unmapped != source.ip.unmapped {
        if contactIP.isPrivate, !source.ip.isPrivate { return true }
        guard case .address(let viaIP) = via.host else { return false }
        return viaIP.unmapped == contactIP.unmapped
    }
    // Same address, other port: a NAT only if the device asked for symmetric answers (RFC 3581) and gave its Via's port.
    let port = contact.port ?? 5060
    return via.hasRport && port == (via.port ?? 5060) && port != source.port
}

extension Binding {
    /// The device that the contact is, as a URN (RFC 5626 §4.1).
    public var instance: String? { contact.instance }

    var isOnlyReachableByFlow: Bool {
        guard case .address = uri.host else { return true }
        return isBehindNAT(contact: uri, via: sentBy, source: source.remote)
    }

    /// Where a request for this contact is sent: over the flow it came by if that is a connection, to the source
    /// address if a NAT stands between, else to the contact's own address.
    var target: SignallingTarget {
        // Who registered a flow is called over that flow (RFC 5626 §5.3).
        if source.transport.isReliable ? flowIsOpen : flowName != nil || isOnlyReachableByFlow {
            return SignallingTarget(transport: source.transport, address: source.remote, name: nil, flow: source.flow)
        }
        guard case .address(let ip) = uri.host else {
            return SignallingTarget(transport: source.transport, address: source.remote, name: nil, flow: source.flow)
        }
        let transport = uri.transport ?? (source.transport.isReliable ? source.transport : .udp)
        return SignallingTarget(
            transport: transport, address: SocketAddress(ip, uri.port ?? transport.defaultPort), name: nil, flow: nil)
    }
}
