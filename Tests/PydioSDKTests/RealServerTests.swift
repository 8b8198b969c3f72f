import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// What real servers do differently from what their documentation lets one expect (section 0 of the protocol's notes).
@Suite(.overSockets)
struct RealServerTests {
    // MARK: Key pairs

    /// 5.2.5 asks for clear passwords unless told otherwise, and its REST interface has no key store.
    @Test func anOlderServerWithClearPasswordsHasNoKeyPairs() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.seedForm, configuration.hasREST, configuration.hasKeystore) = (.clear, true, false)
        try await PydioScene.with(configuration) { scene in
            let stat = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            #expect(stat?.size == 5)
            #expect(scene.server.count("login") == 1)
            scene.server.expireSessions()
            scene.server.forceCaptcha()
            let error = await failure { _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt") }
            #expect(error?.code == .getSeedWithCaptcha)  // with a seed that is a number
            #expect(scene.params.seed(forServer: scene.server.url) == "-1")
        }
    }

    /// Others may be logging in with the same cookie at this moment: each seed replaces the one before.
    @Test func aLoginHasASessionOfItsOwn() async throws {
        try await PydioScene.with { scene in
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            let old = scene.server.requests("stat").last?.session
            scene.server.expireSessions()
            scene.server.forgetRequests()
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            let login = try #require(scene.server.requests("login").last)
            #expect(login.session != nil && login.session != old)
            #expect(scene.server.requests("ping").first?.session == nil)
        }
    }
}
