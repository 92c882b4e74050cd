// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Pitfalls in what an app tells of itself.
extension CallServiceMachine {
    mutating func probe(_ event: ProbeEvent, _ app: AppID) {
        guard let index = index(of: app) else { return }
        switch event {
        case .audioStarted: audioStarted(at: index)
        case .audioStopped: audioStopped(at: index)
        case .audioStartFailed(let code):
            if code == SessionCode.cannotStartPlaying || code == SessionCode.cannotStartRecording, audio.owner != app {
                diagnose(.audioStartedWhileSuspended, app, nil, "Audio was started without an activation, and the system refused it.")
            }
        case .mediaStarted(let call): mediaStarted(call, at: index)
        case .mediaStopped(let call): apps[index].probe.media.removeAll { $0 == call }
        case .mediaReleased(let call): mediaReleased(call, at: index)
        case .microphone(let call, let isSending): microphone(call, isSending, at: index)
        case .signalling(let call, let state): leg(call, state, at: index)
        case .ringing(let call, let form): rings(call, form, at: index)
        case .ringingStopped(let call): apps[index].memory.refusedReports.removeAll { $0 == call }
        case .ringTimerFired(let call): ringTimerFired(call, app)
        case .personActed: apps[index].probe.personActedAt = now
        default: tellWords(event, at: index)
        }
    }

    private mutating func tellWords(_ event: ProbeEvent, at index: Int) {
        let app = apps[index].id
        switch event {
        case .changedInCompletion(let call):
            diagnose(.requestSuccessMistaken, app, call, "The call's state was changed in the completion of a request.")
        case .saidMerged(let call):
            guard let place = self.index(ofCall: call), calls.count(where: { $0.group == calls[place].group }) == 1 else { return }
            diagnose(.groupFalseSuccess, app, call, "The app says that the call is merged, and it is alone.")
        case .lookedUp(let text): lookedUp(text, at: index)
        case .identity(let call, let text): recordName(text, call, app)
        case .assumedTap(let call):
            guard apps[index].memory.ends.last(where: { $0.call == call })?.byPerson == false else { return }
            diagnose(.endTapAssumed, app, call, "An End that nobody tapped was taken for the person's.")
        case .pushDropped(let push, let reason): mark(push, app) { $0.dropReason = reason }
        case .pushWasCancel(let push): mark(push, app) { $0.wasCancel = true }
        case .readProtectedData(let isAvailable):
            guard !isAvailable, pushes.delivered.contains(where: { $0.app == app && $0.mustReport && !$0.isReported }) else { return }
            diagnose(.pushProtectedData, app, nil, "The push path read storage that is locked.")
        case .waitsForBegin:
            guard pushes.delivered.contains(where: { $0.app == app && $0.mustReport && !$0.isReported }) else { return }
            diagnose(.pushGatedOnBegin, app, nil, "The report of a pushed call waits for providerDidBegin.")
        case .answerLost(let call): diagnose(.answerHandlersLate, app, call, "An Answer came before the app's layers were there.")
        default: break
        }
    }

    private mutating func mark(_ push: UInt64, _ app: AppID, _ change: (inout PushState.Delivered) -> Void) {
        guard let place = pushes.delivered.firstIndex(where: { $0.number == push && $0.app == app }) else { return }
        change(&pushes.delivered[place])
    }

    // MARK: Audio

    private mutating func audioStarted(at index: Int) {
        let app = apps[index].id
        apps[index].probe.tellsAudio = true
        apps[index].probe.isAudioRunning = true
        guard audio.owner != app, let call = calls.first(where: { $0.owner == app }) else { return }
        apps[index].probe.isActivationLost = true
        diagnose(.audioBeforeActivate, app, call.uuid, "Audio was started before didActivate.")
    }

    private mutating func audioStopped(at index: Int) {
        let app = apps[index].id
        apps[index].probe.tellsAudio = true
        apps[index].probe.isAudioRunning = false
        guard audio.owner == app, let active = calls.first(where: { $0.owner == app && $0.state == .active }) else { return }
        let recently = apps[index].probe.lastEnd.map { now - $0 <= settings.mediaGrace } ?? false
        guard recently || isPerformingEnd(app, otherThan: active.uuid) else { return }
        diagnose(.audioStoppedByOtherEnd, app, active.uuid, "Audio was stopped because another call ended.")
    }

