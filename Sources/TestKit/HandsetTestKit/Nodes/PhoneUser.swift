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
        case .hold, .resume, .digits, .hangUp: return change(step)
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
        case .callState(let id, .confirmed, _, _) where id == call:
            callIsConfirmed = true
            incomingRings = false
        case .ended(let id, let end) where id == call:
            callIsOver = true
            incomingRings = false
            switch steps.first {
            case .untilEnded, .hangUp, .refuse, .wait, .shutDown, .register, .unregister, nil: break
            // The other side may hang up before its ACK has come through (RFC 3261 §15): it was answered all the same.
            case .answer where end.wasEstablished: break
            case .call, .dial, .answer, .hold, .resume, .digits: fail("the call ended: \(end.cause.code)")
            }
        case .digitSent(let id, _, _, _) where id == call: digitsLeft -= 1
        case .holdFailed(let id, let cause) where id == call: fail("hold failed: \(cause.code)")
        case .digitFailed(let id, let cause) where id == call: fail("a digit failed: \(cause.code)")
        case .registration(_, .refused(let cause)): if steps.first == .register { fail("refused: \(cause.code)") }
        default: break
        }
    }

    private func isComplete(_ step: PhoneStep, by event: PhoneEvent) -> Bool {
        switch (step, event) {
        case (.register, .registration(_, .registered)), (.unregister, .registration(_, .unregistered)): true
        case (.call, .callState(let id, .confirmed, _, _)), (.answer, .callState(let id, .confirmed, _, _)): id == call
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
