// SPDX-License-Identifier: Apache-2.0
//
// A person at a simulated phone, who follows a script in virtual time.

import Essentials
import PhoneCore
import SIPAgent

/// One thing that a scripted user does, or waits for. The next step begins when this one is complete.
public enum PhoneStep: Sendable, Hashable {
    /// Registers; complete when the registrar has granted it.
    case register
    /// Takes the registration back.
    case unregister
    /// Does nothing for so long.
    case wait(Interval)
    /// Calls; complete when the call is answered and confirmed.
    case call(String)
    /// Calls; complete at once.
    case dial(String)
    /// Waits for a call, lets it ring, answers; complete when the answer is confirmed.
    case answer(after: Interval)
    /// Waits for a call, lets it ring, refuses; complete when it is over.
    case refuse(status: Int, after: Interval)
    /// Puts the call on hold; complete when the other side has agreed.
    case hold
    /// Takes it off hold.
    case resume
    /// Sends DTMF digits; complete when the last was sent to its end.
    case digits(String)
    /// Transfers the call to a number or URI; complete when the new call was answered.
    case transfer(String)
    /// Puts the call on hold and calls somebody else; complete when that is answered. The steps are then about the new call.
    case consult(String)
    /// Joins the call on hold with the one after it (attended transfer); complete when it was done.
    case transferToConsulted
    /// Joins the call on hold with the one after it and ourselves in a conference; complete when they are joined.
    case conference
    /// Waits until the other side has transferred us; complete when the new call is answered. The steps are then about it.
    case untilTransferred
    /// Hangs up; complete when the call is over.
    case hangUp
    /// Waits until the call is over.
    case untilEnded
    /// Ends everything; complete when the phone has stopped.
    case shutDown
}

/// A scripted user: where they are in the script, and what went wrong.
public final class PhoneUser {
    private unowned let phone: SimulatedPhone
    /// The most virtual time for one step beyond what it waits by itself.
    public var patience = Interval.seconds(90)
    /// The call that the steps are about: the last one placed or received.
    public private(set) var call: CallID?
    /// The call that was put on hold for another (`consult`).
    public private(set) var heldCall: CallID?
    /// Whether the last step is complete.
    public var isDone: Bool { steps.isEmpty && failure == nil }
    /// What went wrong, with the step; nil: nothing so far.
    public private(set) var failure: String?
    /// The steps not complete yet, the present one first.
    public private(set) var steps: [PhoneStep] = []
    private var digitsLeft = 0
    private var stepNumber = 0
    private var callIsConfirmed = false
    private var callIsOver = false
    private var incomingRings = false
    private var wasTransferred = false

    init(_ phone: SimulatedPhone) { self.phone = phone }

    func follow(_ script: [PhoneStep]) {
        let isIdle = steps.isEmpty
        steps += script
        if isIdle { begin() }
    }

    // MARK: Steps

    private func begin() {
        guard failure == nil, let step = steps.first else { return }
        stepNumber += 1
        let limit = patience + duration(of: step)
        later(limit) { $0.fail("took longer than \(limit.seconds) s") }
        if let error = start(step) { fail(error) }
    }

    private func duration(of step: PhoneStep) -> Interval {
        switch step {
        case .wait(let interval), .answer(let interval), .refuse(_, let interval): interval
        case .digits(let digits): .milliseconds(500) * Int64(digits.utf8.count)
        default: .zero
        }
    }

