// SPDX-License-Identifier: Apache-2.0

/// The formats of one RTP line with their meanings, in the order of the line, made in one pass over its attributes.
struct PayloadTypeTable {
    struct Entry: Sendable {
        var payloadType: UInt8
        var map: RTPMap
        /// The peer's `a=fmtp`, or empty.
        var parameters: String
    }

    private(set) var entries: [Entry] = []
    /// Formats that mean nothing to us: no number of 0...127, or a number without a meaning.
    private(set) var ignored = 0
    /// Whether a number took its meaning from `fallback`.
    private(set) var usedFallback = false

    /// - Parameter fallback: what a number means that has neither an rtpmap nor a static meaning.
    init(_ media: MediaDescription, fallback: PayloadTypeBindings = PayloadTypeBindings()) {
        // By number: the place of its first rtpmap and fmtp, or `none`. Two small tables of octets, not 128 optional values.
        let none = UInt8.max
        var mapPlaces = [UInt8](repeating: none, count: 128)
        var parameterPlaces = mapPlaces
        var maps: [RTPMap] = []
        var parameters: [String] = []
        for attribute in media.attributes {
            guard let value = attribute.value else { continue }
            if attribute.name == "rtpmap" {
                guard let (number, map) = RTPMap.parse(value), mapPlaces[Int(number)] == none else { continue }
                mapPlaces[Int(number)] = UInt8(truncatingIfNeeded: maps.count)
                maps.append(map)
            } else if attribute.name == "fmtp" {
                let (name, rest) = splitAtSpace(value)
                guard let number = UInt8(name), number <= 127, parameterPlaces[Int(number)] == none else { continue }
                parameterPlaces[Int(number)] = UInt8(truncatingIfNeeded: parameters.count)
                parameters.append(String(rest))
            }
        }
        var seen = [Bool](repeating: false, count: 128)
        for format in media.formats {
            guard let number = UInt8(format), number <= 127, format.utf8.first != UInt8(ascii: "+") else {
                ignored += 1
                continue
            }
            guard !seen[Int(number)] else { continue }
            seen[Int(number)] = true
            let mapPlace = mapPlaces[Int(number)]
            var map = mapPlace == none ? RTPMap.staticType(number) : maps[Int(mapPlace)]
            if map == nil, let bound = fallback.map(number) {
                map = bound
                usedFallback = true
            }
            guard let map else {
                ignored += 1
                continue
            }
            let place = parameterPlaces[Int(number)]
            entries.append(Entry(payloadType: number, map: map, parameters: place == none ? "" : parameters[Int(place)]))
        }
    }
}

/// Which number means what, for one side of a session: a number keeps its meaning as long as the session lives
/// (RFC 3264 §8.3.2).
struct PayloadTypeBindings: Sendable {
    /// Ordered by the time of binding; a number stands once.
    private var bound: [(payloadType: UInt8, map: RTPMap)] = []

    func map(_ payloadType: UInt8) -> RTPMap? { bound.last { $0.payloadType == payloadType }?.map }

    /// The number last bound to this meaning.
    func payloadType(_ map: RTPMap) -> UInt8? { bound.last { $0.map.matches(map) }?.payloadType }

    mutating func bind(_ payloadType: UInt8, _ map: RTPMap) {
        bound.removeAll { $0.payloadType == payloadType }
        bound.append((payloadType, map))
    }
}
