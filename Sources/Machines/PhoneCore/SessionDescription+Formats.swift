// SPDX-License-Identifier: Apache-2.0

import SDP

extension SessionDescription {
    /// The formats of the audio lines as a person reads them, for the evidence of causes: `G729, opus`.
    var audioFormats: String {
        var names: [String] = []
        for line in media where line.type.lowercased() == "audio" {
            let maps = line.attributes.filter { $0.name == "rtpmap" }.compactMap { $0.value?.split(separator: " ", maxSplits: 1) }
            for format in line.formats.prefix(16) {
                let mapped = maps.first { $0.count == 2 && $0[0] == format }?[1].split(separator: "/").first
                let name = mapped.map(String.init) ?? Self.staticName(format)
                if name.lowercased() != "telephone-event", !names.contains(name) { names.append(name) }
            }
        }
        return names.joined(separator: ", ")
    }

    /// RFC 3551 §6.
    private static func staticName(_ format: String) -> String {
        switch format {
        case "0": "PCMU"
        case "3": "GSM"
        case "4": "G723"
        case "8": "PCMA"
        case "9": "G722"
        case "13": "CN"
        case "15": "G728"
        case "18": "G729"
        default: format
        }
    }
}
