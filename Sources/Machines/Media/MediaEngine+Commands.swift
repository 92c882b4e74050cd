// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP

extension MediaEngine {
    /// Does what a command asks. Files are the world's: for `.openPlayer` and `.openRecorder` the port is made here,
    /// silent until `openPlayer(_:samples:rate:loops:)` or `openRecorder(_:sink:)` gives it its content.
    public func handle(_ command: MediaCommand, now: MonotonicTime) {
        switch command {
        case .openStream(let id, let identity):
            open(id) {
                StreamPort(
                    id: id, frameSize: frameSize, identity: identity, configuration: configuration, random: random)
            }
        case .configureStream(let id, let stream): configure(id, stream, now)
        case .openPlayer(let id, _, _): open(id) { PlayerPort(id: id, frameSize: frameSize) }
        case .openRecorder(let id, _): open(id) { RecorderPort(id: id, frameSize: frameSize) }
        case .openTone(let id, let tone): open(id) { TonePort(id: id, frameSize: frameSize, tone: tone) }
        case .openEcho(let id): open(id) { EchoPort(id: id, frameSize: frameSize) }
        case .openDevice(let id, _): open(id) { DevicePort(id: id, frameSize: frameSize) }
        case .openSplitRecorder(let id, let right, _): openSplitRecorder(id, right: right)
        case .openProgram(let id, _): open(id) { ProgramPort(id: id, frameSize: frameSize) }
        // The program is the world's, and so is what works on voices.
        case .tellProgram, .processVoice: break
        case .tap(let id, let of):
            taps.removeAll { $0.port == id }
            taps.append((id, of))
            join()
        case .connect(let from, let to): connect(Connection(to: to, from: from))
        case .disconnect(let from, let to):
            connections.removeAll { $0 == Connection(to: to, from: from) }
            join()
        case .setGain(let id, let decibels): port(id, as: BridgePort.self)?.setGain(decibels: decibels)
        case .setVolume(let id, let decibels): port(id, as: BridgePort.self)?.setVolume(decibels: decibels)
        case .reportLevels(let id, let period):
            // A frame is the least that has a level.
            port(id, as: BridgePort.self)?.meter =
                period <= .zero ? nil : LevelMeter(period: max(period, .milliseconds(10)), now: now)
        case .startPlayer(let id): port(id, as: PlayerPort.self)?.start()
        case .sendDigits(let id, let digits, let milliseconds, let inBand):
            sendDigits(id, digits, milliseconds, inBand)
        case .reportStatistics(let id):
            guard let stream = port(id, as: StreamPort.self) else { return }
            outbox.tell(.statistics(id, stream.currentStatistics()))
        case .closePort(let id): close(id, now)
        }
    }

    /// Gives a player its samples: mono, `rate` a second (1000...384000; others are taken as the nearest). The port is made
    /// if there is none.
    public func openPlayer(_ id: PortID, samples: [Int16], rate: Int, loops: Bool) {
        if index(of: id) == nil { open(id) { PlayerPort(id: id, frameSize: frameSize) } }
        let rate = min(max(rate, 1000), 384_000)
        port(id, as: PlayerPort.self)?.load(
            samples, filter: filters.filter(from: rate, to: configuration.bridgeRate), loops: loops)
    }

    /// Gives a recorder its sink; what it heard before (a second at most) is written at once. The port is made if there is none.
    public func openRecorder(_ id: PortID, sink: any RecorderSink) {
        if index(of: id) == nil { open(id) { RecorderPort(id: id, frameSize: frameSize) } }
        port(id, as: RecorderPort.self)?.open(sink)
    }

    private func openSplitRecorder(_ id: PortID, right: PortID) {
        guard id != right else { return outbox.count(.commandForUnknownPort) }
        let recorder = RecorderPort(id: id, frameSize: frameSize, channels: 2)
        open(id) { recorder }
        open(right) { RecorderSidePort(id: right, frameSize: frameSize, recorder: recorder) }
    }

    /// Gives a device port its device, which plays and hears at `rate`. The port is made if there is none.
    public func openDevice(_ id: PortID, device: any SoundDevice, rate: Int? = nil) {
        if index(of: id) == nil { open(id) { DevicePort(id: id, frameSize: frameSize) } }
        let rate = min(max(rate ?? configuration.bridgeRate, 8000), 384_000)
        port(id, as: DevicePort.self)?.open(
            device, rate: rate, playing: filters.filter(from: configuration.bridgeRate, to: rate),
            hearing: filters.filter(from: rate, to: configuration.bridgeRate))
    }

