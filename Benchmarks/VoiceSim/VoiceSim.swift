// SPDX-License-Identifier: Apache-2.0
//
// A call in virtual time, to judge how it sounds: speech goes through a sending engine, a link that loses and delays as a
// plan says, and a receiving engine into a WAV file. Benchmarks/Voice/sim.py makes the plans and scores the recordings.
//
//     VoiceSim CODEC SPEECH.wav PLAN OUT [--bitrate KBPS] [--complexity N] [--loss PERCENT] [--redundancy N] [--phase-seed N]
//
// PLAN has a line a packet: the milliseconds of its way, twice if it is doubled, nothing if it is lost. OUT gets rec.wav,
// rtp.json (what left the sender, when, and what became of it) and growth.json (when the recording grew), in the form in
// which a bench in real time writes them.

import Codecs
import Essentials
import Foundation
import Media
import RTP

@main struct VoiceSim {
    static func main() throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        var options: [String: Int] = [:]
        while let at = arguments.firstIndex(where: { $0.hasPrefix("--") }) {
            guard at + 1 < arguments.count, let value = Int(arguments[at + 1]) else { return usage() }
            options[String(arguments[at].dropFirst(2))] = value
            arguments.removeSubrange(at...at + 1)
        }
        guard arguments.count == 4 else { return usage() }
        let call = try SimulatedCall(codec: arguments[0].uppercased(), speech: arguments[1], plan: arguments[2], options)
        call.run()
        try call.write(to: URL(fileURLWithPath: arguments[3]))
    }

    private static func usage() {
        FileHandle.standardError.write(Data("VoiceSim CODEC SPEECH.wav PLAN OUT [--OPTION N]…\n".utf8))
        exit(2)
    }
}
