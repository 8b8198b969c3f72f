import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing
import Transport

/// Errors never contain tokens, passwords or users' texts.
@Suite(.overSockets)
struct MatrixSecretTests {
    private static let secrets = ["sEcReTtOkEn", "sEcReTrEfReSh", "sEcReTpAsSwOrD", "sEcReTmEsSaGe"]

    @Test(
        arguments: [
            .page(502), .drop, .json("sEcReTtOkEn"), .json("[]"), .redirect(to: "http://x/?sEcReTtOkEn"),
            .unknownToken(),
            .error(403, "M_FORBIDDEN"), .limited(milliseconds: 90_000), .json("{}").with(.cut(after: 1)),
        ] as [FakeAnswer])
    func errorsHoldNoSecrets(answer: FakeAnswer) async throws {
        let server = try await FakeHomeserver.start()
        for method in ["GET", "PUT", "POST"] { server.on(method, "/_matrix/**", answer) }
        let client = MXRestClient.make(server, token: Self.secrets[0], refreshToken: Self.secrets[1])
        let calls: [() async throws -> Void] = [
            { _ = try await client.sendTextMessage(toRoom: "!r", text: Self.secrets[3]) },
            { _ = try await client.login(username: "a", password: Self.secrets[2]) },
            { _ = try await client.login(token: Self.secrets[0]) },
            { _ = try await client.register(username: "a", password: Self.secrets[2]) },
            { _ = try await client.joinedRooms() },
            { _ = try await client.uploadContent(Data(Self.secrets[3].utf8)) },
        ]
        for call in calls {
            do {
                try await call()
                Issue.record("a call succeeded that could not")
            } catch {
                var dumped = ""
                dump(error, to: &dumped)
                for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
                    for secret in Self.secrets { #expect(!text.contains(secret)) }
                }
            }
        }
    }

    @Test func valuesWithSecretsPrintNone() {
        var credentials = MXCredentials(homeServer: "h", userId: "@a:s", accessToken: Self.secrets[0])
        credentials.refreshToken = Self.secrets[1]
        let stage = MXAuthenticationStage.password(Self.secrets[2], userId: "@a:s")
        let values: [Any] = [credentials, stage, MXRestClient(credentials: credentials)]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                for secret in Self.secrets { #expect(!text.contains(secret)) }
            }
        }
    }
}