    /// Gives a device port what works on the sound of its microphone; nil: nothing does.
    public func setProcessor(_ id: PortID, _ processor: (any VoiceProcessor)?) {
        port(id, as: DevicePort.self)?.processor = processor
    }

    /// Gives a program port the way to its program. The port is made if there is none.
    public func openProgram(_ id: PortID, link: any ProgramLink) {
        if index(of: id) == nil { open(id) { ProgramPort(id: id, frameSize: frameSize) } }
        let rate = min(max(link.rate, 8000), 48_000)
        port(id, as: ProgramPort.self)?.open(
            link, speech: filters.filter(from: rate, to: configuration.bridgeRate),
            hearing: filters.filter(from: configuration.bridgeRate, to: rate))
    }

    private func port<Kind: BridgePort>(_ id: PortID, as kind: Kind.Type) -> Kind? {
        guard let index = index(of: id), let port = ports[index] as? Kind else {
            outbox.count(.commandForUnknownPort)
            return nil
        }
        return port
    }

    private func open(_ id: PortID, _ make: () -> BridgePort) {
        guard index(of: id) == nil else { return outbox.count(.commandForUnknownPort) }
        guard ports.count < configuration.maximumPorts else { return outbox.count(.limitPorts) }
        let place = ids.firstIndex { $0 > id } ?? ids.count
        ids.insert(id, at: place)
        ports.insert(make(), at: place)
        join()
    }

    private func close(_ id: PortID, _ now: MonotonicTime) {
        guard let index = index(of: id) else { return outbox.count(.commandForUnknownPort) }
        ports[index].close(now: now, outbox)
        ports.remove(at: index)
        ids.remove(at: index)
        connections.removeAll { $0.from == id || $0.to == id }
        taps.removeAll { $0.port == id || $0.of == id }
        join()
    }

    private func connect(_ connection: Connection) {
        let place = connections.firstIndex { $0 >= connection } ?? connections.count
        if place < connections.count, connections[place] == connection { return }
        guard connections.count < configuration.maximumConnections else { return outbox.count(.limitConnections) }
        connections.insert(connection, at: place)
        join()
    }

    /// Writes the connections into the ports.
    private func join() {
        for port in ports {
            port.sources.removeAll(keepingCapacity: true)
            port.tapped = nil
        }
        for connection in connections {
            guard let to = index(of: connection.to), let from = index(of: connection.from) else { continue }
            ports[to].sources.append(from)
        }
        for tap in taps {
            guard let to = index(of: tap.port), let of = index(of: tap.of) else { continue }
            ports[to].tapped = ports[of]
            ports[to].sources += ports[of].sources.filter { !ports[to].sources.contains($0) }
        }
    }

    private func configure(_ id: PortID, _ stream: StreamConfiguration, _ now: MonotonicTime) {
        guard let port = port(id, as: StreamPort.self) else { return }
        guard let codec = configuration.codecs.codec(for: stream.codec) else {
            outbox.count(.commandUnsupportedCodec)
            outbox.tell(.streamFailed(id, reason: "no codec \(stream.codec.name)/\(stream.codec.clockRate)"))
            return
        }
        var receivable = [(stream.codec, codec)]
        for negotiated in stream.receivable where negotiated != stream.codec {
            guard let codec = configuration.codecs.codec(for: negotiated) else {
                outbox.count(.commandUnsupportedCodec)
                continue
            }
            receivable.append((negotiated, codec))
        }
        // Only what the peer may send is listened for; the chosen codec is among it as a rule.
        if !stream.receivable.isEmpty, !stream.receivable.contains(stream.codec),
            stream.receivable.contains(where: { $0.payloadType == stream.codec.payloadType })
        {
            receivable.removeFirst()
        }
        port.configure(stream, codec: codec, receivable: receivable, filters: filters, now: now)
    }

    private func sendDigits(_ id: PortID, _ digits: String, _ milliseconds: Int, _ inBand: Bool) {
        guard let stream = port(id, as: StreamPort.self) else { return }
        guard digits.allSatisfy({ $0 == "," || TelephoneEvent.code(ofDigit: $0) != nil }) else {
            return outbox.count(.digitUnknown)
        }
        let isQueued = stream.sender.queue(
            digits, milliseconds: milliseconds, inBand: inBand, limit: configuration.maximumWaitingDigits)
        if !isQueued { outbox.count(.limitDigits) }
    }
}
