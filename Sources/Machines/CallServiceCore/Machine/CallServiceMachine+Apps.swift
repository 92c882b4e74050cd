// SPDX-License-Identifier: Apache-2.0

import Essentials

extension CallServiceMachine {
    mutating func greet(_ descriptor: AppDescriptor, at index: Int) {
        apps[index].descriptor = descriptor
        apps[index].isForeground = descriptor.isForeground
        if let launched = descriptor.launchedAt {
            let age = wall.microseconds &- launched.microseconds
            // A process that says it started later than now, or an hour ago, tells nothing about its launch.
            if age > 0, age < 3_600_000_000 { apps[index].startedAt = now - .microseconds(age) }
        }
        var switches = ServiceSwitches()
        switches.mode = settings.mode
        switches.completionComesFirst = settings.completionComesFirst
        effects.append(.send(apps[index].id, .welcome(calls: snapshots, settings: switches)))
        adoptLeftovers(at: index)
    }

    /// Calls that an earlier run of the app left become this run's (END-7).
    private mutating func adoptLeftovers(at index: Int) {
        for call in calls.indices where calls[call].owner == .nobody && calls[call].bundle == apps[index].bundle {
            calls[call].owner = apps[index].id
            apps[index].memory.leftovers.append(calls[call].uuid)
        }
    }

    mutating func handle(_ message: AppMessage, from app: AppID) {
        switch message {
        case .hello, .goodbye: handleFarewell(app)
        case .foreground(let isForeground):
            if let index = index(of: app) { apps[index].isForeground = isForeground }
        case .registerProvider(let id, let configuration): registerProvider(id, configuration, app)
        case .configureProvider(let id, let configuration): configureProvider(id, configuration, app)
        case .configurationStale: diagnose(.configRingtoneStale, app, nil, "The configuration was changed and not assigned again.")
        case .invalidateProvider(let id): invalidate(id, app)
        case .providerReleased(let id):
            diagnose(.providerNotInvalidated, app, nil, "A provider was released.")
            invalidate(id, app)
        case .reportNewIncomingCall(let request, let provider, let call, let update): reportIncoming(request, provider, call, update, app)
        case .reportUpdated(_, let call, let update): reportUpdated(call, update, app)
        case .reportEnded(_, let call, let at, let reason): reportEnded(call, at, reason, app)
        case .reportStartedConnecting(_, let call, let at): reportStartedConnecting(call, at, app)
        case .reportConnected(_, let call, let at): reportConnected(call, at, app)
        case .request(let request, let transaction): self.request(request, transaction, app)
        case .completeAction(let uuid, let outcome): complete(uuid, outcome, app)
        case .actionAbandoned(let uuid): abandon(uuid, app)
        case .actionNotImplemented(let uuid):
            let call = pending(uuid, of: app)?.description.call
            diagnose(.actionNotImplemented, app, call, "An action met a perform method that the app did not write.")
            complete(uuid, .failed, app)
        case .completionIgnored(let uuid, _): completionOfNothing(uuid, app)
        default: handleWorld(message, from: app)
        }
    }

    private mutating func handleWorld(_ message: AppMessage, from app: AppID) {
        switch message {
        case .setActive(let request, let isActive, _): setActive(request, isActive, app)
        case .sessionCategory(let category): setCategory(category, app)
        case .overrideOutput(let request, let speaker): overrideOutput(request, speaker, app)
        case .preferInput(let request, _): send(.sessionAnswer(request, code: nil), to: app)
        case .registerPush(let types, let hasDelegate): registerPush(types, hasDelegate, app)
        case .pushRegistryReleased:
            if let index = index(of: app) { apps[index].push = PushRegistration() }
            diagnose(.pushRegistryLost, app, nil, "The push registry was released.")
        case .pushHandlerReturned(let push, let isImplemented): pushReturned(push, isImplemented, app)
        case .pushCompleted(let push): pushCompleted(push, app)
        case .reportVoIPPayload(let request, let payload): reportVoIPPayload(request, payload, app)
        case .tokenUploaded(let text): tokenUploaded(text, app)
        case .activityHandled(let number): activities.removeAll { $0.number == number && $0.app == app }
        case .probe(let event): probe(event, app)
        case .observed(let pitfall, let call, let seen): diagnose(pitfall, app, call, seen)
        case .reloadDirectory(let request, let identifier): reloadDirectory(request, identifier, app)
        case .directoryLoaded(let request, let code): directoryLoaded(request, code, app)
        case .directoryStatus(let request, let identifier):
            let known = directories.first { $0.identifier == identifier }
            send(.directoryStatus(request, status: known.map { $0.isEnabled ? 2 : 1 } ?? 0, code: known == nil ? 1 : nil), to: app)
        default: break
        }
    }

