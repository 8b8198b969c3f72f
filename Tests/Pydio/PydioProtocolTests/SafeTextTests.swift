import Testing

@testable import PydioProtocol

struct SafeTextTests {
    /// 16 KiB is far more than is shown; the rest is not read.
    @Test func ofAPageTheFirst16KiBAreRead() {
        let page = "<" + String(repeating: "x", count: 16_380) + ">abcdef"
        #expect(SafeText.words(ofPage: Array(page.utf8), limit: 100, without: []) == "ab")
    }

    @Test func scriptsStylesAndMarkupAreLeftOut() {
        let page = "<title>It</title><style>p {}</style><p class='a'>broke\n <b>down</b></p><SCRIPT>x < 1</script>."
        #expect(SafeText.words(ofPage: Array(page.utf8), limit: 100, without: []) == "It broke down .")
        #expect(SafeText.words(ofPage: Array("a<script>open".utf8), limit: 100, without: []) == "a")
    }
}
