import Foundation
import TestSupport
import Testing

@testable import MatrixKit

@Suite struct HTMLReaderTests {
    @Test(
        arguments: [
            ("plain", "plain"), ("<p>one</p><p>two</p>", "one\ntwo"), ("<b>a</b> <i>b</i>", "a b"),
            ("one<br>two", "one\ntwo"), ("<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "• a\n• b\n  • c"),
            ("<ol start=\"3\"><li>a</li><li>b</li></ol>", "3. a\n4. b"),
            ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n> > b"),
            ("<pre><code class=\"language-swift\">let a  = 1\n  b</code></pre>", "let a  = 1\n  b"),
            ("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a | b\nc | d"),
            ("a<hr>b", "a\n---\nb"), ("<h2>Title</h2>text", "Title\ntext"), ("a &lt; b &amp; c", "a < b & c"),
            ("<unknown>kept</unknown>", "kept"), ("a<script>alert(1)</script><style>b{}</style>c", "ac"),
            ("<mx-reply><blockquote>said before</blockquote></mx-reply>answer", "answer"),
            ("<span data-mx-spoiler=\"why\">secret</span>", "[spoiler: why]"),
            ("<img src=\"mxc://a/b\" alt=\"cat\">", "[cat]"), ("  a \n\t b  ", "a b"), ("", ""), ("<p> </p>", ""),
            ("<b>never closed", "never closed"), ("</b>never opened", "never opened"), ("<li>alone</li>", "• alone"),
            ("<ul><li><p>a</p><p>b</p></li></ul>", "• a\nb"),
        ] as [(String, String)])
    func isReadAs(html: String, plain: String) { #expect(HTMLReader.text(html).plain == plain) }

    @Test func stylesAreRead() throws {
        let html =
            ##"<strong>a</strong><em>b</em><u>c</u><del>d</del><code>e</code><span data-mx-color="#ff0000">f</span>"##
        let runs = try #require(HTMLReader.text(html).blocks.first).runs
        #expect(runs.map(\.text) == ["a", "b", "c", "d", "e", "f"])
        #expect(runs[0].style.isBold && runs[1].style.isItalic && runs[2].style.isUnderlined)
        #expect(runs[3].style.isStruck && runs[4].style.isCode && runs[5].style.color == .chosen(255, 0, 0))
    }

    @Test(
        arguments: [
            ("https://example.org/a", true), ("mailto:a@b", true), ("matrix:u/a:s", true),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false), ("data:text/html,x", false), ("vbscript:x", false), ("/relative", false),
        ] as [(String, Bool)])
    func onlyHarmlessLinksAreFollowed(href: String, isLink: Bool) {
        #expect(HTMLReader.text("<a href=\"\(href)\">x</a>").links.isEmpty == !isLink)
    }

    @Test(
        arguments: [
            ("https://matrix.to/#/@a:s", .user("@a:s")), ("https://matrix.to/#/%23r:s", .room("#r:s")),
            ("https://matrix.to/#/!r:s/$e?via=s", .event(room: "!r:s", event: "$e")), ("matrix:u/a:s", .user("@a:s")),
            ("matrix:roomid/r:s/e/e", .event(room: "!r:s", event: "$e")), ("https://example.org", nil),
            ("https://matrix.to/", nil), ("matrix:u", nil),
        ] as [(String, MXKText.Pill?)])
    func linksToUsersAndRoomsArePills(href: String, pill: MXKText.Pill?) {
        #expect(HTMLReader.text("<a href=\"\(href)\">x</a>").blocks.first?.runs.first?.style.pill == pill)
    }

    @Test func deepElementsAreReadAsIfTheyWereNotThere() {
        let html = String(repeating: "<blockquote>", count: 10_000) + "x"
        #expect(HTMLReader.text(html).blocks.last?.quoteDepth == 100)
    }

    @Test func noMoreThan64KiBAreRead() {
        for html in [
            String(repeating: "ä", count: 100_000), String(repeating: "<p>word</p>", count: 50_000),
            String(repeating: "<br>", count: 200_000), String(repeating: "<hr>", count: 200_000),
            String(repeating: "<img alt=x>", count: 50_000), "<p>" + String(repeating: "a ", count: 70_000),
        ] {
            let text = HTMLReader.text(html)
            #expect(text.plain.utf8.count <= 3 * (64 << 10))
            #expect(text.blocks.count <= 64 << 10)
        }
    }

    @Test(arguments: [
        "<b>", "</b>", "<p>x", "<li>", "<table><tr><td>", "<", "&", "<a href='", "<!--", "<ul>", "a b ", "<br>",
        "<script>", "</p>", "<span data-mx-spoiler>x", "\u{301}", "<pre>\n",
    ])
    func hostileHTMLCostsNoMoreThanItsLength(piece: String) {
        let growth = growth(from: 2_000) { _ = HTMLReader.text(String(repeating: piece, count: $0)) }
        #expect(growth < 24, "\(growth)")
    }
}
