// SPDX-License-Identifier: Apache-2.0

import EventPackages
import Testing

@Suite struct MessageSummaryTests {
    @Test("the summary of RFC 3842 §5.2 is read, headers of single messages left aside")
    func reading() throws {
        let text = """
            Messages-Waiting: yes\r
            Message-Account: sip:alice@vmail.example.com\r
            Voice-Message: 2/8 (0/2)\r
            Fax-Message:1/0\r
            \r
            To: <alice@atlanta.example.com>\r
            Subject: carpool tomorrow?\r

            """
        let summary = try MessageSummary(parsing: Array(text.utf8))
        #expect(summary.areWaiting && summary.account == "sip:alice@vmail.example.com")
        #expect(summary.voice == .init(kind: "voice-message", new: 2, old: 8, urgentNew: 0, urgentOld: 2))
        #expect(summary.counts.map(\.kind) == ["voice-message", "fax-message"])
        #expect(try MessageSummary(parsing: summary.serialized()) == summary)
    }

    @Test("LF alone, any case and no blank are taken")
    func leniency() throws {
        let summary = try MessageSummary(parsing: Array("MESSAGES-WAITING:no\nvoice-message:  0/3  ( 0 / 0 )".utf8))
        #expect(!summary.areWaiting && summary.voice?.old == 3)
    }

    @Test(
        "what is no summary is refused",
        arguments: ["", "Voice-Message: 1/0", "Messages-Waiting: maybe", "Messages-Waiting", "Messages-Waiting: yes\nMessages-Waiting: no"])
    func refused(text: String) {
        #expect(throws: EventBodyError.self) { try MessageSummary(parsing: Array(text.utf8)) }
    }

    @Test("numbers are clamped, limits hold, control characters do not get out")
    func hostile() throws {
        let summary = try MessageSummary(
            parsing: Array(
                "Messages-Waiting: yes\r\nMessage-Account: a\u{7}b\r\nVoice-Message: 99999999999999999999/-1\r\nFax-Message: 99999999999999999999/1"
                    .utf8))
        #expect(summary.counts == [.init(kind: "fax-message", new: Int(Int32.max), old: 1)])
        #expect(summary.account == "a\u{fffd}b")
        let long = "Messages-Waiting: yes\n" + String(repeating: "x: y\n", count: 256)
        #expect(throws: EventBodyError(.limit, at: long.utf8.count - 1 - 4)) { try MessageSummary(parsing: Array(long.utf8.dropLast())) }
    }
}

@Suite struct DialogInformationTests {
    /// RFC 4235 §6.1 in the main.
    static let document = """
        <?xml version="1.0"?>
        <dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info" version="1" state="full" entity="sip:alice@example.com">
          <dialog id="as7d900as8" call-id="a84b4c76e66710" local-tag="1928301774" remote-tag="456248" direction="initiator">
            <state event="remote-bye" code="200">early</state>
            <local><identity display="Alice">sip:alice@example.com</identity></local>
            <remote><identity>sip:bob@example.com</identity><target uri="sip:bob@192.0.2.4"/></remote>
            <sd:other xmlns:sd="urn:other">ignored</sd:other>
          </dialog>
        </dialog-info>
        """

    private func partial(_ version: UInt32, _ dialogs: [DialogInformation.Dialog], isFull: Bool = false) -> DialogInformation {
        DialogInformation(version: version, isFull: isFull, entity: "sip:alice@example.com", dialogs: dialogs)
    }

    @Test("a document is read and written")
    func reading() throws {
        let document = try DialogInformation(parsing: Array(Self.document.utf8))
        let dialog = try #require(document.dialogs.first)
        #expect(document.version == 1 && document.isFull && dialog.state == .early && dialog.isInitiator == true)
        #expect(dialog.callID == "a84b4c76e66710" && dialog.localTag == "1928301774" && dialog.remoteTag == "456248")
        #expect(dialog.local.displayName == "Alice" && dialog.remote.target == "sip:bob@192.0.2.4" && dialog.code == 200)
        #expect(try DialogInformation(parsing: document.serialized()) == document)
    }