    private func isPerformingEnd(_ app: AppID, otherThan call: UUIDValue?) -> Bool {
        transactions.contains { transaction in
            transaction.app == app
                && transaction.actions.contains { $0.deadline != nil && $0.description.kind == .end && $0.description.call != call }
        }
    }

    private func isPerformingEnd(of call: UUIDValue) -> Bool {
        transactions.contains { $0.actions.contains { $0.deadline != nil && $0.description.kind == .end && $0.description.call == call } }
    }

    // MARK: Media

    private mutating func mediaStarted(_ call: UUIDValue, at index: Int) {
        let app = apps[index].id
        apps[index].probe.tellsMedia = true
        if !apps[index].probe.media.contains(call) { apps[index].probe.media.remember(call, limit: settings.memory) }
        apps[index].probe.everMedia.remember(call, limit: settings.memory)
        guard let place = self.index(ofCall: call), calls[place].owner == app else {
            openedForNothing(call, "Media", at: index)
            return
        }
        if calls[place].state == .ringing {
            diagnose(.answerBypassed, app, call, "Media runs for a call that still rings for the system.")
        }
        tellConference(calls[place], at: index)
    }

    /// Both audible, and the system has one of them on hold (MUL-15).
    private mutating func tellConference(_ call: Call, at index: Int) {
        guard call.state == .held else { return }
        let other = calls.first {
            $0.owner == call.owner && $0.group != call.group && $0.state == .active && apps[index].probe.media.contains($0.uuid)
        }
        guard other != nil else { return }
        diagnose(.groupUnholdMakesConference, apps[index].id, call.uuid, "Media of a held call runs beside that of the active one.")
    }

    private mutating func openedForNothing(_ call: UUIDValue, _ what: String, at index: Int) {
        let app = apps[index].id
        if apps[index].memory.refusedCalls.contains(call) {
            apps[index].memory.refusedCalls.removeAll { $0 == call }
            diagnose(.requestErrorIgnored, app, call, "\(what) was opened for a call whose request was refused.")
        } else if apps[index].memory.refusedReports.contains(call) {
            apps[index].memory.refusedReports.removeAll { $0 == call }
            diagnose(.reportErrorIgnored, app, call, "\(what) was opened for a call whose report was refused.")
        } else if !apps[index].memory.endedCalls.contains(call), what == "Media" {
            diagnose(.outgoingNoStart, app, call, "Media runs for a call that was never started or reported.")
        }
    }

    private mutating func mediaReleased(_ call: UUIDValue, at index: Int) {
        apps[index].probe.media.removeAll { $0 == call }
        guard let place = self.index(ofCall: call), calls[place].owner == apps[index].id, !isPerformingEnd(of: call) else { return }
        diagnose(
            .endMediaReleasedEarly, apps[index].id, call, "The call's media was released, and its end was neither performed nor reported.")
        schedule(.probe(apps[index].id, .orphan(call)), after: settings.orphanGrace)
    }

    private mutating func microphone(_ call: UUIDValue, _ isSending: Bool, at index: Int) {
        let app = apps[index].id
        apps[index].probe.microphones.removeAll { $0.call == call }
        apps[index].probe.microphones.remember((call, isSending), limit: settings.maximumCalls)
        guard let place = self.index(ofCall: call), calls[place].owner == app else { return }
        if !isSending, !calls[place].isMuted, calls[place].isConnectedState || calls[place].state == .answering,
            let other = muteInProgress(app), other != call, !isHoldInProgress(call)
        {
            diagnose(.muteWrongCall, app, call, "Muted was for \(other), and this call's microphone was closed.")
            return
        }
        checkMicrophoneSoon(app, call)
    }

    private mutating func checkMicrophoneSoon(_ app: AppID, _ call: UUIDValue) {
        cancel { $0 == .probe(app, .microphone(call)) }
        schedule(.probe(app, .microphone(call)), after: settings.mediaGrace)
    }

    /// The call whose Muted is being performed, or was so a moment ago.
    private func muteInProgress(_ app: AppID) -> UUIDValue? {
        for transaction in transactions where transaction.app == app {
            for action in transaction.actions where action.deadline != nil && action.description.kind == .setMuted(true) {
                return action.description.call
            }
        }
        guard let index = index(of: app), let last = apps[index].probe.lastMute, now - last.at <= settings.mediaGrace else { return nil }
        return last.call
    }

