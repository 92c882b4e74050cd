// SPDX-License-Identifier: Apache-2.0
//
//   show, close ──▶ wanted ──┐ wake
//                            ▼
//                [ read events · bring the server to what is wanted · wait ] ◀──▶ session bus
//                            │
//   tell ◀───────────────────┘

import CDBus
import CPosix
import Foundation
import Synchronization

/// The notification server on the person's session bus.
public final class DesktopNotificationServer: NotificationServer {
    /// How often a bus is looked for that is not there, in milliseconds.
    public static let retry: Int32 = 5000

    private struct Wish: Sendable {
        var key: String
        var notification: DesktopNotification
        /// Counts the changes, so that a notification that somebody closed is shown again only when there is something new.
        var version: UInt64
    }

    private struct Content {
        var wanted: [Wish] = []
        var version: UInt64 = 0
        var isStopped = false
    }

    private let content = Mutex(Content())
    private let wake: cposix_signal
    private let canRun: Bool
    private let ended = DispatchSemaphore(value: 0)
    private let isRunning = Atomic<Bool>(false)

    public init() {
        var signal = cposix_signal()
        canRun = unsafe cposix_signal_open(&signal) == 0
        wake = signal
    }

    deinit { if canRun { cposix_signal_close(wake) } }

    public func start(_ tell: @escaping @Sendable (NotificationEvent) -> Void) {
        guard canRun else { return tell(.unavailable(reason: "the system has no room for it")) }
        guard !isRunning.exchange(true, ordering: .relaxed) else { return }
        Thread.detachNewThread { [self] in
            var worker = Worker(wake: wake, tell: tell)
            while let wanted = content.withLock({ $0.isStopped ? nil : $0.wanted.map { ($0.key, $0.notification, $0.version) } }) {
                worker.turn(wanted)
            }
            worker.end()
            ended.signal()
        }
    }

    public func show(_ key: String, _ notification: DesktopNotification) {
        content.withLock { content in
            content.version += 1
            let wish = Wish(key: key, notification: notification, version: content.version)
            if let place = content.wanted.firstIndex(where: { $0.key == key }) {
                guard content.wanted[place].notification != notification else { return }
                content.wanted[place] = wish
            } else {
                content.wanted.append(wish)
            }
        }
        if canRun { cposix_signal_raise(wake) }
    }

    public func close(_ key: String) {
        content.withLock { $0.wanted.removeAll { $0.key == key } }
        if canRun { cposix_signal_raise(wake) }
    }

    /// Waits for the thread, two seconds at most: a server that does not answer is left.
    public func stop() {
        content.withLock { $0.isStopped = true }
        guard canRun, isRunning.exchange(false, ordering: .relaxed) else { return }
        cposix_signal_raise(wake)
        _ = ended.wait(timeout: .now() + 2)
    }
}

/// The thread's state.
private struct Worker {
    /// A notification that the server has, or had.
    private struct Shown {
        var key: String
        var identifier: UInt32
        var version: UInt64
        /// The server took it away.
        var isGone = false
        var isDismissed = false
        /// A button of it was pressed: that it goes then is no wish not to see it.
        var wasActed = false
    }

    private let wake: cposix_signal
    private let tell: @Sendable (NotificationEvent) -> Void
    /// By its address: an `OpaquePointer` is not Sendable. 0: there is no bus.
    private var notifier: UInt = 0
    private var capabilities: Int32?
    private var shown: [Shown] = []
    /// The newest change for which a server was looked for that was not there.
    private var tried: UInt64 = 0
    /// What was told last; nil: nothing.
    private var isAvailable: Bool?

    init(wake: cposix_signal, tell: @escaping @Sendable (NotificationEvent) -> Void) {
        self.wake = wake
        self.tell = tell
    }

    private var pointer: OpaquePointer? { unsafe OpaquePointer(bitPattern: notifier) }

    mutating func turn(_ wanted: [(key: String, notification: DesktopNotification, version: UInt64)]) {
        cposix_signal_clear(wake)
        if notifier == 0 { open() }
        guard let pointer = unsafe pointer else { return cposix_signal_wait(wake, DesktopNotificationServer.retry) }
        while readEvent() {}
        guard notifier != 0 else { return }
        // One that did not answer in time may do so for the next call.
        if capabilities == nil, let newest = wanted.map(\.version).max(), newest > tried {
            tried = newest
            serverCame()
        }
        reconcile(wanted)
        // What came while a question was answered is in memory, and not on the socket any more.
        if readEvent() { return cposix_signal_raise(wake) }
        if notifier != 0 { unsafe cdbus_notifier_wait(pointer, wake.reader, -1) }
    }

    mutating func end() {
        guard let pointer = unsafe pointer else { return }
        for entry in shown where !entry.isGone { unsafe cdbus_notifier_withdraw(pointer, entry.identifier) }
        unsafe cdbus_notifier_close(pointer)
        notifier = 0
    }

    private mutating func open() {
        let (opened, reason) = unsafe Self.withReason { text, room in UInt(bitPattern: unsafe cdbus_notifier_open(text, room)) }
        notifier = opened
        guard opened != 0 else { return fail(reason) }
        serverCame()
    }

