import MatrixProtocol
import Testing

struct MXContentURITests {
    @Test(
        arguments: [
            ("mxc://example.org/abcXYZ019-_", "example.org", "abcXYZ019-_"), ("mxc://h:8448/m", "h:8448", "m"),
            ("mxc://[::1]:8448/m", "[::1]:8448", "m"), ("mxc://h/a.b=~c", "h", "a.b=~c"),
        ])
    func serverAndIdAreItsParts(text: String, server: String, mediaId: String) throws {
        let uri = try #require(MXContentURI(text))
        #expect(uri.server == server && uri.mediaId == mediaId)
        #expect("\(uri)" == text)
    }

    @Test(arguments: [
        "", "mxc://", "mxc:///m", "mxc://h", "mxc://h/", "mxc://h/m/", "mxc://h/m/n", "http://h/m", "MXC://h/m",
        "mxc://h/..", "mxc://h/.", "mxc://../m", "mxc://./m", "mxc://h/a..b", "mxc://a..b/m", "mxc://h/a%2Fb",
        "mxc://h/a?b", "mxc://h/a#b", "mxc://h/a b", "mxc://h/ü", "mxc://ü/m", "mxc://h/a:b", "mxc://h=/m",
        "mxc://h/a\u{7F}", "mxc://h/a@", "mxc://h/a[", "mxc://h/a`", "mxc://h/a{", "mxc://h/a\n",
    ])
    func whatCouldLeadElsewhereIsNone(text: String) {
        #expect(MXContentURI(text) == nil)
    }

    @Test func aThousandBytesAreEnough() {
        let id = String(repeating: "m", count: 1024 - "mxc://h/".utf8.count)
        #expect(MXContentURI("mxc://h/\(id)") != nil)
        #expect(MXContentURI("mxc://h/\(id)m") == nil)
    }
}
