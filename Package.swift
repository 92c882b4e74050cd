// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
//
// The target list is the architecture drawing: read it from the bottom floor up.
// A target imports only targets of lower floors (Tests/ArchitectureTests proves it).
import Foundation
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .treatWarning("StrictMemorySafety", as: .error),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]
// The macros of Swift Testing expand to code that strict memory safety rejects, so tests go without it.
let testing: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

func target(_ floor: String, _ name: String, _ dependencies: [Target.Dependency], folders: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(floor)/\(name)",
        exclude: ["README.md"] + folders.map { $0 + "/README.md" }, swiftSettings: strict,
        // Rounding of floating point numbers is in libm; targets that import no C module do not link it by themselves.
        linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))])
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: testing)
}

// Floor 1, vocabulary: values; no Foundation, no clock, no socket, no thread.
var targets: [Target] = [
    target("Vocabulary", "Essentials", []),
    target("Vocabulary", "Crypto", ["Essentials"]),
    target("Vocabulary", "SIP", ["Essentials"]),
    target("Vocabulary", "SDP", ["Essentials"]),
    target("Vocabulary", "RTP", ["Essentials"]),
    target("Vocabulary", "STUN", ["Crypto", "Essentials"]),
    target("Vocabulary", "EventPackages", []),
]

// Floor 2, machines: events, commands and time in; effects and the next deadline out.
targets += [
    target(
        "Machines", "SIPAgent", ["SIP", "STUN", "Crypto", "Essentials"],
        folders: [
            "Transport", "Transactions", "Authentication", "Location", "Dialogs", "Outbound", "Registration", "Invite", "Transfer",
            "Subscriptions", "UserAgent", "Network",
        ]),
    target("Machines", "WebSocket", ["Crypto", "Essentials"]),
    target("Machines", "Media", ["RTP", "Essentials"]),
    target("Machines", "SIPServer", ["SIPAgent", "SIP", "Crypto", "Essentials"]),
    target(
        "Machines", "CallAnalysis", ["SIPAgent", "SIP", "SDP", "RTP", "Essentials"], folders: ["Capture", "Diagnosis", "Drawing", "Report"]),
    target("Machines", "CallServiceCore", ["Essentials"]),
    target("Machines", "PhoneCore", ["SIPAgent", "Media", "SIP", "SDP", "RTP", "EventPackages", "Crypto", "Essentials"]),
]

