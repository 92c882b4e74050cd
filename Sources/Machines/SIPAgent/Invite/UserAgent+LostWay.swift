// SPDX-License-Identifier: Apache-2.0
//
// A peer whose Contact (or Record-Route) leads nowhere: its 2xx cannot be acknowledged where it asks. The ACK and the BYE go to
// where the 2xx came from, so that the peer does not wait, and the user is told which address was in the way.

import Essentials
import SIP

extension UserAgent {
    /// The way of an ACK was not found.
    func ackHasNoWay(
        _ transaction: TransactionID, _ tag: String, _ source: MessageSource?, _ failure: RequestFailure, now: MonotonicTime
    ) {
        guard let accepted = acceptedInvites[transaction],
            let index = accepted.legs.firstIndex(where: { $0.remoteTag == tag }), let ack = accepted.legs[index].ack
        else { return }
        counters.increment(.ackWithoutWay)
        if let source {
            let target = SignallingTarget(source)
            accepted.legs[index].target = target
            accepted.legs[index].sentACK = stack.sendACK(ack, to: target, now: now)
            accepted.legs[index].ack = nil
        }
        guard let session = session(of: accepted.request.purpose), let dialog = session.dialog, dialog.id.remoteTag == tag else { return }
        loseDialog(session, Causes.ackUnroutable("\(dialog.nextHop)", isRoute: !dialog.routeSet.isEmpty, failure), now: now)
    }

    /// A BYE has its answer, or none. Within a dialog the next hop stays (RFC 3263 §4.3); where a proxy of the route set is dead
    /// that would lose the BYE, and the other side would wait: it goes once more, straight to the remote target, after the
    /// patience for a silent server (`LocationConfiguration.patience`). Whoever hung up is told if that is in vain too.
    func handleByeOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ session: InviteSession, now: MonotonicTime) {
        guard case .failure(let failure) = outcome else { return }
        if request.mayDetour, !isNetworkLost, var dialog = session.dialog {
            counters.increment(.byeDetours)
            let (message, uri) = dialog.makeDirectRequest(.bye)
            session.dialog = dialog
            let detour = ClientRequest(
                .bye(session.id), account: session.account, method: .bye, message: message, sequence: dialog.localSequence,
                nextHop: dialog.remoteTarget, contact: .none, requestURI: uri)
            for (name, value) in session.endHeaders { detour.message.add(name, value) }
            return start(detour, now: now)
        }
        counters.increment(.byeUnanswered)
        guard session.tellsLostBye, life == .running else { return }
        emit(.warning(Causes.byeUnanswered("\(session.dialog?.remoteTarget ?? request.nextHop)", failure)))
    }

    /// The last resort of a BYE whose way is not found: back to where the dialog's messages came from; false: there is none.
    func sendBack(_ request: ClientRequest, now: MonotonicTime) -> Bool {
        guard request.method == .bye, let source = request.source, request.targets.isEmpty else { return false }
        request.targets = [SignallingTarget(source)]
        return tryNextTarget(request, now: now)
    }
}
