// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What the person does at the call screen, and what happens around the phone.
extension CallServiceMachine {
    mutating func obey(_ command: UserCommand) -> UserCommandRefusal? {
        switch command {
        case .accept(let call): choose(.accept, call)
        case .decline(let call): choose(.decline, call)
        case .endAndAccept(let call): choose(.endAndAccept, call)
        case .holdAndAccept(let call): choose(.holdAndAccept, call)
        case .endHeldAndAccept(let call): choose(.endHeldAndAccept, call)
        case .end(let call): endByPerson(call)
        case .hold(let call, let isHeld): holdByPerson(call, isHeld)
        case .swap: swap()
        case .merge: merge()
        case .split(let call): split(call)
        case .mute(let call, let isMuted): ask(.mute, call, .setMuted(isMuted))
        case .keys(let call, let keys): press(call, keys)
        case .pausedDigits(let call, let digits, let type): ask(.keypad, call, .playDTMF(digits: digits, type: type))
        case .translate(let call, let isOn, let local, let remote):
            ask(nil, call, .setTranslating(isOn, localLanguage: local, remoteLanguage: remote))
        case .video(let call): pressVideo(call)
        case .redial(let entry): redial(entry)
        case .speaker, .headset, .interruption, .mediaServicesReset, .cellularIncoming, .cellularOutgoing, .cellularRemoteEnded,
            .doNotDisturb, .block, .enableDirectory:
            happen(command)
        }
    }

    private mutating func happen(_ command: UserCommand) -> UserCommandRefusal? {
        switch command {
        case .speaker(let isOn): pressSpeaker(isOn)
        case .headset(let isPresent): plugHeadset(isPresent)
        case .interruption(let began, let shouldResume): interrupt(began, shouldResume)
        case .mediaServicesReset: resetMediaServices()
        case .cellularIncoming(let call, let name): return cellular(call, name, isOutgoing: false)
        case .cellularOutgoing(let call, let name): return cellular(call, name, isOutgoing: true)
        case .cellularRemoteEnded(let call):
            guard let place = index(ofCall: call), calls[place].owner == .cellular else { return .unknownCall }
            end(call, at: nil, by: .app, reason: .remoteEnded)
        case .doNotDisturb(let isOn): isDoNotDisturb = isOn
        case .block(let address, let isBlocked): block(address, isBlocked)
        case .enableDirectory(let identifier, let isEnabled):
            guard let place = directories.firstIndex(where: { $0.identifier == identifier }) else { return .unknownEntry }
            directories[place].isEnabled = isEnabled
        default: break
        }
        return nil
    }

    private mutating func block(_ address: String, _ isBlocked: Bool) {
        if let number = settings.number(address) {
            blockedNumbers.removeAll { $0 == number }
            if isBlocked { blockedNumbers.append(number) }
        }
        blockedAddresses.removeAll { $0 == address.lowercased() }
        if isBlocked { blockedAddresses.append(address.lowercased()) }
    }

    // MARK: A ringing call

    private mutating func choose(_ offer: UserOffer, _ uuid: UUIDValue) -> UserCommandRefusal? {
        let shadow = shadow()
        guard let call = shadow.first(where: { $0.uuid == uuid }) else { return .unknownCall }
        guard call.state == .ringing, offers(call).contains(offer) else { return .notOffered }
        func move(_ call: Call, _ kind: ActionKind, endsOnFailure: Bool = false) -> Move {
            (call.owner, call.provider, action(kind, call.uuid, .person, endsOnFailure: endsOnFailure))
        }
        if offer == .decline {
            start(steps: [move(call, .end)])
            return nil
        }
        var before: [Move] = []
        let foreground = shadow.filter(\.isForeground)
        switch offer {
        case .endAndAccept: before = foreground.map { move($0, .end) }
        case .holdAndAccept:
            before = foreground.map { $0.state == .active ? move($0, .setHeld(true), endsOnFailure: true) : move($0, .end) }
        case .endHeldAndAccept:
            before = shadow.filter { $0.state == .held }.map { move($0, .end) }
            before += foreground.map { $0.state == .active ? move($0, .setHeld(true), endsOnFailure: true) : move($0, .end) }
        default: before = foreground.map { move($0, .end) }
        }
        var answer = move(call, .answer)
        answer.action.isArbitrated = !before.isEmpty
        let waiting = shadow.filter { $0.state == .ringing && $0.uuid != uuid }
        start(steps: before + [answer] + waiting.map { move($0, .end) })
        return nil
    }

    // MARK: Calls that are up

    private mutating func endByPerson(_ uuid: UUIDValue) -> UserCommandRefusal? {
        let shadow = shadow()
        guard let call = shadow.first(where: { $0.uuid == uuid }) else { return .unknownCall }
        let resumes = call.isForeground && !shadow.contains { $0.uuid != uuid && $0.isForeground }
        start(steps: [(call.owner, call.provider, action(.end, uuid, .person, resumesHeld: resumes))])
        return nil
    }

