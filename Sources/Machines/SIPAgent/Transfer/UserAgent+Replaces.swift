// SPDX-License-Identifier: Apache-2.0
//
// INVITE with Replaces (RFC 3891 §3): the new call takes the place of one of ours, which ends when the new one is
// answered. Who names both tags of a call takes part in it, or was told of it by one who does.
//
//   the named call is          answered by
//   not there                  481           established, and only an early one is meant   486
//   over                       603           early, and the other side called               481
//   refused by the settings    603           early, and ours                                200; CANCEL for the old one
//   named twice, or with Join  400           established                                    200; BYE for the old one

import Essentials
import SIP

extension UserAgent {
    /// The option tag (RFC 3891 §6.2).
    static let replacesTag = "replaces"

    enum Replacement {
        case none
        case session(InviteSession)
        case refused(Int)
    }

    /// Which session an INVITE is to replace.
    func replacement(for request: SIPMessage) -> Replacement {
        guard request.contains(.replaces) else { return .none }
        guard request.values(.replaces).count == 1, !request.contains(.join), let field = request.replaces else { return .refused(400) }
        let id = DialogID(callID: field.callID, localTag: field.toTag, remoteTag: field.fromTag == "0" ? "" : field.fromTag)
        let named = dialogs[id] ?? dialogs[DialogID(callID: field.callID, localTag: field.toTag, remoteTag: field.fromTag)]
        guard let session = named.flatMap({ sessions[$0] }) else {
            return .refused(referrals.dialogs[id] == nil ? 481 : 603)
        }
        switch session.phase {
        case .over: return .refused(603)
        case .ringing: return .refused(481)
        case .calling: break
        case .answering, .awaitingACK, .established:
            if field.isEarlyOnly { return .refused(486) }
            guard session.dialog?.id.callID == id.callID, session.dialog?.id.localTag == id.localTag else { return .refused(481) }
        }
        let policy = session.account.flatMap { accounts[$0]?.configuration.replacements } ?? configuration.replacements
        return policy == .accept ? .session(session) : .refused(603)
    }

    /// The INVITE that replaces a call was answered: the old one is over.
    func endReplaced(by session: InviteSession, now: MonotonicTime) {
        guard let id = session.replaces, let old = sessions[id], old.phase != .over else { return }
        counters.increment(.callsReplaced)
        hangUp(old, cause: Causes.replaced, refusal: 603, now: now)
    }
}
