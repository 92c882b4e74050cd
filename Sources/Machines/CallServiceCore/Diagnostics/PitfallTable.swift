// SPDX-License-Identifier: Apache-2.0

/// What stands about each pitfall, in the order of their numbers.
enum PitfallTable {
    struct Row: Sendable {
        var pitfall: Pitfall
        var code: String
        var rules: String
        var severity: Pitfall.Severity
        var witness: Pitfall.Witness
        var advice: String

        init(
            _ pitfall: Pitfall, _ code: String, _ rules: String, _ severity: Pitfall.Severity, _ witness: Pitfall.Witness, _ advice: String
        ) {
            self.pitfall = pitfall
            self.code = code
            self.rules = rules
            self.severity = severity
            self.witness = witness
            self.advice = advice
        }
    }

    static let rows: [Row] = [
        .init(
            .actionUnanswered, "action.unanswered", "ACT-1, ACT-2", .error, .service,
            "Fulfil or fail each action before its timeoutDate, on every path of perform."),
        .init(
            .actionAbandoned, "action.abandoned", "ACT-1", .error, .service,
            "Complete the action also where perform returns early, for instance where the call is not found."),
        .init(
            .actionCompletedAfterTimeout, "action.completedAfterTimeout", "ACT-3", .warning, .service,
            "After timedOutPerforming the action is over: do not fulfil or fail it."),
        .init(
            .actionCompletedTwice, "action.completedTwice", "ACT-4", .warning, .service,
            "Complete each action once; let one place own its completion."),
        .init(
            .actionUuidConfused, "action.uuidConfused", "ACT-8", .error, .service,
            "Use the action's callUUID; its uuid names the action."),
        .init(
            .actionNotImplemented, "action.notImplemented", "ACT-9", .error, .service,
            "Write the perform method for this kind of action, in the class that declares the conformance."),
        .init(
            .actionMuteFailedByState, "action.muteFailedByState", "MUT-1, MUT-3", .warning, .service,
            "Fulfil Muted in every state and keep the wish until media runs."),
        .init(
            .actionHoldAlwaysFails, "action.holdAlwaysFails", "HLD-1, UPD-2", .error, .service,
            "Set supportsHolding to false, or hold."),
        .init(
            .actionHoldSlow, "action.holdSlow", "HLD-1, MUL-6", .error, .service,
            "Fulfil Held as soon as local media is stopped; do not wait for the other side."),
        .init(
            .actionDtmfBlocked, "action.dtmfBlocked", "DTMF-2", .error, .service,
            "Fulfil each digit once it is queued; the next one waits for it."),
        .init(
            .actionFulfilledBeforeReady, "action.fulfilledBeforeReady", "INC-1", .warning, .probe,
            "Fulfil Answer when media can flow, not before signalling is ready."),
        .init(
            .requestUnknownCall, "request.unknownCall", "TXN table", .error, .service,
            "Ask for actions on a call only by the UUID under which it was reported or started."),
        .init(
            .requestAfterEnd, "request.afterEnd", "END-2", .warning, .service,
            "Ask for nothing on a call that ended; a remote end needs no End action."),
        .init(
            .requestErrorIgnored, "request.errorIgnored", "TXN-1", .error, .probe,
            "Open media and signalling only after the action was delivered; a refused request means no call."),
        .init(
            .requestSuccessMistaken, "request.successMistaken", "TXN-1", .warning, .probe,
            "A completion without error means accepted, not performed: change state in perform."),
        .init(
            .requestBeforeBegin, "request.beforeBegin", "PRV-4", .error, .service,
            "Keep a Start until providerDidBegin, with a short time limit."),
        .init(
            .requestBackground, "request.background", "OUT-7", .error, .service,
            "Start a call from the foreground, or hand over to the app."),
        .init(
            .uuidReused, "uuid.reused", "INC-4", .error, .service,
            "Give each call a UUID of its own and never use it again."),
        .init(
            .uuidNotUUID, "uuid.notUUID", "PUSH-11, SRV-4", .error, .service,
            "Send a UUID as the call's id, or derive one from it the same way each time."),
        .init(
            .uuidCase, "uuid.case", "OBS-3", .error, .probe,
            "Compare UUIDs as UUIDs, or their text without regard to case."),
        .init(
            .providerMultiple, "provider.multiple", "PRV-1", .error, .service,
            "Make one CXProvider at launch and keep it."),
        .init(
            .providerRecreated, "provider.recreated", "PRV-1", .error, .service,
            "Do not replace the provider while calls are live."),
        .init(
            .providerDelegateLate, "provider.delegateLate", "PRV-3", .error, .service,
            "Set the delegate right after the initialiser, on the same thread."),
        .init(
            .providerNoDelegate, "provider.noDelegate", "PRV-2", .error, .service,
            "Hold the delegate strongly: the provider does not."),
        .init(
            .providerResetIgnored, "provider.resetIgnored", "PRV-6", .error, .probe,
            "In providerDidReset end every call, stop audio and clear the list."),
        .init(
            .providerDeadAfterReset, "provider.deadAfterReset", "PRV-6", .error, .service,
            "Where requests fail with unknownCallProvider after a reset, make the provider anew."),
        .init(
            .providerNotInvalidated, "provider.notInvalidated", "PRV-5", .warning, .service,
            "Call invalidate before you let the provider go."),
        .init(
            .configNoVoipMode, "config.noVoipMode", "TXN table", .error, .service,
            "Add voip to UIBackgroundModes."),
        .init(
            .configZeroGroups, "config.zeroGroups", "CFG-1", .error, .service,
            "Set maximumCallGroups to 1 or more."),
        .init(
            .configHoldButOneGroup, "config.holdButOneGroup", "CFG-3, MUL-2", .warning, .service,
            "Allow two groups, or say that holding is not supported."),
        .init(
            .configHandleTypes, "config.handleTypes", "CFG-7", .error, .service,
            "Name the call's kind of address in supportedHandleTypes."),
        .init(
            .configHandleMismatch, "config.handleMismatch", "CFG-7", .warning, .service,
            "Give a phone number as .phoneNumber and everything else as what it is."),
        .init(
            .configOpaqueIcon, "config.opaqueIcon", "CFG-5", .warning, .service,
            "Use a square PNG with an alpha channel that has transparent pixels."),
        .init(
            .configRingtoneStale, "config.ringtoneStale", "PRV-7", .warning, .service,
            "Assign the configuration again after changing it."),
        .init(
            .outgoingNeverConnected, "outgoing.neverConnected", "OUT-2", .error, .probe,
            "Report connectedAt when the other side answered."),
        .init(
            .outgoingConnectedEarly, "outgoing.connectedEarly", "OUT-3", .error, .probe,
            "Report connectedAt at the answer, not while it rings."),
        .init(
            .outgoingSlowFulfil, "outgoing.slowFulfil", "OUT-1", .error, .service,
            "Fulfil Start as soon as the invitation is on its way."),
        .init(
            .outgoingNoStart, "outgoing.noStart", "END-5", .error, .service,
            "Ask for a Start before media or reports of an outgoing call."),
        .init(
            .outgoingUpdateMissing, "outgoing.updateMissing", "OUT-6, UPD-1", .warning, .service,
            "Report an update of each outgoing call: its name and what it supports."),
        .init(
            .outgoingSecondWithoutHold, "outgoing.secondWithoutHold", "OUT-8", .error, .service,
            "Hold the active call in the same transaction, before the second Start."),
        .init(
            .endOrphan, "end.orphan", "END-6, END-7", .error, .probe,
            "Tell the service of every end; at launch, end the calls you do not know."),
        .init(
            .endMediaReleasedEarly, "end.mediaReleasedEarly", "END-1", .error, .probe,
            "Release media in or after perform End or the reported end."),
        .init(
            .endElsewhereMissed, "end.elsewhereMissed", "INC 5d", .error, .probe,
            "Report answeredElsewhere or declinedElsewhere when the network says so."),
        .init(
            .endElsewhereHangsUp, "end.elsewhereHangsUp", "END-3", .error, .probe,
            "A call taken elsewhere is only forgotten here: send no hang-up for it."),
        .init(
            .endTimerKillsEnded, "end.timerKillsEnded", "INC-3", .error, .probe,
            "Cancel the ring timer when the call is answered or ends."),
        .init(
            .endRingForever, "end.ringForever", "INC-3", .error, .service,
            "End a call that nobody takes after your own time limit, as unanswered."),
        .init(
            .endWrongCall, "end.wrongCall", "MUL-18", .error, .probe,
            "End the call that the report or action names, not the current one."),
        .init(
            .endDeclineAsHangup, "end.declineAsHangup", "INC 5b", .warning, .probe,
            "Decline a call that still rings by a refusal, not by a hang-up."),
        .init(
            .endTapAssumed, "end.tapAssumed", "END-3", .warning, .probe,
            "End comes for many reasons: do not take it for the person's tap."),
        .init(
            .audioBeforeActivate, "audio.beforeActivate", "AUD-2, AUD-3", .error, .probe,
            "Start audio in didActivate."),
        .init(
            .audioSelfActivated, "audio.selfActivated", "AUD-1, AUD-3", .error, .service,
            "Never call setActive for a call; the system activates the session."),
        .init(
            .audioPriorityRefused, "audio.priorityRefused", "AUD-4", .error, .service,
            "Another call owns audio: wait for didActivate, do not try again."),
        .init(
            .audioNoCategory, "audio.noCategory", "AUD-1", .error, .service,
            "Set the category playAndRecord in perform Start or Answer."),
        .init(
            .audioStoppedByOtherEnd, "audio.stoppedByOtherEnd", "AUD-5", .error, .probe,
            "Stop audio in didDeactivate, not at the end of one of several calls."),
        .init(
            .audioNotStopped, "audio.notStopped", "AUD-5", .error, .probe,
            "Stop audio in didDeactivate."),
        .init(
            .audioLostAfterUnhold, "audio.lostAfterUnhold", "HLD-5", .error, .probe,
            "Start audio after fulfilling Held(false) too, where the session is yours."),
        .init(
            .audioAfterSwap, "audio.afterSwap", "AUD-6, MUL-1", .error, .probe,
            "Give the accepted call audio: the session stays yours, no didActivate comes."),
        .init(
            .audioDefaultToSpeaker, "audio.defaultToSpeaker", "AUD-8", .warning, .service,
            "Leave defaultToSpeaker out in calls."),
        .init(
            .audioRouteForced, "audio.routeForced", "AUD-8", .warning, .service,
            "Change the route only when the person asks for it."),
        .init(
            .audioStartedWhileSuspended, "audio.startedWhileSuspended", "AUD-3", .error, .probe,
            "Start audio only when the session was activated for you."),
        .init(
            .mutePingPong, "mute.pingPong", "MUT-2", .error, .service,
            "Do not ask for Muted while performing Muted."),
        .init(
            .muteNotReported, "mute.notReported", "MUT-1", .error, .probe,
            "Ask for Muted in the app's button, and apply it in perform."),
        .init(
            .muteWrongCall, "mute.wrongCall", "MUT-4", .error, .probe,
            "Apply Muted to the call that callUUID names."),
        .init(
            .groupHeldMembers, "group.heldMembers", "MUL-8", .error, .service,
            "Resume the held call before you group."),
        .init(
            .groupUnholdMakesConference, "group.unholdMakesConference", "MUL-15", .error, .probe,
            "Hold the other call before you resume this one."),
        .init(
            .groupFalseSuccess, "group.falseSuccess", "MUL-16", .warning, .probe,
            "Merge by a group action; an update only says what is possible."),
        .init(
            .holdWhileRinging, "hold.whileRinging", "MUL-2", .warning, .service,
            "Do not hold for a call that merely rings."),
        .init(
            .pushNotReported, "push.notReported", "PUSH-5, PUSH-6", .fatal, .service,
            "Report a call for every VoIP push before the handler returns."),
        .init(
            .pushReportedLate, "push.reportedLate", "PUSH-5", .fatal, .service,
            "Report in the handler itself, before login, storage or another queue."),
        .init(
            .pushCancelByPush, "push.cancelByPush", "INC-8, PUSH-11", .fatal, .probe,
            "Cancel over the app's own connection; report also a push that tells of a cancel."),
        .init(
            .pushFilteredByApp, "push.filteredByApp", "PUSH-11", .fatal, .probe,
            "Report the pushed call and end it at once instead of dropping it."),
        .init(
            .pushCompletionMissing, "push.completionMissing", "PUSH-9, INC-6", .error, .service,
            "Call the completion once on every path, also when the report was refused."),
        .init(
            .pushDeliveryStopped, "push.deliveryStopped", "PUSH-8", .fatal, .service,
            "Mend the pushes that were not reported, then install the app anew."),
        .init(
            .pushDuplicate, "push.duplicate", "PUSH-14", .error, .probe,
            "Derive the UUID from the call's id, so that it is the same however the call came."),
        .init(
            .pushProtectedData, "push.protectedData", "PUSH-12", .fatal, .probe,
            "Keep the push path free of storage that is locked before first unlock."),
        .init(
            .pushSlowLaunch, "push.slowLaunch", "PUSH-13", .fatal, .service,
            "Make registry and provider first at launch; everything else later."),
        .init(
            .pushGatedOnBegin, "push.gatedOnBegin", "PRV-3", .fatal, .probe,
            "Report at once, whether or not providerDidBegin was seen."),
        .init(
            .pushRegistryLost, "push.registryLost", "PUSH-1", .error, .service,
            "At every launch make one registry, set its delegate, then desiredPushTypes, and keep it."),
        .init(
            .pushTokenFormat, "push.tokenFormat", "PUSH-3", .error, .probe,
            "Write the token as two hexadecimal digits for each octet."),
        .init(
            .pushTokenMixup, "push.tokenMixup", "APN-2, SRV-2", .error, .pushServer,
            "Use the VoIP token on the .voip topic and the other one elsewhere."),
        .init(
            .pushWrongEnvironment, "push.wrongEnvironment", "APN-5", .error, .pushServer,
            "Send to the host that fits the token's environment."),
        .init(
            .pushWrongHeaders, "push.wrongHeaders", "APN-2", .error, .pushServer,
            "Send type voip, priority 10 and the .voip topic."),
        .init(
            .pushStaleStored, "push.staleStored", "APN-2", .error, .pushServer,
            "Send with expiration 0."),
        .init(
            .reportErrorIgnored, "report.errorIgnored", "INC-5", .error, .probe,
            "When a report is refused, stop ringing and give the call leg up."),
        .init(
            .reportDoubleUI, "report.doubleUI", "INC-9", .warning, .probe,
            "Show no ringing screen of your own while the system's is shown."),
        .init(
            .reportUnknownCall, "report.unknownCall", "END-5", .warning, .service,
            "Report only on calls that were reported or started, until they end."),
        .init(
            .answerHandlersLate, "answer.handlersLate", "PUSH-13", .error, .probe,
            "Be ready for Answer when you report the call."),
        .init(
            .answerBypassed, "answer.bypassed", "INC-11", .error, .probe,
            "Answer in your own screen by asking for an Answer action."),
        .init(
            .historyNotHandled, "history.notHandled", "REC-4, REC-8", .error, .service,
            "Handle the start-call activity both at launch and while running: ask for a Start."),
        .init(
            .historyVideoConfused, "history.videoConfused", "REC-5", .error, .service,
            "Look whether a call with that handle is live before you start a new one."),
        .init(
            .historyOpaqueHandle, "history.opaqueHandle", "REC-6", .warning, .service,
            "Use a readable handle, or keep the calls out of Recents."),
        .init(
            .directoryUnsorted, "directory.unsorted", "DIR-3", .error, .service,
            "Sort the numbers as numbers, ascending."),
        .init(
            .directoryDuplicate, "directory.duplicate", "DIR-3", .error, .service,
            "Give each number once in a list."),
        .init(
            .directoryNoCountryCode, "directory.noCountryCode", "DIR-2", .error, .service,
            "Write numbers with the country code and without leading zeros."),
        .init(
            .directoryIncrementalMisuse, "directory.incrementalMisuse", "DIR-4", .error, .service,
            "Read isIncremental first: a full list without removals, or changes only."),
        .init(
            .directoryUnknownCode, "directory.unknownCode", "1.2", .fatal, .compiler,
            "Give the switch over error codes a branch for values that are not known."),
        .init(
            .directoryNotCompleted, "directory.notCompleted", "DIR-5", .error, .service,
            "Call completeRequest at the end of beginRequest."),
        .init(
            .regionForbidden, "region.forbidden", "SRV-6", .fatal, .service,
            "Leave CallKit alone where it must be off."),
        .init(
            .actionCompletedAfterEnd, "action.completedAfterEnd", "ACT-10", .info, .service,
            "Complete actions of a call before it ends, or not at all."),
        .init(
            .actionDateClamped, "action.dateClamped", "ACT-5", .info, .service,
            "Give a date between the call's beginning and now."),
        .init(
            .actionEndFailed, "action.endFailed", "ACT-6", .warning, .service,
            "Fulfil End: the call ends anyway."),
        .init(
            .actionUnknown, "action.unknown", "ACT-1", .warning, .service,
            "Complete only actions that were delivered to this app."),
        .init(
            .outgoingOrder, "outgoing.order", "OUT-4", .info, .service,
            "Report startedConnecting after Start is fulfilled, connected after that."),
        .init(
            .outgoingWrongDirection, "outgoing.wrongDirection", "OUT-4", .warning, .service,
            "Report outgoing progress of outgoing calls only."),
        .init(
            .configRingtoneMissing, "config.ringtoneMissing", "CFG-4", .warning, .service,
            "Name a sound file among the app's resources."),
        .init(
            .audioCategoryDuringCall, "audio.categoryDuringCall", "AUD-13", .info, .service,
            "Set the category before activation and leave it until deactivation."),
        .init(
            .directoryEntryRefused, "directory.entryRefused", "DIR-2, DIR-12", .warning, .service,
            "Give positive numbers up to the maximum, and labels that are not empty."),
        .init(
            .pushUnknownType, "push.unknownType", "PUSH-15", .warning, .service,
            "Register for the VoIP type only for calls."),
    ]
}
