import Basics
import PusherHTTP
import PusherMockServer
import PusherProtocol
import TestSupport
import Testing

/// Queries for channels and users.
@Suite(.overSockets)
struct QueryTests {
    /// Returns the request that the server received, and the result of the call.
    private func exchange<Result>(
        _ answer: String, _ call: (PusherHTTPClient) async throws -> Result
    ) async throws -> (line: String, body: String, result: Result) {
        let seen = Lock(("", ""))
        let server = SocketServer { peer in
            let request = peer.readRequest()
            seen.withLock { $0 = (String(request.head.prefix { $0 != "&" && $0 != "\r\n" }), request.body) }
            peer.answer(answer)
        }
        let result = try await call(PusherHTTPClient(server))
        let (line, body) = seen.withLock { $0 }
        return (line, body, result)
    }

    @Test func channelsAreListedByPrefixWithCounts() async throws {
        let (line, _, channels) = try await exchange(
            #"{"channels":{"presence-a":{"user_count":2},"presence-b":{}}}"#
        ) { try await $0.channels(prefix: "presence-", info: [.userCount]) }
        #expect(line == "GET /apps/3/channels?filter_by_prefix=presence-")
        #expect(channels.mapValues(\.userCount) == ["presence-a": 2, "presence-b": nil])
        #expect(channels.values.allSatisfy { $0.isOccupied == true })
    }

    @Test func noChannelsAreAnObjectOrAnArray() async throws {
        #expect(try await exchange(#"{"channels":{}}"#) { try await $0.channels() }.result.isEmpty)
        #expect(try await exchange(#"{"channels":[]}"#) { try await $0.channels() }.result.isEmpty)
    }

    @Test func aChannelTellsWhatItIsAskedFor() async throws {
        let (line, _, channel) = try await exchange(
            #"{"occupied":true,"subscription_count":3,"cache":{"data":"{\"a\":1}","ttl":60}}"#
        ) { try await $0.channel("cache-x", info: [.cache, .subscriptionCount]) }
        #expect(line == "GET /apps/3/channels/cache-x?info=cache%2Csubscription_count")
        #expect(channel.isOccupied == true)
        #expect(channel.subscriptionCount == 3)
        #expect(channel.cache?.data == #"{"a":1}"#)
        #expect(channel.cache?.ttl == 60)
        let empty = try await exchange(#"{"occupied":false,"cache":null}"#) { try await $0.channel("cache-x") }.result
        #expect(empty.isOccupied == false)
        #expect(empty.cache == nil)
    }

    @Test func usersAreIdsEvenWhereTheyAreNumbers() async throws {
        let (line, _, users) = try await exchange(#"{"users":[{"id":"a"},{"id":7}]}"#) {
            try await $0.users(of: "presence-x")
        }
        #expect(line.hasPrefix("GET /apps/3/channels/presence-x/users?"))
        #expect(users == ["a", "7"])
    }

    @Test func terminatingPostsAnEmptyObject() async throws {
        let (line, body, _) = try await exchange("{}") { try await $0.terminateConnections(ofUser: "ann@x.org") }
        #expect(line.hasPrefix("POST /apps/3/users/ann@x.org/terminate_connections?"))
        #expect(body == "{}")
    }

    @Test func theMockServerUnderstandsTheQueries() async throws {
        let server = try await PusherMockServer.start()
        let api = PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
            secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        #expect(try await api.channels().isEmpty)
        #expect(try await api.channel("a").isOccupied == false)
        #expect(try await api.channel("presence-a=b@c,d;e", info: [.userCount]).isOccupied == false)
        #expect(try await api.users(of: "presence-a").isEmpty)
        await server.stop()
    }

    @Test func requestsSayWhatTheyHoldAndWhoSendsThem() async throws {
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readRequest().head
            heads.withLock { $0.append(head) }
            peer.answer(#"{"channels":{}}"#)
        }
        _ = try await PusherHTTPClient(server).channels()
        try await PusherHTTPClient(server).trigger(event: "e", channels: ["a"], data: "x")
        let (get, post) = heads.withLock { ($0.first ?? "", $0.last ?? "") }
        #expect(get.contains("\r\nX-Pusher-Library: pusher-http-swift \(LibraryVersion.current)\r\n"))
        #expect(!get.contains("body_md5") && !get.contains("Content-Type"))
        #expect(post.contains("\r\nContent-Type: application/json\r\n"))
        #expect(post.contains("&body_md5="))
    }

    @Test func answersOfSomethingElseAreTyped() async throws {
        let error = await #expect(throws: PusherHTTPError.self) {
            try await exchange("<html>welcome</html>") { try await $0.channels() }
        }
        #expect(error?.kind == .unexpectedAnswer)
        #expect(error?.message.hasSuffix("an HTML page") == true)
    }

    @Test(arguments: ["", "a b", "a/b", "a:b", String(repeating: "x", count: 201)])
    func badUserIDsAreNotSent(user: String) async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "")
        let terminated = await #expect(throws: PusherHTTPError.self) {
            try await api.terminateConnections(ofUser: user)
        }
        #expect(terminated?.kind == .invalidArgument)
        let published = await #expect(throws: PusherHTTPError.self) {
            try await api.trigger(event: "e", toUser: user, data: "x")
        }
        #expect(published?.kind == .invalidArgument)
    }

    @Test func onlyPresenceChannelsHaveUsers() async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "")
        let error = await #expect(throws: PusherHTTPError.self) { try await api.users(of: "private-x") }
        #expect(error?.kind == .invalidArgument)
    }

    @Test func usersGetTheirEventsAndCanBeTerminated() async throws {
        let server = try await PusherMockServer.start()
        let api = PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
            secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        try await api.trigger(event: "notice", toUser: "ann", data: "hello")
        try await api.terminateConnections(ofUser: "ann")
        let paths = await server.state.history.compactMap { entry in
            if case .httpRequest(_, let path, 200) = entry { path } else { nil }
        }
        let app = PusherMockServer.App.defaultID
        #expect(paths == ["/apps/\(app)/events", "/apps/\(app)/users/ann/terminate_connections"])
        await server.stop()
    }
}
