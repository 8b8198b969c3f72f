import Basics
import Foundation
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Passwords, tokens and cookies never appear in errors and descriptions.
@Suite(.overSockets)
struct SecretTests {
    private static func secrets(_ scene: PydioScene) -> [String] {
        let url = scene.server.url
        return [PydioScene.password, scene.params.secureToken(forServer: url)].compactMap { $0 }
            + scene.params.allServerCookies(url).map(\.value)
            + [scene.params.keystoreToken(forServer: url)].compactMap { $0 }.flatMap { [$0.token, $0.key] }
    }

    private static func texts(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    /// A server or proxy whose pages repeat the request.
    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func errorsDoNotQuoteThem(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try await scene.client.authorize()
            let secrets = Self.secrets(scene)
            #expect(secrets.count >= 3)
            let repeated = secrets.joined(separator: " ")
            scene.server.setGate { request in
                switch request.action {
                case "ls": .error("refused: \(repeated)")
                case "stat": .html("<html>\(repeated)</html>", status: 500)
                case "mkdir": .html("<html>\(repeated)</html>")
                default: nil
                }
            }
            let errors = [
                await failure { _ = try await scene.client.listNodes(ListNodesRequestParams(workspaceId: "0")) },
                await failure { _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt") },
                await failure {
                    try await scene.client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "x"))
                },
            ]
            #expect(errors.map(\.?.errorCode) == [6, 500, 7])
            for error in errors.compactMap({ $0 }) {
                let text = Self.texts(error)
                #expect(!secrets.contains { text.contains($0) }, "\(error)")
                #expect(text.contains("…"))
            }
        }
    }

    @Test func errorsOfLoginsDoNotQuoteThem() async throws {
        let configuration = FakePydioServer.Configuration(mode: .v8)
        try await PydioScene.with(configuration, options: { $0.authentication = .session }) { scene in
            scene.server.setGate { request in
                guard request.action == "login" else { return nil }
                return .html("<html>\(request.parameter("password") ?? "")</html>")
            }
            let error = await failure { try await scene.client.authorize() }
            #expect(error?.code == .receivedNotExpectedAnswer && error?.excerpt == "…")
            #expect(!Self.texts(error as Any).contains(PydioScene.password))
        }
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func valuesDoNotShowThem(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try await scene.client.authorize()
            let url = scene.server.url
            #expect(Self.secrets(scene).count >= 3)
            let values: [Any] = [
                scene.client, scene.params, scene.params.user(forServer: url) as Any,
                scene.params.allServerCookies(url), scene.params.keystoreToken(forServer: url) as Any,
            ]
            for value in values {
                let text = Self.texts(value)
                #expect(!Self.secrets(scene).contains { text.contains($0) }, "\(type(of: value))")
            }
        }
    }

    @Test func hashedPasswordsAreAllThatAServerGetsThatTakesThem() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            _ = try await scene.client.listWorkspaces()
            #expect(scene.server.count("login") > 0)
            for request in scene.server.requests {
                #expect(!"\(request)".contains(PydioScene.password))
            }
        }
    }
}
