// SPDX-License-Identifier: Apache-2.0
//
// What the transport layer did without being asked, or could not do, and its user should know why.

import Essentials
import SIP

/// Something that a person reads as a warning; `cause` says it.
public enum StackNotice: Sendable, Hashable {
    /// The answer to a request of ours, or what stands for one, cannot be read: the request will time out. Once for each request.
    /// `limit` names the limit that was passed, and its value.
    case unreadableResponse(SIPError, limit: String?, MessageSource)
    /// A connection brought no message within `StackConfiguration.silentConnection`, and was closed; how many were so far.
    case silentConnection(TransportProtocol, SocketAddress, count: UInt64)
    /// A connection was not taken: its source has `StackConfiguration.acceptedConnectionsPerSource` of them; how many were refused so far.
    case connectionShare(TransportProtocol, SocketAddress, limit: Int, count: UInt64)

    public var cause: Cause {
        switch self {
        case .unreadableResponse(let error, let limit, let source):
            var evidence = [Cause.Evidence("error", error.code.rawValue)]
            if let limit { evidence.append(.init("limit", limit)) }
            evidence.append(.init("source", "\(source.transport.rawValue) \(source.remote)"))
            return Cause(
                "transport.response-unreadable", "An answer came that cannot be read, as if there were none: \(error.reason)",
                evidence: evidence)
        case .silentConnection(let transport, let remote, let count):
            return Cause(
                "transport.connection-silent", "A connection that brought no SIP message was closed.",
                evidence: [.init("source", "\(transport.rawValue) \(remote)"), .init("closed", "\(count)")])
        case .connectionShare(let transport, let remote, let limit, let count):
            return Cause(
                "transport.connection-share", "One address has opened as many connections as it may; further ones are refused.",
                evidence: [
                    .init("source", "\(transport.rawValue) \(remote)"), .init("limit", "acceptedConnectionsPerSource \(limit)"),
                    .init("refused", "\(count)"),
                ])
        }
    }
}

/// What a timer of a connection is for.
enum FlowTimer: Sendable, Hashable {
    /// A message is unfinished, or a connection is coming up.
    case unfinished(FlowID)
    /// Nothing has come over it yet.
    case silent(FlowID)
}

extension SIPStack {
    // MARK: Connections of strangers

    /// A connection that somebody opened counts for nothing until it brings a message, or we have one for it.
    func accept(_ id: FlowID, _ listener: FlowID, local: SocketAddress, remote: SocketAddress, _ now: MonotonicTime) {
        let isKnown = isExempt(remote.ip)
        let group = isKnown ? nil : sourceGroup(remote.ip)
        let share = configuration.acceptedConnectionsPerSource
        if let group, transport.acceptedCount(of: group) >= share, let kind = transport.flow(listener)?.transport {
            count(.connectionsOverShare)
            transport.refuse(id)
            if shareNotices.admits(now) {
                events.append(.notice(.connectionShare(kind, remote, limit: share, count: counters[.connectionsOverShare])))
            }
            return
        }
        transport.accepted(id, listener: listener, local: local, remote: remote, group: group)
        guard let flow = transport.flow(id), flow.isAccepted, configuration.silentConnection > .zero, !isKnown else { return }
        flow.silenceTimer = flowTimers.arm(now + configuration.silentConnection, .silent(id))
    }

    /// It carries what it is there for.
    func prove(_ flow: Flow) {
        guard let timer = flow.silenceTimer else { return }
        flowTimers.cancel(timer)
        flow.silenceTimer = nil
    }

    func silenceTimedOut(_ id: FlowID, _ now: MonotonicTime) {
        guard let flow = transport.flow(id) else { return }
        flow.silenceTimer = nil
        guard let remote = flow.remote, !isExempt(remote.ip), flow.isUsable else { return }
        count(.silentConnections)
        transport.close(flow)
        guard silenceNotices.admits(now) else { return }
        events.append(.notice(.silentConnection(flow.transport, remote, count: counters[.silentConnections])))
    }

    // MARK: Responses that cannot be read

    /// Octets that are no message: if they answer a request of ours, its user should know why no answer will come.
    func noticeUnreadable(_ octets: [UInt8], _ error: SIPError, _ source: MessageSource) {
        guard octets.starts(with: Self.responseStart), let branch = Self.branch(in: octets, configuration.messageLimits.headLength),
            let transaction = transactions.client(ClientKey(branch: branch, isCancel: false)), !transaction.hasUnreadableResponse,
            transaction.flow == source.flow
        else { return }
        tellUnreadable(error, source, transaction)
    }

    /// A stream that cannot be read any further: whatever waits for an answer on it.
    func noticeUnreadable(streamOf flow: Flow, _ error: SIPError, _ source: MessageSource) {
        let waiting = transactions.all { $0.flow == flow.id && $0.machine.isClient && !$0.isInternal }
        guard let first = waiting.first, !waiting.contains(where: \.hasUnreadableResponse) else { return }
        tellUnreadable(error, source, first)
    }

    private func tellUnreadable(_ error: SIPError, _ source: MessageSource, _ transaction: Transaction) {
        transaction.hasUnreadableResponse = true
        count(.unreadableResponses)
        events.append(.notice(.unreadableResponse(error, limit: configuration.messageLimits.name(of: error.code), source)))
    }

    private static let responseStart = Array("SIP/2.0 ".utf8)
    private static let branchStart = Array("branch=".utf8)

    /// The octets of our own branches: letters and digits.
    private static func isOfBranch(_ octet: UInt8) -> Bool { octet &- 0x30 < 10 || (octet | 0x20) &- 0x61 < 26 }

    /// The first branch parameter that stands there, within the limit of a head: what names the transaction, whatever else is wrong.
    private static func branch(in octets: [UInt8], _ limit: Int) -> String? {
        let end = min(octets.count, limit)
        var place = 0
        while place + branchStart.count < end {
            if branchStart.indices.allSatisfy({ octets[place + $0] | 0x20 == branchStart[$0] | 0x20 }) {
                let rest = octets[(place + branchStart.count)..<end].prefix(128, while: isOfBranch)
                return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
            }
            place += 1
        }
        return nil
    }
}

extension Sequence<UInt8> {
    /// As long as the octets fit, at most `count`.
    fileprivate func prefix(_ count: Int, while fits: (UInt8) -> Bool) -> [UInt8] {
        var result: [UInt8] = []
        for octet in self {
            guard result.count < count, fits(octet) else { break }
            result.append(octet)
        }
        return result
    }
}

extension MessageLimits {
    /// The limit that an error is about, with its value; nil: the error is no limit.
    func name(of code: SIPError.Code) -> String? {
        switch code {
        case .limitMessage: "messageLength \(messageLength)"
        case .limitHead: "headLength \(headLength)"
        case .limitFields: "headerFields \(headerFields)"
        case .limitStartLine: "startLineLength \(startLineLength)"
        case .limitMethod: "methodLength \(methodLength)"
        case .limitParameters: "parameters \(ValueLimits.parameters)"
        case .limitAuthentication: "authenticationParameter \(ValueLimits.authenticationParameter)"
        case .limitParts: "bodyParts \(ValueLimits.bodyParts)"
        default: nil
        }
    }
}
