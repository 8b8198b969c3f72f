import TestSupport
import Testing

@testable import MatrixProtocol

@Suite struct HTMLTextTests {
    @Test(
        arguments: [
            ("plain", "plain"), ("<b>bold</b> text", "bold text"), ("a<br>b<br/>c", "a\nb\nc"),
            ("<p>one</p><p>two</p>", "one\ntwo"), ("a &lt;b&gt; &amp;amp; &#65;&#x42;&nbsp;.", "a <b> &amp; AB ."),
            ("1 < 2", "1 < 2"), ("&unknown; & &#xD800; &", "&unknown; & &#xD800; &"), ("<", "<"), ("", ""),
            ("<ul><li>x</li></ul>", "x"), ("a <b title='>'>b</b> c", "a b c"), ("<3 you <", "<3 you <"),
            ("no <b end", "no <b end"), ("a<!-- x -->b", "ab"), ("ä<i>ö</i>😀", "äö😀"),
        ] as [(String, String)])
    func tagsGo_blocksBreakLines_entitiesAreRead(html: String, text: String) {
        #expect(HTMLText.plain(html) == text)
    }

    @Test(
        arguments: [
            ("a <span data-mx-spoiler>b</span> c", "a [spoiler] c"),
            ("a <span data-mx-spoiler=\"\">b</span> c", "a [spoiler] c"),
            ("<span data-mx-spoiler=\"the film &amp; more\">b</span>", "[spoiler: the film & more]"),
            ("<span data-mx-spoiler='x'>b</span>", "[spoiler: x]"),
            ("<span data-mx-spoiler=x>b</span>", "[spoiler: x]"),
            ("<SPAN class=\"a\" Data-MX-Spoiler = \"x\" >b</SPAN>c", "[spoiler: x]c"),
            ("<span data-mx-spoiler=\"a>b\">hidden</span>", "[spoiler: a>b]"),
            ("<span data-mx-spoiler><span>b</span>still</span> c", "[spoiler] c"),
            ("<span data-mx-spoiler><b>b</b><br>d</span> c", "[spoiler] c"),
            ("<span data-mx-spoiler>a<span data-mx-spoiler>b</span>c</span>d", "[spoiler]d"),
            ("<span data-mx-spoiler>never ends", "[spoiler]"), ("<span title=\"data-mx-spoiler\">b</span>", "b"),
            ("<span data-mx-color='#fff'data-mx-spoiler>b</span>", "[spoiler]"),
            ("<span/data-mx-spoiler>b</span>", "[spoiler]"),
        ] as [(String, String)])
    func spoilersAreHidden(html: String, text: String) {
        #expect(HTMLText.plain(html) == text)
    }

    @Test(arguments: ["<a", "<a \"", "&", "<span data-mx-spoiler>", "</", "<a b='", "<!"])
    func hostileTextTakesLinearTime(piece: String) {
        let growth = growth(from: 5_000) { _ = HTMLText.plain(String(repeating: piece, count: $0)) }
        #expect(growth < 24)
    }
}
