// SPDX-License-Identifier: Apache-2.0

import CallDirectory
@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import PhoneNumbers
import Synchronization
import Testing

/// The call directory (docs/callkit.md, T-152 to T-165, T-186 to T-189).
@Suite struct DirectoryTests {
    /// An extension that does what the test says.
    final class Extension: CXCallDirectoryProvider, CXCallDirectoryExtensionContextDelegate {
        let script: @Sendable (CXCallDirectoryExtensionContext) -> Void
        let events: Events
        let gone: DispatchSemaphore?
        init(
            _ events: Events, gone: DispatchSemaphore?, _ script: @escaping @Sendable (CXCallDirectoryExtensionContext) -> Void
        ) {
            self.script = script
            self.events = events
            self.gone = gone
        }
        deinit { gone?.signal() }
        override func beginRequest(with context: CXCallDirectoryExtensionContext) {
            context.delegate = self
            script(context)
        }
        func requestFailed(for extensionContext: CXCallDirectoryExtensionContext, withError error: any Error) {
            events.add("failed \((error as NSError).code)")
        }
    }

    static let identifier = "app.one.directory"

    /// Has the extension loaded once with that script; answers the code of the completion, 0-based as Apple's, nil for none.
    private func load(
        _ system: CallSystem, _ app: TestApp, limits: CallDirectoryExtensions.Limits = .init(), events: Events = Events(),
        gone: DispatchSemaphore? = nil, _ script: @escaping @Sendable (CXCallDirectoryExtensionContext) -> Void
    ) async -> Int? {
        app.process.run {
            CallDirectoryExtensions.register(Self.identifier, limits: limits) { Extension(events, gone: gone, script) }
        }
        let manager = app.process.run { CXCallDirectoryManager.sharedInstance }
        let code = Mutex<Int?>(nil)
        manager.reloadExtension(withIdentifier: Self.identifier) { error in
            code.withLock { $0 = (error as NSError?)?.code }
            events.add("reloaded")
        }
        await system.settle()
        return code.withLock { $0 }
    }

    private func blocked(_ numbers: [Int64]) -> @Sendable (CXCallDirectoryExtensionContext) -> Void {
        { context in
            for number in numbers { context.addBlockingEntry(withNextSequentialPhoneNumber: number) }
            context.completeRequest()
        }
    }

    private func list(_ system: CallSystem) -> [Int64]? {
        system.directory(Self.identifier).map { file in (0..<file.blockedCount).map { file.blocked(at: $0) } }
    }

    private static let base: Int64 = 390_600_000

    private func withDirectory(_ body: (CallSystem, TestApp) async throws -> Void) async throws {
        try await withSystem { system in
            system.installDirectory(Self.identifier)
            let app = TestApp(system)
            await system.settle()
            try await body(system, app)
        }
    }

    @Test("T-152: an enabled extension's entries are loaded")
    func loads() async throws {
        try await withDirectory { system, app in
            let numbers = (1...3).map { Self.base + $0 }
            #expect(await load(system, app, blocked(numbers)) == nil)
            #expect(list(system) == numbers)
        }
    }

