import Testing

@testable import pusher_cli

struct HTMLTextTests {
    @Test(
        arguments: [
            ("plain", "plain"), ("<b>bold</b> text", "bold text"), ("a<br>b<br/>c", "a\nb\nc"),
            ("<p>one</p><p>two</p>", "one\ntwo"), ("a &lt;b&gt; &amp;amp; &#65;&#x42;&nbsp;.", "a <b> &amp; AB ."),
            ("1 < 2", "1 < 2"), ("&unknown; & &#xD800; &", "&unknown; & &#xD800; &"), ("<", "<"), ("", ""),
            ("<ul><li>x</li></ul>", "x"),
        ] as [(String, String)])
    func tagsGo_blocksBreakLines_entitiesAreRead(html: String, text: String) {
        #expect(HTMLText.plain(html) == text)
    }
}