    private mutating func reloadDirectory(_ request: RequestID, _ identifier: String, _ app: AppID) {
        guard let place = directories.firstIndex(where: { $0.identifier == identifier }) else {
            send(.directoryAnswer(request, code: 1), to: app)
            return
        }
        let known = directories[place]
        guard known.isEnabled else {
            send(.directoryAnswer(request, code: 6), to: app)
            return
        }
        guard known.loading == nil else {
            send(.directoryAnswer(request, code: 7), to: app)
            return
        }
        directories[place].loading = (app, request)
        send(.loadDirectory(request, extensionIdentifier: identifier, isIncremental: known.index != nil), to: app)
    }

    /// The extension ran, or did not (DIR-5, DIR-11).
    private mutating func directoryLoaded(_ request: RequestID, _ code: Int?, _ app: AppID) {
        let isIt = { (directory: Directory) in directory.loading.map { $0.app == app && $0.request == request } ?? false }
        guard let place = directories.firstIndex(where: isIt) else { return }
        directories[place].loading = nil
        send(.directoryAnswer(request, code: code), to: app)
    }

    // MARK: Providers

    private mutating func registerProvider(_ id: ProviderID, _ configuration: ProviderConfiguration, _ app: AppID) {
        guard let index = index(of: app) else { return }
        guard apps[index].providers.count < settings.maximumProviders else {
            counters.increment(.limitsReached)
            return
        }
        let descriptor = apps[index].descriptor
        if descriptor?.mayUseCallKit == false {
            diagnose(.regionForbidden, app, nil, "A provider was made where CallKit must be off.")
        }
        let hasCalls = calls.contains { $0.owner == app }
        let hasOther = apps[index].providers.contains { $0.id != id }
        if hasCalls && hasOther || apps[index].memory.invalidatedWithCalls {
            diagnose(.providerRecreated, app, nil, "A provider was made anew while calls were live.")
        } else if hasOther {
            diagnose(.providerMultiple, app, nil, "A second provider was made.")
        }
        apps[index].memory.invalidatedWithCalls = false
        apps[index].memory.unknownProviderRefusals = 0
        apps[index].memory.wasReset = false
        apps[index].providers.removeAll { $0.id == id }
        apps[index].providers.append(Provider(id: id, configuration: configuration))
        check(configuration, app)
        if settings.registrationDelay > .zero {
            schedule(.providerBegins(app, id), after: settings.registrationDelay)
        } else {
            providerBegins(app, id)
        }
    }

    mutating func providerBegins(_ app: AppID, _ id: ProviderID) {
        guard let index = index(of: app), let place = apps[index].providers.firstIndex(where: { $0.id == id }) else { return }
        apps[index].providers[place].hasBegun = true
        send(.providerBegan(id), to: app)
        handOverActivities(to: app)
    }

    private mutating func configureProvider(_ id: ProviderID, _ configuration: ProviderConfiguration, _ app: AppID) {
        guard let index = index(of: app), let place = apps[index].providers.firstIndex(where: { $0.id == id }) else { return }
        apps[index].providers[place].configuration = configuration
        check(configuration, app)
    }

