// SPDX-License-Identifier: Apache-2.0

import AVFAudio
import Foundation

/// What the system asks of an app for its calls. Each call arrives on the provider's queue.
///
/// Only `providerDidReset` must be written. The other methods have a default here; the default of a `perform` fails the action and is
/// reported as `action.notImplemented`. Write the methods in the class that declares the conformance: in a subclass they are not found.
public protocol CXProviderDelegate: NSObjectProtocol {
    /// Everything is lost: end all calls locally, stop audio, clear lists.
    func providerDidReset(_ provider: CXProvider)
    /// The provider is registered.
    func providerDidBegin(_ provider: CXProvider)
    /// Asks once for each transaction; true: the app executes it and completes its actions.
    func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool
    func provider(_ provider: CXProvider, perform action: CXStartCallAction)
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
    func provider(_ provider: CXProvider, perform action: CXEndCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction)
    func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetTranslatingCallAction)
    /// The action was not completed in time. It counts as failed and is not to be completed any more.
    func provider(_ provider: CXProvider, timedOutPerforming action: CXAction)
    /// The audio session is the app's: start audio.
    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
    /// The audio session was taken away: stop audio.
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

extension CXProviderDelegate {
    public func providerDidBegin(_ provider: CXProvider) {}
    public func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool { false }
    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, perform action: CXSetTranslatingCallAction) { action.state.finish(.notImplemented) }
    public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) {}
    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {}
    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {}
}
