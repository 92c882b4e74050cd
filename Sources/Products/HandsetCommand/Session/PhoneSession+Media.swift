// SPDX-License-Identifier: Apache-2.0
//
// What the media options do with a call: files played and recorded, echo, digits, duration, statistics.

import Essentials
import Handset
import Media
import PhoneCore

extension PhoneSession {
    /// The call's media is there, or changed. Files start with the first media.
    func mediaChanged(_ id: CallID, _ change: CallMedia, _ phone: Phone) {
        guard let reference = reference(id), let call = shown[id] else { return }
        let direction =
            change.sends ? (change.receives ? "sendrecv" : "sendonly") : (change.receives ? "recvonly" : "inactive")
        context.events.print(
            .media(
                reference,
                .init(
                    codec: change.codec.name, direction: direction, local: change.local, remote: change.remote,
                    secured: change.isSecured)))
        guard !call.hasMedia else { return }
        shown[id]?.hasMedia = true
        shown[id]?.port = change.port
        joinDevice(change.port, phone)
        for (port, path) in phone.assumeIsolated({ phone in startFiles(id, change.port, call.number, phone) }) {
            shown[id]?.filePorts.append(port)
            files[port] = (id, path)
        }
        if let program = media.program { attach(program, to: id, change.port, reference, phone) }
    }

    /// Opens what the options ask for; gives the files by their ports.
    private func startFiles(_ id: CallID, _ port: PortID, _ number: Int, _ phone: isolated Phone) -> [(PortID, String)] {
        var result: [(PortID, String)] = []
        let isNumbered = if case .answer(let settings) = incoming { settings.calls != 1 } else { false }
        var echoes = false
        if case .answer(let settings) = incoming { echoes = settings.echoes }
        if let path = media.recordFile {
            let file = isNumbered ? MediaSettings.numbered(path, number) : path
            result.append((phone.record(id, port, to: file, channels: media.recordChannels), file))
        }
        if let path = media.playFile { result.append((phone.play(path, loops: media.loops, into: id, port), path)) }
        if echoes { phone.echo(id, port) }
        return result
    }

    /// News of a player or recorder.
    func portEvent(_ event: MediaEvent, _ phone: Phone) {
        switch event {
        case .playbackStarted(let port):
            if let (id, path) = files[port], let reference = reference(id) {
                context.events.print(.playback(reference, state: "started", file: path))
            }
        case .playbackFinished(let port):
            guard let (id, path) = files[port], let reference = reference(id) else { return }
            context.events.print(.playback(reference, state: "finished", file: path))
            if call?.hangsUpAfterPlay == true { phone.assumeIsolated { $0.hangUp(id) } }
        case .fileFailed(let port, let reason):
            let id = files[port]?.call
            context.events.print(.warning(code: "media.file.failed", text: reason, call: id.flatMap(reference)))
            // A call that cannot say what it was made for is of no use; a file of a control line is not that.
            if call != nil, files[port].map({ $0.path == media.playFile || $0.path == media.recordFile }) ?? true {
                finish(.failed(reason))
            }
        case .deviceChanged(let port, let state): deviceChanged(port, state)
        case .voiceProcessing(_, let state): voiceProcessingChanged(state)
        case .levels(let port, let levels): context.events.print(.level(port: name(of: port), levels))
        case .program(let port, let event): programEvent(port, event, phone)
        default: break
        }
    }

    /// What follows once a call is established.
    func established(_ id: CallID, _ phone: Phone) {
        if let digits = call?.digits {
            do {
                try phone.assumeIsolated { try $0.sendDigits(digits, on: id, method: media.dtmfMethod.phoneMethod) }
            } catch {
                context.events.print(.warning(code: "dtmf.not-sent", text: "\(error)", call: reference(id)))
            }
        }
        var duration = call?.duration
        if case .answer(let settings) = incoming { duration = settings.duration }
        if let duration {
            loop.schedule(at: loop.now + duration) { phone.assumeIsolated { $0.hangUp(id) } }
        }
        if let every = media.statisticsEvery { scheduleStatistics(id, every, phone) }
        if reports != nil { scheduleStatistics(id, .milliseconds(1000), phone, isForPage: true) }
    }

    /// Notes an event for `--report`, and writes the page of a call that is over.
    func report(_ event: PhoneEvent, _ phone: Phone, _ now: MonotonicTime) {
        guard let reports, let path = media.reportFile else { return }
        let finished = reports.note(
            event, remote: { id in shown[id]?.remote ?? (dialling.isEmpty ? "?" : dialling) }, at: now)
        guard let finished else { return }
        let isNumbered = if case .answer(let settings) = incoming { settings.calls != 1 } else { shown[finished.call]?.number ?? 1 > 1 }
        let file = isNumbered ? MediaSettings.numbered(path, shown[finished.call]?.number ?? 1) : path
        do {
            try LineOutput(creating: file).write(finished.page)
        } catch {
            context.events.print(.warning(code: "media.file.failed", text: "\(error).", call: reference(finished.call)))
        }
    }

    private func scheduleStatistics(_ id: CallID, _ every: Interval, _ phone: Phone, isForPage: Bool = false) {
        loop.schedule(at: loop.now + every) { [weak self] in
            self?.assumeIsolated { session in
                guard session.shown[id] != nil else { return }
                guard (try? phone.assumeIsolated({ try $0.requestStatistics(id) })) != nil else { return }
                if isForPage { session.silentStatistics += 1 }
                session.scheduleStatistics(id, every, phone, isForPage: isForPage)
            }
        }
    }
}
