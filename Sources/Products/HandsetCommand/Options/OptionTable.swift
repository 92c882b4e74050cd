// SPDX-License-Identifier: Apache-2.0

/// Every option of every subcommand, once.
package enum OptionTable {
    package static let common = [
        OptionSpec(flag: "--help", "Show this text."),
        OptionSpec(flag: "--json", "Print one JSON object a line (docs/events.md)."),
        OptionSpec(
            "--log-level", "LEVEL", .choice(["off", "error", "warning", "info", "debug"]), "What goes to standard error (default off)."),
        OptionSpec("--trace", "FILE", .text, "Write every SIP message to FILE, one JSON object a line, secrets masked."),
    ]

    package static let control = [
        OptionSpec(flag: "--control", "Read JSON lines from standard input (docs/events.md).")
    ]

    /// Of one account. What stands before the first `--account` holds for all.
    package static let account = [
        OptionSpec(
            "--account", "sip:USER@DOMAIN", .text, "The address of record; without one, calls are direct and need no server.", repeats: true
        ),
        OptionSpec("--auth-user", "NAME", .text, "The user name for digest (default: the account's user)."),
        OptionSpec(
            "--password-file", "FILE", .text,
            "The password: the first line of FILE (else HANDSET_PASSWORD of the environment, HANDSET_PASSWORD_2 for the second account, …)."
        ),
        OptionSpec("--registrar", "URI", .text, "Where to register (default: the account's domain)."),
        OptionSpec("--proxy", "URI", .text, "Send every request outside dialogs through this proxy."),
        OptionSpec(
            "--flow", "URI", .text, "A further proxy, over which a flow of its own is registered: calls come over either (RFC 5626).",
            repeats: true),
        OptionSpec(
            "--transport", "udp|tcp|tls|ws|wss", .choice(["udp", "tcp", "tls", "ws", "wss"]),
            "How SIP travels (default: as DNS and URI say, else udp)."),
        OptionSpec(
            "--outbound", "on|off", .choice(["on", "off"]), "Register the flow, so that calls come over it (RFC 5626; default on)."),
        OptionSpec(flag: "--no-register", "Do not register; implies --direct accept."),
        OptionSpec("--expires", "S", .integer(1...86400), "How long a registration is to last, in seconds (default 600)."),
        OptionSpec(
            "--direct", "accept|refuse", .choice(["accept", "refuse"]),
            "Calls that do not come from the account's server (default refuse; accept where nothing registers)."),
        OptionSpec(
            "--mwi", "off|unsolicited|subscribe", .choice(["off", "unsolicited", "subscribe"]),
            "News of waiting messages: none, what the server tells by itself, or by subscription too (default unsolicited)."),
        OptionSpec("--mailbox", "URI", .text, "The mailbox to subscribe to (default: the account's address)."),
        OptionSpec(flag: "--show-line", "Let others see, by way of the server, when this line is in a call."),
        OptionSpec("--realm", "REALM", .text, "Answer challenges of this realm only (default: the realm of the account's server)."),
        OptionSpec(
            "--push", "provider=…,prid=…[,param=…]", .text, "How the server can wake this phone by a push (RFC 8599)."),
        OptionSpec("--instance", "URN", .text, "What names this device at every start, such as urn:uuid:… (RFC 5626)."),
        OptionSpec(
            "--gruu", "off|public|temporary", .choice(["off", "public", "temporary"]),
            "Ask for a GRUU and tell it in calls (RFC 5627; default off)."),
        OptionSpec("--ca", "FILE", .text, "The authorities to trust for TLS, PEM (default: the system's)."),
        OptionSpec("--cert", "FILE", .text, "Our certificate, PEM: for servers that ask for one, and where we listen with tls."),
        OptionSpec("--key", "FILE", .text, "The key of our certificate, PEM, not encrypted."),
        OptionSpec("--pin", "SHA256", .text, "The one key of a server to trust, whoever vouches for it (docs/tls.md)."),
        OptionSpec(
            "--tls-version", "V", .choice(["1.2", "1.3"]), "The one version of TLS that is offered (default: both)."),
        OptionSpec("--ws-path", "PATH", .path, "The path of the server's WebSocket, such as /ws (default /)."),
        OptionSpec(flag: "--insecure", "Trust any certificate: whoever is on the way may listen in."),
    ].map(\.ofAccount)

    /// Of the phone, whatever accounts it has.
    package static let network = [
        OptionSpec(
            "--keep-alive", "S", .integer(0...86400),
            "Seconds between keep-alives at the most, where the server names none; 0: none (default 120, 29 over UDP)."),
        OptionSpec(
            "--listen", "[udp|tcp|tls|ws|wss:]HOST:PORT", .place,
            "Where to listen for SIP; port 0 is any free one (default 0.0.0.0:0). What is no datagram needs no listener to be used.",
            repeats: true),
        OptionSpec("--rtp-ports", "LOW-HIGH", .ports, "The ports for RTP (default: any)."),
        OptionSpec("--dns", "HOST:PORT", .address, "The DNS server to ask (default: the system's)."),
        OptionSpec(
            "--network-watch", "on|off", .choice(["on", "off"]),
            "Follow addresses that come and go as the system tells (default on); off: notice it by failed sends and silence."),
        OptionSpec(
            "--ice", "off|on", .choice(["off", "on"]), "ICE (default off).", laterValues: ["on": "ICE comes with a later version."]),
        OptionSpec("--stun", "HOST:PORT", .text, "A STUN server.", later: "STUN comes with a later version."),
        OptionSpec("--turn", "URI", .text, "A TURN server.", later: "TURN comes with a later version."),
    ]

    /// Of `call`, `message` and `subscribe`.
    package static let from = OptionSpec(
        "--from", "ACCOUNT", .text, "Which of several accounts: its address, its user, or its number from 1 (default: the first).")

    private static let laterSRTP = ["prefer": "SRTP comes with a later version.", "require": "SRTP comes with a later version."]
    private static let codecNames = ["opus", "g722", "pcmu", "pcma"]

    package static let codecs = OptionSpec(
        "--codecs", "LIST", .list(codecNames), "Codecs in order of preference (default opus,g722,pcmu,pcma).")
    package static let srtp = OptionSpec(
        "--srtp", "off|prefer|require", .choice(["off", "prefer", "require"]), "Encryption of media (default off).", laterValues: laterSRTP)

    package static let media = [
        OptionSpec("--play", "FILE.wav", .text, "What to say: from its first sample when media starts, then silence."),
        OptionSpec(flag: "--loop", "Repeat --play."),
        OptionSpec(
            "--record", "FILE.wav", .text,
            "Write what would go to the loudspeaker, in real time (mono, 16 bit); answer numbers the files unless --calls is 1."),
        OptionSpec(
            "--record-channels", "heard|mixed|split", .choice(["heard", "mixed", "split"]),
            "What --record holds: the other side, both in one channel, or us left and them right (default heard)."),
        codecs,
        OptionSpec("--ptime", "MS", .choice(["10", "20", "30", "40", "60"]), "Milliseconds of audio a packet (default 20)."),
        OptionSpec("--bitrate", "KBPS", .integer(6...510), "Bit rate of Opus (default 32)."),
        OptionSpec(
            "--redundancy", "off|auto|N", .choice(["off", "auto", "1", "2", "3", "4"]),
            "Send audio again against loss (RFC 2198), where the other side takes it: N copies, or as loss is seen (default off)."),
        OptionSpec("--complexity", "N", .integer(0...10), "Effort of the Opus encoder (default 8)."),
        OptionSpec(
            "--fec", "on|off", .choice(["on", "off"]), "Opus packets may carry a coarse copy of the one before (default on)."),
        OptionSpec(
            "--dtx", "on|off", .choice(["on", "off"]),
            "Send nothing in silence: Opus, and comfort noise (RFC 3389) with G.711 and G.722 (default off)."),
        OptionSpec(
            "--audio-rate", "HZ", .choice(["8000", "12000", "16000", "24000", "48000"]),
            "The widest audio of Opus both ways, as a sample rate (default: that of the bridge)."),
        srtp,
        OptionSpec(
            "--dtmf-method", "auto|rfc4733|info|inband", .choice(["auto", "rfc4733", "info", "inband"]),
            "How digits are sent (default auto)."),
        OptionSpec("--statistics", "S", .seconds, "An event with the stream's figures every S seconds."),
        OptionSpec(
            "--report", "FILE.html", .text,
            "Write a page about each call when it is over: ladder, negotiation, plots; answer numbers the files unless --calls is 1."),
        OptionSpec(
            "--program", "CMD|unix:PATH", .text,
            "A program that hears and speaks in each call (docs/program-port.md); when it ends, the call does."),
        OptionSpec("--program-rate", "HZ", .integer(8000...48_000), "Samples a second of --program (default 16000)."),
    ]

    /// Of `call`, `answer` and `phone`.
    package static let transfers = OptionSpec(
        "--transfers", "accept|ask|refuse", .choice(["accept", "ask", "refuse"]),
        "Whether the other side may transfer this phone to another number (default refuse; ask: by --control).")

    private static let duration = OptionSpec("--duration", "S", .seconds, "Hang up this long after the call was established.")

    package static let demo = [
        OptionSpec("--out", "DIR", .text, "Where recordings and report go (default ./handset-demo).")
    ]

    package static let serve = [
        OptionSpec(
            "--listen", "udp|tcp|tls|ws|wss:HOST:PORT", .listener, "Where to listen (default udp and tcp on 127.0.0.1:5060).", repeats: true
        ),
        OptionSpec("--ws-path", "PATH", .path, "The one path that WebSocket listeners serve (default: each)."),
        OptionSpec(
            "--ws-origin", "ORIGIN", .text, "A web page that may connect by WebSocket, such as https://phone.example.net (default: all).",
            repeats: true),
        OptionSpec("--domain", "D", .text, "The domain that is served besides our addresses (default: localhost).", repeats: true),
        OptionSpec("--user", "NAME:PASSWORD", .text, "Somebody who may register; without any, everybody may.", repeats: true),
        OptionSpec("--users", "FILE", .text, "The same, one NAME:PASSWORD a line."),
        OptionSpec(
            "--digest", "LIST", .list(["md5", "sha-256", "sha-512-256"]),
            "Hash functions of challenges, the preferred first (default md5: phones of before RFC 8760 know no other)."),
        OptionSpec(
            "--route-key-file", "FILE", .text,
            "The key that signs the server's Record-Route: its first line, 16 octets or more. Calls outlive a restart of the server with the same one (default: a random key)."
        ),
        OptionSpec(flag: "--gruu", "Give GRUUs to devices that ask for them (RFC 5627)."),
        OptionSpec("--music", "FILE.wav", .text, "What the service music plays (default: two soft notes, on and off)."),
        OptionSpec("--recordings", "DIR", .text, "Where the service record writes (default ./handset-recordings)."),
        OptionSpec("--cert", "FILE", .text, "The server's certificate for tls, PEM, those of its authorities behind it."),
        OptionSpec("--key", "FILE", .text, "The key of the certificate, PEM, not encrypted."),
    ]

    package static let explain = [
        OptionSpec("--html", "FILE", .text, "Write a page too, with the ladder drawn and every message; it needs no network."),
        OptionSpec("--call", "CALL-ID", .text, "Only the conversation whose Call-ID begins so."),
        OptionSpec(flag: "--no-ladder", "Verdicts and findings alone."),
        OptionSpec("--width", "N", .integer(60...400), "Characters a line of the ladder (default 110)."),
    ]

    package static let register = [
        OptionSpec(flag: "--once", "Show the result, unregister and end.")
    ]

    package static let call = [
        duration,
        OptionSpec(flag: "--hangup-after-play", "Hang up when --play has been played."),
        OptionSpec("--dtmf", "DIGITS", .text, "Send these once the call is established: 0-9 * # A-D, a comma is a pause."),
        OptionSpec("--header", "'N: V'", .text, "A further header field of the INVITE.", repeats: true),
    ]

    package static let subscribe = [
        OptionSpec(
            "--event", "mwi|dialog|presence", .choice(["mwi", "dialog", "presence"]),
            "What to show: waiting messages, the calls of a line, or presence."),
        OptionSpec("--lasting", "S", .integer(1...86_400), "How long a subscription is to last before it is refreshed (default 3600)."),
        OptionSpec(flag: "--once", "Show the state once and end."),
    ]

    package static let answer = [
        OptionSpec("--status", "CODE", .integer(300...699), "Refuse with this status instead of answering."),
        OptionSpec("--delay", "S", .seconds, "Ring this long first (default 0)."),
        OptionSpec("--calls", "N", .integer(1...1_000_000), "End after N calls have ended."),
        OptionSpec("--max-calls", "N", .integer(1...100_000), "Refuse with 486 what exceeds N calls at a time (default 1000)."),
        duration,
        OptionSpec(flag: "--echo", "Send back what is heard."),
    ]
}
