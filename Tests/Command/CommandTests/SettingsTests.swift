import PusherProtocol
import Testing

@testable import CommandKit
@testable import PusherCommands

/// Combinations of options, contexts and the environment.
struct SettingsTests {
    @Test(
        arguments: [
            ("example.org", "example.org", nil, nil, nil),
            ("127.0.0.1:6001", "127.0.0.1", 6001, nil, nil),
            ("http://127.0.0.1:6001", "127.0.0.1", 6001, false, nil),
            ("https://example.org/", "example.org", nil, true, nil),
            ("wss://example.org/prefix", "example.org", nil, true, "/prefix"),
            ("WS://h", "h", nil, false, nil),
            ("::1", "::1", nil, nil, nil),
            ("[::1]", "::1", nil, nil, nil),
            ("[::1]:6001", "::1", 6001, nil, nil),
            ("http://[::1]:6001", "::1", 6001, false, nil),
            ("fe80::1%eth0", "fe80::1%eth0", nil, nil, nil),
            ("[fe80::1%eth0]:6001", "fe80::1%eth0", 6001, nil, nil),
            ("http://[fe80::1%25eth0]:6001", "fe80::1%eth0", 6001, false, nil),
            ("bücher.example:6001", "bücher.example", 6001, nil, nil),
        ] as [(String, String, Int?, Bool?, String?)])
    func anAddressIsReadAsPeopleWriteIt(
        text: String, host: String, port: Int?, usesTLS: Bool?, path: String?
    ) throws {
        let address = try HostAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.usesTLS == usesTLS)
        #expect(address.path == path)
    }

    @Test(
        arguments: [
            "", " ", "a b", "host:", "host:x", "host:0", "host:65536", "[::1", "[::1]x", "ftp://h", "http://",
            "http://h:x", "http://user:pass@h", "http://h/?q", "http://h/#f", "host/path", "user@host", "h\n",
            "h\u{1B}[31m", "a%2fb", "\u{202E}h", "::1%", "::1%a b",
        ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(throws: HostAddress.Mistake.self) { try HostAddress(text) }
    }

    private func settings(_ change: (inout Settings) -> Void) -> Settings {
        var settings = Settings()
        change(&settings)
        return settings
    }

    @Test func whatComesFirstWins_andOnlyWhatIsMissingIsTakenFromTheNext() {
        let merged = Settings(merging: [
            settings { ($0.key, $0.tls) = ("a", false) },
            settings { ($0.key, $0.host, $0.port) = ("b", "h", 1) },
        ])
        #expect(merged.setAside.map(\.key) == ["b"])
        var expected = merged
        expected.setAside = []
        #expect(expected == settings { ($0.key, $0.tls, $0.host, $0.port) = ("a", false, "h", 1) })
    }

    @Test func thePortOfOneServerIsNotUsedForAnother() {
        let merged = Settings(merging: [
            settings { $0.host = "mine" },
            settings { ($0.host, $0.port, $0.tls, $0.caFile, $0.path) = ("other", 6001, false, "ca", "/p") },
        ])
        #expect(merged == settings { $0.host = "mine" })
        let cluster = Settings(merging: [settings { $0.cluster = "eu" }, settings { ($0.host, $0.port) = ("h", 1) }])
        #expect(cluster == settings { $0.cluster = "eu" })
    }

    @Test func theSecretOfOneKeyIsNotUsedForAnother() {
        let context = settings { ($0.key, $0.secret, $0.appID, $0.encryptionMasterKey) = ("k", "s", "1", "m") }
        let other = Settings(merging: [settings { $0.key = "other" }, context])
        #expect(other == settings { ($0.key, $0.setAside) = ("other", [context]) })
        #expect(Settings(merging: [settings { $0.key = "k" }, context]) == context)
        let ownSecret = Settings(merging: [settings { $0.secret = "mine" }, context])
        #expect(ownSecret.secret == "mine")
        #expect(ownSecret.key == "k")
    }

    @Test func everythingThatIsMissingIsSaidAtOnce() {
        let failure = #expect(throws: CommandFailure.self) { try Settings().require(.key, .appID, .secret) }
        #expect(failure?.exitStatus == .wrongUse)
        for word in ["key, id and secret are missing", "--key", "--app-id", "PUSHER_SECRET"] {
            #expect(failure?.description.contains(word) == true)
        }
    }

    @Test(
        arguments: [
            (.variables, "PUSHER_APP_ID and PUSHER_SECRET belong to the key in PUSHER_KEY and are"),
            (.url, "the id and secret in PUSHER_URL belong to the key there and are"),
            (.context("c"), "the id and secret of the context “c” belong to its key and are"),
            (.serve, "the id and secret of the running serve belong to its key and are"),
        ] as [(Settings.Origin, String)])
    func whatBelongsToAnotherKeyIsNamedWhereItIsMissing(origin: Settings.Origin, words: String) {
        let source = settings {
            ($0.key, $0.secret, $0.appID, $0.origin) = ("their-key", "their-secret", "their-id", origin)
        }
        let merged = Settings(merging: [settings { $0.key = "mine" }, source])
        let failure = #expect(throws: CommandFailure.self) { try merged.require(.key, .appID, .secret) }
        #expect(failure?.description.contains("missing: \(words) not used with --key mine; give --app-id") == true)
        #expect(failure?.description.contains("their") == false)
    }

    @Test(arguments: [
        ("Give CHANNEL EVENT.", "give CHANNEL EVENT"), ("A path without . and ..", "a path without . and .."),
        ("LOCAL cannot be empty.", "LOCAL cannot be empty"), ("--user needs x.", "--user needs x"),
        ("Unknown option '--hots'. Did you mean '--host'?", "unknown option '--hots'. Did you mean '--host'?"),
        ("- takes one file", "- takes one file"), ("", ""),
    ])
    func whatIsWrongUseIsSaidAsEverythingElse(message: String, text: String) {
        #expect(Complaint.text(wrongUse: message) == text)
    }

    @Test(arguments: CommandKit.ExitStatus.allCases)
    func theWorstStatusIsThatOfTheWhole(status: CommandKit.ExitStatus) {
        #expect(status.worse(.done) == status)
        #expect(CommandKit.ExitStatus.done.worse(status) == status)
        #expect(ExitStatus.timedOut.worse(.refused) == .refused)
        #expect(status.worse(.interrupted) == .interrupted)
    }
}
