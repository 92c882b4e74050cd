// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Each module's README says in one sentence what it is for, lists its RFCs and how ripe it is.
@Suite struct ModuleReadmeTests {
    @Test func everyModuleSaysItsResponsibilityAndMaturity() throws {
        for target in try Manifest.current.get().targets where target.floor != nil && !target.name.hasPrefix("C") {
            try expectReadme(of: target)
        }
    }

    private func expectReadme(of target: Manifest.Target) throws {
        let path = target.path + "/README.md"
        let text = try Repository.text(path)
        #expect(text.hasPrefix("# \(target.name)\n"), "\(path)")
        #expect(text.count > 120, "\(path) does not say what the module is for")
        #expect(text.contains("RFC") || text.contains("No RFC"), "\(path) lists no RFC")
        #expect(text.contains("Maturity: "), "\(path) has no maturity word")
    }
}
