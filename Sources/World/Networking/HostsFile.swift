// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The names that are known without asking: `/etc/hosts`, and `localhost` with all below it (RFC 6761 §6.3).
struct HostsFile {
    /// Seconds for which an entry is told to hold.
    private static let timeToLive: UInt32 = 60
    private static let sizeLimit = 1 << 20

    private var addresses: [String: [IPAddress]] = [:]

    init(text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let content = line.prefix { $0 != "#" }
            let words = content.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, let address = IPAddress(first) else { continue }
            for name in words.dropFirst() { addresses[DNSMessage.folded(name), default: []].append(address) }
        }
    }

    init(path: String) {
        self.init(text: Self.read(path))
    }

    /// What the file says; nil if it does not know the name, so that a server is to be asked.
    func answer(_ question: DNSQuestion) -> DNSResult? {
        let name = DNSMessage.folded(question.name)
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        guard question.type == .a || question.type == .aaaa else { return isLocal ? DNSResult.none : nil }
        var known = addresses[name] ?? []
        if known.isEmpty, isLocal { known = [.loopbackV4, .loopbackV6] }
        guard !known.isEmpty else { return nil }
        let wanted = known.filter { $0.isV6 == (question.type == .aaaa) }
        guard !wanted.isEmpty else { return DNSResult.none }
        return .records(wanted.map { DNSRecord(.address($0), timeToLive: Self.timeToLive) })
    }

    private static func read(_ path: String) -> String {
        let fd = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { return "" }
        defer { close(fd) }
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while content.count < sizeLimit {
            let count = unsafe block.withUnsafeMutableBytes { unsafe readDescriptor(fd, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            content.append(contentsOf: block[..<count])
        }
        return String(decoding: content, as: UTF8.self)
    }
}

/// `read` by a name that a method called `read` does not hide.
private func readDescriptor(_ fd: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(fd, buffer, count)
}