    /// Starts a step; gives the reason when it cannot be done.
    private func start(_ step: PhoneStep) -> String? {
        switch step {
        case .register: attempt { phone, _ throws(PhoneError) in try phone.register() }
        case .unregister:
            guard let account = phone.accountID else { return "has no account" }
            command { core, now throws(PhoneError) in try core.unregister(account, now: now) }
        case .wait(let interval): later(interval) { $0.complete() }
        case .call(let target), .dial(let target):
            callIsConfirmed = false
            callIsOver = false
            let isDial = if case .dial = step { true } else { false }
            attempt { phone, user throws(PhoneError) in
                user.call = try phone.call(target)
                if isDial { user.complete() }
            }
        case .answer(let after), .refuse(_, let after):
            if incomingRings { later(after) { $0.takeCall() } }
        case .hold, .resume, .digits, .hangUp, .transfer, .consult, .transferToConsulted, .conference: return change(step)
        case .untilTransferred: if wasTransferred, callIsConfirmed { later(.zero) { $0.complete() } }
        case .untilEnded: if callIsOver { later(.zero) { $0.complete() } }
        case .shutDown: attempt { phone, _ throws(PhoneError) in phone.shutDown() }
        }
        return nil
    }

    /// A step for a call that there is.
    private func change(_ step: PhoneStep) -> String? {
        guard let call else { return "there is no call" }
        switch step {
        case .hold: command { core, now throws(PhoneError) in try core.hold(call, now: now) }
        case .resume: command { core, now throws(PhoneError) in try core.resume(call, now: now) }
        case .digits(let digits):
            digitsLeft = digits.filter { $0 != "," }.count
            command { core, now throws(PhoneError) in try core.sendDigits(digits, on: call, now: now) }
        case .transfer(let target): command { core, now throws(PhoneError) in _ = try core.transfer(call, to: target, now: now) }
        case .consult: command { core, now throws(PhoneError) in try core.hold(call, now: now) }
        case .transferToConsulted, .conference:
            guard let heldCall else { return "there is no call on hold" }
            let joins = if case .conference = step { true } else { false }
            command { core, now throws(PhoneError) in
                if joins {
                    _ = try core.conference([heldCall, call], now: now)
                } else {
                    _ = try core.transfer(heldCall, with: call, now: now)
                }
            }
        default:
            if callIsOver { return "the call is over already" }
            command { core, now throws(PhoneError) in try core.hangUp(call, now: now) }
        }
        return nil
    }

    private func command(_ action: @escaping (PhoneCore, MonotonicTime) throws(PhoneError) -> Void) {
        attempt { phone, _ throws(PhoneError) in try phone.perform(action) }
    }

    /// Does it a moment later, outside whatever runs now.
    private func attempt(_ action: @escaping (SimulatedPhone, PhoneUser) throws(PhoneError) -> Void) {
        later(.zero) { user in
            do throws(PhoneError) {
                try action(user.phone, user)
            } catch {
                user.fail("\(error)")
            }
        }
    }

    /// Does it after a while, unless the step is over by then.
    private func later(_ interval: Interval, _ action: @escaping (PhoneUser) -> Void) {
        let mine = stepNumber
        phone.world.schedule(after: interval) { [weak self] in
            guard let self, self.stepNumber == mine, self.failure == nil, !self.steps.isEmpty else { return }
            action(self)
        }
    }

    private func takeCall() {
        guard let call, let step = steps.first else { return }
        // The caller may have given up in between, then the call cannot be answered; its end tells.
        try? phone.perform { core, now throws(PhoneError) in
            if case .refuse(let status, _) = step {
                try core.reject(call, status: status, now: now)
            } else {
                try core.answer(call, now: now)
            }
        }
    }

    private func complete() {
        guard failure == nil, !steps.isEmpty else { return }
        steps.removeFirst()
        stepNumber += 1
        begin()
    }

    private func fail(_ reason: String) {
        guard failure == nil else { return }
        failure = "\(steps.first.map { "\($0)" } ?? "end"): \(reason)"
    }

    // MARK: What the user sees

    func saw(_ event: PhoneEvent) {
        note(event)
        guard failure == nil, let step = steps.first else { return }
        if isComplete(step, by: event) { complete() }
    }