// Floor 3, world: the only floor that touches the system.
targets += [
    .target(name: "CPosix", path: "Sources/World/CPosix"),
    .systemLibrary(name: "CCares", path: "Sources/World/CCares"),
    .systemLibrary(name: "COpenSSL", path: "Sources/World/COpenSSL"),
    target("World", "CryptoOpenSSL", ["COpenSSL", "Crypto"]),
    target("World", "SecureChannel", ["COpenSSL", "SIPAgent", "Crypto", "Essentials"]),
    .systemLibrary(name: "COpus", path: "Sources/World/COpus"),
    target("World", "Codecs", ["COpus", "Media"]),
    target("World", "Networking", ["CPosix", "CCares", "SecureChannel", "WebSocket", "Crypto", "SIPAgent", "SIP", "Essentials"]),
    .target(name: "CSampleRing", path: "Sources/World/CSampleRing"),
    .target(
        name: "CPulse", dependencies: ["CSampleRing"], path: "Sources/World/CPulse",
        linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(
        name: "CALSA", dependencies: ["CSampleRing"], path: "Sources/World/CALSA",
        linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    target("World", "AudioDevices", ["CPulse", "CALSA", "CSampleRing", "Media"]),
    .target(name: "CSpeexDSP", path: "Sources/World/CSpeexDSP", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(
        name: "CWebRTCAudioProcessing", path: "Sources/World/CWebRTCAudioProcessing",
        cxxSettings: [.headerSearchPath("forward")], linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    target("World", "VoiceProcessing", ["CSpeexDSP", "CWebRTCAudioProcessing", "Media"]),
    .target(name: "CEdit", path: "Sources/World/CEdit", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(name: "CDBus", path: "Sources/World/CDBus", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    target("World", "SecretStore", ["CDBus", "Crypto"]),
    target("World", "DesktopNotifications", ["CDBus", "CPosix"]),
    target("World", "MediaRuntime", ["CPosix", "Networking", "Media", "RTP", "Essentials"]),
    target(
        "World", "CallServiceHost",
        ["CPosix", "CallServiceCore", "DesktopNotifications", "MediaRuntime", "AudioDevices", "Media", "Networking", "Essentials"]),
]

var directories: [Target.Dependency] = []
#if os(Linux)
    directories = ["CallDirectory", "PhoneNumbers"]
    // Apple's frameworks for calling apps, by their own names: on Apple systems the real ones are there.
    func system(_ name: String, _ dependencies: [Target.Dependency]) -> Target { target("World/SystemServices", name, dependencies) }
    targets += [
        system("AppLink", ["CallServiceCore", "Essentials"]),
        system("CallDirectory", ["CallServiceCore"]),
        .target(
            name: "CPhoneNumbers", path: "Sources/World/SystemServices/CPhoneNumbers", linkerSettings: [.linkedLibrary("phonenumber")]),
        system("PhoneNumbers", ["CPhoneNumbers"]),
        system("AVFAudio", ["AppLink", "CallServiceCore"]),
        system("CallKit", ["AVFAudio", "CallDirectory", "AppLink", "CallServiceCore"]),
        system("PushKit", ["AppLink", "CallServiceCore"]),
        system("Intents", ["AppLink", "CallServiceCore"]),
        system("CallProbe", ["AppLink", "CallServiceCore"]),
        target("TestKit", "CallServiceTestKit", ["CallDirectory", "AppLink", "CallServiceCore", "Essentials"]),
    ]
#endif

// Floor 4, face: the small public surface.
targets += [
    target(
        "Face", "Handset",
        [
            "CallAnalysis", "PhoneCore", "SIPServer", "SIPAgent", "WebSocket", "Media", "SIP", "SDP", "RTP", "EventPackages", "Crypto",
            "Essentials",
            "Networking", "CryptoOpenSSL", "MediaRuntime", "AudioDevices", "VoiceProcessing",
        ]),
    target(
        "TestKit", "HandsetTestKit",
        ["PhoneCore", "SIPServer", "SIPAgent", "Media", "SIP", "SDP", "RTP", "EventPackages", "Crypto", "Essentials"]),
]

// Floor 5, products: thin; options, wiring, printing.
targets += [
    .executableTarget(
        name: "HandsetCommand",
        dependencies: [
            "Handset", "PhoneCore", "SIPServer", "CallAnalysis", "SIPAgent", "WebSocket", "Media", "SIP", "SDP", "RTP", "EventPackages",
            "Crypto", "Essentials", "Networking", "CryptoOpenSSL", "MediaRuntime", "Codecs", "CEdit", "SecretStore", "AudioDevices",
        ],
        path: "Sources/Products/HandsetCommand", exclude: ["README.md"], swiftSettings: strict),
    .executableTarget(
        name: "CallServiceCommand",
        dependencies: ["CallServiceHost", "CallServiceCore", "DesktopNotifications", "Networking", "Essentials"] + directories,
        path: "Sources/Products/CallServiceCommand", exclude: ["README.md"], swiftSettings: strict),
]

// Benchmarks: programs of their own, measured by `make bench`.
targets += [
    .executableTarget(name: "ParseBench", dependencies: ["SIP"], path: "Benchmarks/ParseBench", swiftSettings: strict),
    .executableTarget(
        name: "StackBench", dependencies: ["SIPAgent", "SIP", "Crypto", "Essentials"], path: "Benchmarks/StackBench",
        swiftSettings: strict),
    .executableTarget(
        name: "MediaBench", dependencies: ["Codecs", "Media", "RTP", "Essentials"], path: "Benchmarks/MediaBench",
        swiftSettings: strict, linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    .executableTarget(
        name: "VoiceSim", dependencies: ["Codecs", "Media", "RTP", "Essentials"], path: "Benchmarks/VoiceSim",
        swiftSettings: strict),
    .executableTarget(
        name: "CallServer", dependencies: ["Networking", "CryptoOpenSSL", "SIPAgent", "SIP", "Essentials"],
        path: "Benchmarks/CallServer", swiftSettings: strict),
]

// Examples: whole programs over the face, built with the tests.
targets += ["PlaceCall", "EchoPhone"].map {
    .executableTarget(
        name: $0, dependencies: ["Handset", "PhoneCore", "SIPAgent", "Essentials"], path: "Examples/\($0)", swiftSettings: strict)
}

#if os(Linux)
    // A calling app of the kind that iOS teams write, its program over SIP, and its tests.
    targets += [
        .target(
            name: "SpeakerboxLike", dependencies: ["CallKit", "PushKit", "AVFAudio", "Intents", "CallProbe"],
            path: "Examples/SpeakerboxLike/App", swiftSettings: testing),
        .target(
            name: "SpeakerboxSIP", dependencies: ["SpeakerboxLike", "Handset"], path: "Examples/SpeakerboxLike/SIP", swiftSettings: testing),
        .executableTarget(
            name: "SpeakerboxPhone", dependencies: ["SpeakerboxSIP", "SpeakerboxLike", "Intents"], path: "Examples/SpeakerboxLike/Phone",
            swiftSettings: testing),
        .testTarget(
            name: "SpeakerboxLikeTests",
            dependencies: ["SpeakerboxLike", "CallServiceTestKit", "CallKit", "PushKit", "AVFAudio", "Intents", "CallProbe"],
            path: "Examples/SpeakerboxLike/Tests", swiftSettings: testing),
    ]
#endif

// What a package that tests CallKit code depends on; nothing where Apple's own are.
#if os(Linux)
    let callKitProducts = ["CallKit", "PushKit", "AVFAudio", "Intents", "CallProbe", "CallServiceTestKit"]
#else
    let callKitProducts: [String] = []
#endif
let speakerbox: [Target.Dependency] =
    callKitProducts.isEmpty
    ? [] : ["SpeakerboxLike", "SpeakerboxSIP", "SpeakerboxPhone", "CallServiceCommand", "CallServiceHost", "CallServiceCore"]
let callKit = callKitProducts.map { Target.Dependency.byName(name: $0) }

// Tests mirror the floors.
targets += [
    tests("EssentialsTests", ["Essentials"]),
    tests("SIPTests", ["SIP", "Essentials"]),
    tests("RTPTests", ["RTP", "Essentials"]),
    tests("STUNTests", ["STUN", "CryptoOpenSSL", "Crypto", "Essentials"]),
    tests("WebSocketTests", ["WebSocket", "CryptoOpenSSL", "Crypto", "Essentials"]),
    tests("EventPackagesTests", ["EventPackages"]),
    tests("MediaTests", ["Media", "RTP", "Essentials"]),
    // Stands in for malloc in the whole test program, and counts while it is told to.
    .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
    tests("AudioPathTests", ["CAllocationCounter", "Codecs", "Media", "RTP", "Essentials"]),
    tests("CodecsTests", ["Codecs", "Media", "RTP", "Essentials"]),
    .target(name: "TestCertificates", path: "Tests/TestCertificates", swiftSettings: testing),
    .target(name: "TestArtefacts", path: "Tests/TestArtefacts", swiftSettings: testing),
    tests("SecureChannelTests", ["TestCertificates", "SecureChannel", "SIPAgent", "Crypto", "Essentials"]),
    tests(
        "NetworkingTests", ["TestCertificates", "CryptoOpenSSL", "WebSocket", "Networking", "SIPAgent", "SIP", "Essentials"]),
    tests("MediaRuntimeTests", ["MediaRuntime", "Media", "Networking", "Essentials"]),
    tests("AudioDevicesTests", ["AudioDevices", "SecretStore", "Crypto", "Media", "Essentials"]),
    tests("VoiceProcessingTests", ["VoiceProcessing", "Media", "Essentials"]),
    tests("CryptoOpenSSLTests", ["CryptoOpenSSL", "Crypto"]),
    tests("SDPTests", ["SDP", "Essentials"]),
    tests("SIPStackTests", ["SIPAgent", "SIP", "CryptoOpenSSL", "Crypto", "Essentials"]),
    tests(
        "InteropTests",
        [
            "TestArtefacts", "TestCertificates", "Handset", "HandsetCommand", "HandsetTestKit", "AudioDevices", "SecretStore",
            "PhoneCore", "Media", "SIPAgent", "Crypto", "Essentials",
        ] + callKit + speakerbox),
    tests("ArchitectureTests", ["HandsetCommand", "HandsetTestKit"] + callKit),
    tests(
        "HandsetCommandTests",
        [
            "TestArtefacts", "HandsetCommand", "CallAnalysis", "SecretStore", "PhoneCore", "Media", "SIPAgent", "EventPackages", "SIP",
            "Crypto", "Essentials",
        ]),
    tests("SIPServerTests", ["HandsetTestKit", "SIPServer", "SIPAgent", "SIP", "STUN", "Crypto", "Essentials"]),
    tests(
        "SimulationTests",
        ["HandsetTestKit", "PhoneCore", "Media", "SIPServer", "SIPAgent", "SIP", "EventPackages", "Crypto", "Essentials"]),
    tests(
        "HandsetTests",
        [
            "TestCertificates", "Handset", "PhoneCore", "SIPServer", "SIPAgent", "Media", "SDP", "SIP", "Crypto", "CryptoOpenSSL",
            "Networking",
            "Essentials",
        ]),
    tests("CallServiceTests", ["CallServiceCore", "Essentials"]),
    tests("CallServiceHostTests", ["CallServiceHost", "CallServiceCore", "DesktopNotifications", "Media", "Networking", "Essentials"]),
    tests("PhoneCoreTests", ["HandsetTestKit", "PhoneCore", "SIPAgent", "Media", "SIP", "SDP", "Crypto", "Essentials"]),
    tests("CallAnalysisTests", ["CallAnalysis", "SIPAgent", "SIP", "Essentials"]),
    tests(
        "ScenarioTests",
        ["TestArtefacts", "HandsetTestKit", "PhoneCore", "Media", "SIPServer", "SIPAgent", "SIP", "Crypto", "Essentials"]),
    tests("SIPAgentTests", ["SIPAgent", "SIP", "STUN", "Crypto", "Essentials"]),
    tests(
        "CorpusTests",
        ["PhoneCore", "SIPAgent", "Media", "SIP", "SDP", "RTP", "CryptoOpenSSL", "Crypto", "Essentials"]),
]

#if os(Linux)
    targets.append(
        tests(
            "CallKitTests",
            [
                "CallServiceTestKit", "CallKit", "PushKit", "AVFAudio", "Intents", "CallProbe", "CallDirectory", "PhoneNumbers", "AppLink",
                "CallServiceHost", "CallServiceCore", "Networking", "Essentials",
            ]))
#endif

// scripts/fuzz sets this: the lower floors are built with coverage for libFuzzer, and one program more.
if ProcessInfo.processInfo.environment["HANDSET_FUZZ"] != nil {
    let coverage: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer", "-assert-config", "Debug"])]
    for target in targets where target.path?.hasPrefix("Sources/Vocabulary") == true || target.path?.hasPrefix("Sources/Machines") == true {
        target.swiftSettings = strict + coverage
    }
    targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "HandsetFuzz",
            dependencies: [
                "CLibFuzzer", "CallServiceCore", "Codecs", "PhoneCore", "CallAnalysis", "SIPAgent", "WebSocket", "Media", "SIP", "SDP",
                "RTP", "STUN",
                "EventPackages",
                "Crypto",
                "Essentials",
            ],
            path: "Fuzz/HandsetFuzz", swiftSettings: testing + coverage),
    ]
}

// `HANDSET_ONLY=SIPTests swift test` builds that target and what it needs, nothing else.
if let only = ProcessInfo.processInfo.environment["HANDSET_ONLY"] {
    var wanted = Set(only.split(separator: ",").map(String.init))
    var grew = true
    while grew {
        let before = wanted.count
        for target in targets where wanted.contains(target.name) {
            for case .byNameItem(let name, _) in target.dependencies { wanted.insert(name) }
        }
        grew = wanted.count > before
    }
    targets = targets.filter { wanted.contains($0.name) }
}
let present = Set(targets.map(\.name))
func library(_ name: String) -> Product { .library(name: name, targets: [name]) }

let package = Package(
    name: "handset",
    platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .visionOS(.v2)],
    products: (["Handset", "Codecs", "SIP", "SDP", "RTP", "HandsetTestKit"] + callKitProducts).filter(present.contains).map(library)
        + (present.contains("HandsetCommand") ? [.executable(name: "handset", targets: ["HandsetCommand"])] : [])
        + (present.contains("CallServiceCommand")
            ? [.executable(name: "handset-callservice", targets: ["CallServiceCommand"])] : []),
    targets: targets
)
