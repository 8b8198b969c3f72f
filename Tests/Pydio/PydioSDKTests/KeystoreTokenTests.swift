import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// Servers with the REST interface.
@Suite(.overSockets)
struct KeystoreTokenTests {
    private static let configuration = FakePydioServer.Configuration(mode: .v8)

    /// These servers never find the data of a share by its file.
    @Test(arguments: OperationCase.all.filter { $0.name != "loadSharedElementData" })
    func everyOperationIsSigned(operation: OperationCase) async throws {
        try await PydioScene.with(Self.configuration) { scene in
            try await operation.run(scene)
            let asked = scene.server.requests(operation.action)
            let signed = asked.filter { $0.rawPath.hasPrefix("/api/") && $0.parameter("auth_hash") != nil }
            // The first request precedes the detection of the server's kind.
            let restAction = operation.action == "get_xml_registry" ? "state" : operation.action
            let all = signed + (restAction == operation.action ? [] : scene.server.requests(restAction))
            #expect(all.count == operation.count)
            #expect(scene.server.count("login") == 0 && scene.server.count("keystore_generate_auth_token") == 1)
            #expect(signed.allSatisfy { $0.session == nil && $0.token == nil })
            #expect(scene.params.keystoreToken(forServer: scene.server.url) != nil)
        }
    }

    @Test func aRevokedPairIsReplacedOnce() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            try await scene.client.authorize()
            scene.server.revokeKeyPairs()
            scene.server.forgetRequests()
            #expect(try await scene.client.stat(workspaceId: "0", path: "/a.txt")?.size == 5)
            #expect(scene.server.requests.map(\.action) == ["stat", "keystore_generate_auth_token", "stat"])
        }
    }

    @Test func withoutPairsThereIsASession() async throws {
        var configuration = Self.configuration
        configuration.hasKeystore = false
        try await PydioScene.with(configuration) { scene in
            let first = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            scene.server.expireSessions()
            let second = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            #expect(first?.size == 5 && second?.size == 5)
            #expect(scene.server.count("login") == 2 && scene.server.count("keystore_generate_auth_token") == 1)
        }
    }

    @Test func anOldServerThatTakesHashesIsNeverShownThePassword() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            #expect(!scene.server.requests.contains { $0.field("Authorization") != nil })
            #expect(!scene.server.requests.contains { $0.parameter("password") == PydioScene.password })
            #expect(scene.server.count("login") == 1)
        }
    }

    @Test func aWrongPasswordIsAskedOfBothOnce() async throws {
        try await PydioScene.with(Self.configuration, password: "wrong") { scene in
            let error = await failure { _ = try await scene.client.listWorkspaces() }
            #expect(error?.code == .unableToLogin && error?.loginResult == .refused)
            #expect(scene.server.count("login") == 1 && scene.server.count("keystore_generate_auth_token") == 1)
        }
    }

    @Test func aPairThatWasKeptNeedsNoPassword() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            try await scene.client.authorize()
            let url = scene.server.url
            let restored = ServersParamsManager()
            restored.setKeystoreToken(scene.params.keystoreToken(forServer: url), forServer: url)
            scene.server.forgetRequests()
            let client = PydioClient(server: url, params: restored, options: scene.client.options)
            #expect(try await client.stat(workspaceId: "0", path: "/a.txt")?.size == 5)
            #expect(scene.server.requests.count == 1)
        }
    }

    @Test func loggingOutRevokesThePair() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            try await scene.client.authorize()
            let url = scene.server.url
            let pair = try #require(scene.params.keystoreToken(forServer: url))
            try await scene.client.logout()
            #expect(scene.params.keystoreToken(forServer: url) == nil)
            let thief = ServersParamsManager()
            thief.setKeystoreToken(pair, forServer: url)
            let client = PydioClient(server: url, params: thief, options: scene.client.options)
            #expect(await failure { _ = try await client.listWorkspaces() }?.code == .unableToLogin)
        }
    }

    @Test func aServerBelowAFolderIsSignedForThere() async throws {
        var configuration = Self.configuration
        configuration.basePath = "/my~pydio"
        try await PydioScene.with(configuration) { scene in
            try scene.server.addFile("/50% + ~é&.txt", Array("x".utf8))
            #expect(try await scene.client.stat(workspaceId: "0", path: "/50% + ~é&.txt")?.size == 1)
            #expect(scene.server.count("login") == 0)
        }
    }
}
