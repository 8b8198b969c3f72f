import Foundation
import TestSupport
import Testing

@testable import MatrixProtocol

@Suite struct MarkdownTests {
    @Test(
        arguments: [
            ("**bold**", "<strong>bold</strong>"), ("__bold__", "<strong>bold</strong>"), ("*it*", "<em>it</em>"),
            ("_it_", "<em>it</em>"), ("~~gone~~", "<del>gone</del>"), ("***both***", "<em><strong>both</strong></em>"),
            ("**a *b* c**", "<strong>a <em>b</em> c</strong>"), ("a*b*c", "a<em>b</em>c"),
            ("**a** <b>", "<strong>a</strong> &lt;b&gt;"), ("*a**", "<em>a</em>*"), ("**a*", "*<em>a</em>"),
            ("*a _b* c_", "<em>a _b</em> c_"), ("`a*b*`", "<code>a*b*</code>"), ("`` a`b ``", "<code>a`b</code>"),
            ("` `", "<code> </code>"), ("`  `", "<code>  </code>"), ("` a `", "<code>a</code>"),
            ("` a`", "<code> a</code>"), ("`a `", "<code>a </code>"), ("`a\nb`", "<code>a b</code>"),
            ("`<b>&`", "<code>&lt;b&gt;&amp;</code>"), (#"\*a\*"#, "*a*"), ("*a\nb*", "<em>a<br>b</em>"),
            ("*é*", "<em>é</em>"),
        ])
    func marksInsideAText(markdown: String, html: String) {
        #expect(Markdown.html(markdown) == html)
    }

    @Test(
        arguments: [
            "", "plain", "a < b & c > d \"e\"", "two\nlines", "two\n\nparagraphs", "snake_case_name", "2 * 3 * 4", "*",
            "**", "a ** b", "`open", "~one~", "~~~~~x~~~~~", "[link]", "[a](b)", "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:x)", "[a](data:text/html,x)", "[a](https://)", "[a](https://x y)", "#hashtag", "-1", "1.5",
            "C:\\dir", "***", "* ", "####### seven", "<b>html</b>", "[a](//x)", "(**)", "_a*", "**open",
        ])
    func aTextWithoutMarkupNeedsNoHTML(text: String) {
        #expect(Markdown.html(text) == nil)
    }

    @Test(
        arguments: [
            ("[a](https://x.y)", #"<a href="https://x.y">a</a>"#), ("[a](mailto:b@c)", #"<a href="mailto:b@c">a</a>"#),
            ("[*a*](http://x/_y_)", #"<a href="http://x/_y_"><em>a</em></a>"#),
            ("*[a](https://x)*", #"<em><a href="https://x">a</a></em>"#),
            ("[a](https://x/(b))", #"<a href="https://x/(b)">a</a>"#),
            ("[a](https://x?a=1&b=\"2\")", #"<a href="https://x?a=1&amp;b=&quot;2&quot;">a</a>"#),
            ("[a [b](https://x)](https://y)", #"[a <a href="https://x">b</a>](https://y)"#),
            ("*a [b* c](https://x)", "<em>a [b</em> c](https://x)"),
            ("[a *b](https://x) c*", #"<a href="https://x">a *b</a> c*"#),
        ])
    func onlySafeLinksBecomeLinks(markdown: String, html: String) {
        #expect(Markdown.html(markdown) == html)
    }

    @Test(
        arguments: [
            ("# One", "<h1>One</h1>"), ("###### *six*", "<h6><em>six</em></h6>"),
            ("> quoted", "<blockquote>quoted</blockquote>"),
            ("> a\n> b\n\nc", "<blockquote>a<br>b</blockquote><p>c</p>"),
            (">> deep", "<blockquote><blockquote>deep</blockquote></blockquote>"),
            ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"), ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
            ("3) a", #"<ol start="3"><li>a</li></ol>"#),
            ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
            ("- a\n  more\n* b", "<ul><li>a<br>more</li><li>b</li></ul>"),
            ("  - a\n- b", "<ul><li>a</li><li>b</li></ul>"),
            ("```\na\n  ```\nb", "<pre><code>a\n</code></pre><p>b</p>"),
            ("```\na\n```  \nb", "<pre><code>a\n</code></pre><p>b</p>"),
            ("```\na\n```!\n!```\n```", "<pre><code>a\n```!\n!```\n</code></pre>"),
            ("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
            ("```\na <b>\n*c*\n```", "<pre><code>a &lt;b&gt;\n*c*\n</code></pre>"),
            ("```swift\nlet a\n```\nafter", #"<pre><code class="language-swift">let a\#n</code></pre><p>after</p>"#),
            ("```\"><x>\na\n```", "<pre><code>a\n</code></pre>"), ("```\nopen", "<pre><code>open\n</code></pre>"),
            ("before\n\n# H\nafter", "<p>before</p><h1>H</h1><p>after</p>"),
            ("a\r\n**b**", "a<br><strong>b</strong>"),
        ])
    func blocks(markdown: String, html: String) {
        #expect(Markdown.html(markdown) == html)
    }

    /// Quotes are recognized up to the eighth level; deeper ones are text.
    @Test func quotesInQuotesAreBounded() {
        let (open, close) = (String(repeating: "<blockquote>", count: 8), String(repeating: "</blockquote>", count: 8))
        #expect(Markdown.html(String(repeating: ">", count: 8) + " a") == open + "a" + close)
        #expect(Markdown.html(String(repeating: ">", count: 9) + " a") == open + "<p>&gt; a</p>" + close)
    }

    @Test func htmlIsAlwaysBalancedAndOnlyOfKnownTags() {
        var generator = XorShift(seed: 11)
        let parts = [
            "*", "**", "_", "__", "~~", "`", "``", "[", "](https://x)", "](", ")", "\n", "\n\n", "> ", "- ", "1. ",
            "# ",
            "```\n", "a", " ", "<script>", "&", "\"", "\\", "é", "  - ", "](javascript:x)",
        ]
        let known = Set([
            "strong", "em", "del", "code", "a", "br", "p", "h1", "blockquote", "ul", "ol", "li", "pre",
        ])
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 1...25, using: &generator))
                .compactMap { _ in parts.randomElement(using: &generator) }.joined()
            guard let html = Markdown.html(text) else { continue }
            var open: [Substring] = []
            for tag in html.split(separator: "<").dropFirst(html.hasPrefix("<") ? 0 : 1) {
                let name = tag.prefix { $0 != ">" && $0 != " " }
                if name.hasPrefix("/") {
                    #expect(open.popLast() == name.dropFirst(), "\(text.debugDescription) gives \(html)")
                } else {
                    #expect(known.contains(String(name)), "\(text.debugDescription) gives \(html)")
                    if name != "br" { open.append(name) }
                }
            }
            #expect(open.isEmpty, "\(text.debugDescription) gives \(html)")
        }
    }

    @Test(arguments: [
        "*a ", "**", "[", "](", "[](", "`", "`a``", "_", "~~a", "> ", ">", "- a\n", "\n", "*_", "[a](https://x", "\\",
        "* a\n ", "```\n", "~~*a_", "a*b_", "**a*",
    ])
    func theTimeIsBounded(part: String) {
        let text = String(repeating: part, count: 65_536 / part.utf8.count)
        let elapsed = ContinuousClock().measure { _ = Markdown.html(text) }
        #expect(elapsed < .seconds(10))
    }

    @Test func aTextThatNoEventCanHoldIsLeftAsItIs() {
        #expect(Markdown.html("**a**" + String(repeating: "b", count: 65_536)) == nil)
    }

    @Test func escapingShowsTheTextAsItIs() {
        #expect(Markdown.escaped("<a href=\"x\">&é") == "&lt;a href=&quot;x&quot;&gt;&amp;é")
    }
}
