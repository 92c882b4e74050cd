// SPDX-License-Identifier: Apache-2.0
//
// Header fields that name a dialog of the receiver: Replaces (RFC 3891) and Target-Dialog (RFC 4538); and what a REFER
// says besides (RFC 3515, RFC 3892, RFC 4488).

/// Replaces (RFC 3891 §6.1): the new call takes the place of this dialog.
public struct Replaces: Sendable, Hashable, CustomStringConvertible {
    public var callID: String
    /// The tag of the one who gets the field.
    public var toTag: String
    /// The tag of the other side of the dialog that is replaced.
    public var fromTag: String
    /// Only if that dialog is not answered yet.
    public var isEarlyOnly: Bool

    public init(callID: String, toTag: String, fromTag: String, isEarlyOnly: Bool = false) {
        self.callID = callID
        self.toTag = toTag
        self.fromTag = fromTag
        self.isEarlyOnly = isEarlyOnly
    }

    /// Reads `425928@bobster.example.org;to-tag=7743;from-tag=6472`; both tags are needed.
    public init(_ text: String) throws(SIPError) {
        let (callID, parameters) = try readDialogReference(text)
        guard let toTag = parameters["to-tag"], let fromTag = parameters["from-tag"] else { throw SIPError(.field) }
        self.init(callID: callID, toTag: toTag, fromTag: fromTag, isEarlyOnly: parameters.contains("early-only"))
    }

    public var description: String {
        "\(callID);to-tag=\(toTag);from-tag=\(fromTag)" + (isEarlyOnly ? ";early-only" : "")
    }
}

/// Target-Dialog (RFC 4538 §7): the sender knows this dialog, which shows that it may ask.
public struct TargetDialog: Sendable, Hashable, CustomStringConvertible {
    public var callID: String
    /// The sender's own tag in the dialog.
    public var localTag: String
    /// The receiver's tag in the dialog.
    public var remoteTag: String

    public init(callID: String, localTag: String, remoteTag: String) {
        self.callID = callID
        self.localTag = localTag
        self.remoteTag = remoteTag
    }

    /// Reads `fa77as7dad8-sd98ajzz@host.example.com;local-tag=kkaz-;remote-tag=6544`; both tags are needed.
    public init(_ text: String) throws(SIPError) {
        let (callID, parameters) = try readDialogReference(text)
        guard let localTag = parameters["local-tag"], let remoteTag = parameters["remote-tag"] else { throw SIPError(.field) }
        self.init(callID: callID, localTag: localTag, remoteTag: remoteTag)
    }

    public var description: String { "\(callID);local-tag=\(localTag);remote-tag=\(remoteTag)" }
}

private func readDialogReference(_ text: String) throws(SIPError) -> (callID: String, parameters: Parameters) {
    let bytes = Array(text.utf8)
    var i = bytes.firstIndex(of: 0x3b) ?? bytes.count
    let callID = Text.trimmed(String(decoding: bytes[..<i], as: UTF8.self))
    guard !callID.isEmpty, callID.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != 0x2c }) else { throw SIPError(.field) }
    let parameters = try Parameters(reading: bytes, at: &i)
    guard i == bytes.count else { throw SIPError(.field, at: i) }
    return (callID, parameters)
}

extension SIPMessage {
    /// RFC 3891; nil if it is missing, unreadable or there twice.
    public var replaces: Replaces? { single(.replaces).flatMap { try? Replaces($0) } }
    /// RFC 4538; nil if it is missing, unreadable or there twice.
    public var targetDialog: TargetDialog? { single(.targetDialog).flatMap { try? TargetDialog($0) } }
    /// RFC 3892 §2.1: who asked the sender to send this request.
    public var referredBy: NameAddress? { addresses(.referredBy).first }
    /// Refer-Sub (RFC 4488 §4): whether the REFER makes a subscription; nil if it does not say.
    public var referSub: Bool? {
        switch first(.referSub)?.prefix(while: { $0 != ";" }).filter({ $0 != " " && $0 != "\t" }).lowercased() {
        case "true": true
        case "false": false
        default: nil
        }
    }

    private func single(_ name: HeaderName) -> String? {
        let all = values(name)
        return all.count == 1 ? all.first : nil
    }
}

/// The start line of a response as `message/sipfrag` brings it (RFC 3420): how far a transfer has come (RFC 3515 §2.4.5).
public struct StatusFragment: Sendable, Hashable, CustomStringConvertible {
    /// 100...699
    public var statusCode: Int
    /// Safe to show.
    public var reasonPhrase: String

    public init(_ statusCode: Int, _ reasonPhrase: String? = nil) {
        self.statusCode = statusCode
        self.reasonPhrase = reasonPhrase ?? defaultReasonPhrase(statusCode)
    }

    /// Reads the first line of a body; what follows it is left aside. nil: that line is no status line.
    public init?(parsing body: [UInt8]) {
        let line = body.prefix(256).prefix { $0 != 0x0d && $0 != 0x0a }
        guard line.count >= 11, line.prefix(4).elementsEqual("SIP/".utf8) else { return nil }
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[1].count == 3, parts[1].allSatisfy({ (0x30...0x39).contains($0) }),
            let status = Int(String(decoding: parts[1], as: UTF8.self)), (100...699).contains(status)
        else { return nil }
        statusCode = status
        reasonPhrase = parts.count > 2 ? Text.visible(String(decoding: parts[2], as: UTF8.self)) : ""
    }

    /// The line with its end, as a body.
    public var description: String {
        "SIP/2.0 \(statusCode) \(reasonPhrase.split(whereSeparator: { $0.isNewline }).joined(separator: " "))\r\n"
    }
}
