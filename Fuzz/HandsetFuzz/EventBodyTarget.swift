// SPDX-License-Identifier: Apache-2.0

import EventPackages

/// Any octets as a body of an event package: what is read can be written and read again, and a table never outgrows its limit.
@Sendable func fuzzEventBody(_ bytes: [UInt8]) {
    if let element = try? XMLElement(parsing: bytes) {
        // Names with other letters than a writer may use are the reader's business alone; what it wrote must be well-formed.
        _ = try? XMLElement(parsing: element.document())
    }
    if let summary = try? MessageSummary(parsing: bytes) {
        require((try? MessageSummary(parsing: summary.serialized())) == summary, "a written summary is the same when read")
        require(summary.counts.allSatisfy { $0.new >= 0 && $0.old >= 0 }, "counts are not negative")
    }
    if let document = try? DialogInformation(parsing: bytes) {
        guard let again = try? DialogInformation(parsing: document.serialized()) else {
            require(false, "a written document can be read")
            return
        }
        require(again.version == document.version && again.dialogs.count == document.dialogs.count, "nothing is lost in writing")
        var table = DialogTable(limits: EventBodyLimits(dialogs: 4))
        _ = table.apply(document)
        _ = table.apply(again)
        require(table.dialogs.count <= 4, "a table keeps its limit")
    }
    if let presence = try? Presence(parsing: bytes) {
        guard let again = try? Presence(parsing: presence.serialized()) else {
            require(false, "a written document can be read")
            return
        }
        require(again.tuples.count == presence.tuples.count && again.isOpen == presence.isOpen, "nothing is lost in writing")
    }
}