    private mutating func ask(_ offer: UserOffer?, _ uuid: UUIDValue, _ kind: ActionKind) -> UserCommandRefusal? {
        guard let call = shadow().first(where: { $0.uuid == uuid }) else { return .unknownCall }
        if let offer {
            guard offer == .mute || offers(call).contains(offer) else { return .notOffered }
        } else if !(configuration(of: call)?.supportsAudioTranslation ?? false) || !call.isConnectedState {
            return .notOffered
        }
        start(steps: [(call.owner, call.provider, action(kind, uuid, .person))])
        return nil
    }

    private mutating func press(_ uuid: UUIDValue, _ keys: String) -> UserCommandRefusal? {
        guard let call = shadow().first(where: { $0.uuid == uuid }) else { return .unknownCall }
        let isValid = keys.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "#") }
        guard offers(call).contains(.keypad), isValid, keys.utf8.count <= settings.maximumActions else { return .notOffered }
        for key in keys {
            start(steps: [(call.owner, call.provider, action(.playDTMF(digits: String(key), type: .singleTone), uuid, .person))])
        }
        return nil
    }

    private mutating func holdByPerson(_ uuid: UUIDValue, _ isHeld: Bool) -> UserCommandRefusal? {
        let shadow = shadow()
        guard let call = shadow.first(where: { $0.uuid == uuid }) else { return .unknownCall }
        guard offers(call).contains(isHeld ? .hold : .resume) else { return .notOffered }
        let group = shadow.filter { $0.group == call.group }
        let moves: [Move] = group.map { ($0.owner, $0.provider, action(.setHeld(isHeld), $0.uuid, .person)) }
        start(steps: (isHeld ? [] : clearForeground(except: call.group, shadow)) + moves)
        return nil
    }

    private func clearForeground(except group: UInt64, _ shadow: [Call]) -> [Move] {
        shadow.filter { $0.isForeground && $0.group != group }.map { call in
            call.state == .active && call.supportsHolding
                ? (call.owner, call.provider, action(.setHeld(true), call.uuid, .person, endsOnFailure: true))
                : (call.owner, call.provider, action(.end, call.uuid, .person))
        }
    }

    private mutating func swap() -> UserCommandRefusal? {
        let shadow = shadow()
        guard let active = shadow.first(where: { $0.state == .active }), offers(active).contains(.swap),
            let held = shadow.first(where: { $0.state == .held })
        else { return .notOffered }
        start(
            steps: clearForeground(except: held.group, shadow)
                + shadow.filter { $0.group == held.group }.map { ($0.owner, $0.provider, action(.setHeld(false), $0.uuid, .person)) })
        return nil
    }

    private mutating func merge() -> UserCommandRefusal? {
        let shadow = shadow()
        guard let active = shadow.first(where: { $0.state == .active }), let partner = mergePartner(of: active, shadow) else {
            return .notOffered
        }
        var moves: [Move] = []
        for call in shadow where call.group == partner.group {
            if call.state == .held { moves.append((call.owner, call.provider, action(.setHeld(false), call.uuid, .person))) }
        }
        for call in shadow where call.group == partner.group {
            moves.append((call.owner, call.provider, action(.setGroup(with: active.uuid), call.uuid, .person)))
        }
        start(steps: moves)
        return nil
    }

    private mutating func split(_ uuid: UUIDValue) -> UserCommandRefusal? {
        let shadow = shadow()
        guard let call = shadow.first(where: { $0.uuid == uuid }) else { return .unknownCall }
        guard offers(call).contains(.split) else { return .notOffered }
        // The rest is held first, so that two groups are never active at once (MUL-15, MUL-16).
        let rest = shadow.filter { $0.group == call.group && $0.uuid != uuid && $0.state == .active }
        let moves: [Move] = rest.map { ($0.owner, $0.provider, action(.setHeld(true), $0.uuid, .person)) }
        start(steps: moves + [(call.owner, call.provider, action(.setGroup(with: nil), uuid, .person))])
        return nil
    }

    // MARK: The mobile network

    private mutating func cellular(_ uuid: UUIDValue, _ name: String, isOutgoing: Bool) -> UserCommandRefusal? {
        guard index(ofCall: uuid) == nil else { return .notOffered }
        let update = CallUpdate(
            remoteHandle: Handle(.phoneNumber, name), localizedCallerName: String(name.prefix(settings.maximumText)),
            supportsGrouping: false)
        let clearing = isOutgoing ? clearForeground(except: 0, shadow()) : []
        let call = Call(
            uuid: uuid, owner: .cellular, bundle: "", provider: 0, isOutgoing: isOutgoing, state: isOutgoing ? .dialing : .ringing,
            update: update, group: number(), createdAt: now, startedAt: wall)
        calls.append(call)
        announce(call.snapshot())
        if isOutgoing {
            let begin = action(.start(handle: Handle(.phoneNumber, name), contactIdentifier: nil, isVideo: false), uuid, .person)
            start(steps: clearing + [(.cellular, 0, begin)])
        }
        return nil
    }
}
