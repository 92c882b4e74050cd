// SPDX-License-Identifier: Apache-2.0
//
// handset-callservice: the call service of one session, its call screen in a terminal, and the way in for pushes.

import CallServiceCore
import CallServiceHost
import DesktopNotifications
import Networking

#if canImport(Glibc)
    import CallDirectory
    import Glibc
    import PhoneNumbers
#else
    import Darwin
#endif

@main
struct CallServiceCommand {
    static let help = """
        handset-callservice [serve] [--socket PATH] [--strict | --silent] [--region CC]
                            [--ring-device NAME] [--ring-file WAV] [--no-notifications]
            runs the call service of this session until it is interrupted; prints what happens.
            CC (such as IT or CN) is the country whose national numbers the lists of blocked numbers understand.
            Incoming calls ring on the sound device NAME (default: the sound server's own; null: nowhere; handset devices
            lists them) with the app's sound, else with WAV, else with a tone; and the desktop shows them with buttons
        handset-callservice screen [--socket PATH]
            shows the calls and reads commands, one a line:
        \(ScreenText.help.split(separator: "\n").map { "        " + $0 }.joined(separator: "\n"))
        handset-callservice push BUNDLE PAYLOAD [--socket PATH]
            hands in a VoIP push for an app; PAYLOAD is a JSON object that names the call
        handset-callservice history [--socket PATH]
        """

    static func main() {
        // Before the first other thread: they inherit the mask.
        signal(SIGPIPE, SIG_IGN)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe sigaddset(&signals, SIGTERM)
        var options = Options(Array(CommandLine.arguments.dropFirst()))
        guard let verb = options.verb else {
            write(options.wantsHelp ? help : "handset-callservice: \(options.fault)", to: options.wantsHelp ? 1 : 2)
            exit(options.wantsHelp ? 0 : 2)
        }
        switch verb {
        case "serve":
            unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
            serve(options, signals)
        case "screen": exit(ScreenSession.run(options.files.socket))
        case "history": exit(ScreenSession.printHistory(options.files.socket))
        default: exit(ScreenSession.push(options.files.socket, bundle: options.takeWord(), payload: options.takeWord()))
        }
    }

    private static func serve(_ options: Options, _ signals: sigset_t) {
        var settings = CallServiceHost.Settings(files: options.files)
        settings.service.mode = options.mode
        if options.ringDevice != "null" {
            var ringing = RingSettings()
            ringing.device = options.ringDevice
            ringing.file = options.ringFile
            settings.ringing = ringing
        }
        if options.showsNotifications { settings.notifications = DesktopNotificationServer() }
        #if canImport(Glibc)
            guard let numbers = PhoneNumberReader(region: options.region) else {
                write("handset-callservice: there is no region \(options.region ?? "")", to: 2)
                exit(2)
            }
            settings.service.number = { numbers.read($0) }
            settings.directories = options.files.directories
            settings.directory = { DirectoryFile(path: DirectoryFile.usualPath(of: $0)) }
        #endif
        let host: CallServiceHost
        do {
            host = CallServiceHost(settings, loop: try EventLoop(name: "callservice")) { event in print(event) }
        } catch {
            write("handset-callservice: \(error)", to: 2)
            exit(1)
        }
        Task.detached {
            do { try await host.start() } catch {
                write("handset-callservice: \((error as? NetworkError)?.reason ?? "\(error)")", to: 2)
                exit(1)
            }
        }
        var set = signals
        var number: Int32 = 0
        while unsafe sigwait(&set, &number) != 0 {}
        Task.detached {
            await host.stop()
            exit(0)
        }
        while true { pause() }
    }

    private static func print(_ event: CallServiceHostEvent) {
        let code = event.code.map { " (\($0))" } ?? ""
        switch event {
        case .listening(let path): write("listening \(path)")
        case .refused(let process, let code): write("refused process \(process): \(CallServiceCause.words(code))")
        case .diagnostic(let diagnostic): write("pitfall \(diagnostic)")
        case .screen(let screen): for line in ScreenText.lines(screen) { write("screen \(line)") }
        case .history(let entry): write("history \(ScreenSession.line(entry))")
        case .started(let bundle, let process): write("started \(bundle): process \(process)")
        case .notStarted(let bundle, let reason): write("not started \(bundle): \(reason)\(code)")
        case .ringing(let event): write("ringing \(words(event))\(code)")
        case .notifications(let event): write(words(event) + code)
        case .notificationRefused(let refusal): write("notification button refused: \(refusal.rawValue)\(code)")
        }
    }

    private static func words(_ event: RingerEvent) -> String {
        switch event {
        case .began(_, let file): file.map { "with \(ScreenText.plain($0, limit: 1024))" } ?? "with a tone"
        case .ended: "ended"
        case .fileFailed(let reason): "with a tone, for its file cannot be played: \(ScreenText.plain(reason, limit: 1024))"
        case .deviceFailed(let reason): "is not heard: \(ScreenText.plain(reason, limit: 1024))"
        }
    }

    private static func words(_ event: NotificationEvent) -> String {
        switch event {
        case .available(let hasActions): hasActions ? "notifications are shown" : "notifications are shown, but without buttons"
        case .unavailable(let reason): "notifications are not shown: \(ScreenText.plain(reason, limit: 1024))"
        case .invoked(_, let action): "notification button \(ScreenText.plain(action, limit: 64))"
        case .dismissed: "notification dismissed"
        }
    }

    static func write(_ line: String, to descriptor: Int32 = 1) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// The command line.
struct Options {
    var files = CallServiceFiles.usual()
    var mode = DiagnosticMode.report
    var region: String?
    var ringDevice = "default"
    var ringFile: String?
    var showsNotifications = true
    var verb: String?
    var wantsHelp = false
    var fault = "give serve, screen, push or history; --help says more"
    private var words: [String] = []

    init(_ arguments: [String]) {
        var rest = arguments[...]
        var isGood = true
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": wantsHelp = true
            case "--strict": mode = .strict
            case "--silent": mode = .silent
            case "--no-notifications": showsNotifications = false
            case "--region":
                if let code = rest.popFirst() { region = code } else { isGood = false }
            case "--ring-device":
                if let name = rest.popFirst() { ringDevice = name } else { isGood = false }
            case "--ring-file":
                if let path = rest.popFirst() { ringFile = path } else { isGood = false }
            case "--socket":
                if let path = rest.popFirst() { files.socket = path } else { isGood = false }
            case _ where word.hasPrefix("--"):
                fault = "there is no option \(word)"
                isGood = false
            default: words.append(word)
            }
        }
        guard isGood, !wantsHelp else { return }
        let first = words.isEmpty ? "serve" : words.removeFirst()
        if ["serve", "screen", "history"].contains(first) && words.isEmpty || first == "push" && words.count == 2 { verb = first }
    }

    mutating func takeWord() -> String { words.isEmpty ? "" : words.removeFirst() }
}
