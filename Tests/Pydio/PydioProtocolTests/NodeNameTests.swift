import PydioProtocol
import Testing

struct NodeNameTests {
    @Test(arguments: [
        ("plan.txt", "plan.txt"), ("pl\"an.txt", "plan.txt"), (" a ", "a"), ("a/|?\\b", "ab"), ("\t\n\u{B}a\r\0", "a"),
        ("a b", "a b"), ("??", ""), ("a\u{301}?", "a\u{301}"), ("é'<>&;%", "é'<>&;%"),
    ])
    func someCharactersAreLeftOut(name: String, stored: String) {
        #expect(NodeName.stored(name).utf8.elementsEqual(stored.utf8))
        #expect(NodeName.isKept(name) == name.utf8.elementsEqual(stored.utf8))
    }

    @Test func whatLooksLikeACharacterReferenceMayNotBeKept() {
        for name in ["a&amp;b", "a&#97;", "&#x61"] {
            #expect(NodeName.stored(name) == name && !NodeName.isKept(name))
        }
        for name in ["a & b", "a&b.txt", "&;"] { #expect(NodeName.isKept(name)) }
    }

    @Test(arguments: [
        ("/a", "/", "a"), ("/d/e/a", "/d/e", "a"), ("/d/", "/", "d"), ("a", "/", "a"), ("/", "/", ""),
        ("/d/\u{301}a", "/d", "\u{301}a"),
    ])
    func pathsHaveAFolderAndAName(path: String, folder: String, name: String) {
        let parts = NodeName.split(path)
        #expect(parts.folder == folder && parts.name.utf8.elementsEqual(name.utf8))
    }

    @Test func onlyTheLastPartOfAPathIsANewName() {
        #expect(NodeName.stored(path: "/d|e/f?g") == "/d|e/fg" && NodeName.stored(path: "/a\"b") == "/ab")
    }
}
