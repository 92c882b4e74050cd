// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import MediaRuntime
import Networking
import Synchronization

/// What handlers on a loop tell the test thread, which waits for it with a limit.
final class Inbox<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        semaphore.signal()
    }

    func take(seconds: Double = 20) -> Value? {
        guard semaphore.wait(timeout: .now() + seconds) == .success else { return nil }
        return values.withLock { $0.removeFirst() }
    }

    /// Takes until one satisfies `isWanted`.
    func first(where isWanted: (Value) -> Bool) -> Value? {
        while let value = take() { if isWanted(value) { return value } }
        return nil
    }
}

struct OnLoop<Value>: @unchecked Sendable {
    var value: Value
}

extension EventLoop {
    func sync<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
        let inbox = Inbox<Value>()
        execute { inbox.put(body()) }
        guard let value = inbox.take() else { fatalError("the loop does not answer") }
        return value
    }
}

/// A runtime on a loop with its events one by one.
struct Side {
    let loop: EventLoop
    let events = Inbox<MediaEvent>()
    let runtime: OnLoop<MediaRuntime>

    init(_ loop: EventLoop, _ configuration: MediaRuntimeConfiguration, seed: UInt64 = 1) {
        self.loop = loop
        let events = events
        runtime = loop.sync {
            OnLoop(
                value: MediaRuntime(
                    loop: loop, configuration: configuration, random: RandomSource(SplitMix64(seed: seed))
                ) { events.put($0) })
        }
    }

    func perform(_ commands: MediaCommand...) {
        let runtime = runtime
        loop.execute { for command in commands { runtime.value.perform(command) } }
    }

    func stop() {
        let runtime = runtime
        loop.sync { runtime.value.stop() }
    }

    /// Opens a stream and gives the address of its RTP socket.
    func openStream(_ port: PortID) throws -> SocketAddress {
        perform(.openStream(port, StreamIdentity(ssrc: port.rawValue, firstSequenceNumber: 1, firstTimestamp: 0, cname: "test")))
        switch events.take() {
        case .streamOpened(port, let rtp)?: return rtp
        case .streamFailed(_, let reason)?: throw Failure(reason: reason)
        case let other: throw Failure(reason: "\(String(describing: other))")
        }
    }

    struct Failure: Error { var reason: String }
}

func loopbackConfiguration(_ ports: ClosedRange<UInt16>? = nil) -> MediaRuntimeConfiguration {
    MediaRuntimeConfiguration(engine: MediaConfiguration(bridgeRate: 8000), address: .loopbackV4, ports: ports)
}

func withLoop(_ body: (EventLoop) throws -> Void) throws {
    let loop = try EventLoop(name: "test")
    defer {
        loop.stop()
        loop.join()
    }
    try body(loop)
}

/// A directory of its own, removed at the end.
func withDirectory(_ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("handset-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

func readWAV(_ path: String) throws -> WAVAudio {
    try WAVAudio(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
}

let pcmu = NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000)

func configuration(to remote: SocketAddress) -> StreamConfiguration {
    StreamConfiguration(
        remote: remote, remoteRTCP: SocketAddress(remote.ip, remote.port + 1), codec: pcmu, receivable: [pcmu])
}
