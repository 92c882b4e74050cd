// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Imports go down only, and the target list reads from the bottom floor up.
@Suite struct FloorTests {
    let manifest: Manifest

    init() throws { manifest = try Manifest.current.get() }

    @Test func everyTargetStandsOnAFloor() {
        let others: [Substring?] = ["Examples", "Benchmarks", "Fuzz", "Tests"]
        let strangers = manifest.targets.filter {
            $0.floor == nil && $0.type != "test" && !others.contains($0.path.split(separator: "/").first)
        }
        #expect(strangers.map(\.name) == [])
        #expect(Set(manifest.targets.compactMap(\.floor)) == [1, 2, 3, 4, 5])
    }

    @Test func dependenciesGoDownOnly() throws {
        var seen: [String] = []
        for target in manifest.targets {
            for name in target.dependencies {
                let dependency = try #require(manifest.target(name), "\(target.name) needs \(name), which is no target of ours")
                #expect(seen.contains(name), "\(target.name) stands above \(name) in the list")
                if let floor = target.floor { #expect((dependency.floor ?? 9) <= floor, "\(target.name) imports upwards: \(name)") }
            }
            seen.append(target.name)
        }
    }

    /// What a source file may import beside declared targets.
    static func systemModules(floor: Int) -> Set<String> {
        switch floor {
        case 1, 2: []
        case 3:
            ["Foundation", "Glibc", "Darwin", "Musl", "Dispatch", "Synchronization", "Network", "CryptoKit", "CommonCrypto", "AVFAudio"]
        default: ["Foundation", "Glibc", "Darwin", "Musl", "Dispatch", "Synchronization"]
        }
    }

    @Test func sourcesImportOnlyWhatTheirTargetDeclares() throws {
        let pattern = try Regex(
            #"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|package|internal|private|fileprivate)?\s*import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)"#
        )
        var files = 0
        for target in manifest.targets {
            guard let floor = target.floor else { continue }
            let allowed = Self.systemModules(floor: floor).union(target.dependencies)
            for file in Repository.files(below: target.path, ending: ".swift") {
                files += 1
                for line in try Repository.text(file).split(separator: "\n") {
                    guard let match = try pattern.prefixMatch(in: line), let module = match.output[1].substring else { continue }
                    #expect(allowed.contains(String(module)), "\(file) imports \(module)")
                }
            }
        }
        #expect(files > 20)
    }
}