    @Test("a foreign document, one without version and one over the limit are refused")
    func refused() {
        for text in [
            "<dialog-info version='0' state='full' entity='sip:a@b'/>", "<presence xmlns='urn:ietf:params:xml:ns:pidf' entity='x'/>",
            "<dialog-info xmlns='urn:ietf:params:xml:ns:dialog-info' state='full' entity='sip:a@b'/>",
            "<dialog-info xmlns='urn:ietf:params:xml:ns:dialog-info' version='-1' state='full' entity='sip:a@b'/>",
        ] {
            #expect(throws: EventBodyError(.unexpected)) { try DialogInformation(parsing: Array(text.utf8)) }
        }
        let many = (0..<129).map { DialogInformation.Dialog(id: "\($0)", state: .trying) }
        #expect(throws: EventBodyError(.limit)) { try DialogInformation(parsing: partial(0, many, isFull: true).serialized()) }
    }

    @Test("partial documents change the table, an old one does not, a lost one is noticed")
    func table() {
        var table = DialogTable()
        #expect(table.apply(partial(3, [.init(id: "a", state: .trying)])) == .gap)
        #expect(table.apply(partial(4, [.init(id: "a", state: .trying)], isFull: true)) == .changed)
        #expect(table.state == .trying && table.isBusy)
        #expect(table.apply(partial(5, [.init(id: "b", state: .confirmed)])) == .changed)
        #expect(table.dialogs.map(\.id) == ["a", "b"] && table.state == .confirmed)
        #expect(table.apply(partial(5, [.init(id: "c", state: .early)])) == .outdated)
        #expect(table.apply(partial(7, [.init(id: "b", state: .terminated)])) == .gap)
        #expect(table.dialogs.count == 2)
        #expect(table.apply(partial(9, [.init(id: "a", state: .terminated)], isFull: true)) == .changed)
        #expect(!table.isBusy && table.dialogs.count == 1, "a terminated dialog is told once")
        #expect(table.apply(partial(10, [])) == .changed)
        #expect(table.dialogs.isEmpty)
    }

    @Test("the table does not grow beyond its limit")
    func limit() {
        var table = DialogTable(limits: EventBodyLimits(dialogs: 2))
        #expect(table.apply(partial(0, [.init(id: "a", state: .early), .init(id: "b", state: .early)], isFull: true)) == .changed)
        #expect(table.apply(partial(1, [.init(id: "c", state: .early)])) == .overLimit)
        #expect(table.dialogs.count == 2)
    }
}

@Suite struct PresenceTests {
    @Test("a document of RFC 3863 with a person of RFC 4480 is read")
    func reading() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <presence xmlns="urn:ietf:params:xml:ns:pidf" xmlns:dm="urn:ietf:params:xml:ns:pidf:data-model"
                xmlns:rpid="urn:ietf:params:xml:ns:pidf:rpid" entity="pres:someone@example.com">
              <tuple id="bs35r9"><status><basic>open</basic></status><contact priority="0.8">im:someone@mobile.example.net</contact>
                <note xml:lang="en">Don't Disturb &lt;Please&gt;!</note></tuple>
              <tuple id="eg92n8"><status><basic>closed</basic></status></tuple>
              <dm:person id="p1"><rpid:activities><rpid:on-the-phone/><rpid:busy/></rpid:activities></dm:person>
            </presence>
            """
        let presence = try Presence(parsing: Array(text.utf8))
        #expect(presence.isOpen == true && presence.tuples.map(\.isOpen) == [true, false])
        #expect(presence.shownNote == "Don't Disturb <Please>!" && presence.activities == ["on-the-phone", "busy"])
        let written = Presence(
            entity: "sip:a@b", isOpen: false, contact: "sip:a@b", note: "gone\u{202e}", activities: ["away", "no word!"])
        let again = try Presence(parsing: written.serialized())
        #expect(again.isOpen == false && again.activities == ["away"] && again.note == "gone\u{fffd}")
    }

    @Test("a document without tuples says nothing; a foreign one is refused; the limit holds")
    func edges() throws {
        let empty = try Presence(parsing: Array("<presence xmlns='urn:ietf:params:xml:ns:pidf' entity='sip:a@b'/>".utf8))
        #expect(empty.isOpen == nil && empty.shownNote == nil)
        #expect(throws: EventBodyError(.unexpected)) { try Presence(parsing: Array("<presence entity='sip:a@b'/>".utf8)) }
        let many = Presence(entity: "x", tuples: (0..<65).map { .init(id: "\($0)", isOpen: true) })
        #expect(throws: EventBodyError(.limit)) { try Presence(parsing: many.serialized()) }
    }
}
