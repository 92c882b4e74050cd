// SPDX-License-Identifier: Apache-2.0
//
// The app as a program on Linux: SpeakerboxPhone. Its account stands in SPEAKERBOX_ACCOUNT, SPEAKERBOX_PASSWORD and SPEAKERBOX_PROXY; sound goes
// through the usual device, or from SPEAKERBOX_PLAY into SPEAKERBOX_RECORD. What it does is printed in one word each.

import Foundation
import Intents
import SpeakerboxLike
import SpeakerboxSIP
import Synchronization

@main
struct SpeakerboxPhone {
    private static let app = Mutex<SpeakerboxApp?>(nil)

    static func main() {
        let environment = ProcessInfo.processInfo.environment
        let sound: SIPSignalling.Sound
        if let play = environment["SPEAKERBOX_PLAY"], let record = environment["SPEAKERBOX_RECORD"] {
            sound = .files(play: play, record: record)
        } else {
            sound = .device(environment["SPEAKERBOX_DEVICE"] ?? "default")
        }
        let signalling = SIPSignalling(
            account: .init(
                address: environment["SPEAKERBOX_ACCOUNT"] ?? "sip:anonymous@localhost", password: environment["SPEAKERBOX_PASSWORD"] ?? "",
                proxy: environment["SPEAKERBOX_PROXY"]), sound: sound)
        let made = SpeakerboxApp(signalling: signalling)
        made.onLog = { text in say(text) }
        made.uploadToken = { token in say("token \(token ?? "none")") }
        app.withLock { $0 = made }
        CallActivities.handle { activity in app.withLock { $0 }?.handle(activity) ?? false }
        // Started for a push: the report comes first, and connects.
        if environment["HANDSET_LAUNCHED"] != "background" { signalling.connect() }
        for address in CommandLine.arguments.dropFirst() { made.call(address) }
        dispatchMain()
    }

    private static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) }
}
