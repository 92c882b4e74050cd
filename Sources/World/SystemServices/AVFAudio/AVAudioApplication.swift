// SPDX-License-Identifier: Apache-2.0

import AppLink
import Foundation

/// What is the app's and not the session's: the permission to record, and the mute of all its input (iOS 17).
public class AVAudioApplication: NSObject {
    /// Named as the older enum of the session, in lower case.
    public enum recordPermission: Int, Sendable {
        case undetermined = 0x756e_6474
        case denied = 0x6465_6e79
        case granted = 0x6772_6e74
    }

    private let link: AppLink

    private init(link: AppLink) { self.link = link }

    public class var shared: AVAudioApplication {
        let link = AppLink.current
        return link.part { AVAudioApplication(link: link) }
    }

    /// Posted when the mute of the input changed while a session records; `userInfo` has `muteStateKey`.
    public static let inputMuteStateChangeNotification = Notification.Name("AVAudioApplicationInputMuteStateChangeNotification")
    public static let muteStateKey = "AVAudioApplicationMuteStateKey"

    public var recordPermission: recordPermission {
        AVAudioApplication.recordPermission(rawValue: Int(AVAudioSession.of(link).recordPermission.rawValue)) ?? .undetermined
    }

    public class func requestRecordPermission(completionHandler response: @escaping @Sendable (Bool) -> Void) {
        AVAudioSession.sharedInstance().requestRecordPermission(response)
    }

    public class func requestRecordPermission() async -> Bool {
        await withCheckedContinuation { continuation in requestRecordPermission { continuation.resume(returning: $0) } }
    }

    public var isInputMuted: Bool { AVAudioSession.of(link).core.content.withLock { $0.isInputMuted } }

    public func setInputMuted(_ muted: Bool) throws {
        let session = AVAudioSession.of(link)
        let isRecording = session.core.content.withLock { content in
            content.isInputMuted = muted
            return content.isActiveForCall
        }
        guard isRecording else { return }
        let box = SendableBox(self)
        link.deliver(on: link.privateQueue) {
            NotificationCenter.default.post(
                name: Self.inputMuteStateChangeNotification, object: box.value, userInfo: [Self.muteStateKey: muted])
        }
    }
}
