import Testing
import Transport

struct PathSegmentTests {
    @Test(arguments: [
        ("a", "a"), ("a b", "a%20b"), ("a/b", "a%2Fb"), ("../a", "..%2Fa"), ("%2e%2e", "%252e%252e"), ("...", "..."),
        (".a", ".a"), ("é", "%C3%A9"), ("a?b#c", "a%3Fb%23c"), ("\\", "%5C"), ("\u{0}", "%00"), ("\r\n", "%0D%0A"),
    ])
    func anyTextIsOneSegment(text: String, escaped: String) {
        #expect(PathSegment(text)?.escaped == escaped)
        #expect(!PathSegment.hasDots(path: "/\(escaped)/"))
    }

    @Test(arguments: ["", ".", ".."])
    func whatIsResolvedOnTheWayIsNone(text: String) {
        #expect(PathSegment(text) == nil)
    }

    @Test(arguments: [
        ".", "..", "/.", "/..", "/a/../b", "/a/./b", "/a/..", "a/.", "/%2e", "/%2E%2e/b", "/.%2e", "/%2e./", "//..",
        "/a/../\u{301}b",
    ])
    func dotsAreFoundInAPath(path: String) {
        #expect(PathSegment.hasDots(path: path))
    }

    @Test(arguments: ["", "/", "/a", "/...", "/a..b", "/%2e%2e%2e", "/a/.b", "/%2f..%2f", "/.%2"])
    func otherPathsHaveNone(path: String) {
        #expect(!PathSegment.hasDots(path: path))
    }
}
