import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// REST requests without a dedicated call.
@Suite(.overSockets)
struct RESTTests {
    private static let configuration = FakePydioServer.Configuration(mode: .v8)

    private func json(_ answer: PydioRESTResponse) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
    }

    @Test func version2IsReachedWithAKeyPair() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            var list = PydioRESTRequest(.get, "v2/fs/plans/")
            list.parameters["children"] = "df"
            let answer = try await scene.client.rest(list)
            #expect(answer.status == 200 && answer.isJSON)
            let data = try #require(try json(answer)["data"] as? [String: Any])
            #expect((data["children"] as? [String: Any])?.keys.sorted() == ["a.txt", "docs", "recycle_bin"])
            // A trailing slash creates a folder, and is not signed.
            let made = try await scene.client.rest(PydioRESTRequest(.post, "v2/fs/plans/docs/Ü ~+/"))
            #expect(try json(made)["level"] as? String == "SUCCESS")
            try await scene.client.rest(PydioRESTRequest(.post, "v2/fs/plans/docs/empty"))
            #expect(scene.server.exists("/docs/Ü ~+") && scene.server.contents(of: "/docs/empty") == [])
            var put = PydioRESTRequest(.put, "v2/io/plans/a.txt")
            (put.body, put.fields) = (Data("new".utf8), ["X-Rename-If-Exists": "true"])
            try await scene.client.rest(put)
            #expect(scene.server.contents(of: "/a-1.txt") == Array("new".utf8))
            #expect(try await scene.client.rest(PydioRESTRequest(.get, "v2/io/plans/a.txt")).body == Data("hello".utf8))
            try await scene.client.rest(PydioRESTRequest(.delete, "v2/fs/plans/docs/b.txt"))
            #expect(!scene.server.exists("/docs/b.txt"))
            #expect(scene.server.count("keystore_generate_auth_token") == 1 && scene.server.count("login") == 0)
            #expect(scene.server.requests.filter { $0.rawPath.hasPrefix("/api/v2/") }.allSatisfy { $0.session == nil })
        }
    }

    /// Addresses that end with the action need a slash before the question mark.
    @Test func version1IsReachedToo() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            var list = PydioRESTRequest(.get, "plans/ls")
            list.parameters["options"] = "al"
            let answer = try await scene.client.rest(list)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("/docs"))
            var delete = PydioRESTRequest(.post, "plans/delete")
            delete.parameters["file"] = "/a.txt"
            try await scene.client.rest(delete)
            #expect(!scene.server.exists("/a.txt"))
        }
    }

    @Test func aRevokedPairIsReplacedOnce() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            let request = PydioRESTRequest(.get, "v2/user")
            try await scene.client.rest(request)
            scene.server.revokeKeyPairs()
            scene.server.forgetRequests()
            #expect(try json(try await scene.client.rest(request))["id"] as? String == "ada")
            #expect(scene.server.requests.map(\.action) == ["v2/user", "keystore_generate_auth_token", "v2/user"])
        }
    }

    @Test func errorsHaveTheServersWords() async throws {
        try await PydioScene.with(Self.configuration) { scene in
            let missing = await failure {
                try await scene.client.rest(PydioRESTRequest(.get, "v2/fs/plans/nothing"))
            }
            #expect(missing?.code == .http(status: 404) && missing?.excerpt == "Cannot find file!")
        }
    }

    /// Version 6 has key pairs, 5.2 does not; neither has version 2.
    @Test func serversWithoutItAreTold() async throws {
        var configuration = Self.configuration
        configuration.hasRESTVersion2 = false
        try await PydioScene.with(configuration) { scene in
            let error = await failure { try await scene.client.rest(PydioRESTRequest(.get, "v2/user/workspaces")) }
            #expect(error?.code == .errorResponse && error?.serverMessage == "Cannot find this workspace")
            scene.server.inject(.emptyBody, into: "v2/user")
            let silent = await failure { try await scene.client.rest(PydioRESTRequest(.get, "v2/user")) }
            #expect(silent?.code == .unsupportedOperation && silent?.message.contains("version 7") == true)
        }
        try await PydioScene.with { scene in
            let error = await failure { try await scene.client.rest(PydioRESTRequest(.get, "v2/user")) }
            #expect(error?.code == .unsupportedOperation && error?.message.contains("key pair") == true)
            #expect(!scene.server.requests.contains { $0.rawPath.hasPrefix("/api/v2") })
        }
    }

    @Test(arguments: ["", "/", "v2/fs/plans/../x", "v2/./fs"])
    func aPathThatIsNoneIsRefused(path: String) async throws {
        try await PydioScene.with(Self.configuration) { scene in
            try await scene.client.authorize()
            scene.server.forgetRequests()
            let error = await failure { try await scene.client.rest(PydioRESTRequest(.get, path)) }
            #expect(error?.code == .invalidArgument && scene.server.requests.isEmpty)
        }
    }
}
