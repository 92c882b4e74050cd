// SPDX-License-Identifier: Apache-2.0

import Essentials

struct AudioState: Sendable {
    /// The app whose session is active; the mobile network counts as one.
    var owner: AppID?
    var provider: ProviderID = 0
    /// The owner was told. Not so where activation is lost, as in the field (AUD-3, HLD-5).
    var isAnnounced = false
    var isSpeaker = false
    var hasHeadset = false
    var route = AudioRoute()
}

/// Codes of `AVAudioSession.ErrorCode`.
enum SessionCode {
    /// `!pri`
    static let insufficientPriority = 561_017_449
    /// `!pla`
    static let cannotStartPlaying = 561_015_905
    /// `!rec`
    static let cannotStartRecording = 561_145_187
}

/// The right to use audio, given and taken (callkit §2.11).
extension CallServiceMachine {
    /// Gives the session to whoever has the call that is up; never to two.
    mutating func updateAudio() {
        let call = callWithAudio()
        if call == nil, let owner = audio.owner, staysWith(owner) { return }
        guard call?.owner != audio.owner else {
            if let call { audio.provider = call.provider }
            return
        }
        deactivate()
        if let call { activate(for: call) }
    }

    private func callWithAudio() -> Call? {
        let candidates = calls.filter { call in
            // A call of an earlier run is nobody's to talk in; the app ends it (END-7).
            if let index = index(of: call.owner), apps[index].memory.leftovers.contains(call.uuid) { return false }
            switch call.state {
            case .connecting, .active: return true
            case .answering: return settings.activatesBeforeFulfil
            case .ringing, .dialing, .held: return false
            }
        }
        guard let first = candidates.first else { return nil }
        // While one call gives way to another, the one that stays counts.
        let shadow = shadow()
        return candidates.first { call in shadow.contains { $0.uuid == call.uuid && $0.isForeground } } ?? first
    }

    /// Between two calls of one app the session is not taken away (AUD-6).
    private func staysWith(_ owner: AppID) -> Bool {
        shadow().contains { $0.owner == owner && $0.isForeground }
    }

    private mutating func deactivate() {
        guard let owner = audio.owner else { return }
        audio.owner = nil
        audio.isSpeaker = false
        if audio.isAnnounced { send(.didDeactivate(audio.provider), to: owner) }
        schedule(.probe(owner, .audioStopped), after: settings.mediaGrace)
    }

    private mutating func activate(for call: Call) {
        audio.owner = call.owner
        audio.provider = call.provider
        audio.isAnnounced = true
        audio.route = route(for: call.owner)
        guard let index = index(of: call.owner) else { return }
        if apps[index].probe.isActivationLost, settings.mode == .strict { audio.isAnnounced = false }
        if call.isHeldAfterRemoteEnd, settings.omitsActivateAfterRemoteEnd { audio.isAnnounced = false }
        apps[index].probe.isActivationLost = false
        apps[index].memory.priorityRefusals = 0
        if let place = self.index(ofCall: call.uuid) { calls[place].isHeldAfterRemoteEnd = false }
        let session = apps[index].session
        if session.category != "playAndRecord" {
            diagnose(.audioNoCategory, call.owner, call.uuid, "The category is \(session.category) at the activation.")
        }
        if session.options & SessionCategory.defaultToSpeaker != 0 {
            diagnose(.audioDefaultToSpeaker, call.owner, call.uuid, "The option defaultToSpeaker is set in a call.")
        }
        if audio.isAnnounced { send(.didActivate(call.provider), to: call.owner) }
    }

    // MARK: What apps ask of the session

    mutating func setActive(_ request: RequestID, _ isActive: Bool, _ app: AppID) {
        guard let index = index(of: app) else { return }
        let call = calls.first { $0.owner == app }
        if isActive, let owner = audio.owner, owner != app {
            apps[index].memory.priorityRefusals += 1
            if apps[index].memory.priorityRefusals == 2 {
                diagnose(.audioPriorityRefused, app, call?.uuid, "setActive was refused, and the app tried again.")
            }
            send(.sessionAnswer(request, code: SessionCode.insufficientPriority), to: app)
            return
        }
        if isActive, let call {
            diagnose(.audioSelfActivated, app, call.uuid, "The app activated the session by itself.")
            if audio.owner != app { apps[index].probe.isActivationLost = true }
        }
        if !isActive, audio.owner == app, let active = calls.first(where: { $0.owner == app && $0.state == .active }) {
            diagnose(.audioStoppedByOtherEnd, app, active.uuid, "The app deactivated the session while this call is active.")
        }
        send(.sessionAnswer(request, code: nil), to: app)
    }

