import PydioProtocol
import Testing

struct XMLReaderTests {
    private func read(_ text: String, _ change: (inout XMLLimits) -> Void = { _ in }) throws(XMLReader.Failure)
        -> XMLNode
    {
        var limits = XMLLimits()
        change(&limits)
        return try XMLReader.read(Array(text.utf8), limits: limits)
    }

    @Test func aDocumentBecomesATree() throws {
        let root = try read(
            #"<?xml version="1.0" encoding="UTF-8"?><tree a="1" ><message type="ERROR">x &amp; <b/>y&#233;</message></tree>"#
        )
        let message = XMLNode(
            "message", attributes: ["type": "ERROR"], children: [XMLNode("b")], text: "x & yé")
        #expect(root == XMLNode("tree", attributes: ["a": "1"], children: [message]))
    }

    @Test func entitiesInAttributesAreRead() throws {
        let root = try read(#"<tree filename="/&quot;a&apos; &lt;b&gt; &amp;amp; &#128578; plan é.txt"/>"#)
        #expect(root["filename"] == "/\"a' <b> &amp; 🙂 plan é.txt")
    }

    @Test func sectionsOfTextAreRead() throws {
        #expect(try read("<a>1<![CDATA[<2>]]>3</a>").text == "1<2>3")
    }

    /// What is written is read as it was.
    @Test func aTreeSurvivesBeingWritten() throws {
        let node = XMLNode(
            "m", attributes: ["a": "\"<&>'\n\t é"], children: [XMLNode("n", text: "]]> & <x>\r\n🙂")], text: "t")
        #expect(try read(node.serialised) == node)
    }

    @Test(arguments: [
        #"<?xml version="1.0"?><!DOCTYPE tree SYSTEM "file:///etc/passwd"><tree/>"#,
        #"<!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tree>&b;</tree>"#,
        "<!doctype tree><tree/>", "<tree><!DOCTYPE x></tree>",
        #"<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE tree+AD4-<tree/>"#,
        #"<?xml version='1.0' encoding = 'utf-16'?><tree/>"#, #"<?xml version="1.0" encoding="ISO-8859-1"?><tree/>"#,
        "<tree>\u{0}</tree>",
    ])
    func typesAndOtherEncodingsAreRefused(text: String) {
        #expect(throws: XMLReader.Failure.refused) { try read(text) }
    }

    @Test func bytesThatAreNoTextAreRefused() {
        let wide: [UInt8] = [0xFE, 0xFF, 0, 0x3C, 0, 0x61, 0, 0x2F, 0, 0x3E]
        #expect(throws: XMLReader.Failure.refused) { try XMLReader.read(wide) }
        #expect(throws: XMLReader.Failure.refused) { try XMLReader.read(Array("<a>".utf8) + [0xC3, 0x28]) }
    }

    @Test(arguments: [
        "", " ", "text", "<tree>", "<tree><a></tree>", "<tree/><tree/>", "<tree a=1/>", "<tree>&b;</tree>",
    ])
    func whatIsNoWholeDocumentIsMalformed(text: String) {
        #expect(throws: XMLReader.Failure.malformed) { try read(text) }
    }

    @Test func everyCutOfADocumentIsMalformed() {
        let text = Array(#"<?xml version="1.0" encoding="UTF-8"?><tree ><a b="c">text &amp; é</a></tree>"#.utf8)
        for count in 0..<text.count {
            #expect((try? XMLReader.read(Array(text.prefix(count)))) == nil, "\(count) bytes")
        }
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<t>", count: depth) + String(repeating: "</t>", count: depth)
        }
        #expect(try read(nested(64)).name == "t")
        #expect(throws: XMLReader.Failure.tooLarge) { try read(nested(65)) }
        #expect(throws: XMLReader.Failure.tooLarge) { try read(nested(100_000)) }
    }

    @Test func sizeAndNumbersAreBounded() throws {
        let text = "<t>" + String(repeating: "<n a='1'/>", count: 10) + "</t>"
        #expect(try read(text) { $0.nodes = 21 }.children.count == 10)
        #expect(throws: XMLReader.Failure.tooLarge) { try read(text) { $0.nodes = 20 } }
        #expect(throws: XMLReader.Failure.tooLarge) { try read(text) { $0.bytes = text.utf8.count - 1 } }
    }
}
