// SPDX-License-Identifier: Apache-2.0
//
// Programs that hold calls, and the control lines of the bridge.

import Handset
import Media
import PhoneCore
import SIPAgent

extension PhoneSession {
    // MARK: Programs

    /// Lets a program hold the call: it hears of the call's events, and its control lines are obeyed.
    @discardableResult
    func attach(
        _ program: ProgramSettings, to id: CallID, _ callPort: PortID, _ reference: CommandEvent.CallReference, _ phone: Phone
    ) -> PortID {
        let port = phone.assumeIsolated { $0.attach(program, to: id, callPort) }
        programs[port] = (id, reference)
        relay.add(call: reference.call) { [weak phone] text in
            phone?.assumeIsolated { $0.order(.tellProgram(port, text)) }
        }
        return port
    }

    func programEvent(_ port: PortID, _ event: ProgramEvent, _ phone: Phone) {
        guard let (id, reference) = programs[port] else { return }
        switch event {
        case .started(let process):
            context.events.print(.program(reference, .init("started", process: process.map { Int($0) })))
        case .marked(let name): context.events.print(.program(reference, .init("mark", mark: name)))
        case .said(let text): obey(text, of: reference)
        case .failed(let reason):
            programs[port] = nil
            context.events.print(.program(reference, .init("failed", reason: reason)))
            context.events.print(.warning(code: "program.failed", text: "The program cannot hold the call: \(reason).", call: reference))
            // A call that cannot say what it was made for is of no use.
            if call != nil { finish(.failed("The program cannot hold the call: \(reason).")) } else { hangUp(id, phone) }
        case .ended(let status, let figures):
            programs[port] = nil
            context.events.print(
                .program(reference, .init("ended", status: status.map { Int($0) }, figures: figures)))
            if let status, status != 0 {
                let text = "The program ended with status \(status)."
                context.events.print(.warning(code: "program.ended", text: text, call: reference))
                // The call was made for the program: what became of it is what became of the command.
                if call != nil { return finish(.failed(text)) }
            }
            hangUp(id, phone)
        }
    }

    private func hangUp(_ id: CallID, _ phone: Phone) { phone.assumeIsolated { $0.hangUp(id) } }

    /// A control line of a program: of its own call, unless it names another.
    private func obey(_ text: String, of reference: CommandEvent.CallReference) {
        do throws(ControlCommand.Failure) {
            var command = try ControlCommand(parsing: text)
            if command.call == nil { command.call = reference.call }
            obey(.success(command))
        } catch {
            context.events.print(.error(command: error.command, text: error.text, call: reference))
        }
    }

    // MARK: Control lines

    /// The port of a name: of a call by its number, the device, or one that was opened before.
    private func port(named name: String, _ phone: Phone) throws -> PortID {
        if name == "device" {
            guard let devicePort else { throw PhoneError(.wrongState, "No device is open.") }
            return devicePort
        }
        if name.hasPrefix("p"), let port = UInt32(name.dropFirst()).map(PortID.init(rawValue:)),
            openedPorts.contains(port) || files[port] != nil || programs[port] != nil
        {
            return port
        }
        guard let id = shown.first(where: { "\($0.value.number)" == name })?.key else {
            throw PhoneError(.noSuchCall, "There is no port \(name).")
        }
        return try phone.assumeIsolated { try $0.port(of: id) }
    }

    func name(of port: PortID) -> String { port == devicePort ? "device" : "p\(port.rawValue)" }

    /// Carries out a command of the bridge; gives the name of the port that it opened.
    func carryOut(_ command: SoundCommand, _ id: CallID?, _ phone: Phone) throws -> String? {
        switch command {
        case .play, .tone, .record, .program, .echo:
            let port = try open(command, id, phone)
            openedPorts.insert(port)
            return name(of: port)
        case .close(let name):
            let port = try port(named: name, phone)
            guard port != devicePort, name.hasPrefix("p") else { throw PhoneError(.wrongState, "\(name) is closed with the last call.") }
            openedPorts.remove(port)
            phone.assumeIsolated { $0.order(.closePort(port)) }
        case .connect(let from, let to):
            let (from, to) = (try port(named: from, phone), try port(named: to, phone))
            phone.assumeIsolated { $0.order(.connect(from: from, to: to)) }
        case .disconnect(let from, let to):
            let (from, to) = (try port(named: from, phone), try port(named: to, phone))
            phone.assumeIsolated { $0.order(.disconnect(from: from, to: to)) }
        case .gain(let name, let decibels):
            if name == "device" { sound.microphoneGain = decibels }
            guard name != "device" || devicePort != nil else { return nil }
            let port = try port(named: name, phone)
            phone.assumeIsolated { $0.order(.setGain(port, decibels: decibels)) }
        case .volume(let name, let decibels):
            if name == "device" { sound.volume = decibels }
            guard name != "device" || devicePort != nil else { return nil }
            let port = try port(named: name, phone)
            phone.assumeIsolated { $0.order(.setVolume(port, decibels: decibels)) }
        case .levels(let name, let milliseconds):
            if name == "device" { sound.levels = milliseconds }
            guard name != "device" || devicePort != nil else { return nil }
            let port = try port(named: name, phone)
            phone.assumeIsolated { $0.order(.reportLevels(port, every: .milliseconds(Int64(milliseconds)))) }
        case .device(let name): changeDevice(to: name, phone)
        case .voice(let wanted):
            sound.voice = wanted
            if let devicePort { phone.assumeIsolated { $0.order(.processVoice(devicePort, wanted)) } }
        }
        return nil
    }

    /// Opens a port for a call, and joins it to that.
    private func open(_ command: SoundCommand, _ id: CallID?, _ phone: Phone) throws -> PortID {
        guard let id, let reference = reference(id) else { throw PhoneError(.noSuchCall, "There is no such call.") }
        let callPort = try phone.assumeIsolated { try $0.port(of: id) }
        if case .program(let text, let rate) = command {
            return attach(ProgramSettings(parsing: text, rate: rate), to: id, callPort, reference, phone)
        }
        let opened: (port: PortID?, file: String?) = phone.assumeIsolated { phone in
            switch command {
            case .play(let file, let loops): return (phone.play(file, loops: loops, into: id, callPort), file)
            case .record(let file, let channels): return (phone.record(id, callPort, to: file, channels: channels), file)
            case .tone(let frequency, let second, let level):
                return (phone.play(Tone(frequency: frequency, secondFrequency: second, level: level), into: id, callPort), nil)
            case .echo: return (phone.echo(id, callPort), nil)
            default: return (nil, nil)
            }
        }
        guard let port = opened.port else { throw PhoneError(.wrongState, "That opens no port.") }
        if let file = opened.file {
            shown[id]?.filePorts.append(port)
            files[port] = (id, file)
        }
        return port
    }
}