    mutating func setCategory(_ category: SessionCategory, _ app: AppID) {
        guard let index = index(of: app), apps[index].session != category else { return }
        apps[index].session = category
        guard audio.owner == app else { return }
        let call = calls.first { $0.owner == app && $0.isForeground }?.uuid
        diagnose(.audioCategoryDuringCall, app, call, "The category was changed to \(category.category), \(category.mode) during a call.")
        if category.options & SessionCategory.defaultToSpeaker != 0 {
            diagnose(.audioDefaultToSpeaker, app, call, "The option defaultToSpeaker was set in a call.")
        }
        follow(reason: 3)
    }

    mutating func overrideOutput(_ request: RequestID, _ speaker: Bool, _ app: AppID) {
        send(.sessionAnswer(request, code: nil), to: app)
        guard audio.owner == app, let index = index(of: app) else { return }
        if !apps[index].probe.personActed(within: settings.personActedWindow, at: now) {
            diagnose(
                .audioRouteForced, app, calls.first { $0.owner == app && $0.isForeground }?.uuid,
                "The output was overridden during the call without an action of the person.")
        }
        audio.isSpeaker = speaker
        follow(reason: 4)
    }

    // MARK: What happens to the route

    mutating func pressSpeaker(_ isOn: Bool) {
        audio.isSpeaker = isOn
        follow(reason: 4)
    }

    mutating func plugHeadset(_ isPresent: Bool) {
        guard audio.hasHeadset != isPresent else { return }
        audio.hasHeadset = isPresent
        // The next change of the route undoes an override (AUD-8).
        audio.isSpeaker = false
        follow(reason: isPresent ? 1 : 2)
    }

    private mutating func follow(reason: UInt) {
        guard let owner = audio.owner else { return }
        let new = route(for: owner)
        guard new != audio.route else { return }
        audio.route = new
        send(.routeChanged(reason: reason, new), to: owner)
    }

    /// AUD-9: a headset if there is one, the loudspeaker for video or where it was chosen, else the receiver.
    private func route(for app: AppID) -> AudioRoute {
        let isVideo = index(of: app).map { apps[$0].session.mode == "videoChat" } ?? false
        let speaker = AudioRoute(input: audio.hasHeadset ? "headsetMic" : "builtInMic", output: "builtInSpeaker")
        if audio.isSpeaker { return speaker }
        if audio.hasHeadset { return AudioRoute(input: "headsetMic", output: "headphones") }
        return isVideo ? speaker : AudioRoute()
    }

    mutating func interrupt(_ began: Bool, _ shouldResume: Bool) {
        guard let owner = audio.owner else { return }
        send(began ? .interruptionBegan(reason: 0) : .interruptionEnded(shouldResume: shouldResume), to: owner)
    }

    mutating func resetMediaServices() {
        for app in apps where app.descriptor != nil {
            send(.mediaServicesLost, to: app.id)
            send(.mediaServicesReset, to: app.id)
        }
    }

    // MARK: The screen

    mutating func updateScreen() {
        var state = ScreenState()
        let shown = shownRinging
        let shadow = shadow()
        for call in calls {
            if call.state == .ringing, call.uuid != shown?.uuid, shadow.contains(where: { $0.uuid == call.uuid && $0.state == .ringing }) {
                continue
            }
            state.calls.append(screenCall(call, shadow))
        }
        state.isSpeaker = audio.isSpeaker
        state.route = audio.route
        if let shown, !shown.isSilent, !isDoNotDisturb {
            state.ringing = Ringing(call: shown.uuid, path: configuration(of: shown)?.ringtonePath)
        }
        tellRingtone(state.ringing)
        guard state != screen else { return }
        screen = state
        effects.append(.screen(state))
    }

    private mutating func tellRingtone(_ ringing: Ringing?) {
        guard let ringing, screen.ringing?.call != ringing.call, let call = calls.first(where: { $0.uuid == ringing.call }),
            let configuration = configuration(of: call), let sound = configuration.ringtoneSound, configuration.ringtonePath == nil
        else { return }
        diagnose(.configRingtoneMissing, call.owner, call.uuid, "The sound \(sound) is not among the app's resources.")
    }

    private func screenCall(_ call: Call, _ shadow: [Call]) -> ScreenCall {
        let isAccepted = call.state == .ringing && shadow.contains { $0.uuid == call.uuid && $0.state == .answering }
        let state: ScreenCall.State =
            switch call.state {
            case .ringing: isAccepted ? .answering : .ringing
            case .answering: .answering
            case .dialing: .dialing
            case .connecting: .connecting
            case .active: .active
            case .held: .held
            }
        return ScreenCall(
            uuid: call.uuid, bundle: call.bundle, appName: index(of: call.owner).flatMap { apps[$0].descriptor?.displayName } ?? "",
            name: name(of: call) ?? "", isOutgoing: call.isOutgoing, state: state, isMuted: call.isMuted, isVideo: call.hasVideo,
            group: call.group, connectedAt: call.connectedAt, offers: offers(call))
    }
}
