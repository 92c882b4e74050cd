// SPDX-License-Identifier: Apache-2.0

import EventPackages
import Testing

@Suite struct XMLTests {
    private func read(_ text: String, _ limits: EventBodyLimits = .default) throws -> XMLElement {
        try XMLElement(parsing: Array(text.utf8), limits: limits)
    }

    private func refusal(_ text: String, _ limits: EventBodyLimits = .default) -> EventBodyError.Code? {
        do {
            _ = try XMLElement(parsing: Array(text.utf8), limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("elements, attributes, namespaces, text, CDATA and comments are read")
    func reading() throws {
        let root = try read(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- a comment --><p:a xmlns:p="urn:one" xmlns="urn:two" x='1' p:y="&lt;&#x41;&amp;">
              <b>one<c xmlns=""/>two<![CDATA[<&]]></b><?target data?>
            </p:a>
            """)
        #expect(root.name == "a" && root.namespace == "urn:one")
        #expect(root.attribute("x") == "1")
        #expect(root.attributes.first { $0.namespace == "urn:one" }?.value == "<A&")
        let b = try #require(root.children.first)
        #expect(b.namespace == "urn:two" && b.text == "onetwo<&")
        #expect(b.children.first?.namespace == "")
    }

    @Test(
        "what is not well-formed is refused",
        arguments: [
            "", "   ", "<a>", "<a></b>", "<a/><b/>", "text", "<a x=1/>", "<a x='1' x='2'/>", "<a x='<'/>", "<a>&amp</a>", "<a>]]></a>",
            "<a><!-- x </a>", "<p:a/>", "<a x='1'y='2'/>", "<1a/>", "<a>&#0;</a>", "<a>&#x110000;</a>", "<a:b:c xmlns:a='u'/>",
            "<a/>junk", "<a ", "<a x", "<a x=", "<a x='", "<", "<a><![CDATA[", "<a>&#+65;</a>",
        ])
    func malformed(text: String) {
        #expect(refusal(text) == .malformed)
    }

    @Test(
        "document types and entities of their own are never read",
        arguments: [
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>", "<a>&x;</a>", "<a x='&lol9;'/>",
            "<a><!ELEMENT b ANY></a>", "<?xml version='1.0'?><!DOCTYPE a><a/>",
        ])
    func entities(text: String) {
        #expect(refusal(text) == .forbidden)
    }

    @Test("other encodings, controls and octets that are no UTF-8 are refused")
    func encodings() {
        #expect(refusal("<?xml version='1.0' encoding='UTF-16'?><a/>") == .encoding)
        #expect(refusal("<a>\u{1}</a>") == .encoding)
        #expect((try? XMLElement(parsing: [0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])) == nil)
        #expect(refusal("<a>\u{fffe}</a>") == .encoding)
    }

    @Test("each limit refuses the whole document")
    func limits() {
        let deep = String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17)
        #expect(refusal(deep) == .limit)
        #expect(refusal("<a>" + String(repeating: "<b/>", count: 20) + "</a>", EventBodyLimits(elements: 20)) == .limit)
        #expect(refusal("<a>" + String(repeating: "<b/>", count: 19) + "</a>", EventBodyLimits(elements: 20)) == nil)
        let attributes = (0..<33).map { " a\($0)=''" }.joined()
        #expect(refusal("<a\(attributes)/>") == .limit)
        #expect(refusal("<\(String(repeating: "n", count: 129))/>") == .limit)
        #expect(refusal("<a>" + String(repeating: "x", count: 65_536) + "</a>") == .limit)
    }

    @Test("what is written is read again, whatever the text")
    func roundTrip() throws {
        let nasty = "a<b>&\"'\u{0}\r\n\t\u{202e}ü"
        let root = XMLElement(
            "root", namespace: "urn:x", attributes: [.init("k", nasty)],
            children: [XMLElement("leaf", namespace: "urn:y", text: nasty), XMLElement("none", namespace: "urn:x")])
        let again = try XMLElement(parsing: root.document())
        #expect(again.attribute("k") == nasty.replacing("\u{0}", with: "\u{fffd}"))
        #expect(again.children.map(\.name) == ["leaf", "none"] && again.children.map(\.namespace) == ["urn:y", "urn:x"])
        #expect(again.children[0].text == nasty.replacing("\u{0}", with: "\u{fffd}"))
    }

    @Test("cutting a document anywhere is an error, never a trap")
    func cuts() throws {
        let whole = XMLElement("a", namespace: "u", attributes: [.init("b", "c&")], children: [XMLElement("d", namespace: "u", text: "é")])
            .document()
        _ = try XMLElement(parsing: whole)
        for count in 0..<whole.count { #expect((try? XMLElement(parsing: Array(whole.prefix(count)))) == nil) }
    }
}
