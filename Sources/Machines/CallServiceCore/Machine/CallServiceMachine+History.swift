// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Call history and calling back (callkit §2.12).
extension CallServiceMachine {
    mutating func log(_ call: Call, endedAt: WallTime, by origin: Origin, reason: CallEndedReason?) {
        guard call.owner != .cellular, configuration(of: call)?.includesCallsInRecents ?? true else { return }
        if let handle = call.update.remoteHandle, UUIDValue(handle.value) != nil {
            diagnose(.historyOpaqueHandle, call.owner, call.uuid, "The history shows the handle \(handle.value).")
        }
        keep(
            HistoryEntry(
                number: number(), call: call.uuid, bundle: call.bundle, handle: call.update.remoteHandle, name: name(of: call),
                isOutgoing: call.isOutgoing, isVideo: call.hasVideo, startedAt: call.startedAt, connectedAt: call.connectedAt,
                endedAt: endedAt, outcome: Self.outcome(of: call, by: origin, reason), reason: reason))
    }

    /// REC-2.
    private static func outcome(of call: Call, by origin: Origin, _ reason: CallEndedReason?) -> HistoryEntry.Outcome {
        if call.hasConnected { return .connected }
        if call.isOutgoing { return .cancelled }
        switch reason {
        case .answeredElsewhere: return .answeredElsewhere
        case .declinedElsewhere: return .declinedElsewhere
        case nil: return origin == .person || origin == .app ? .declined : .missed
        case .failed, .remoteEnded, .unanswered: return .missed
        }
    }

    /// A call that Do Not Disturb kept away is missed, without a sound.
    mutating func logRefused(_ uuid: UUIDValue, _ provider: ProviderID, _ update: CallUpdate, _ app: AppID) {
        guard let index = index(of: app) else { return }
        let call = Call(
            uuid: uuid, owner: app, bundle: apps[index].bundle, provider: provider, isOutgoing: false, state: .ringing, update: update,
            group: 0, createdAt: now, startedAt: wall)
        log(call, endedAt: wall, by: .service(.unanswered), reason: .unanswered)
    }

    private mutating func keep(_ entry: HistoryEntry) {
        history.append(entry)
        if history.count > settings.historyLength {
            history.removeFirst()
            counters.increment(.historyDropped)
        }
        effects.append(.history(entry))
    }

    /// What the screen and the history call the other side (UPD-3, DIR-8, DIR-10): a contact's name unless the app gave one, then the label of a
    /// list, then the address.
    func name(of call: Call) -> String? {
        if let name = call.update.localizedCallerName, !name.isEmpty { return name }
        guard let handle = call.update.remoteHandle else { return nil }
        if let name = contact(handle) { return name }
        if handle.kind == .phoneNumber, let number = settings.number(handle.value) {
            for directory in directories where directory.isEnabled {
                if let label = directory.index?.label(for: number) { return label }
            }
        }
        return handle.value
    }

    private func contact(_ handle: Handle) -> String? {
        let number = handle.kind == .phoneNumber ? settings.number(handle.value) : nil
        return contacts.first { entry in
            entry.address.lowercased() == handle.value.lowercased() || number != nil && settings.number(entry.address) == number
        }?.name
    }

    // MARK: Activities

    mutating func redial(_ number: UInt64) -> UserCommandRefusal? {
        guard let entry = history.first(where: { $0.number == number }), let handle = entry.handle else { return .unknownEntry }
        let app = apps.first { $0.bundle == entry.bundle }
        if let provider = app?.provider, !provider.configuration.supportedHandleTypes.contains(handle.kind) {
            diagnose(.configHandleTypes, app?.id, entry.call, "Calling back did nothing: the app does not name that kind of address.")
            return .noCallBack
        }
        offer(ActivityDescription(kind: .startCall, handle: handle, isVideo: entry.isVideo), to: entry.bundle)
        return nil
    }

    /// The app's own video button (CFG-6, REC-5).
    mutating func pressVideo(_ uuid: UUIDValue) -> UserCommandRefusal? {
        guard let place = index(ofCall: uuid) else { return .unknownCall }
        guard offers(calls[place]).contains(.video), let handle = calls[place].update.remoteHandle else { return .notOffered }
        if let index = index(of: calls[place].owner) { apps[index].memory.videoActivity = handle }
        offer(ActivityDescription(kind: .startVideoCall, handle: handle, isVideo: true), to: calls[place].bundle)
        return nil
    }

    private mutating func offer(_ description: ActivityDescription, to bundle: String) {
        let number = number()
        activities.append(PendingActivity(number: number, bundle: bundle, description: description, app: nil))
        if let app = apps.first(where: { $0.bundle == bundle && $0.descriptor != nil }) {
            if app.providers.contains(where: \.hasBegun) { handOverActivities(to: app.id) }
        } else {
            effects.append(.launch(bundle: bundle))
        }
    }

    /// An activity is handed over once the app can take it: after launch, and after its provider began (REC-8).
    mutating func handOverActivities(to app: AppID) {
        guard let index = index(of: app) else { return }
        for place in activities.indices where activities[place].app == nil && activities[place].bundle == apps[index].bundle {
            activities[place].app = app
            send(.activity(activities[place].number, activities[place].description), to: app)
            schedule(.activity(activities[place].number), after: settings.activityDeadline)
        }
    }

    mutating func activityIgnored(_ number: UInt64) {
        guard let place = activities.firstIndex(where: { $0.number == number }) else { return }
        let activity = activities.remove(at: place)
        // The video button of a live call may well be answered by turning the video on.
        guard activity.description.kind == .startCall else { return }
        diagnose(.historyNotHandled, activity.app, nil, "No Start followed the activity for \(activity.description.handle.value).")
    }

    /// A Start answers the activity with its handle.
    mutating func startAnswers(_ handle: Handle, call: UUIDValue, _ app: AppID) {
        if let index = index(of: app) {
            let peerIsLive = calls.contains { $0.owner == app && $0.uuid != call && $0.update.remoteHandle == handle }
            if apps[index].memory.videoActivity == handle, peerIsLive {
                diagnose(.historyVideoConfused, app, call, "The video button of a live call led to a second call.")
            }
            apps[index].memory.videoActivity = nil
        }
        activities.removeAll { $0.app == app && $0.description.handle == handle }
    }
}
