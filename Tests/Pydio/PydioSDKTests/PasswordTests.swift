import Basics
import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// A user's own password.
@Suite(.overSockets)
struct PasswordTests {
    private static let new = "a new password"

    private static func with(_ mode: FakePydioMode, _ body: (PydioScene) async throws -> Void) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode), body)
    }

    private static func canLogIn(_ scene: PydioScene, with password: String) async -> Bool {
        let params = ServersParamsManager()
        params.setUser(User(userid: "ada", password: password), forServer: scene.server.url)
        let client = PydioClient(server: scene.server.url, params: params, options: scene.client.options)
        return await failure { try await client.authorize() } == nil
    }

    @Test(arguments: FakePydioMode.allCases)
    func theNewPasswordIsValid_andTheClientGoesOn(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            #expect(scene.params.user(forServer: scene.server.url)?.password == Self.new)
            #expect(try await scene.client.listWorkspaces().count == 4)
            scene.server.expireSessions()
            #expect(try await scene.client.listWorkspaces().count == 4)
            #expect(await Self.canLogIn(scene, with: Self.new))
            #expect(await !Self.canLogIn(scene, with: PydioScene.password))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func aWrongOrShortPasswordChangesNothing(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            for (old, new) in [("wrong words", Self.new), (PydioScene.password, "brief")] {
                let error = await failure { try await scene.client.changePassword(from: old, to: new) }
                #expect(error?.code == .errorResponse)
                #expect(error?.message.contains("the old password is wrong, or the new one too short") == true)
            }
            let empty = await failure { try await scene.client.changePassword(from: PydioScene.password, to: "") }
            #expect(empty?.code == .invalidArgument)
            #expect(scene.params.user(forServer: scene.server.url)?.password == PydioScene.password)
            #expect(await Self.canLogIn(scene, with: PydioScene.password))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func aServerThatCannotSaysSo(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            scene.server.configure { $0.letsChangePasswords = false }
            let error = await failure {
                try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            }
            #expect(error?.code == .unsupportedOperation)
            #expect(error?.message.hasPrefix("the server cannot change the password: ") == true)
            #expect(scene.params.user(forServer: scene.server.url)?.password == PydioScene.password)
        }
    }

    @Test func aHashedPasswordIsAllThatAServerGetsThatTakesHashes() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            for request in scene.server.requests {
                #expect(!"\(request)".contains(PydioScene.password) && !"\(request)".contains(Self.new))
            }
            #expect(await Self.canLogIn(scene, with: Self.new))
        }
    }

    @Test func whoMustChangeThePasswordCan() async throws {
        let user = FakePydioUser(id: "ada", password: PydioScene.password, condition: .mustChangePassword)
        try await PydioScene.with(FakePydioServer.Configuration(users: [user])) { scene in
            #expect(try await scene.client.listWorkspaces().isEmpty)
            try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            #expect(try await scene.client.listWorkspaces().count == 4)
        }
    }

    @Test(arguments: ["PASS_ERRORSUCCESS", "PASS_ERROR\n", "<html>SUCCESS</html>", "SUCCESSFUL", "{}"])
    func onlySuccessIsSuccess(answer: String) async throws {
        try await PydioScene.with { scene in
            scene.server.setGate { $0.action == "pass_change" ? .text(answer) : nil }
            let error = await failure {
                try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            }
            #expect(error != nil)
            #expect(scene.params.user(forServer: scene.server.url)?.password == PydioScene.password)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func neitherPasswordNorHashIsInAnError(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            scene.server.setGate { request in
                guard request.action == "pass_change" else { return nil }
                let sent = ["old_pass", "new_pass"].compactMap { request.parameter($0) }
                return .error("refused: \(sent.joined(separator: " "))")
            }
            let error = await failure {
                try await scene.client.changePassword(from: PydioScene.password, to: Self.new)
            }
            #expect(error?.serverMessage == "refused: … …")
        }
    }
}
