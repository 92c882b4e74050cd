// SPDX-License-Identifier: Apache-2.0

import Foundation

/// SIPp with one of our scenarios (Tests/Peers/sipp), for one call: a peer that does what no phone would.
struct SIPp {
    let process: Subprocess
    let folder: String
    let port: Int

    /// - Parameters:
    ///   - target: whom it calls; nil: it waits to be called.
    ///   - keys: what stands for the keywords of the scenario.
    init(_ scenario: String, calls target: Int? = nil, keys: [String: String] = [:]) throws {
        folder = try Bench.folder()
        port = try Bench.freePort()
        var arguments = target.map { ["127.0.0.1:\($0)"] } ?? []
        arguments += ["-sf", Bench.peer("sipp/\(scenario).xml"), "-i", "127.0.0.1", "-p", "\(port)"]
        arguments += ["-mp", "\(try Bench.freePort() & ~1)", "-m", "1", "-nostdin", "-timeout", "40s", "-timeout_error"]
        // No repeats and no answers of its own: the scenario says all that is sent, and what else comes is left aside.
        arguments += ["-nr", "-default_behaviors", "none", "-trace_msg", "-message_file", folder + "/messages"]
        for (key, value) in keys.sorted(by: { $0.key < $1.key }) { arguments += ["-key", key, value] }
        process = try Subprocess("/usr/bin/sipp", arguments, directory: folder)
    }

    /// Waits until it can be called.
    func ready() async throws {
        for _ in 0..<300 where !Bench.isOpen(port) { try await Task.sleep(for: .milliseconds(10)) }
        guard process.isRunning else { throw Subprocess.Failure(description: story) }
    }

    /// Waits for its end: 0 where everything came as the scenario wants it.
    func exitStatus(within seconds: Double = 20) async throws -> Int32 {
        do {
            return try await process.exitStatus(within: seconds)
        } catch {
            throw Subprocess.Failure(description: "\(error)\n\(story)")
        }
    }

    /// What it said and what it saw.
    var story: String {
        process.transcript + "\n" + ((try? String(contentsOfFile: folder + "/messages", encoding: .utf8)) ?? "no messages").suffix(6000)
    }
}
