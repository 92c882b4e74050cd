// SPDX-License-Identifier: Apache-2.0
//
// One program for all fuzz targets: HandsetFuzz TARGET [libFuzzer options] [corpus folders or files].
// scripts/fuzz builds and runs it; its head tells how to replay an input.

import CLibFuzzer
import Glibc

// libFuzzer starts this program again with the options it knows, so the target stays in the environment.
if CommandLine.argc > 1, fuzzTargets[CommandLine.arguments[1]] != nil { unsafe setenv("HANDSET_FUZZ_TARGET", CommandLine.arguments[1], 1) }
let name = unsafe getenv("HANDSET_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
guard fuzzTargets[name] != nil else {
    print("HandsetFuzz needs a target: \(fuzzTargets.keys.sorted().joined(separator: " "))")
    exit(2)
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
if CommandLine.arguments.count > 1, CommandLine.arguments[1] == name {
    // The program's name stays first.
    unsafe CommandLine.unsafeArgv[1] = CommandLine.unsafeArgv[0]
    unsafe arguments = CommandLine.unsafeArgv + 1
    count -= 1
}
exit(
    unsafe LLVMFuzzerRunDriver(&count, &arguments) { data, size in
        unsafe chosenTarget([UInt8](UnsafeBufferPointer(start: data, count: size)))
        return 0
    })
