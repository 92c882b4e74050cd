// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Handset

extension HandsetCommand {
    /// Says what happened in a trace or capture, and why it failed.
    static func runExplain(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        let invocation = context.invocation
        let path = invocation.operands.first ?? "-"
        if let page = invocation.value("--html") {
            do { try TextFile.checkWritable(page) } catch { throw .failed("\(error).") }
        }
        let analysis = CallAnalysis(try Explanation.read(path), only: invocation.value("--call"))
        if analysis.conversations.isEmpty, let call = invocation.value("--call") {
            throw .failed("No Call-ID in \(path) begins with \(call).")
        }
        if context.events.asJSON {
            for object in analysis.json { LineOutput.standardOutput.write(object.description) }
        } else {
            let text = analysis.text(width: invocation.integer("--width") ?? 110, drawsLadders: !invocation.has("--no-ladder"))
            LineOutput.standardOutput.write(String(text.dropLast()))
        }
        if let file = invocation.value("--html") {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let page = Page(analysis, name: name, masked: { SecretMask.masked($0) }).text
            do { try LineOutput(creating: file).write(page) } catch { throw .failed("\(error).") }
        }
        return .success
    }
}

/// What `explain` reads.
package enum Explanation {
    /// The traffic of a capture (pcap, pcapng) or of a trace, told apart by their first octets. A capture that breaks off, as
    /// one that is still being written, is read as far as it goes.
    package static func read(_ path: String, limits: CaptureLimits = CaptureLimits()) throws(CommandFailure) -> Traffic {
        var capture = TrafficReader(limits: limits)
        var trace = TraceReader(limits: limits)
        var octets = 0
        var isCut = false
        var isCapture: Bool?
        var head: [UInt8] = []
        var broken: CaptureError?
        do {
            try TextFile.readPieces(path) { piece in
                var piece = piece
                octets += piece.count
                guard octets <= limits.octets else {
                    isCut = true
                    return false
                }
                if isCapture == nil {
                    head += piece
                    guard head.count >= 4 else { return true }
                    isCapture = CaptureReader.recognises(head)
                    piece = head
                }
                guard isCapture == true else {
                    return trace.append(piece)
                }
                do throws(CaptureError) { try capture.append(piece) } catch { broken = error }
                return broken == nil
            }
        } catch { throw .failed("\(error).") }
        if isCut {
            LineOutput.standardError.write("handset: \(path): more than \(limits.octets) octets; what comes after them is left out.")
        }
        guard isCapture == true else {
            guard let traffic = trace.finish() else {
                throw .failed("\(path) is neither a capture (pcap, pcapng) nor a trace of --trace.")
            }
            return traffic
        }
        let traffic = capture.finish()
        if let broken {
            guard !traffic.messages.isEmpty else { throw .failed("\(path): \(broken.reason.dropLast()) (octet \(broken.offset)).") }
            LineOutput.standardError.write("handset: \(path): \(broken.reason) What comes after octet \(broken.offset) is left out.")
        }
        return traffic
    }
}
