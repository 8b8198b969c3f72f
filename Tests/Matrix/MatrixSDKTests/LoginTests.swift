import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct LoginTests {
    private static let answer = FakeAnswer.json(
        #"{"user_id":"@a:s","access_token":"a1","device_id":"D","refresh_token":"r1","expires_in_ms":300000}"#)

    @Test func aPasswordLogsIn() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/login", Self.answer)
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let client = MXRestClient(homeServer: server.url, options: .quick)
        let before = UInt64(Date().timeIntervalSince1970 * 1000)
        let credentials = try await client.login(username: "a", password: "p", deviceId: "D", deviceDisplayName: "n")
        let body = try #require(server.requests[0].json?.foundation as? NSDictionary)
        let expected: NSDictionary = [
            "type": "m.login.password", "identifier": ["type": "m.id.user", "user": "a"], "password": "p",
            "device_id": "D", "initial_device_display_name": "n", "refresh_token": true,
        ]
        #expect(body == expected && server.requests[0].token == nil)
        #expect(credentials.userId == "@a:s" && credentials.deviceId == "D" && credentials.refreshToken == "r1")
        #expect(credentials.homeServer == server.address && credentials.accessTokenExpiresAt >= before + 300_000)
        _ = try await client.joinedRooms()
        #expect(server.requests[1].token == "a1")
    }

    @Test func aTokenLogsIn() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/login", Self.answer)
        try await MXRestClient(homeServer: server.url, options: .quick).login(token: "once")
        #expect(server.requests[0].json?["type"]?.string == "m.login.token")
        #expect(server.requests[0].json?["token"]?.string == "once")
    }

    @Test func aLoginMayMoveTheServer() async throws {
        let old = try await FakeHomeserver.start()
        let new = try await FakeHomeserver.start()
        let base = new.address
        old.on(
            "POST", "v3/login",
            .json(
                #"{"user_id":"@a:s","access_token":"a1","well_known":{"m.homeserver":{"base_url":"\#(base)/"}}}"#))
        new.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let client = MXRestClient(homeServer: old.url, options: .quick)
        let credentials = try await client.login(username: "a", password: "p")
        #expect(credentials.homeServer == base && client.homeserverURL == base)
        _ = try await client.joinedRooms()
        #expect(new.requests.count == 1)
        #expect(client.loginWarnings == [.otherServer(asked: old.address, given: base)])
        let log = LogLines()
        var options = MXSessionOptions()
        options.logger = log.logger
        MXSession(matrixRestClient: client, options: options).close()
        #expect(log.all.contains { $0.contains("warning") && $0.contains(old.address) && $0.contains(base) })
    }

    @Test(arguments: [
        ("a", "@a:s", false), ("A", "@a:s", false), ("@a:s", "@a:s", false), ("@A:s", "@a:s", false),
        ("a", "@b:s", true), ("a", "@ab:s", true), ("@a:s", "@a:t", true), ("@é:s", "@e\u{301}:s", true),
    ]) func aLoginAsAnotherUserIsNamed(asked: String, given: String, isAnother: Bool) async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/login", .json(#"{"user_id":"\#(given)","access_token":"a1"}"#))
        let client = MXRestClient(homeServer: server.url, options: .quick)
        _ = try await client.login(username: asked, password: "p")
        #expect(client.loginWarnings == (isAnother ? [.otherUser(asked: asked, given: given)] : []))
        // A token identifies its owner.
        _ = try await client.login(token: "t")
        #expect(client.loginWarnings.isEmpty)
    }

    @Test func aWrongPasswordIsTheServersError() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/login", .error(403, "M_FORBIDDEN"))
        let client = MXRestClient(homeServer: server.url, options: .quick)
        await #expect {
            try await client.login(username: "a", password: "p")
        } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringForbidden }
        #expect(client.credentials == nil)
    }

    @Test func theServersFlowsAreListed() async throws {
        let server = try await FakeHomeserver.start()
        server.on(
            "GET", "v3/login",
            .json(
                #"{"flows":[{"type":"m.login.password"},{"type":"m.login.sso","identity_providers":[{"id":"i","name":"n"}]},{"type":"x.y"},{}]}"#
            ))
        let flows = try await MXRestClient(homeServer: server.url, options: .quick).loginFlows()
        #expect(flows.map(\.type) == [.password, .sso, .custom("x.y")])
        #expect(flows[1].identityProviders.map(\.id) == ["i"])
    }

    @Test func theAddressOfABrowsersLoginNamesTheWayBack() throws {
        let url = try #require(URL(string: "https://h.example/"))
        let client = MXRestClient(homeServer: url, options: .quick)
        #expect(
            client.ssoURL(redirectURL: "http://127.0.0.1:1/?a=b&c", identityProvider: "o/i")?.absoluteString
                == "https://h.example/_matrix/client/v3/login/sso/redirect/o%2Fi?redirectUrl=http%3A%2F%2F127.0.0.1%3A1%2F%3Fa%3Db%26c"
        )
    }

    @Test func whoAmITellsWhoseAForeignTokenIs() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/account/whoami", .json(#"{"user_id":"@b:s","device_id":"E","is_guest":false}"#))
        let client = MXRestClient(
            credentials: MXCredentials(homeServer: server.address, accessToken: "t"), options: .quick)
        #expect(try await client.whoAmI().deviceId == "E")
        #expect(client.credentials?.userId == "@b:s" && client.credentials?.accessToken == "t")
    }

    @Test func loggingOutEndsTheToken() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/logout", .ok)
        let client = MXRestClient.make(server)
        try await client.logout()
        #expect(client.credentials == nil && server.requests[0].token == "token")
        await #expect {
            try await client.joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .unauthenticated }
    }

    @Test(arguments: [nil, "r1"]) func aDeadTokenIsLoggedOutAlready(refreshToken: String?) async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/logout/all", .unknownToken(softLogout: false))
        server.on("POST", "v3/refresh", .error(403, "M_FORBIDDEN"))
        let client = MXRestClient.make(server, refreshToken: refreshToken)
        try await client.logoutAll()
        #expect(client.credentials == nil)
    }

    // MARK: Discovery

    private func discover(_ wellKnown: FakeAnswer, versions: FakeAnswer) async throws -> String {
        let server = try await FakeHomeserver.start()
        var answer = wellKnown
        answer.body = Array(
            String(decoding: wellKnown.body, as: UTF8.self).replacing("HERE", with: server.address).utf8)
        server.on("GET", "/.well-known/matrix/client", answer)
        server.on("GET", "versions", versions)
        switch try await MXRestClient.discoverHomeserver(at: server.address, options: .quick) {
        case .found(let found, let versions):
            #expect(found.homeserver == server.address)
            return "found \(versions.versions)"
        case .failPrompt: return "prompt"
        case .failError: return "error"
        }
    }

    @Test(
        arguments: [
            (.json(#"{"m.homeserver":{"base_url":"HERE/"}}"#), "found [\"v1.11\"]"), (.page(404), "found [\"v1.11\"]"),
            (.page(500), "prompt"), (.json("nothing"), "prompt"), (.json("{}"), "prompt"),
            (.json(#"{"m.homeserver":{"base_url":"nowhere"}}"#), "prompt"),
        ] as [(FakeAnswer, String)])
    func aSiteNamesItsHomeserver(wellKnown: FakeAnswer, outcome: String) async throws {
        let versions = FakeAnswer.json(#"{"versions":["v1.11"]}"#)
        let found = try await discover(wellKnown, versions: versions)
        #expect(found == outcome)
    }

    @Test func aHomeserverThatDoesNotAnswerIsAnError() async throws {
        let found = try await discover(.json(#"{"m.homeserver":{"base_url":"HERE"}}"#), versions: .page(404))
        #expect(found == "error")
    }
}
