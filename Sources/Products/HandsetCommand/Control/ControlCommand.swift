// SPDX-License-Identifier: Apache-2.0

/// A line of `--control`: what a program that drives the command asks for.
package struct ControlCommand: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        case hold
        case resume
        /// The other side is to make an offer anew.
        case requestOffer
        case mute
        case unmute
        case dtmf(String)
        /// Blind transfer to a URI.
        case transfer(to: String)
        /// Transfer to the other side of another call.
        case attended(with: String)
        /// Ask a phone with which there is no call to call somebody.
        case refer(peer: String, to: String)
        /// Follow a transfer that the other side asks for.
        case acceptTransfer
        case rejectTransfer(status: Int)
        /// Join these calls, or all.
        case conference([String])
        /// Take the call out of its conference.
        case part
        case answer
        /// Answer, and hold or end the other calls first.
        case answerHolding
        case answerEnding
        /// Go back to a held call, and hold the others.
        case swap
        case reject(status: Int)
        case hangUp
        case statistics
        /// Register at once: a push came (RFC 8599), or something else woke the phone.
        case wake
        /// Place another call (`phone`).
        case call(String)
        /// The network is another one: register and tell addresses anew.
        case network
        /// Something of the bridge.
        case sound(SoundCommand)
        case quit
        /// Tell of every account, and take one for calls.
        case accounts
        case use
        /// A message to somebody, or (nil) within a call.
        case message(to: String?, text: String)
        /// `package`: `mwi`, `dialog` or `presence`; `to` nil: the account's own.
        case subscribe(to: String?, package: String, expires: Int)
        case unsubscribe(to: String, package: String)
        /// `status`: `open`, `closed`, or `off` to take it back.
        case publish(status: String, note: String?)
    }

    package var action: Action
    /// The word of the line, for the event that answers it.
    package var name: String
    /// Which call; nil is the only one, or the newest.
    package var call: String?
    /// Which account: its address, its user or its number; nil is the current one.
    package var account: String?

    package init(_ action: Action, name: String, call: String? = nil, account: String? = nil) {
        self.account = account
        self.action = action
        self.name = name
        self.call = call
    }

    /// What is wrong with a line: the text of the `error` event.
    package struct Failure: Error, Sendable, Equatable {
        package var command: String
        package var text: String

        package init(command: String, text: String) {
            self.command = command
            self.text = text
        }
    }

    /// Reads `{"command":"dtmf","digits":"42#","call":"1"}`.
    package init(parsing line: String) throws(Failure) {
        let object: JSONValue
        do {
            object = try JSONValue(parsing: line)
        } catch {
            throw Failure(command: "", text: "not JSON: \(error.reason) at octet \(error.offset)")
        }
        guard case .object = object, let name = object["command"]?.text else {
            throw Failure(command: "", text: "no \"command\" in the line")
        }
        let action = try Self.action(name, object)
        var call = object["call"]?.text
        if case .integer(let number) = object["call"] { call = "\(number)" }
        var account = object["account"]?.text
        if case .integer(let number) = object["account"] { account = "\(number)" }
        if action == .use, account == nil { throw Failure(command: name, text: "use needs \"account\"") }
        self.init(action, name: name, call: call, account: account)
    }

    private static func status(_ object: JSONValue, else usual: Double, _ name: String) throws(Failure) -> Int {
        let status = object["status"]?.number ?? usual
        guard status == status.rounded(), (300...699).contains(status) else {
            throw Failure(command: name, text: "\"status\" is 300 to 699")
        }
        return Int(status)
    }

    private static func calls(_ object: JSONValue, _ name: String) throws(Failure) -> [String] {
        guard let given = object["calls"] else { return [] }
        guard case .array(let values) = given, values.count >= 2 else {
            throw Failure(command: name, text: "\"calls\" is a list of two calls or more")
        }
        var calls: [String] = []
        for value in values {
            if case .integer(let number) = value {
                calls.append("\(number)")
            } else if let text = value.text {
                calls.append(text)
            } else {
                throw Failure(command: name, text: "\"calls\" is a list of calls")
            }
        }
        return calls
    }

    private static func action(_ name: String, _ object: JSONValue) throws(Failure) -> Action {
        func needed(_ member: String) throws(Failure) -> String {
            guard let text = object[member]?.text, !text.isEmpty else { throw Failure(command: name, text: "\(name) needs \"\(member)\"") }
            return text
        }
        switch name {
        case "hold": return .hold
        case "resume": return .resume
        case "request-offer": return .requestOffer
        case "mute": return .mute
        case "unmute": return .unmute
        case "dtmf":
            let digits = try needed("digits")
            guard digits.allSatisfy({ "0123456789*#ABCDabcd,".contains($0) }) else {
                throw Failure(command: name, text: "digits are 0-9 * # A-D and a comma for a pause")
            }
            return .dtmf(digits.uppercased())
        case "transfer": return .transfer(to: try needed("to"))
        case "attended": return .attended(with: try needed("with"))
        case "refer": return .refer(peer: try needed("peer"), to: try needed("to"))
        case "accept-transfer": return .acceptTransfer
        case "reject-transfer": return .rejectTransfer(status: try status(object, else: 603, name))
        case "conference": return .conference(try calls(object, name))
        case "part": return .part
        case "answer":
            switch object["others"] {
            case nil: return .answer
            case .string("hold"): return .answerHolding
            case .string("end"): return .answerEnding
            default: throw Failure(command: name, text: "\"others\" is hold or end")
            }
        case "swap": return .swap
        case "reject": return .reject(status: try status(object, else: 486, name))
        case "hangup": return .hangUp
        case "statistics": return .statistics
        case "wake": return .wake
        case "call": return .call(try needed("to"))
        case "network": return .network
        case "accounts": return .accounts
        case "use": return .use
        case "quit": return .quit
        case "message": return .message(to: object["to"]?.text, text: try needed("text"))
        case "subscribe", "unsubscribe":
            let package = try needed("package")
            guard ["mwi", "dialog", "presence"].contains(package) else {
                throw Failure(command: name, text: "\"package\" is mwi, dialog or presence")
            }
            if name == "unsubscribe" { return .unsubscribe(to: try needed("to"), package: package) }
            let expires = object["expires"]?.number ?? 3600
            guard expires == expires.rounded(), (0...86_400).contains(expires) else {
                throw Failure(command: name, text: "\"expires\" is 0 to 86400")
            }
            return .subscribe(to: object["to"]?.text, package: package, expires: Int(expires))
        case "publish":
            let status = try needed("status")
            guard ["open", "closed", "off"].contains(status) else {
                throw Failure(command: name, text: "\"status\" is open, closed or off")
            }
            return .publish(status: status, note: object["note"]?.text)
        default:
            if let sound = try SoundCommand.parse(name, object) { return .sound(sound) }
            throw Failure(command: name, text: "there is no command \"\(name)\"")
        }
    }
}
