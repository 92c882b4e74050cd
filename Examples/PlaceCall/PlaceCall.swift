// SPDX-License-Identifier: Apache-2.0
//
// Places a call without a server, plays a file into it, hangs up when the file has been played:
//
//   PlaceCall sip:echo@127.0.0.1:5060 hello.wav

import Handset
import PhoneCore

@main
struct PlaceCall {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else { return print("usage: PlaceCall URI FILE.wav") }
        let phone = try await Phone()
        let call = try await phone.call(from: nil, to: CommandLine.arguments[1])
        let player = await phone.bridge.openPlayer(CommandLine.arguments[2])
        for await event in call.events {
            switch event {
            case .state(.confirmed, _, _):
                await phone.bridge.connect(player, call.port)
                await phone.bridge.start(player)
                Task { for await case .port(.playbackFinished(player)) in phone.events { await call.hangUp() } }
            case .state(let state, let status, let reason): print("\(state) \(status) \(reason)")
            case .ended(let end): print(end.cause.sentence)
            default: break
            }
        }
        await phone.stop()
    }
}
