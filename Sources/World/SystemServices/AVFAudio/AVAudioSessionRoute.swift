// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One source or sink of sound.
public class AVAudioSessionPortDescription: NSObject {
    public let portType: AVAudioSession.Port
    public let portName: String
    public let uid: String
    public let channels: [AVAudioSessionChannelDescription]?
    public let dataSources: [AVAudioSessionDataSourceDescription]?

    package init(portType: AVAudioSession.Port, portName: String, uid: String) {
        self.portType = portType
        self.portName = portName
        self.uid = uid
        channels = [AVAudioSessionChannelDescription(channelName: portName, owningPortUID: uid, channelNumber: 1)]
        dataSources = nil
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? AVAudioSessionPortDescription else { return false }
        return portType == other.portType && uid == other.uid
    }

    public override var hash: Int { uid.hashValue }
}

/// One channel of a port.
public class AVAudioSessionChannelDescription: NSObject {
    public let channelName: String
    public let owningPortUID: String
    public let channelNumber: Int

    init(channelName: String, owningPortUID: String, channelNumber: Int) {
        self.channelName = channelName
        self.owningPortUID = owningPortUID
        self.channelNumber = channelNumber
    }
}

/// One of several sources of a port, such as the microphones of a device. Linux has none.
public class AVAudioSessionDataSourceDescription: NSObject {
    public let dataSourceID: NSNumber
    public let dataSourceName: String

    init(dataSourceID: NSNumber, dataSourceName: String) {
        self.dataSourceID = dataSourceID
        self.dataSourceName = dataSourceName
    }
}

/// Where sound comes from and goes to at one moment.
public class AVAudioSessionRouteDescription: NSObject {
    public let inputs: [AVAudioSessionPortDescription]
    public let outputs: [AVAudioSessionPortDescription]

    package init(inputs: [AVAudioSessionPortDescription], outputs: [AVAudioSessionPortDescription]) {
        self.inputs = inputs
        self.outputs = outputs
    }
}