    private mutating func fail(_ reason: String) {
        capabilities = nil
        if isAvailable != false { tell(.unavailable(reason: reason)) }
        isAvailable = false
    }

    private mutating func serverCame() {
        guard let pointer = unsafe pointer else { return }
        shown.removeAll { !$0.isDismissed }
        let (found, reason) = unsafe Self.withReason { text, room in unsafe cdbus_notifier_capabilities(pointer, text, room) }
        guard found >= 0 else { return fail(reason) }
        capabilities = found
        if isAvailable != true { tell(.available(hasActions: found & Int32(CDBUS_CAN_ACT) != 0)) }
        isAvailable = true
    }

    /// Handles the next event; false: there is none.
    private mutating func readEvent() -> Bool {
        guard let pointer = unsafe pointer else { return false }
        var identifier: UInt32 = 0
        let (event, text) = unsafe Self.withReason { text, room in unsafe cdbus_notifier_next(pointer, &identifier, text, room) }
        let place = shown.firstIndex { $0.identifier == identifier && !$0.isGone }
        switch UInt32(bitPattern: event) {
        case UInt32(CDBUS_NOTHING): return false
        case UInt32(CDBUS_ACTION):
            guard let place else { break }
            shown[place].wasActed = true
            tell(.invoked(key: shown[place].key, action: text))
        case UInt32(CDBUS_DISMISSED), UInt32(CDBUS_CLOSED):
            guard let place else { break }
            shown[place].isGone = true
            guard event == Int32(CDBUS_DISMISSED), !shown[place].wasActed else { break }
            shown[place].isDismissed = true
            tell(.dismissed(key: shown[place].key))
        case UInt32(CDBUS_SERVER_GONE): fail("the notification server is gone")
        case UInt32(CDBUS_SERVER_CAME): serverCame()
        default:
            unsafe cdbus_notifier_close(pointer)
            notifier = 0
            shown.removeAll { !$0.isDismissed }
            fail("the session bus is gone")
        }
        return notifier != 0
    }

    private mutating func reconcile(_ wanted: [(key: String, notification: DesktopNotification, version: UInt64)]) {
        guard let pointer = unsafe pointer, let capabilities else { return }
        for entry in shown where !wanted.contains(where: { $0.key == entry.key }) {
            if !entry.isGone { unsafe cdbus_notifier_withdraw(pointer, entry.identifier) }
        }
        shown.removeAll { entry in !wanted.contains { $0.key == entry.key } }
        for wish in wanted {
            let known = shown.first { $0.key == wish.key }
            if known?.version == wish.version || known?.isDismissed == true { continue }
            let replaced = known.map { $0.isGone ? 0 : $0.identifier } ?? 0
            guard let identifier = show(wish.notification, replacing: replaced, capabilities) else { return }
            shown.removeAll { $0.key == wish.key }
            shown.append(Shown(key: wish.key, identifier: identifier, version: wish.version))
        }
    }

    private mutating func show(_ notification: DesktopNotification, replacing: UInt32, _ capabilities: Int32) -> UInt32? {
        guard let pointer = unsafe pointer else { return nil }
        let body = capabilities & Int32(CDBUS_READS_MARKUP) != 0 ? Self.escaped(notification.body) : notification.body
        let words = [notification.app, notification.summary, body] + notification.actions.flatMap { [$0.key, $0.label] }
        let (identifier, reason) = unsafe Self.withReason { text, room in
            unsafe Self.withTexts(words) { list in
                guard let app = unsafe list[0], let summary = unsafe list[1], let body = unsafe list[2] else { return UInt32(0) }
                return unsafe cdbus_notifier_show(pointer, replacing, app, summary, body, list + 3, text, room)
            }
        }
        guard identifier != 0 else {
            fail(reason)
            return nil
        }
        return identifier
    }

    /// Text as a body's markup (Desktop Notifications Specification, "Markup").
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.append(character)
            }
        }
    }

    // MARK: C's texts

    @unsafe private static func withReason<Result>(_ body: (UnsafeMutablePointer<CChar>, Int) -> Result) -> (Result, String)
    where Result: Sendable {
        var text = [CChar](repeating: 0, count: 256)
        let result = unsafe text.withUnsafeMutableBufferPointer { place -> Result in
            // An array of 256 elements has a place.
            unsafe body(place.baseAddress.unsafelyUnwrapped, place.count)
        }
        return (result, String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// Hands the texts as C strings, with NULL behind the last, to `body`.
    @unsafe private static func withTexts<Result>(_ words: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result) -> Result {
        var text: [CChar] = []
        var starts: [Int] = []
        for word in words {
            starts.append(text.count)
            text += word.utf8.map { CChar(bitPattern: $0 == 0 ? 0x20 : $0) } + [0]
        }
        return unsafe text.withUnsafeBufferPointer { characters -> Result in
            var pointers: [UnsafePointer<CChar>?] = unsafe starts.map { start in unsafe characters.baseAddress.map { unsafe $0 + start } }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
        }
    }
}
