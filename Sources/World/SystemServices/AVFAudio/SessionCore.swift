// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// What of a session is touched from other threads.
final class SessionCore: @unchecked Sendable {
    struct Content {
        var category = AVAudioSession.Category.soloAmbient
        var mode = AVAudioSession.Mode.default
        var options: AVAudioSession.CategoryOptions = []
        var policy = AVAudioSession.RouteSharingPolicy.default
        var permission = AVAudioSession.RecordPermission.granted
        var preferredInput: String?
        var preferredSampleRate = 0.0
        var preferredBufferDuration = 0.0
        var route = AudioRoute()
        var isActiveForCall = false
        var isOutputMuted = false
        var isInputMuted = false
    }

    weak let link: AppLink?
    private weak var session: AVAudioSession?
    let content = Mutex(Content())

    init(link: AppLink) { self.link = link }

    func start(_ session: AVAudioSession) {
        self.session = session
        link?.handle(.audio) { [weak self] in self?.receive($0) }
    }

    /// Throws what the service answers; without a service the session is the app's alone, and nothing is refused.
    func ask(_ question: (RequestID) -> AppMessage) throws {
        guard case .sessionAnswer(_, let code?)? = link?.askAndWait(question) else { return }
        throw NSError(domain: NSOSStatusErrorDomain, code: code)
    }

    private func receive(_ message: ServiceMessage) {
        switch message {
        case .didActivate: content.withLock { $0.isActiveForCall = true }
        case .didDeactivate: content.withLock { $0.isActiveForCall = false }
        case .interruptionBegan(let reason):
            post(
                AVAudioSession.interruptionNotification,
                [
                    AVAudioSessionInterruptionTypeKey: AVAudioSession.InterruptionType.began.rawValue,
                    AVAudioSessionInterruptionReasonKey: reason,
                ])
        case .interruptionEnded(let shouldResume):
            let options: AVAudioSession.InterruptionOptions = shouldResume ? .shouldResume : []
            post(
                AVAudioSession.interruptionNotification,
                [
                    AVAudioSessionInterruptionTypeKey: AVAudioSession.InterruptionType.ended.rawValue,
                    AVAudioSessionInterruptionOptionKey: options.rawValue,
                ])
        case .routeChanged(let reason, let route):
            let before = content.withLock { content in
                defer { content.route = route }
                return content.route
            }
            post(
                AVAudioSession.routeChangeNotification,
                [
                    AVAudioSessionRouteChangeReasonKey: reason,
                    AVAudioSessionRouteChangePreviousRouteKey: AVAudioSessionRouteDescription.of(before),
                ])
        case .mediaServicesLost: post(AVAudioSession.mediaServicesWereLostNotification, [:])
        case .mediaServicesReset:
            content.withLock { content in
                content.category = .soloAmbient
                content.mode = .default
                content.options = []
            }
            post(AVAudioSession.mediaServicesWereResetNotification, [:])
        default: break
        }
    }

    private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
        let box = SendableBox((session, userInfo))
        guard let link else { return }
        link.deliver(on: link.privateQueue) {
            NotificationCenter.default.post(name: name, object: box.value.0, userInfo: box.value.1.isEmpty ? nil : box.value.1)
        }
    }
}

extension AVAudioSessionRouteDescription {
    static func of(_ route: AudioRoute) -> AVAudioSessionRouteDescription {
        AVAudioSessionRouteDescription(
            inputs: route.input.isEmpty ? [] : [.named(route.input)], outputs: route.output.isEmpty ? [] : [.named(route.output)])
    }
}

extension AVAudioSessionPortDescription {
    /// The service names ports as the API does: `builtInReceiver`.
    static let ports: [String: (port: AVAudioSession.Port, title: String)] = [
        "builtInMic": (.builtInMic, "Microphone"), "headsetMic": (.headsetMic, "Headset Microphone"), "lineIn": (.lineIn, "Line In"),
        "continuityMicrophone": (.continuityMicrophone, "Continuity Microphone"), "builtInReceiver": (.builtInReceiver, "Receiver"),
        "builtInSpeaker": (.builtInSpeaker, "Speaker"), "headphones": (.headphones, "Headphones"), "lineOut": (.lineOut, "Line Out"),
        "bluetoothA2DP": (.bluetoothA2DP, "Bluetooth"), "bluetoothLE": (.bluetoothLE, "Bluetooth"), "HDMI": (.HDMI, "HDMI"),
        "airPlay": (.airPlay, "AirPlay"), "bluetoothHFP": (.bluetoothHFP, "Bluetooth"), "usbAudio": (.usbAudio, "USB"),
        "carAudio": (.carAudio, "Car"),
    ]

    static func named(_ name: String) -> AVAudioSessionPortDescription {
        let known = ports[name] ?? (AVAudioSession.Port(rawValue: name), name)
        return AVAudioSessionPortDescription(portType: known.port, portName: known.title, uid: name)
    }
}
