import Testing

@testable import EventRelay

struct NATSOptionsTests {
    @Test func credentialsOfAURLAreMovedAndNeverPrinted() throws {
        let options = try NATSOptions("nats://me:hunter%202@127.0.0.1:4333, nats://localhost")
        #expect(options.credentials == .user("me", password: "hunter 2"))
        #expect(options.serverURLs == ["nats://127.0.0.1:4333", "nats://localhost:4222"])
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(options)", String(reflecting: options), dumped, "\(options.credentials as Any)"] {
            #expect(!text.contains("hunter"))
        }
        #expect(try NATSOptions("nats://s3cret@[::1]:1").credentials == .token("s3cret"))
    }

    @Test(arguments: [
        "http://hunter2@host", "nats://", "nats://u:hunter2@host:99999", "nats://u:hunter2@h/x", "nats://u:hunter2@ h",
        "", "nats://u:hunter2@a,nats://v:hunter2@b",
    ])
    func badURLsAreRefusedWithoutBeingQuoted(url: String) throws {
        let error = try #require(throws: NATSError.self) { try NATSOptions(url) }
        #expect(error.kind == .invalidArgument)
        #expect(!"\(error)".contains("hunter2"))
    }

    @Test(
        arguments: [
            ("nats://127.0.0.1", false), ("nats://localhost:1", false), ("[::1]", false), ("tls://127.0.0.1", true),
            ("nats://example.org", true), ("127.0.0.1,10.0.0.1", true), ("nats://127.evil.org.x", true),
        ] as [(String, Bool)])
    func othersAreReachedByTLSOnly(url: String, usesTLS: Bool) throws {
        var options = try NATSOptions(url)
        #expect(options.usesTLS == usesTLS)
        options.tls = NATSOptions.TLS()
        #expect(options.usesTLS)
    }

    @Test func plaintextToOthersIsAChoice() throws {
        var options = try NATSOptions("nats://10.0.0.1")
        options.allowsPlaintext = true
        #expect(!options.usesTLS)
    }

    @Test func aSingleNameIsWhatTheCertificateMustHave() throws {
        #expect(try NATSOptions("tls://nats.example.org").expectedHostName == "nats.example.org")
        #expect(try NATSOptions("tls://10.0.0.1").expectedHostName == nil)
        #expect(try NATSOptions("tls://a,tls://b").expectedHostName == nil)
    }

    @Test(
        arguments: [
            ("ev.a.b", true), ("ev", true), ("ev..a", false), ("ev.", false), ("ev.a b", false),
            ("ev.a\r\nPUB x 0", false),
            ("ev.*", false), ("ev.>", false), ("ev.a*b", false), ("", false), ("ev.caf=C3=A9", true), ("ev.é", true),
        ] as [(String, Bool)])
    func subjectsAreChecked(subject: String, isValid: Bool) {
        #expect(NATSSubject.isValid(subject) == isValid)
    }

    @Test func filtersMayHaveWildcards() {
        #expect(NATSSubject.isValid("ev.*.price.>", allowsWildcards: true))
        #expect(!NATSSubject.isValid("ev.>.price", allowsWildcards: true))
        #expect(!NATSSubject.isValid(String(repeating: "a", count: 513)))
    }
}
