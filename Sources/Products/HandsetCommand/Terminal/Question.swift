// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Questions to the person before the phone runs.
package enum Question {
    /// The answer in one line; nil at the end of input.
    package static func ask(_ question: String) -> String? {
        LineOutput.standardOutput.put(question + " ")
        return readLine(strippingNewline: true).map { Substring($0).trimmed }
    }

    /// The same without showing what is typed.
    package static func secret(_ question: String) -> String? {
        var settings = termios()
        let isTerminal = unsafe tcgetattr(0, &settings) == 0
        let before = settings
        if isTerminal {
            settings.c_lflag &= ~tcflag_t(ECHO)
            unsafe tcsetattr(0, TCSAFLUSH, &settings)
        }
        defer {
            var settings = before
            if isTerminal { unsafe tcsetattr(0, TCSAFLUSH, &settings) }
            LineOutput.standardOutput.put("\n")
        }
        LineOutput.standardOutput.put(question + " ")
        return readLine(strippingNewline: true)
    }
}
