// SPDX-License-Identifier: Apache-2.0

extension OptionTable {
    /// Loudspeaker and microphone (docs/devices.md).
    package static let sound = [
        OptionSpec(
            "--device", "null|default|NAME", .text,
            "Loudspeaker and microphone: of the sound server, SINK,SOURCE where they differ; alsa:NAME; file:IN.wav,OUT.wav (default null: "
                + "silence; phone at a terminal: default). handset devices lists them."),
        OptionSpec("--ring-device", "NAME", .text, "Ring here when somebody calls (default: no sound)."),
        OptionSpec("--device-rate", "HZ", .integer(8000...192_000), "Samples a second of the device (default: the bridge's)."),
        OptionSpec(
            "--bridge-rate", "HZ", .choice(["8000", "12000", "16000", "24000", "32000", "44100", "48000"]),
            "Samples a second in which all is mixed (default 16000; 8000 with G.711 alone)."),
        OptionSpec(
            "--echo-tail", "auto|MS", .text,
            "Take out the loudspeaker's echo: as the best canceller finds it, or this long an echo; 0 is off (default auto)."),
        OptionSpec("--noise-suppression", "on|off", .choice(["on", "off"]), "Make the microphone's noise quieter (default on)."),
        OptionSpec("--gain-control", "on|off", .choice(["on", "off"]), "Even the level of the voice (default off)."),
        OptionSpec("--microphone-gain", "DB", .integer(-60...24), "Make the microphone louder or quieter (default 0)."),
        OptionSpec("--volume", "DB", .integer(-60...24), "The same for the loudspeaker (default 0)."),
        OptionSpec("--levels", "S", .seconds, "An event with the levels of microphone and loudspeaker every S seconds."),
    ]
}
