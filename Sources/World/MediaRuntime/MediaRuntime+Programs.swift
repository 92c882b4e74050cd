// SPDX-License-Identifier: Apache-2.0
//
// Programs that hold calls, and what works on the sound of microphones.

import Essentials
import Media
import Networking

extension MediaRuntime {
    func openProgram(_ port: PortID, _ settings: ProgramSettings) {
        guard programs[port] == nil, start(port) != nil else { return }
        guard programs.count < configuration.maximumPrograms else {
            counters.increment(.limitPrograms)
            return emit(.program(port, .failed(reason: "\(configuration.maximumPrograms) programs run already")))
        }
        order(.command(.openProgram(port, settings)))
        do throws(SystemFile.Failure) {
            let program = try ProgramConnection(
                settings, loop: loop, grace: configuration.programGrace,
                emit: { [weak self] event in self?.tell(port, event) }, onGone: { [weak self] in self?.programs[port] = nil })
            programs[port] = program
            order(.program(port, program.ring))
        } catch {
            tell(port, .failed(reason: error.reason))
        }
    }

    private func tell(_ port: PortID, _ event: ProgramEvent) {
        if case .failed = event { counters.increment(.programsFailed) }
        emit(.program(port, event))
    }

    /// All of them at once: each may use the whole time.
    func endPrograms() {
        let ending = programs.keys.sorted().compactMap { programs[$0] }
        programs = [:]
        let start = loop.now
        for program in ending {
            let left = start + configuration.programGraceAtEnd - loop.now
            program.stop(within: max(left, .zero))
        }
    }

    func processVoice(_ port: PortID, _ wanted: VoiceProcessing) {
        guard running != nil else { return }
        guard !wanted.isOff else {
            order(.processor(port, nil))
            return emit(.voiceProcessing(port, .off))
        }
        guard let make = configuration.voiceProcessors else {
            return emit(.voiceProcessing(port, .unavailable(reason: "this program has no voice processing")))
        }
        let made = make(wanted, configuration.engine.bridgeRate)
        order(.processor(port, made.processor))
        emit(.voiceProcessing(port, made.state))
    }
}
