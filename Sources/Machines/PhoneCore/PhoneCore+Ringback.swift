// SPDX-License-Identifier: Apache-2.0
//
// What the caller hears before the answer (RFC 3960 §3.2, RFC 5009), and which of several early dialogs is heard:
//
//   180 ─► local ── a packet arrives ─► early ── nothing for a while ─► local
//   183 ─► off   ── a packet arrives ─► early         180 later ─► local, unless packets arrive
//   2xx, end ─► off

import Essentials
import Media
import SDP
import SIP
import SIPAgent

/// What a call knows of the sound before its answer.
struct EarlySound {
    /// 180 came, from whichever early dialog.
    var isAlerted = false
    /// Packets arrive.
    var isHeard = false
    /// P-Early-Media says that what arrives is not meant to be heard.
    var isForbidden = false
    /// What the application was told last.
    var told = Ringback.off
}

extension PhoneCore {
    /// Takes what a provisional answer says about ringing.
    func noteProgress(_ call: Call, _ message: SIPMessage) {
        if message.statusCode == 180 { call.early.isAlerted = true }
        if let permission = message.earlyMedia { call.early.isForbidden = !permission.comesToCaller }
        reviewRingback(call)
    }

    /// Tells the application if what the caller should hear has changed.
    func reviewRingback(_ call: Call) {
        var wanted = Ringback.off
        if case .inviting = call.phase {
            if call.early.isHeard, !call.early.isForbidden {
                wanted = .early
            } else if call.early.isAlerted {
                wanted = .local
            }
        }
        guard wanted != call.early.told else { return }
        call.early.told = wanted
        emit(.notice(call.id, .ringback(wanted)))
    }

    /// Packets arrive, or no longer, before the answer.
    func earlySoundChanged(_ call: Call, isHeard: Bool) {
        guard case .inviting = call.phase else { return }
        call.early.isHeard = isHeard
        reviewRingback(call)
    }

    /// Sound before the answer comes from `address`: of several early dialogs the one that named it is the one in use.
    func earlySource(_ call: Call, _ address: SocketAddress) {
        guard case .inviting = call.phase else { return }
        let answers = call.earlyAnswers
        if answers.count > 1,
            let heard = answers.last(where: { $0.audio.remote == address }) ?? answers.last(where: { $0.audio.remote?.ip == address.ip }),
            heard.tag != call.mediaTag
        {
            call.mediaTag = heard.tag
            call.audio = heard.audio
            configureStream(call)
        }
        earlySoundChanged(call, isHeard: true)
    }
}
