// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Testing

@Suite struct WireTests {
    @Test func aMessageComesBackAsItWas() throws {
        let call = UUIDValue(high: 1, low: .max)
        let update = CallUpdate(remoteHandle: Handle(.phoneNumber, "+86 138 0000 0000"), localizedCallerName: "Ana — Öz", hasVideo: true)
        var configuration = ProviderConfiguration()
        configuration.iconTemplateImage = Octets([0, 255, 7])
        configuration.supportedHandleTypes = [.generic, .phoneNumber]
        let start = ActionDescription(
            uuid: call, call: call, kind: .start(handle: Handle(.generic, "1002"), contactIdentifier: nil, isVideo: false),
            timeoutDate: WallTime(microseconds: -5))
        let messages: [ToService] = [
            .app(.hello(AppDescriptor(bundle: "org.example", displayName: "Example"))), .app(.registerProvider(1, configuration)),
            .app(.reportNewIncomingCall(.max, 1, call: call, update)), .app(.reportEnded(1, call: call, at: nil, .remoteEnded)),
            .app(.request(3, TransactionDescription(uuid: call, actions: [start]))),
            .app(.completeAction(call, .fulfilled(at: WallTime(microseconds: .max), engine: nil))), .app(.completeAction(call, .failed)),
            .app(.probe(.signalling(call: call, .elsewhere))), .openScreen, .user(9, .holdAndAccept(call)), .user(1, .swap),
            .deliverPush(1, bundle: "a", type: "b", payload: Octets(Array("{}".utf8))),
        ]
        for message in messages {
            var reader = FrameReader()
            reader.append(Wire.frame(message))
            let body = try #require(try reader.next())
            #expect(try Wire.message(ToService.self, body) == message)
            #expect(try reader.next() == nil)
        }
    }
}
