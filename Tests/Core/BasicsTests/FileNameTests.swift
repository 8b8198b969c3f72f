import Testing

@testable import Basics

/// File names from servers, and the local names they become.
struct FileNameTests {
    @Test(
        arguments: [
            (#"attachment; filename="a b.txt""#, "a b.txt"), ("attachment; filename=a.txt", "a.txt"),
            ("attachment; filename = a.txt ; x=y", "a.txt"), ("inline;FILENAME=a.txt", "a.txt"),
            ("attachment; x=y; filename=a.txt", "a.txt"), ("attachment; x; filename=a.txt", "a.txt"),
            (#"attachment; x="a; filename=b"; filename=a.txt"#, "a.txt"),
            (#"attachment; filename="a;b.txt""#, "a;b.txt"), (#"attachment; filename="a\"b\\"#, "a\"b"),
            (#"attachment; filename="a\"b.txt"; x=y"#, "a\"b.txt"),
            // Folders, sent with and without escapes.
            (#"attachment; filename="C:\dir\a.txt""#, "a.txt"), (#"attachment; filename="C:\\dir\\a.txt""#, "a.txt"),
            (#"attachment; filename="a.txt" junk; x=y"#, "a.txt"),
            // The first of two counts. A readable extended form takes precedence, wherever it stands.
            ("attachment; filename=a.txt; filename=b.txt", "a.txt"),
            ("attachment; filename=b.txt; filename*=UTF-8''%E2%98%83.txt", "☃.txt"),
            ("attachment; filename*=utf-8'en'a.txt; filename=b.txt", "a.txt"),
            (#"attachment; filename="b.txt" x; filename*=UTF-8''a.txt"#, "a.txt"),
            ("attachment; filename*=ISO-8859-1''a.txt; filename=b.txt", "b.txt"),
            ("attachment; filename*=a.txt; filename=b.txt", "b.txt"),
            ("attachment; filename*=UTF-8''%FF; filename=b.txt", "b.txt"),
            ("attachment; filename*=UTF-8''a'b.txt", "a'b.txt"),
        ])
    func theFieldNamesTheFile(field: String, name: String) {
        #expect(FileName.sanitised(contentDisposition: field) == name)
    }

    @Test(arguments: [
        nil, "", "attachment", "attachment; filename", "attachment; filename=", #"attachment; filename="""#,
        "attachment; x=y", "filename=a.txt", "attachment; filename=..",
    ])
    func aFieldWithoutANameNamesNothing(field: String?) {
        #expect(FileName.sanitised(contentDisposition: field) == nil)
    }

    @Test(
        arguments: [
            ("../../etc/passwd", "passwd"), (#"..\..\boot.ini"#, "boot.ini"), ("a/", "a"), (".profile", "profile"),
            (" . a.txt . ", "a.txt"), ("a\u{1B}[2J.txt", "a[2J.txt"), ("txt\u{202E}exe.", "txtexe"),
            ("a\u{2028}b\u{2029}c\n", "abc"), ("\u{E000}a\u{0378}", "a"), ("naïve ☃ (1).txt", "naïve ☃ (1).txt"),
        ])
    func aNameLeadsNowhereAndHidesNothing(name: String, kept: String) {
        #expect(FileName.sanitised(name) == kept)
    }

    @Test(arguments: ["", "/", "..", " ", "\u{202E}", #"\"#])
    func sometimesNothingIsLeft(name: String) {
        #expect(FileName.sanitised(name) == nil)
    }

    @Test func twoHundredBytesAreKept() {
        let name = String(repeating: "a", count: 200)
        #expect(FileName.sanitised(name) == name)
        #expect(FileName.sanitised(name + "b") == name)
        #expect(FileName.sanitised("b" + String(repeating: "ü", count: 100))?.utf8.count == 199)
    }
}