    private mutating func check(_ configuration: ProviderConfiguration, _ app: AppID) {
        if configuration.maximumCallGroups <= 0 {
            diagnose(.configZeroGroups, app, nil, "maximumCallGroups is \(configuration.maximumCallGroups).")
        }
        if let icon = configuration.iconTemplateImage, let fault = TemplateImage.fault(of: icon.bytes) {
            diagnose(.configOpaqueIcon, app, nil, "The icon \(fault).")
        }
    }

    private mutating func invalidate(_ id: ProviderID, _ app: AppID) {
        guard let index = index(of: app), apps[index].providers.contains(where: { $0.id == id }) else { return }
        let lost = calls.filter { $0.owner == app && $0.provider == id }.map(\.uuid)
        if !lost.isEmpty { apps[index].memory.invalidatedWithCalls = true }
        // Its configuration still says whether they are logged.
        for call in lost { end(call, at: nil, by: .app, reason: .failed) }
        apps[index].providers.removeAll { $0.id == id }
        cancel { if case .providerBegins(app, id) = $0 { true } else { false } }
    }

    // MARK: Losing

    private mutating func handleFarewell(_ app: AppID) {
        // A second hello would make a process someone else.
        if let call = calls.first(where: { $0.owner == app }) {
            diagnose(.endOrphan, app, call.uuid, "The process ended by itself and left the call.")
        }
        effects.append(.close(app, code: "service.goodbye"))
        lose(app)
    }

    mutating func lose(_ app: AppID) {
        guard index(of: app) != nil else { return }
        let mine = calls.filter { $0.owner == app }.map(\.uuid)
        if settings.keepsCallsOfLostApps {
            for call in calls.indices where calls[call].owner == app { calls[call].owner = .nobody }
            counters.increment(.callsOfLostApps, by: UInt64(mine.count))
        } else {
            for call in mine { end(call, at: nil, by: .service(.failed), reason: .failed) }
        }
        losePushes(of: app)
        apps.removeAll { $0.id == app }
        for place in directories.indices where directories[place].loading?.app == app { directories[place].loading = nil }
        for transaction in transactions where transaction.app == app { forgetDeadlines(of: transaction) }
        let abandoned = transactions.filter { $0.app == app }
        transactions.removeAll { $0.app == app }
        if audio.owner == app { audio.owner = nil }
        cancel {
            switch $0 {
            case .probe(app, _), .providerBegins(app, _): true
            default: false
            }
        }
        activities.removeAll { $0.app == app }
        for transaction in abandoned { if let plan = transaction.plan { continuePlan(plan) } }
    }

    mutating func resetEverything() {
        for call in calls { announce(call.snapshot(hasEnded: true)) }
        calls = []
        transactions = []
        plans = []
        deadlines = []
        activities = []
        pushes.waiting = []
        pushes.delivered = []
        if let owner = audio.owner, audio.isAnnounced { send(.didDeactivate(audio.provider), to: owner) }
        audio = AudioState()
        for index in apps.indices {
            apps[index].memory.wasReset = true
            for provider in apps[index].providers {
                send(.providerReset(provider.id, registersAgain: settings.registersAgainAfterReset), to: apps[index].id)
            }
            apps[index].providers = []
            schedule(.probe(apps[index].id, .reset), after: settings.mediaGrace)
        }
    }

    // MARK: Deadlines

    mutating func fire(_ kind: Deadline.Kind) {
        switch kind {
        case .providerBegins(let app, let id): providerBegins(app, id)
        case .actionTimesOut(let app, let uuid): timeOut(uuid, app)
        case .startIsSlow(let app, let uuid):
            if let action = pending(uuid, of: app) {
                diagnose(.outgoingSlowFulfil, app, action.description.call, "Start was delivered and is not complete.")
            }
        case .ringsTooLong(let uuid): ringsTooLong(uuid)
        case .pushCheck(let push): secondPushCheck(push)
        case .pushCompletion(let push): pushNotCompleted(push)
        case .launch(let bundle): launchIsSlow(bundle)
        case .activity(let number): activityIgnored(number)
        case .probe(let app, let check): checkProbe(check, app)
        }
    }
}
