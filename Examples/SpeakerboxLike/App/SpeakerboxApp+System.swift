// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
@preconcurrency import CallKit
import CallProbe
import Foundation

// What the system asks for: done, and fulfilled or failed.

extension SpeakerboxApp: CXProviderDelegate {
    public func providerDidBegin(_ provider: CXProvider) { begun() }

    public func providerDidReset(_ provider: CXProvider) {
        for uuid in liveCalls { signalling.hangUp(uuid) }
        calls = [:]
        hasAudio = false
        stopAudio()
        log("reset")
    }

    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
        configureAudio()
        calls[action.callUUID] = SpeakerCall(uuid: action.callUUID, address: action.handle.value, isOutgoing: true, isInvited: true)
        signalling.invite(action.callUUID, to: action.handle.value)
        log("start")
        action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
        guard let call = calls[action.callUUID] else { return action.fail() }
        configureAudio()
        call.answer = action
        log("answer")
        if call.isInvited { return signalling.answer(call.uuid) }
        // The push was faster than the invitation: the screen says that it connects.
        let uuid = call.uuid
        after(limits.invitation) { app in
            guard let call = app.calls[uuid], !call.isInvited, let answer = call.answer else { return }
            app.calls[uuid] = nil
            answer.fail()
        }
    }

    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
        log("end")
        if let call = calls[action.callUUID] {
            if call.isOutgoing || call.isConnected || call.answer != nil {
                signalling.hangUp(call.uuid)
            } else if call.isInvited {
                signalling.decline(call.uuid)
            }
            if !call.isInvited {
                // Declined when the invitation comes.
                call.isDeclined = true
                let uuid = call.uuid
                after(limits.invitation) { app in app.calls[uuid] = nil }
            } else {
                calls[action.callUUID] = nil
            }
        }
        // Not before the goodbye is on its way, and without waiting for its answer.
        action.fulfill()
        CallProbe.mediaStopped(action.callUUID)
    }

    public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
        guard let call = calls[action.callUUID] else { return action.fail() }
        call.isHeld = action.isOnHold
        signalling.setHeld(call.uuid, action.isOnHold)
        log(action.isOnHold ? "hold" : "resume")
        action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
        // Also for a call that is over: a late one harms nobody.
        if let call = calls[action.callUUID] {
            call.isMuted = action.isMuted
            signalling.setMuted(call.uuid, action.isMuted)
            CallProbe.microphone(call.uuid, isSending: !action.isMuted)
            log(action.isMuted ? "mute" : "unmute")
        }
        action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {
        guard calls[action.callUUID] != nil else { return action.fail() }
        signalling.send(action.digits, in: action.callUUID)
        log("digits \(action.digits)")
        action.fulfill()
    }

    public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) { log("timed out") }

    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {
        hasAudio = true
        startAudio()
    }

    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {
        hasAudio = false
        stopAudio()
    }

    /// An alarm or a mobile call takes the sound for a while. No call ends of it, and the sound comes back only where it is still ours.
    func interrupted(_ type: AVAudioSession.InterruptionType) {
        guard hasAudio else { return }
        switch type {
        case .began: stopAudio()
        case .ended: startAudio()
        @unknown default: break
        }
    }

    private func startAudio() {
        log("audio on")
        signalling.startAudio()
        CallProbe.audioStarted()
    }

    private func stopAudio() {
        log("audio off")
        signalling.stopAudio()
        CallProbe.audioStopped()
    }

    /// Category and mode only: the system activates the session.
    private func configureAudio() {
        do {
            try AVAudioSession.sharedInstance().setCategory(.playAndRecord, mode: .voiceChat, options: [.allowBluetooth])
        } catch {
            log("category refused")
        }
    }
}
