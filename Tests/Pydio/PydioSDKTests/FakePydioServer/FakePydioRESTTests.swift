import Basics
import Foundation
import PydioTestSupport
import Testing
import Transport

/// Section 11.1 of the protocol's notes.
@Suite struct FakePydioRESTTests {
    private func client(basePath: String = "") async throws -> RawClient {
        var configuration = FakePydioServer.Configuration(mode: .v8)
        configuration.basePath = basePath
        let client = RawClient(try await .start(configuration))
        client.fields["Authorization"] = Self.basic("ada", "open sesame")
        return client
    }

    private static func basic(_ user: String, _ password: String) -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    /// - Parameter uri: The URI as it is signed.
    private func signed(_ uri: String, _ pair: [String: String], nonce: String = "0123") -> String {
        let (token, secret) = (pair["t"] ?? "", pair["p"] ?? "")
        let hash = Digest.hmacSHA256(key: Array(token.utf8), message: Array("\(uri):\(nonce):\(secret)".utf8))
            .hexadecimal
        return "auth_token=\(token)&auth_hash=\(nonce):\(hash)"
    }

    private func pair(_ client: RawClient, device: String = "here") async throws -> [String: String] {
        let answer = try await client.open("/api/pydio/keystore_generate_auth_token/\(device)")
        return try #require(answer.json as? [String: String])
    }

    @Test func withoutAPasswordItIs401() async throws {
        let client = try await client()
        for field in [nil, Self.basic("ada", "wrong"), Self.basic("nobody", "x")] {
            client.fields["Authorization"] = field
            let answer = try await client.open("/api/plans/ls/")
            #expect(answer.status == 401 && answer.text == "You are not authorized to access this API.")
        }
    }

    @Test func aPairSignsRequestsUntilItIsReplaced() async throws {
        let client = try await client()
        let first = try await pair(client)
        #expect(first["t"]?.isEmpty == false && first["p"]?.isEmpty == false && first.count == 2)
        let elsewhere = try await pair(client, device: "elsewhere")
        client.fields["Authorization"] = nil
        let path = "/api/plans/ls"
        #expect(try await client.open(path + "?" + signed(path, first)).status == 200)
        #expect(try await client.open(path + "/?" + signed(path, first)).status == 200)
        #expect(try await client.open("/api/plans/ls/a?" + signed(path, first)).status == 401)
        client.fields["Authorization"] = Self.basic("ada", "open sesame")
        let second = try await pair(client)
        client.fields["Authorization"] = nil
        #expect(try await client.open(path + "?" + signed(path, first)).status == 401)
        #expect(try await client.open(path + "?" + signed(path, second)).status == 200)
        #expect(try await client.open(path + "?" + signed(path, elsewhere)).status == 200)
        client.server.revokeKeyPairs()
        #expect(try await client.open(path + "?" + signed(path, second)).status == 401)
    }

    @Test func pathsAreSignedInOneForm() async throws {
        let client = try await client(basePath: "/pydio")
        let pair = try await pair(client)
        client.fields["Authorization"] = nil
        let uri = "/pydio/api/my-files/ls/Docs%20%26%20Co/caf%C3%A9/%7E"
        for path in ["/api/my-files/ls/Docs%20%26%20Co/caf%c3%a9/~", "/api/my-files/ls/Docs+&+Co/caf%C3%A9/%7E/"] {
            #expect(try await client.open(path + "?" + signed(uri, pair)).status == 200)
        }
    }

    @Test func withoutAKeystoreTheAnswerIsEmpty() async throws {
        let client = try await client()
        client.server.configure { $0.hasKeystore = false }
        let answer = try await client.open("/api/pydio/keystore_generate_auth_token/here")
        #expect(answer.status == 200 && answer.text.isEmpty)
    }