    private func isHoldInProgress(_ call: UUIDValue) -> Bool {
        transactions.contains { $0.actions.contains { $0.description.call == call && $0.description.kind == .setHeld(true) } }
    }

    mutating func noteMute(_ app: AppID, _ call: UUIDValue) {
        guard let index = index(of: app) else { return }
        if isMuted(call) { apps[index].probe.lastMute = (call, now) }
        checkMicrophoneSoon(app, call)
    }

    // MARK: Signalling

    private mutating func leg(_ call: UUIDValue, _ state: SignallingState, at index: Int) {
        let app = apps[index].id
        apps[index].probe.legs.removeAll { $0.call == call }
        apps[index].probe.legs.remember((call, state), limit: settings.memory)
        let live = self.index(ofCall: call).flatMap { calls[$0].owner == app ? calls[$0] : nil }
        switch state {
        case .inviting, .ringing: if live == nil { openedForNothing(call, "Signalling", at: index) }
        case .connected:
            if live == nil { openedForNothing(call, "Signalling", at: index) }
            if live?.state == .ringing, live?.isOutgoing == false {
                diagnose(.answerBypassed, app, call, "Signalling connected a call that still rings for the system.")
            }
        case .elsewhere:
            apps[index].memory.elsewhereCalls.remember(call, limit: settings.memory)
            if live?.state == .ringing { schedule(.probe(app, .elsewhere(call)), after: settings.elsewhereDeadline) }
        case .hungUp, .declined, .ended: legEnded(call, state, live, at: index)
        }
    }

    private mutating func legEnded(_ call: UUIDValue, _ state: SignallingState, _ live: Call?, at index: Int) {
        let app = apps[index].id
        apps[index].memory.refusedReports.removeAll { $0 == call }
        if state != .ended, apps[index].memory.elsewhereCalls.contains(call) {
            diagnose(.endElsewhereHangsUp, app, call, "A call that was taken elsewhere was hung up from here.")
            return
        }
        if state == .hungUp, apps[index].memory.ends.last(where: { $0.call == call })?.wasRinging == true {
            diagnose(.endDeclineAsHangup, app, call, "A call that rang was hung up instead of declined.")
        }
        guard let live, !isPerformingEnd(of: call) else { return }
        let recently = apps[index].probe.lastEnd.map { now - $0 <= settings.mediaGrace } ?? false
        if state != .ended, recently || isPerformingEnd(app, otherThan: live.uuid) {
            diagnose(.endWrongCall, app, call, "Another call was to end, and this one was hung up.")
        } else {
            schedule(.probe(app, .orphan(call)), after: settings.orphanGrace)
        }
    }

    private mutating func rings(_ call: UUIDValue, _ form: RingingForm, at index: Int) {
        let app = apps[index].id
        if apps[index].memory.refusedReports.contains(call) {
            apps[index].memory.refusedReports.removeAll { $0 == call }
            diagnose(.reportErrorIgnored, app, call, "The app rings for a call whose report was refused.")
        } else if let place = self.index(ofCall: call), calls[place].owner == app, !calls[place].isOutgoing {
            let what = form == .screen ? "shows a ringing screen of its own" : "plays a ringtone of its own"
            diagnose(.reportDoubleUI, app, call, "The app \(what) while the system rings.")
        }
    }

    private mutating func ringTimerFired(_ call: UUIDValue, _ app: AppID) {
        let live = index(ofCall: call).map { calls[$0] }
        if let live, live.owner == app, !live.hasConnected, live.state != .answering { return }
        diagnose(.endTimerKillsEnded, app, call, "A ring timer acted on a call that was answered or had ended.")
    }

    private mutating func lookedUp(_ text: String, at index: Int) {
        let text = String(text.prefix(64))
        if apps[index].probe.texts.contains(where: { $0 != text && $0.lowercased() == text.lowercased() }) {
            diagnose(.uuidCase, apps[index].id, UUIDValue(text), "One UUID was looked up in two spellings.")
            apps[index].probe.texts.removeAll { $0.lowercased() == text.lowercased() }
        }
        if !apps[index].probe.texts.contains(text) { apps[index].probe.texts.remember(text, limit: settings.memory) }
    }
}
