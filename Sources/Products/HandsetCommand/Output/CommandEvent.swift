// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import SIPAgent

/// What the command reports: one line of output each. All of them stand in docs/events.md.
package enum CommandEvent: Sendable {
    /// A transport can be reached; comes before anything can be sent to it.
    case listening(transport: String, address: IPAddress, port: UInt16)
    case registration(String, Registration)
    case call(CallReference, Call)
    case media(CallReference, Media)
    /// A file given by `--play`: `started` or `finished`.
    case playback(CallReference, state: String, file: String)
    case dtmf(CallReference, Digit)
    /// Who holds (`local` or `remote`), and whether it is `held` or `resumed`.
    case hold(CallReference, by: String, state: String)
    case notice(CallReference, Notice)
    /// With the call that is transferred; nil: none, or it is over.
    case transfer(CallReference?, Transfer)
    /// Who is in a conference; empty: it is over.
    case conference(members: [String])
    case statistics(CallReference, StreamStatistics)
    /// Addresses of this machine: `gone`, `returned` or `moved`, and those that there are now.
    case network(state: String, addresses: [IPAddress], phone: String?)
    case warning(code: String, text: String, call: CallReference?)
    case ended(CallReference, Cause, duration: Interval?)
    /// News of messages, subscriptions and published state.
    case notification(NotificationEvent)
    /// A loudspeaker or a microphone that could be used.
    case device(SoundDeviceInfo)
    /// How the device of the calls is: `opening`, `ready`, `half` or `failed`, then with the reason.
    case sound(device: String, state: String, reason: String?)
    /// What works on the voice: `on`, `off` or `unavailable`.
    case voice(state: String, by: String?, reason: String?)
    /// How loud a port is, by its name.
    case level(port: String, AudioLevels)
    case program(CallReference, Program)
    /// The answer to a control line; with the port that it opened.
    case done(command: String, call: CallReference?, port: String? = nil)
    case error(command: String, text: String, call: CallReference?)
    /// `serve`: a user can be reached at a contact (`added`), or no longer (`removed`).
    case binding(user: String, state: String, contact: String, expires: Int?)
    /// A step of `demo`.
    case step(String, text: String)

    /// Which call, and with several phones in one process (`demo`) which phone.
    package struct CallReference: Sendable, Equatable {
        package var call: String
        package var phone: String?
        package init(_ call: String, phone: String? = nil) {
            self.call = call
            self.phone = phone
        }
    }

    package struct Registration: Sendable {
        /// `registering`, `registered`, `refused`, `failed` or `unregistered`.
        package var state: String
        package var status: Int?
        package var reason: String?
        /// Granted seconds.
        package var expires: Int?
        /// The code of the cause, of `refused` and `failed`.
        package var cause: String?
        package var phone: String?
        /// Why the last REGISTER was sent: `asked`, `due`, `retry`, …
        package var trigger: String?
        /// The server that granted it.
        package var server: SocketAddress?
        /// The version of TLS that was agreed on with it: `TLSv1.3`.
        package var tls: String?
        /// How many flows of the account are registered, where it has several.
        package var flows: Int?
        /// The GRUU that was given.
        package var gruu: String?
        /// The registrar's Service-Route.
        package var serviceRoute: [String]?
        /// The network wakes this phone by push.
        package var hasPush: Bool?
        package init(_ state: String, status: Int? = nil, reason: String? = nil, expires: Int? = nil, phone: String? = nil) {
            self.state = state
            self.status = status
            self.reason = reason
            self.expires = expires
            self.phone = phone
        }
    }

    package struct Call: Sendable {
        /// `outgoing` or `incoming`.
        package var direction: String
        /// `calling`, `incoming`, `early`, `connecting`, `confirmed` or `disconnected`.
        package var state: String
        package var status: Int?
        package var reason: String?
        package var remote: String
        /// Of which account, where there are several.
        package var account: String?
        package init(
            direction: String, state: String, status: Int? = nil, reason: String? = nil, remote: String, account: String? = nil
        ) {
            self.account = account
            self.direction = direction
            self.state = state
            self.status = status
            self.reason = reason
            self.remote = remote
        }
    }

    package struct Media: Sendable {
        package var codec: String
        /// `sendrecv`, `sendonly`, `recvonly` or `inactive`, from our side.
        package var direction: String
        package var local: SocketAddress?
        package var remote: SocketAddress?
        package var secured: Bool
        package init(codec: String, direction: String, local: SocketAddress?, remote: SocketAddress?, secured: Bool) {
            self.codec = codec
            self.direction = direction
            self.local = local
            self.remote = remote
            self.secured = secured
        }
    }

    package struct Transfer: Sendable {
        /// `outgoing` (we transfer the other side), `incoming` (they transfer us) or `replaced` (another call takes the place of
        /// one of ours).
        package var direction: String
        /// `requested`, `trying`, `progress`, `succeeded`, `failed` or `undone`.
        package var state: String
        package var status: Int?
        package var reason: String?
        package var target: String?
        /// Who asked for it.
        package var by: String?
        /// The other call.
        package var with: String?
        /// Why it failed.
        package var cause: String?
        package init(
            direction: String, state: String, status: Int? = nil, reason: String? = nil, target: String? = nil, by: String? = nil,
            with: String? = nil, cause: String? = nil
        ) {
            self.direction = direction
            self.state = state
            self.status = status
            self.reason = reason
            self.target = target
            self.by = by
            self.with = with
            self.cause = cause
        }
    }

    package struct Program: Sendable {
        /// `started`, `mark`, `ended` or `failed`.
        package var state: String
        package var process: Int?
        package var mark: String?
        package var status: Int?
        package var reason: String?
        package var figures: ProgramFigures?
        package init(
            _ state: String, process: Int? = nil, mark: String? = nil, status: Int? = nil, reason: String? = nil,
            figures: ProgramFigures? = nil
        ) {
            self.state = state
            self.process = process
            self.mark = mark
            self.status = status
            self.reason = reason
            self.figures = figures
        }
    }

    package struct Digit: Sendable {
        /// `sent` or `received`.
        package var direction: String
        package var digit: Character
        /// `rfc4733`, `info` or `inband`.
        package var method: String
        package var milliseconds: Int
        package init(direction: String, digit: Character, method: String, milliseconds: Int) {
            self.direction = direction
            self.digit = digit
            self.method = method
            self.milliseconds = milliseconds
        }
    }
}
