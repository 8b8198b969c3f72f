import Basics
import PydioTestSupport
import TestSupport
import Testing

/// Section 9 of the protocol's notes.
@Suite struct FakePydioWebSocketTests {
    private func client(_ mode: FakePydioMode, ping: Duration = .seconds(54)) async throws -> RawClient {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.hasWebSocket = true
        configuration.webSocketPing = ping
        return try await RawClient.start(.start(configuration))
    }

    private func socket(_ client: RawClient, query: String = "") async throws -> RawSocket {
        let socket = RawSocket()
        await socket.open(client.server.address.replacing("http", with: "ws") + "/ws" + query, cookie: client.cookie)
        #expect(await eventually { await socket.isDecided })
        return socket
    }

    private func registered(_ client: RawClient, _ id: String = "0") async throws -> RawSocket {
        let socket = try await socket(client)
        try await socket.send("register:\(id)")
        let server = client.server
        #expect(await eventually { server.webSockets.contains(id) })
        return socket
    }

    @Test(arguments: FakePydioMode.allCases)
    func eachMessageIsADocument(mode: FakePydioMode) async throws {
        let client = try await client(mode)
        let socket = try await registered(client)
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        client.server.act("mkdir", ["dir": "/", "dirname": "x"], in: FakePydioWorkspace.teamID)
        client.server.post("<a><b/></a>")
        #expect(await eventually { await socket.texts.count == 2 })
        let texts = await socket.texts
        #expect(texts[0].hasPrefix("<tree><nodes_diff><add><tree ") && texts[0].hasSuffix("</add></nodes_diff></tree>"))
        #expect(texts[1] == "<tree><a><b/></a></tree>")
        #expect(client.server.webSocketTexts == ["register:0"])
    }

    @Test func aSecondRegistrationReplacesTheFirst() async throws {
        let client = try await client(.v8)
        let socket = try await registered(client)
        try await socket.send("register:1")
        let server = client.server
        #expect(await eventually { server.webSockets == ["1"] })
        try await socket.send("unregister")
        #expect(await eventually { server.webSockets == [nil] })
    }

    @Test func whatMayNotBeReadIsRefusedInSilence() async throws {
        for mode in FakePydioMode.allCases {
            let client = try await client(mode)
            let socket = try await registered(client)
            try await socket.send("register:no")
            let server = client.server
            #expect(await eventually { server.webSocketTexts.count == 2 })
            #expect(server.webSockets == (mode == .v5_2 ? ["0"] : [nil]))
            #expect(await !socket.isClosed)
            #expect(await socket.texts.isEmpty)
        }
    }

    @Test func strangersAreLetInAndOutOrNotAtAll() async throws {
        for mode in FakePydioMode.allCases {
            let client = try await client(mode)
            client.cookie = nil
            let socket = try await socket(client)
            #expect(await eventually { await socket.isClosed })
            #expect(await socket.isOpen == (mode == .v5_2))
            let answer = try await client.open("/ws")
            #expect(answer.status == 404)  // not an upgrade request
        }
    }

    @Test func newerServersTakeASignatureOverAnotherPath() async throws {
        let client = try await client(.v8)
        let pair = try #require(
            try await client.get("keystore_generate_auth_token", ["device": "d"]).json as? [String: String])
        client.cookie = nil
        let (token, secret) = (pair["t"] ?? "", pair["p"] ?? "")
        for (path, isRight) in [("/api/pydio/ws_authenticate", true), ("/ws", false)] {
            let message = Array("\(path):n:\(secret)".utf8)
            let hash = Digest.hmacSHA256(key: Array(token.utf8), message: message).hexadecimal
            let socket = try await socket(client, query: "?auth_hash=n:\(hash)&auth_token=\(token)")
            #expect(await socket.isOpen == isRight)
            await socket.drop()
        }
    }

    @Test func newerServersEndAFrameAtALineBreak() async throws {
        let client = try await client(.v8)
        client.server.configure { $0.splitsWebSocketMessages = true }
        let socket = try await registered(client)
        client.server.post("<a/>")
        #expect(await eventually { await socket.texts.count == 2 })
        #expect(await socket.texts == ["<tree>", "<a/></tree>"])
    }

    @Test func newerServersDropWhoDoesNotAnswerInTime() async throws {
        let client = try await client(.v8)
        client.server.configure { $0.webSocketPatience = .milliseconds(1) }
        let socket = try await socket(client)
        #expect(await eventually { await socket.isClosed })
    }

    @Test func newerServersPingAndKeepWhoAnswers() async throws {
        let client = try await client(.v8, ping: .milliseconds(20))
        let socket = try await registered(client)
        let server = client.server
        #expect(await eventually { server.pongCount >= 3 })
        #expect(await !socket.isClosed)
        server.dropWebSockets()
        #expect(await eventually { await socket.isClosed })
        #expect(await eventually { server.webSockets.isEmpty })
    }
}
