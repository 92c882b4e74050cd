// SPDX-License-Identifier: Apache-2.0
//
// Answers every call and lets the caller hear himself: EchoPhone. Calls need no server here: sip:anybody@HOST:PORT.

import Essentials
import Handset
import PhoneCore

@main
struct EchoPhone {
    static func main() async throws {
        var settings = PhoneSettings(listeners: [.init(.udp, SocketAddress(.loopbackV4, 5070))])
        settings.core.agent.directCalls = .accept
        let phone = try await Phone(settings)
        for listener in await phone.listening { print("call me at sip:echo@\(listener.address)") }
        for await call in phone.incomingCalls {
            Task {
                print("\(call.incoming?.remote.description ?? "somebody") calls")
                try await call.answer()
                let echo = await phone.bridge.openEcho()
                await phone.bridge.join(echo, call.port)
                for await case .ended(let end) in call.events { print(end.cause.sentence) }
                await phone.bridge.close(echo)
            }
        }
    }
}
