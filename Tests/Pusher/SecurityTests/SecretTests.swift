import Basics
import Foundation
import PusherHTTP
import PusherMockServer
import PusherProtocol
import PusherSwift
import Testing
import Transport

/// Types with secrets do not reveal them, however they are printed.
struct SecretTests {
    private static let secret = "s3cret-s3cret"
    private static let keyText = Data(repeating: 7, count: 32).base64EncodedString()
    private static let signature = String(repeating: "5e", count: 32)

    private static func options() -> PusherClientOptions {
        var options = PusherClientOptions(authMethod: .inline(secret: secret), host: .host("example.com"))
        options.userAuthMethod = .inline(secret: secret, user: PusherUserData(id: "u"))
        options.encryptionMasterKey = keyText
        options.handshakeHeaders = ["Authorization": "Bearer \(secret)"]
        options.proxy = "http://user:\(secret)@proxy.example.com:3128"
        return options
    }

    private static func values() throws -> [Any] {
        let channelKey = try #require(ChannelKey(base64: keyText))
        let masterKey = try #require(EncryptionMasterKey(base64: keyText))
        let credentials = AppCredentials(key: "k", secret: secret)
        return [
            channelKey, masterKey, credentials, options(), Pusher(key: "k", options: options()),
            AuthMethod.inline(secret: secret), UserAuthMethod.inline(secret: secret, user: PusherUserData(id: "u")),
            PusherAuth(auth: "k:\(signature)", sharedSecret: keyText),
            PusherUserAuth(auth: "k:\(signature)", userData: "{}"),
            AuthAnswer(auth: "k:\(signature)", sharedSecret: keyText),
            UserAuthAnswer(auth: "k:\(signature)", userData: "{}"),
            PusherSigner(key: "k", secret: secret, encryptionMasterKey: keyText),
            PusherHTTPClient(
                appID: "1", key: "k", secret: secret, proxy: "http://user:\(secret)@proxy.example.com",
                encryptionMasterKey: keyText),
            PusherMockServer.App(secret: secret, encryptionMasterKey: keyText),
            PusherMockServer.Configuration(apps: [.init(secret: secret, encryptionMasterKey: keyText)]),
            NetworkOptions(proxy: "http://user:\(secret)@proxy.example.com"),
            HTTPFields(dictionaryLiteral: ("Authorization", "Bearer \(secret)")),
            HTTPRequest(
                url: "https://user:\(secret)@example.com/?token=\(secret)", fields: ["Authorization": secret],
                body: Array(secret.utf8)),
        ]
    }

    @Test func noFormOfPrintingShowsASecret() throws {
        for value in try Self.values() {
            // By itself, and as part of another value.
            for subject in [value, [value], ["x": value], Optional.some(value) as Any] as [Any] {
                var dumped = ""
                dump(subject, to: &dumped)
                for text in ["\(subject)", String(describing: subject), String(reflecting: subject), dumped] {
                    for hidden in [Self.secret, Self.keyText, Self.signature] {
                        #expect(!text.contains(hidden), "\(type(of: value))")
                    }
                    // The bytes of a key, one per line or in a row.
                    #expect(!text.contains("7, 7, 7"), "\(type(of: value))")
                    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                    #expect(lines.count { $0 == "- 7" } < 3, "\(type(of: value))")
                }
            }
        }
    }

    @Test func aConfidentialValueHasNoParts() throws {
        for value in try Self.values() where value is any Confidential {
            #expect(Mirror(reflecting: value).children.isEmpty)
        }
    }
}
