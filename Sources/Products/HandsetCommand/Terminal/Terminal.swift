// SPDX-License-Identifier: Apache-2.0
//
// The terminal of the interactive phone. One thread owns it: it waits for keys, for things to print, and for the next second.

import CEdit
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Prints above the line that a person types, and hands out the lines typed.
package final class Terminal: Sendable {
    private struct State: Sendable {
        var lines: [String] = []
        var status: @Sendable (_ columns: Int) -> String = { _ in "" }
        var rings = false
        var isClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
        var isOver = false
    }

    private static let prompt = "handset> "
    private let state = Mutex(State())
    private let wakeReader: Int32
    private let wakeWriter: Int32
    private let history: String?
    private let input = AsyncStream<String>.makeStream()

    /// - Parameter history: the file of the lines typed before; nil: they are not kept.
    package init(history: String?) {
        var ends: [Int32] = [-1, -1]
        _ = unsafe ends.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return Int32(-1) }
            return unsafe pipe(base)
        }
        (wakeReader, wakeWriter) = (ends[0], ends[1])
        _ = fcntl(wakeWriter, F_SETFL, O_NONBLOCK)
        _ = fcntl(wakeReader, F_SETFL, O_NONBLOCK)
        self.history = history
    }

    deinit {
        close(wakeReader)
        close(wakeWriter)
    }

    /// Whether standard input and output are a terminal.
    package static var isThere: Bool { isatty(0) == 1 && isatty(1) == 1 }

    /// The lines as they are typed; ends with Ctrl-D, or when the terminal is gone.
    package var typed: AsyncStream<String> { input.stream }

    /// Takes the screen over. Throws the reason if there is no line editor.
    package func open() throws(CommandFailure) {
        var reason = [CChar](repeating: 0, count: 256)
        let made = unsafe reason.withUnsafeMutableBufferPointer { room -> OpaquePointer? in
            guard let place = room.baseAddress else { return nil }
            return unsafe cedit_open(Self.prompt, place, room.count)
        }
        guard let editor = unsafe made else {
            throw .failed(String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        let address = UInt(bitPattern: editor)
        BackgroundThread.start { [self] in if let editor = unsafe OpaquePointer(bitPattern: address) { unsafe run(editor) } }
    }

    // MARK: Any thread

    /// Prints a line above the one being typed.
    package func print(_ line: String) { change { $0.lines.append(line) } }

    /// Sets what the status line says; asked again each second.
    package func setStatus(_ status: @escaping @Sendable (_ columns: Int) -> String) { change { $0.status = status } }

    /// Makes the terminal's bell sound.
    package func ring() { change { $0.rings = true } }

    /// Prints what waits and gives the terminal back.
    package func end() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.closers.append(continuation) }
                state.isClosed = true
                return state.isOver
            }
            if isOver { continuation.resume() }
            wake()
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        wake()
    }

    private func wake() {
        var octet: UInt8 = 1
        _ = unsafe write(wakeWriter, &octet, 1)
    }

    // MARK: The terminal's thread

    @unsafe private func run(_ editor: OpaquePointer) {
        if let history { _ = unsafe cedit_load_history(editor, history) }
        var size = Self.size()
        Self.put(ScreenText.begin(rows: size.rows))
        unsafe cedit_begin(editor)
        var shown = ""
        loop: while true {
            unsafe draw(editor, &size, &shown)
            if state.withLock({ $0.isClosed && $0.lines.isEmpty }) { break }
            var waits = [pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0)]
            let count = unsafe waits.withUnsafeMutableBufferPointer { list in unsafe poll(list.baseAddress, 2, 1000) }
            if count < 0, errno != EINTR { break }
            drainWakes()
            guard waits[0].revents != 0 else { continue }
            switch unsafe cedit_key(editor) {
            case CEDIT_LINE:
                let line = unsafe String(cString: cedit_text(editor))
                if !line.isEmpty { unsafe cedit_remember(editor, line) }
                input.continuation.yield(line)
                unsafe cedit_begin(editor)
                shown = ""
            case CEDIT_END: break loop
            default: if waits[0].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { break loop }
            }
        }
        if let history { _ = unsafe cedit_save_history(editor, history) }
        unsafe cedit_close(editor)
        input.continuation.finish()
        // What is still told while the phone says good-bye goes to a plain terminal.
        Self.put(ScreenText.end(rows: size.rows) + "\r\u{1b}[J")
        while !state.withLock({ $0.isClosed }) {
            flushPlainly()
            var wait = pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&wait, 1, 1000)
            drainWakes()
        }
        flushPlainly()
        let closers = state.withLock { state in
            state.isOver = true
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    private func flushPlainly() {
        let lines = state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
        if !lines.isEmpty { Self.put(lines.map { $0 + "\r\n" }.joined()) }
    }

    @unsafe private func draw(_ editor: OpaquePointer, _ size: inout (rows: Int, columns: Int), _ shown: inout String) {
        let (lines, status, rings) = state.withLock { state in
            defer { (state.lines, state.rings) = ([], false) }
            return (state.lines, state.status, state.rings)
        }
        let now = Self.size()
        if now != size {
            Self.put(ScreenText.end(rows: size.rows))
            size = now
            unsafe cedit_resize(editor)
            Self.put(ScreenText.begin(rows: size.rows))
            shown = ""
        }
        if rings { Self.put("\u{7}") }
        let text = status(size.columns)
        if !lines.isEmpty {
            let before = unsafe Self.prompt.count + cedit_before_cursor(editor)
            Self.put(ScreenText.insert(lines, before: before, columns: size.columns))
            unsafe cedit_redraw(editor)
            shown = ""
        }
        if text != shown {
            Self.put(ScreenText.status(text, rows: size.rows, columns: size.columns))
            shown = text
        }
    }

    private func drainWakes() {
        var octets = [UInt8](repeating: 0, count: 64)
        while unsafe read(wakeReader, &octets, 64) > 0 {}
    }

    private static func size() -> (rows: Int, columns: Int) {
        var window = winsize()
        guard unsafe ioctl(1, UInt(TIOCGWINSZ), &window) == 0, window.ws_row > 1, window.ws_col > 0 else { return (24, 80) }
        return (Int(window.ws_row), Int(window.ws_col))
    }

    private static func put(_ text: String) { LineOutput.standardOutput.put(text) }
}
