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

    /// A written tree reads back unchanged.
    @Test func aTreeSurvivesBeingWritten() throws {
        let node = XMLNode(
            "m", attributes: ["a": "\"<&>'\n\t é"], children: [XMLNode("n", text: "]]> & <x>\r\n🙂")], text: "t")
        #expect(try read(node.serialised) == node)
    }

    @Test(arguments: [
        #"<?xml version="1.0"?><!DOCTYPE tree SYSTEM "file:///etc/passwd"><tree/>"#,
        #"<!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tree>&b;</tree>"#,
        "<!doctype tree><tree/>", "<tree><!DOCTYPE x></tree>",
        "<tree><?x?></tree>", "<?x?><tree/>", "<tree/><?x?>", " <?xml version='1.0'?><tree/>",
        #"<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE tree+AD4-<tree/>"#,
        #"<?xml version='1.0' encoding = 'utf-16'?><tree/>"#, #"<?xml version="1.0" encoding="ISO-8859-1"?><tree/>"#,
        "<tree>\u{0}</tree>",
    ])
    func typesAndOtherEncodingsAreRefused(text: String) {
        #expect(throws: XMLReader.Failure.refused) { try read(text) }
    }

    /// libxml2 reads the whole declaration, wherever it ends.
    @Test(arguments: [1, 190, 200, 10_000])
    func anotherEncodingIsRefusedHoweverFarBehindItStands(spaces: Int) {
        let padding = String(repeating: " ", count: spaces)
        #expect(throws: XMLReader.Failure.refused) {
            try read(#"<?xml version="1.0"\#(padding)encoding="UTF-7"?>+ADwAIQ-DOCTYPE tree+AD4-<tree/>"#)
        }
    }

    @Test(arguments: [
        "<a>?encoding=x</a>", "<a?/>".replacing("?", with: ""), "<a b=\"?\">encoding latin-1</a>",
        #"<a b="12?encoding=latin-1"/>"#,
        #"<?xml version="1.0"?><a>encoding="x"</a>"#, #"<?xml version="1.0" encoding="us-ascii"?><a/>"#,
        #"<?xml version="1.0" encoding='utf8'?><a/>"#,
    ])
    func onlyADeclarationNamesAnEncoding(text: String) throws {
        #expect(try read(text).name == "a")
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
        #expect(try read(text) { $0.memory = 6000 }.children.count == 10)
        #expect(throws: XMLReader.Failure.tooLarge) { try read(text) { $0.memory = 5000 } }
        #expect(throws: XMLReader.Failure.tooLarge) { try read(text) { $0.bytes = text.utf8.count - 1 } }
    }

    @Test(arguments: [
        ("<t/>", 401), ("<t><n/></t>", 802), ("<t a='bc'/>", 504), ("<t>abc</t>", 404), ("<t><![CDATA[abc]]></t>", 404),
    ])
    func aTreeMayTakeAsMuchAsTheLimit(text: String, memory: Int) throws {
        #expect(try read(text) { $0.memory = memory }.name == "t")
        #expect(throws: XMLReader.Failure.tooLarge) { try read(text) { $0.memory = memory - 1 } }
    }

    /// Any input yields a tree or an error.
    @Test func damagedDocumentsDoNoHarm() {
        let samples = [
            #"<?xml version="1.0" encoding="UTF-8"?><tree filename="/a&amp;b" text="é"><!-- c --><tree/></tree>"#,
            #"<a:tree xmlns:a="urn:x" xmlns="urn:y"><a:b a:c="1"/><![CDATA[x]]></a:tree>"#,
            #"<?xml version="1.1" standalone="yes"?><p:a xml:base="" xmlns:q=""><!----><![CDATA[]]><q:b q:c=''/></p:a>"#,
            #"<tree><message type="ERROR">&#x1F642;&lt;&#10;</message><require_auth/></tree>"#,
        ].map { Array($0.utf8) }
        var random = Seeded(state: 4711)
        for round in 0..<4000 {
            var bytes = samples[round % samples.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(Array("<>&;\"'/!?[]:=".utf8).randomElement(using: &random) ?? 0, at: place)
                default: bytes += bytes.prefix(place)
                }
            }
            let first = Result { try XMLReader.read(bytes) }
            guard case .success(let root) = first else { continue }
            // A readable document can be written and read again.
            let again = try? XMLReader.read(Array(root.serialised.utf8))
            #expect(again?.name == root.name && again?.children.count == root.children.count)
        }
    }
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}