    @Test func actionsTakeTheirPathsFromTheAddress() async throws {
        let client = try await client()
        #expect(try await client.open("/api/plans/mkdir/a%20b").xml.contains(#"filename="/a b""#))
        client.fields["X-File-Name"] = "c.txt"
        let put = try await client.open("/api/plans/upload/put/a%20b", method: "PUT", body: [104, 105])
        #expect(put.xml.hasPrefix("<tree ><nodes_diff><add>"))
        #expect(try await client.open("/api/plans/get_content/a%20b/c.txt").text == "hi")
        #expect(try await client.open("/api/0/ls/a%20b?options=al").attributes("filename") == ["/a b", "/a b/c.txt"])
        #expect(try await client.open("/api/plans/download/a%20b/c.txt").text == "hi")
        let stat = try await client.open("/api/plans/stat/a%20b/c.txt").json as? [String: Any]
        #expect(stat?["size"] as? Int == 2)
        _ = try await client.open("/api/plans/rename/?file=/a%20b&dest=/d", method: "POST")
        #expect(client.server.exists("/d"))
        #expect(try await client.open("/api/plans/changes/0?stream=true").text.hasSuffix("LAST_SEQ:4"))
        #expect(try await client.open("/api/v2/workspaces/0/changes/4").text == #"{"changes":[],"last_seq":4}"#)
        #expect(client.server.count("changes") == 2)
        #expect(try await client.open("/api/plans/client_register_channel/nodes:0/me").text.isEmpty)
        #expect(client.server.pollers == ["me"])
        #expect(try await client.open("/api/plans/delete/d", method: "POST").text.contains("The selection is empty!"))
        #expect(client.server.exists("/d"))
    }

    @Test func anAddressWithAQueryRightBehindTheActionIsAnsweredWithNothing() async throws {
        let client = try await client()
        let answer = try await client.open("/api/plans/ls?options=al")
        #expect(answer.status == 200 && answer.text.isEmpty && answer.type.hasPrefix("text/html"))
        #expect(try await client.open("/api/plans/ls/?options=al").text.contains("repo_has_recycle"))
    }

    @Test func oneKeyPairIsRevokedWithASlash_andAllOfThemWithoutTheParameter() async throws {
        let client = try await client()
        let pairs = [try await pair(client), try await pair(client, device: "a"), try await pair(client, device: "b")]
        func areValid() async throws -> [Bool] {
            let basic = client.fields["Authorization"]
            defer { client.fields["Authorization"] = basic }
            client.fields["Authorization"] = nil
            var result: [Bool] = []
            for pair in pairs {
                result.append(try await client.open("/api/plans/ls/?" + signed("/api/plans/ls", pair)).status == 200)
            }
            return result
        }
        let id = pairs[0]["t"] ?? ""
        #expect(try await client.open("/api/pydio/keystore_revoke_tokens?key_id=\(id)").text.isEmpty)
        #expect(try await areValid() == [true, true, true])
        #expect(try await client.open("/api/pydio/keystore_revoke_tokens/?key_id=\(id)").text.contains("SUCCESS"))
        #expect(try await areValid() == [false, true, true])
        #expect(try await client.open("/api/pydio/keystore_revoke_tokens/\(id)").text.contains("SUCCESS"))
        #expect(try await areValid() == [false, false, false])
    }

    @Test func theStateComesAsJSON() async throws {
        let client = try await client()
        client.server.configure { $0.hasWebSocket = true }
        let document = try await client.open("/api/pydio/state/plugins?format=json").json as? [String: Any]
        let plugins = try #require((document?["plugins"] as? [String: Any])?["ajxp_plugin"] as? [[String: Any]])
        let messages = try #require(plugins.first { $0["@id"] as? String == "core.mq" })
        let properties = (messages["plugin_configs"] as? [String: Any])?["property"] as? [[String: String]]
        #expect(properties?.contains(["@name": "WS_ACTIVE", "$": "true"]) == true)
        #expect(properties?.contains(["@name": "BOOSTER_MAIN_HOST", "$": "\"127.0.0.1\""]) == true)
        let xml = try await client.open("/api/pydio/state/user/repositories")
        #expect(xml.xml.hasPrefix(#"<ajxp_registry_part xPath="user/repositories" ><repositories><repo "#))
    }

    @Test func sessionsGetPairsToo() async throws {
        let client = try await RawClient.start(.start(.init(mode: .v8)))
        client.token = nil
        let pair = try await client.get("keystore_generate_auth_token", ["device": "here"]).json as? [String: String]
        let path = "/api/plans/ls"
        client.cookie = nil
        #expect(try await client.open(path + "?" + signed(path, pair ?? [:])).status == 200)
    }
}
