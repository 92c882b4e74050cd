// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the system shows of an app's calls, and what it offers for them. The provider copies it: a later change counts from the next assignment.
public class CXProviderConfiguration: NSObject, NSCopying {
    /// Deprecated on iOS: the display name of the app is shown.
    public private(set) var localizedName: String?
    /// The name of a file in the app's resources; nil or unreadable: the ringing tone of the system.
    public var ringtoneSound: String?
    /// A square PNG of which only the alpha channel counts.
    public var iconTemplateImageData: Data?
    /// How many groups may exist at once; a call by itself is a group.
    public var maximumCallGroups = 2
    /// How many calls a conference may have; 1: no merging.
    public var maximumCallsPerCallGroup = 5
    /// Whether calls are written to the history.
    public var includesCallsInRecents = true
    /// Whether the call screen shows the app's video button.
    public var supportsVideo = false
    /// The kinds of addresses that the system may offer to call back.
    public var supportedHandleTypes: Set<CXHandle.HandleType> = []
    /// Whether calls may be translated (iOS 26).
    public var supportsAudioTranslation = false

    public override init() {}

    public convenience init(localizedName: String) {
        self.init()
        self.localizedName = localizedName
    }

    public func copy(with zone: NSZone? = nil) -> Any { duplicate() }

    func duplicate() -> CXProviderConfiguration {
        let copy = CXProviderConfiguration()
        copy.localizedName = localizedName
        copy.ringtoneSound = ringtoneSound
        copy.iconTemplateImageData = iconTemplateImageData
        copy.maximumCallGroups = maximumCallGroups
        copy.maximumCallsPerCallGroup = maximumCallsPerCallGroup
        copy.includesCallsInRecents = includesCallsInRecents
        copy.supportsVideo = supportsVideo
        copy.supportedHandleTypes = supportedHandleTypes
        copy.supportsAudioTranslation = supportsAudioTranslation
        return copy
    }
}
