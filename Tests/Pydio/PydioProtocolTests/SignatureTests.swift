import Testing

@testable import PydioProtocol

/// The vectors of the protocol's notes, section 15.
struct SignatureTests {
    private static let seed = "5f3a0c9e1b7d42a68e90d1c2b3a4f567"
    private static let pair = KeystoreToken(token: "Zk3QpT8xLr", key: "W7mNb2VcYs")
    private static let nonce = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"

    @Test(
        arguments: [
            ("open sesame", seed, "5ba18395da99ad45c6be12321e8e3c9e"),
            ("pässwörd", seed, "9b4b9094289ae625d5f8ad4dac5be663"), ("open sesame", "-1", "open sesame"),
        ] as [(String, String, String)])
    func passwordsAreHashedWithTheSeed(password: String, seed: String, expected: String) {
        #expect(PasswordHash.value(password: password, seed: seed) == expected)
    }

    @Test func digestsAreOfUTF8() {
        #expect(PasswordHash.md5("open sesame") == "54ef36ec71201fdf9d1423fd26f97f6b")
        #expect(PasswordHash.md5("pässwörd") == "12841e4ba5e37d2fbfc78458c6714ade")
    }

    @Test(
        arguments: [
            ("/api/my-files/changes/42", "c2bd7a5289b403652743b2acf53f8c7be4119b45788c660018e822b9bde0b9f7"),
            ("/api/my-files/changes/42/", "c2bd7a5289b403652743b2acf53f8c7be4119b45788c660018e822b9bde0b9f7"),
            (
                "/pydio/api/my-files/ls/Docs%20%26%20Co/caf%C3%A9",
                "d917ec60567e14a400b59da09924323595f9d9ba9ae6cb75cbab2418a32d9907"
            ),
            ("/api/pydio/ws_authenticate", "9322d02faf8692199c73cd979bb34ec92dac5171a6004578df91df6cca2242de"),
        ] as [(String, String)])
    func requestsAreSigned(path: String, expected: String) {
        #expect(Self.pair.hash(path: path, nonce: Self.nonce) == Self.nonce + ":" + expected)
    }

    @Test func pathsAreEncodedAsTheServerDoes() {
        #expect(KeystoreToken.canonical(path: "/a+b/%7e~/%2B c/ü") == "/a%20b/%7E%7E/%2B%20c/%C3%BC")
        #expect(KeystoreToken.canonical(path: "/A-Z.a_z/%2f") == "/A-Z.a_z/%2F")
    }

    @Test func nothingOfAPairIsShown() {
        #expect(!"\(Self.pair) \(String(reflecting: Self.pair))".contains("Zk3"))
        var dumped = ""
        dump(Self.pair, to: &dumped)
        #expect(!dumped.contains("W7m"))
    }
}