    private func note(_ event: PhoneEvent) {
        switch event {
        case .incomingCall(let id, _):
            call = id
            callIsConfirmed = false
            callIsOver = false
            incomingRings = true
            switch steps.first {
            case .answer(let after), .refuse(_, let after): later(after) { $0.takeCall() }
            default: break
            }
        case .hold(let id, by: .local, isHeld: true) where id == call:
            if case .consult(let target) = steps.first { consult(target, id) }
        case .transfer(_, let transfer): note(transfer)
        case .callState(let id, .confirmed, _, _) where id == call:
            callIsConfirmed = true
            incomingRings = false
        case .ended(let id, let end) where id == call:
            callIsOver = true
            incomingRings = false
            switch steps.first {
            case .untilEnded, .hangUp, .refuse, .wait, .shutDown, .register, .unregister, nil: break
            case .transfer where end.cause.code == "call.transferred": break
            // The target ends the call to us when it has the new one, before the other side tells of it.
            case .transferToConsulted: break
            case .untilTransferred where wasTransferred && end.wasEstablished: break
            // The other side may hang up before its ACK has come through (RFC 3261 §15): it was answered all the same.
            case .answer where end.wasEstablished: break
            case .call, .dial, .answer, .hold, .resume, .digits, .transfer, .consult, .conference, .untilTransferred:
                fail("the call ended: \(end.cause.code)")
            }
        case .digitSent(let id, _, _, _) where id == call: digitsLeft -= 1
        case .holdFailed(let id, let cause) where id == call: fail("hold failed: \(cause.code)")
        case .digitFailed(let id, let cause) where id == call: fail("a digit failed: \(cause.code)")
        case .registration(_, .refused(let cause)): if steps.first == .register { fail("refused: \(cause.code)") }
        default: break
        }
    }

    /// Calls somebody else while the call is on hold.
    private func consult(_ target: String, _ held: CallID) {
        heldCall = held
        callIsConfirmed = false
        attempt { phone, user throws(PhoneError) in user.call = try phone.call(target) }
    }

    private func note(_ transfer: TransferEvent) {
        switch (transfer.role, transfer.state) {
        case (.transferee, .trying):
            guard let new = transfer.otherCall else { return }
            call = new
            wasTransferred = true
            callIsConfirmed = false
            callIsOver = false
        case (.transferor, .failed):
            switch steps.first {
            case .transfer, .transferToConsulted: fail("the transfer failed: \(transfer.cause?.code ?? "")")
            default: break
            }
        default: break
        }
    }

    private func isComplete(_ step: PhoneStep, by event: PhoneEvent) -> Bool {
        switch (step, event) {
        case (.register, .registration(_, .registered)), (.unregister, .registration(_, .unregistered)): true
        case (.call, .callState(let id, .confirmed, _, _)), (.untilTransferred, .callState(let id, .confirmed, _, _)):
            id == call && (step != .untilTransferred || wasTransferred)
        case (.consult, .callState(let id, .confirmed, _, _)): id == call
        case (.transfer, .transfer(_, let event)), (.transferToConsulted, .transfer(_, let event)):
            event.role == .transferor && event.state == .succeeded
        case (.conference, .conference(_, let members)): members.count > 1
        case (.answer, .callState(let id, .confirmed, _, _)): id == call
        case (.hold, .hold(let id, by: .local, isHeld: true)), (.resume, .hold(let id, by: .local, isHeld: false)): id == call
        case (.digits, .digitSent(let id, _, _, _)): id == call && digitsLeft <= 0
        case (.hangUp, .ended(let id, _)), (.untilEnded, .ended(let id, _)), (.refuse, .ended(let id, _)): id == call
        case (.answer, .ended(let id, let end)): id == call && end.wasEstablished
        case (.shutDown, .stopped): true
        default: false
        }
    }
}

extension SimulatedPhone {
    /// Lets the phone's user do these steps, after those they were given before.
    public func follow(_ script: [PhoneStep]) { user.follow(script) }
}
