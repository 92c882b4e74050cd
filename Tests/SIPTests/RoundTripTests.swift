// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// Whatever parses is written and parses again to the same.
@Suite struct RoundTripTests {
    private func check(_ message: SIPMessage, _ context: Comment) {
        let copy = MessageBuilder(copying: message).build()
        guard let again = SIPMessage.receive(copy.bytes).message else {
            Issue.record("does not parse again: \(SIPMessage.receive(copy.bytes).verdict) \(context)")
            return
        }
        #expect(again.method == message.method, context)
        #expect(again.vias == message.vias, context)
        #expect(again.from == message.from, context)
        #expect(again.to == message.to, context)
        #expect(again.callID == message.callID, context)
        #expect(again.cseq == message.cseq, context)
        #expect(again.contacts == message.contacts, context)
        #expect(again.body.elementsEqual(message.body), context)
        #expect(again.headers.count == message.headers.filter { HeaderName($0.name) != .contentLength }.count + 1, context)
        if message.isRequest {
            #expect((try? URI(message.requestURI.description))?.description == message.requestURI.description, context)
        }
        for address in message.contacts + message.routes + message.recordRoutes + [message.from, message.to] {
            guard let back = try? NameAddress(address.description) else {
                Issue.record("\(address) does not parse again \(context)")
                continue
            }
            #expect(back.description == address.description, context)
            #expect(back.tag == address.tag, context)
        }
        for via in message.vias { #expect((try? Via(via.description)) == via, context) }
        for challenge in message.challenges(.wwwAuthenticate) { #expect((try? Challenge(challenge.description)) == challenge, context) }
        for credentials in message.credentials(.authorization) {
            #expect((try? Credentials(credentials.description)) == credentials, context)
        }
        if let type = message.contentType { #expect((try? MediaType(type.description)) == type, context) }
    }

    @Test(arguments: CorpusExpectation.all.map(\.file)) func `a corpus message is copied and parses again`(file: String) throws {
        if let message = SIPMessage.receive(try Fixtures.bytes(file)).message { check(message, "\(file)") }
    }

    @Test func `5 000 mutated messages: nothing traps, and what parses survives the copy`() throws {
        let seeds = try CorpusExpectation.all.map { try Fixtures.bytes($0.file) }
        let interesting: [UInt8] = Array("\r\n \t\"<>;,:=?@%[]()\\#*/0z".utf8) + [0, 0x7f, 0x80, 0xff]
        var generator = SplitMix64(seed: 4475)
        var parsed = 0
        for round in 0..<5_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = interesting.randomElement(using: &generator) ?? 0
                case 1: bytes.insert(interesting.randomElement(using: &generator) ?? 0, at: place)
                case 2: bytes.remove(at: place)
                case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &generator)))
                default:
                    bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + Int.random(in: 1...40, using: &generator))], at: place)
                }
            }
            switch SIPMessage.receive(bytes) {
            case .message(let message):
                parsed += 1
                touchEverything(message)
                check(message, "round \(round)")
            case .refuse(let message, let status, _):
                touchEverything(message)
                _ = message.makeResponse(status: status, toTag: "t").build()
            case .drop: break
            }
            var framer = StreamFramer()
            framer.append(bytes)
            while framer.next() != nil {}
        }
        #expect(parsed > 1_000)
    }
}