    @Test(
        "T-153, T-154, T-155, P-92, P-93: lists that fall, repeat or are sorted as text are refused, and the old one stays",
        arguments: [([2, 1], 3, Pitfall.directoryUnsorted), ([1, 1], 4, .directoryDuplicate), ([10, 9], 3, .directoryUnsorted)])
    func refusedLists(offsets: [Int64], code: Int, pitfall: Pitfall) async throws {
        try await withDirectory { system, app in
            #expect(await load(system, app, blocked([Self.base])) == nil)
            let events = Events()
            #expect(
                await load(
                    system, app, events: events,
                    { context in
                        if context.isIncremental { context.removeAllBlockingEntries() }
                        for number in offsets { context.addBlockingEntry(withNextSequentialPhoneNumber: Self.base + number) }
                        context.completeRequest()
                    }) == code)
            #expect(Set(events.all) == ["failed \(code)", "reloaded"])
            #expect(list(system) == [Self.base])
            #expect(system.takePitfalls() == [pitfall])
        }
    }

    @Test("T-155: numbers that were sorted as text are out of order")
    func sortedAsText() async throws {
        try await withDirectory { system, app in
            let texts = ["390600009", "3906000010"].sorted()
            #expect(texts.compactMap(Int64.init) == [3_906_000_010, 390_600_009])
            #expect(await load(system, app, blocked(texts.compactMap(Int64.init))) == 3)
            #expect(system.takePitfalls() == [.directoryUnsorted])
        }
    }

    @Test("T-156: the two lists are independent, in any interleaving")
    func twoLists() async throws {
        try await withDirectory { system, app in
            let numbers = (1...3).map { Self.base + $0 }
            #expect(
                await load(system, app) { context in
                    for number in numbers {
                        context.addBlockingEntry(withNextSequentialPhoneNumber: number)
                        context.addIdentificationEntry(withNextSequentialPhoneNumber: number, label: "Label \(number)")
                    }
                    context.completeRequest()
                } == nil)
            #expect(system.directory(Self.identifier)?.labelledCount == 3)
            #expect(system.directory(Self.identifier)?.label(for: Self.base + 2) == "Label \(Self.base + 2)")
            #expect(system.directory(Self.identifier)?.label(for: Self.base + 9) == nil)
        }
    }

    @Test("T-157 (our choice): more entries than allowed")
    func tooMany() async throws {
        try await withDirectory { system, app in
            var limits = CallDirectoryExtensions.Limits()
            limits.maximumEntries = 2
            #expect(await load(system, app, limits: limits, blocked((1...3).map { Self.base + $0 })) == 5)
            #expect(list(system) == nil)
            system.takePitfalls()
        }
    }

    @Test("T-158: disabled, unknown, and loading already")
    func states() async throws {
        try await withDirectory { system, app in
            let manager = app.process.run { CXCallDirectoryManager.sharedInstance }
            #expect(try await manager.enabledStatusForExtension(withIdentifier: Self.identifier) == .enabled)
            try await system.user.act(.enableDirectory(extensionIdentifier: Self.identifier, false))
            #expect(try await manager.enabledStatusForExtension(withIdentifier: Self.identifier) == .disabled)
            await #expect(throws: CXErrorCodeCallDirectoryManagerError(.extensionDisabled)) {
                try await manager.reloadExtension(withIdentifier: Self.identifier)
            }
            await #expect(throws: CXErrorCodeCallDirectoryManagerError(.noExtensionFound)) {
                try await manager.reloadExtension(withIdentifier: "nobody's")
            }
            await #expect(throws: CXErrorCodeCallDirectoryManagerError(.noExtensionFound)) {
                _ = try await manager.enabledStatusForExtension(withIdentifier: "nobody's")
            }
            try await system.user.act(.enableDirectory(extensionIdentifier: Self.identifier, true))
            let kept = PushTests.Kept<CXCallDirectoryExtensionContext>()
            #expect(await load(system, app) { kept.set($0) } == nil)
            await #expect(throws: CXErrorCodeCallDirectoryManagerError(.currentlyLoading)) {
                try await manager.reloadExtension(withIdentifier: Self.identifier)
            }
            #expect(await kept.value?.completeRequest() == false)
            await system.settle()
        }
    }

    @Test("T-159: a removal in the first load is refused")
    func removalAtFirst() async throws {
        try await withDirectory { system, app in
            #expect(
                await load(system, app) { context in
                    context.removeBlockingEntry(withPhoneNumber: Self.base)
                    context.completeRequest()
                } == 8)
            #expect(system.takePitfalls() == [.directoryIncrementalMisuse])
        }
    }

    @Test("T-160: an incremental load changes what is there")
    func incremental() async throws {
        try await withDirectory { system, app in
            let base = Self.base
            #expect(
                await load(system, app) { context in
                    for number in base + 1...base + 3 {
                        context.addBlockingEntry(withNextSequentialPhoneNumber: number)
                        context.addIdentificationEntry(withNextSequentialPhoneNumber: number, label: "old")
                    }
                    context.completeRequest()
                } == nil)
            #expect(
                await load(system, app) { context in
                    guard context.isIncremental else { return }
                    context.removeBlockingEntry(withPhoneNumber: base + 2)
                    context.addBlockingEntry(withNextSequentialPhoneNumber: base + 5)
                    context.removeIdentificationEntry(withPhoneNumber: base + 1)
                    context.addIdentificationEntry(withNextSequentialPhoneNumber: base + 4, label: "new")
                    context.completeRequest()
                } == nil)
            #expect(list(system) == [base + 1, base + 3, base + 5])
            let file = system.directory(Self.identifier)
            #expect((1...4).map { file?.label(for: base + $0) } == [nil, "old", "old", "new"])
            #expect(
                await load(system, app) { context in
                    context.removeAllBlockingEntries()
                    context.removeAllIdentificationEntries()
                    context.addBlockingEntry(withNextSequentialPhoneNumber: base + 9)
                    context.completeRequest()
                } == nil)
            #expect(list(system) == [base + 9])
            #expect(system.directory(Self.identifier)?.labelledCount == 0)
        }
    }

    @Test("P-95: the whole list added to what is there already is told")
    func wholeListTwice() async throws {
        try await withDirectory { system, app in
            let numbers = (1...9).map { Self.base + $0 }
            #expect(await load(system, app, blocked(numbers)) == nil)
            #expect(await load(system, app, blocked(numbers)) == nil)
            #expect(list(system) == numbers)
            #expect(system.takePitfalls() == [.directoryIncrementalMisuse])
        }
    }

    @Test("P-94: a number too short for its country code is told")
    func noCountryCode() async throws {
        try await withDirectory { system, app in
            #expect(await load(system, app, blocked([123_456])) == nil)
            #expect(system.takePitfalls() == [.directoryNoCountryCode])
        }
    }

    @Test("T-161, T-187, P-97: an extension that never completes is interrupted, and context and app are told")
    func neverCompletes() async throws {
        try await withDirectory { system, app in
            #expect(await load(system, app, blocked([Self.base])) == nil)
            let events = Events()
            let answered = await load(system, app, events: events) { context in
                context.addBlockingEntry(withNextSequentialPhoneNumber: Self.base + 1)
            }
            #expect(answered == nil && events.all == [])
            await system.advance(by: .seconds(31))
            #expect(Set(events.all) == ["failed 2", "reloaded"])
            #expect(list(system) == [Self.base])
            #expect(system.takePitfalls() == [.directoryNotCompleted])
        }
    }

    @Test("T-161: an extension that is interrupted lives until it was told, however late that is")
    func toldBeforeItIsGone() async throws {
        try await withDirectory { system, app in
            let gone = DispatchSemaphore(value: 0)
            let events = Events()
            #expect(await load(system, app, events: events, gone: gone) { _ in } == nil)
            // Its queue is busy until the extension is gone, or for a while.
            app.process.link.privateQueue.async { _ = gone.wait(timeout: .now() + 0.1) }
            await system.advance(by: .seconds(31))
            #expect(Set(events.all) == ["failed 2", "reloaded"])
            #expect(system.takePitfalls() == [.directoryNotCompleted])
        }
    }

    @Test(
        "T-162 (our choice): a listed number is refused whatever it is written like, and never rings",
        arguments: [
            "+86 138 0000 0000", "+8613800000000", "008613800000000",
        ])
    func blockedNumber(text: String) async throws {
        try await withDirectory { system, app in
            #expect(await load(system, app, blocked([8_613_800_000_000])) == nil)
            #expect(await app.report(UUID(), "A", from: text) == 4)
            #expect(system.screens.allSatisfy { $0.ringing == nil })
            #expect(system.history.isEmpty)
        }
    }

    @Test("T-163, T-186: the app's name, else the contact's, else the label")
    func names() async throws {
        try await withDirectory { system, app in
            #expect(
                await load(system, app) { context in
                    context.addIdentificationEntry(withNextSequentialPhoneNumber: Self.base, label: "Bakery")
                    context.addIdentificationEntry(withNextSequentialPhoneNumber: Self.base + 1, label: "Listed")
                    context.completeRequest()
                } == nil)
            system.setContacts([("+\(Self.base + 1)", "Ada")])
            for (number, given, shown) in [(Self.base, nil, "Bakery"), (Self.base + 1, nil, "Ada"), (Self.base, "Joe", "Joe")]
                as [(Int64, String?, String)]
            {
                let call = UUID()
                #expect(await app.report(call, "A", from: "+\(number)", change: { if let given { $0.localizedCallerName = given } }) == nil)
                #expect(system.shown(call)?.name == shown)
                app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            }
        }
    }

    @Test("T-164, T-189 (our choice): the lists count for every app's calls, as long as the person allows them")
    func everyApp() async throws {
        try await withDirectory { system, app in
            #expect(await load(system, app, blocked([Self.base])) == nil)
            let other = TestApp(system, "app.two")
            await system.settle()
            #expect(await other.report(UUID(), "A", from: "+\(Self.base)") == 4)
            try await system.user.act(.enableDirectory(extensionIdentifier: Self.identifier, false))
            #expect(await other.report(UUID(), "A", from: "+\(Self.base)") == nil)
        }
    }

    @Test("T-188 (our choice): no number, no label: refused", arguments: [(Int64(0), "x"), (-1, "x"), (.max, "x"), (Self.base, "")])
    func refusedEntries(number: Int64, label: String) async throws {
        try await withDirectory { system, app in
            #expect(
                await load(system, app) { context in
                    context.addIdentificationEntry(withNextSequentialPhoneNumber: number, label: label)
                    context.completeRequest()
                } == 0)
            #expect(system.takePitfalls() == [.directoryEntryRefused])
        }
    }

    @Test("T-165 (our choice): a million entries load within two seconds of processor time and 100 MB")
    func aMillion() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handset-million-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/million.lists"
        let (memory, time) = (Self.residentBytes(), Self.processorSeconds())
        var load = DirectoryLoad(isIncremental: false)
        for number in 0..<Int64(500_000) {
            load.block(8_613_000_000_000 + number * 7)
            load.label(8_614_000_000_000 + number * 3, "Label number \(number)")
        }
        try DirectoryFile.write(&load, to: path)
        let used = Self.processorSeconds() - time
        let grown = Self.residentBytes() - memory
        // Debug code is several times slower: the limit of two seconds is that of a release build.
        #if DEBUG
            #expect(used < 20)
        #else
            #expect(used < 2)
        #endif
        #expect(grown < 100_000_000)
        let file = try #require(DirectoryFile(path: path))
        #expect(file.isBlocked(8_613_000_000_007) && !file.isBlocked(8_613_000_000_008))
        #expect(file.label(for: 8_614_000_000_003) == "Label number 1")
        print("a million entries: \(used) s of processor time, \(grown / 1_000_000) MB")
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    @Test func aFileThatWasCutShortIsNoFile() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "handset-cut-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var load = DirectoryLoad(isIncremental: false)
        load.block(Self.base)
        load.label(Self.base, "Bakery")
        try DirectoryFile.write(&load, to: path)
        #expect(DirectoryFile(path: path)?.label(for: Self.base) == "Bakery")
        let whole = try Data(contentsOf: URL(filePath: path))
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: URL(filePath: path))
            #expect(DirectoryFile(path: path) == nil, "\(length) octets")
        }
        var wrong = whole
        wrong[8] = 0xff
        wrong[15] = 0x7f
        try wrong.write(to: URL(filePath: path))
        #expect(DirectoryFile(path: path) == nil)
        #expect(DirectoryFile(path: path + ".none") == nil)
    }

    @Test("D2: numbers become international, each once, in the order of numbers")
    func normalisedNumbers() throws {
        let china = try #require(PhoneNumberReader(region: "cn"))
        #expect(china.read("138 0000 0000") == 8_613_800_000_000)
        #expect(china.read("+39 06 1234 5678") == 390_612_345_678)
        #expect(china.read("no number") == nil)
        #expect(china.read("") == nil)
        let italy = try #require(PhoneNumberReader(region: "IT"))
        #expect(italy.read("06 1234 5678") == 390_612_345_678)
        #expect(PhoneNumberReader(region: "XX") == nil)
        let international = try #require(PhoneNumberReader(region: nil))
        #expect(international.read("138 0000 0000") == nil)
        let list = china.list(["13900000000", "+8613800000000", "138 0000 0000", "what", "+1 650 253 0000"])
        #expect(list.numbers == [16_502_530_000, 8_613_800_000_000, 8_613_900_000_000])
        #expect(list.unread == ["what"])
    }
}
