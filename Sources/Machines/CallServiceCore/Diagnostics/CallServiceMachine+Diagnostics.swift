// SPDX-License-Identifier: Apache-2.0

import Essentials

extension CallServiceMachine {
    /// Fatal ones after which Apple's system goes on, only without the app's calls.
    private static let survivable: [Pitfall] = [.pushDeliveryStopped, .regionForbidden, .pushReportedLate, .directoryUnknownCode]

    mutating func diagnose(_ pitfall: Pitfall, _ app: AppID?, _ call: UUIDValue?, _ seen: String, bundle: String? = nil) {
        guard settings.mode != .silent, app != .cellular else { return }
        let known = app.flatMap { index(of: $0) }
        let diagnostic = Diagnostic(
            pitfall, bundle: bundle ?? known.map { apps[$0].bundle } ?? "", call: call, at: wall, seen: seen)
        effects.append(.diagnostic(diagnostic))
        guard let app, known != nil else { return }
        send(.diagnostic(diagnostic), to: app)
        if settings.mode == .strict, pitfall.severity == .fatal, !Self.survivable.contains(pitfall) {
            send(.terminate(diagnostic), to: app)
            effects.append(.terminate(app, diagnostic))
        }
    }

    /// What the probe says of a call that ended just now.
    mutating func callEndedForProbe(_ call: Call, by origin: Origin, at index: Int) {
        let probe = apps[index].probe
        apps[index].probe.lastEnd = now
        apps[index].probe.microphones.removeAll { $0.call == call.uuid }
        let leg = probe.leg(call.uuid)
        if call.isOutgoing, !call.hasConnected, probe.hadMedia(call.uuid), leg == nil || leg == .connected {
            diagnose(.outgoingNeverConnected, call.owner, call.uuid, "Media ran, and connected was never reported.")
        }
    }

    mutating func checkProbe(_ check: ProbeCheck, _ app: AppID) {
        guard let index = index(of: app) else { return }
        let probe = apps[index].probe
        switch check {
        case .reset:
            let hasMedia = !probe.media.isEmpty
            guard probe.isAudioRunning || hasMedia else { return }
            diagnose(.providerResetIgnored, app, nil, "\(hasMedia ? "Media runs" : "Audio runs") on after the reset.")
        case .audioStopped:
            guard audio.owner != app, probe.isAudioRunning else { return }
            diagnose(.audioNotStopped, app, nil, "Audio runs on after didDeactivate.")
        case .audioAfterResume(let call):
            guard hasSession(call, app), probe.tellsAudio, !probe.isAudioRunning else { return }
            diagnose(.audioLostAfterUnhold, app, call, "The call was resumed, the session is the app's, and audio does not run.")
        case .newCallHasAudio(let call):
            let isSilent = probe.tellsAudio && !probe.isAudioRunning || probe.tellsMedia && !probe.media.contains(call)
            guard hasSession(call, app), isSilent else { return }
            diagnose(.audioAfterSwap, app, call, "The call that was accepted has no running audio.")
        case .microphone(let call): checkMicrophone(call, app, probe)
        case .orphan(let call):
            guard let place = self.index(ofCall: call), calls[place].owner == app, !isEnding(call) else { return }
            diagnose(.endOrphan, app, call, "The call's leg is gone, and the call is still live.")
        case .elsewhere(let call):
            guard let place = self.index(ofCall: call), calls[place].owner == app, calls[place].state == .ringing else { return }
            diagnose(.endElsewhereMissed, app, call, "The call was taken elsewhere, and rings on here.")
        case .refusedReport(let call):
            guard apps[index].memory.refusedReports.contains(call), let leg = probe.leg(call), leg.rawValue <= 2 else { return }
            apps[index].memory.refusedReports.removeAll { $0 == call }
            diagnose(.reportErrorIgnored, app, call, "The report was refused, and the call's leg is kept.")
        }
    }

    private func hasSession(_ call: UUIDValue, _ app: AppID) -> Bool {
        audio.owner == app && calls.contains { $0.uuid == call && $0.owner == app && $0.state == .active }
    }

    private func isEnding(_ call: UUIDValue) -> Bool {
        transactions.contains { $0.actions.contains { $0.description.call == call && $0.description.kind == .end } }
    }

    private mutating func checkMicrophone(_ call: UUIDValue, _ app: AppID, _ probe: ProbeState) {
        guard hasSession(call, app), let place = index(ofCall: call), let known = probe.microphones.last(where: { $0.call == call }),
            known.isSending == calls[place].isMuted
        else { return }
        let isChanging = transactions.contains { transaction in
            transaction.actions.contains { action in
                guard action.description.call == call, case .setMuted = action.description.kind else { return false }
                return true
            }
        }
        guard !isChanging else { return }
        let state = known.isSending ? "sends while the call is muted" : "is closed while the call is not muted"
        diagnose(.muteNotReported, app, call, "The microphone \(state).")
    }
}
