// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The objects of the two lower floors need nothing from the world: their undefined symbols are the proof.
@Suite struct LinkageTests {
    /// C functions that compute and do nothing else.
    static let pureC: Set<String> = [
        "memcpy", "memmove", "memset", "memcmp", "memchr", "bzero", "bcmp", "strlen", "malloc_usable_size", "free", "malloc",
        "round", "roundf", "rint", "rintf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf", "fmod", "fmodf", "pow", "powf", "exp",
        "expf", "exp2",
        "exp2f", "exp10", "log", "logf", "log2", "log2f", "log10", "log10f", "sin", "sinf", "cos", "cosf", "tan", "tanf", "sincos",
        "sincosf", "sqrt",
        "sqrtf", "fma", "fmaf", "lround", "lroundf", "hypot", "ldexp", "atan", "atan2", "sinh", "cosh", "tanh",
        "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_", "__udivti3", "__umodti3", "__divti3", "__modti3", "__multi3",
        // Emitted by fuzzing and coverage builds.
        "__llvm_profile_runtime",
    ]

    /// Parts of Swift symbols that stand for a clock, chance, a task, a thread or the outside.
    static let forbiddenParts = [
        "SystemRandomNumberGenerator", "swift_stdlib_random", "ContinuousClock", "SuspendingClock", "swift_task", "swift_job",
        "swift_async",
        "swift_continuation", "swift_distributed", "swift_defaultActor", "swift_get_time", "swift_get_clock", "10Foundation", "8Dispatch",
        "5Glibc",
        "15Synchronization", "6Thread", "readLine", "CommandLine", "swift_stdlib_readLine", "$ss5print",
    ]

    enum Verdict: Equatable {
        case fine
        case refused
    }

    /// Whether a lower floor may need `symbol`; `modules` are the mangled names of our own lower modules.
    static func judge(_ symbol: String, modules: [String]) -> Verdict {
        if forbiddenParts.contains(where: symbol.contains) { return .refused }
        if pureC.contains(symbol) { return .fine }
        if symbol.hasPrefix("swift_") || symbol.hasPrefix("_swift_") || symbol.hasPrefix("_swiftEmpty") || symbol.hasPrefix("__swift_") {
            return .fine
        }
        guard symbol.hasPrefix("$s") else { return .refused }
        let rest = symbol.dropFirst(2)
        if modules.contains(where: rest.hasPrefix) { return .fine }
        // `Sc…` is the concurrency library: Task, actors, streams.
        if rest.hasPrefix("Sc") || rest.contains("12_Concurrency") { return .refused }
        // A digit begins the name of a foreign module; `s` and `S…` are the standard library, `B` the compiler's own types.
        guard let first = rest.first else { return .refused }
        return !first.isNumber || isAssociatedTypeOfStandardProtocol(rest) ? .fine : .refused
    }

    /// The descriptor of an associated type of a standard protocol, such as `$s8AllCasess12CaseIterablePTl` or `$s5IndexSlTl`.
    private static func isAssociatedTypeOfStandardProtocol(_ rest: Substring) -> Bool {
        let digits = rest.prefix(while: \.isNumber)
        guard let count = Int(digits), rest.hasSuffix("Tl") else { return false }
        let owner = rest.dropFirst(digits.count + count)
        return owner.hasPrefix("s") || owner.hasPrefix("S") && !owner.hasPrefix("Sc")
    }

    @Test func objectsOfTheLowerFloorsNeedNothingFromTheWorld() throws {
        let manifest = try Manifest.current.get()
        let names = manifest.lowerFloors.map(\.name)
        let modules = names.map { "\($0.utf8.count)\($0)" }
        #expect(names.contains("SIP") && names.contains("Media"))
        for name in names {
            let folder = Repository.buildFolder.appending(path: "\(name).build")
            let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".o") }.sorted()
            #expect(!objects.isEmpty, "no objects of \(name) in \(Repository.buildFolder.path)")
            let result = try Repository.run("nm", ["-u"] + objects.map { folder.appending(path: $0).path })
            #expect(result.status == 0, "\(result.errors)")
            let undefined = Set(
                result.output.split(separator: "\n").filter { !$0.hasSuffix(":") }.compactMap {
                    $0.split(separator: " ").last.map(String.init)
                })
            let refused = undefined.filter { Self.judge($0, modules: modules) == .refused }.sorted()
            #expect(refused == [], "\(name) needs the world")
        }
    }

    @Test(arguments: [
        "socket", "sendto", "clock_gettime", "getrandom", "pthread_create", "open", "time", "$s10Foundation4DataVMa", "$sScTMa",
        "swift_task_create",
        "$ss27SystemRandomNumberGeneratorV4nexts6UInt64VyF", "$ss15ContinuousClockVMa", "arc4random", "$s15Synchronization5MutexVMa",
        "$s8Dispatch0A5QueueCMa",
        "$s10Networking9EventLoopCMa", "swift_stdlib_random", "swift_job_run",
    ])
    func theWorldIsRecognised(symbol: String) {
        #expect(Self.judge(symbol, modules: ["3SIP", "10Essentials"]) == .refused)
    }

    @Test(arguments: [
        "memcpy", "swift_retain", "$sSS4hash4intoys6HasherVz_tF", "$s10Essentials13SocketAddressVMn", "$s8AllCasess12CaseIterablePTl",
        "$sBoWV", "log10",
    ])
    func whatIsHarmlessIsLetThrough(symbol: String) {
        #expect(Self.judge(symbol, modules: ["3SIP", "10Essentials"]) == .fine)
    }
}
