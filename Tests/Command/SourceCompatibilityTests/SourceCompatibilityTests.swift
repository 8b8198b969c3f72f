import PusherMockServer
import PusherSwift
import TestSupport
import Testing

/// Programs for older versions compile, run, and get the same results as before.
@Suite(.overSockets)
struct SourceCompatibilityTests {
    private func withRoom(
        _ authMethod: (PusherMockServer) -> AuthMethod = { _ in .inline(secret: "app-secret") },
        _ body: (ChatRoom, PusherMockServer) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start()
        let room = ChatRoom(authMethod: authMethod(server), host: "127.0.0.1", port: server.port)
        room.enter()
        try await body(room, server)
        room.pusher.disconnect()
        await server.stop()
    }

    private func seen(_ line: String, in room: ChatRoom) async -> Bool {
        await eventually { room.queue.sync { room.transcript.contains { $0.hasPrefix(line) } } }
    }

    private func endpoint(_ server: PusherMockServer) -> String { "http://127.0.0.1:\(server.port)/pusher/auth" }

    @Test func bindingsGetParsedAndRawData() async throws {
        try await withRoom { room, server in
            #expect(await seen("subscribed private-messages", in: room))
            await server.publish(event: "message", channel: "private-messages", data: #"{"text":"hi","id":7}"#)
            #expect(await seen("parsed hi 7", in: room))
            #expect(await seen(#"raw {"text":"hi","id":7} private-messages private-messages"#, in: room))
            #expect(await seen("global message", in: room))
            #expect(await seen("succeeded", in: room))
            #expect(await seen("disconnected -> connecting", in: room))
            #expect(room.queue.sync { !room.transcript.contains { $0.hasPrefix("global event") } })
        }
    }

    @Test func presenceChannelsKnowTheirMembers() async throws {
        try await withRoom { room, server in
            #expect(await seen("subscribed presence-room", in: room))
            let channel = try #require(room.pusher.connection.channels.findPresence(name: "presence-room"))
            #expect(channel.myId == "ann")
            #expect((channel.me()?.userInfo as? [String: Any])?["age"] as? Int == 37)
            #expect(channel.findMember(userId: "ann")?.userId == "ann")
            #expect(channel.members.map(\.userId) == ["ann"])

            let guest = ChatRoom(authMethod: .inline(secret: "app-secret"), host: "127.0.0.1", port: server.port)
            guest.pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "bob") }
            let room2 = guest.pusher.subscribe("presence-room", onMemberAdded: { _ in })
            guest.pusher.connect()
            #expect(await seen("came bob", in: room))
            room2.trigger(eventName: "client-typing", data: ["on": true])
            #expect(await seen("typing bob", in: room))
            guest.pusher.disconnect()
            #expect(await seen("left bob", in: room))
        }
    }

    @Test func requestBuildersEndpointsAndAuthorizersSign() async throws {
        try await withRoom({ .authRequestBuilder(authRequestBuilder: RequestBuilder(url: endpoint($0))) }) { room, _ in
            #expect(await seen("subscribed private-messages", in: room))
        }
        try await withRoom({ .endpoint(authEndpoint: endpoint($0)) }) { room, _ in
            #expect(await seen("subscribed private-messages", in: room))
        }
        let book = AnswerBook()
        try await withRoom({ _ in .authorizer(authorizer: book) }) { room, _ in
            #expect(await seen("failed private-messages", in: room))
            #expect(await seen("failed presence-room", in: room))
        }
        try await withRoom({ _ in .noMethod }) { room, _ in
            #expect(await seen("failed private-messages", in: room))
        }
    }

    @Test func aRefusalCarriesTheEndpointsAnswer() async throws {
        let server = try await PusherMockServer.start()
        await server.failAuth(.respond(status: 403, body: "no entry"))
        let room = ChatRoom(
            authMethod: .endpoint(authEndpoint: endpoint(server)), host: "127.0.0.1", port: server.port)
        room.enter()
        #expect(await seen("failed private-messages 403 no entry", in: room))
        room.pusher.disconnect()
        await server.stop()
    }

    @Test func everySignatureIsCallable() async throws {
        let server = try await PusherMockServer.start()
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: AuthMethod.inline(secret: "app-secret"), host: PusherHost.host("127.0.0.1"),
                port: server.port, useTLS: false))
        let connection = pusher.connection
        _ = (connection.url, connection.key, connection.options, connection.socketId, connection.connectionState)
        _ = (connection.reconnectAttempts, connection.activityTimeoutInterval, connection.pongResponseTimeoutInterval)
        #expect(connection.reconnectAttemptsMax == nil)
        #expect(connection.maxReconnectGapInSeconds == 120)
        #expect(PusherHost.cluster("eu").stringValue == "ws-eu.pusher.com")
        #expect(PusherHost.defaultHost.stringValue == "ws.pusherapp.com")

        let unlabelled = pusher.subscribe("a", auth: nil, onMemberAdded: nil, onMemberRemoved: nil)
        let labelled = pusher.subscribe(channelName: "a")
        let counted = pusher.subscribe("b", onSubscriptionCountChanged: { _ in })
        let presence: PusherPresenceChannel = pusher.subscribeToPresenceChannel(channelName: "presence-c")
        let presence2: PusherPresenceChannel = pusher.subscribeToPresenceChannel("presence-c")
        #expect(unlabelled === labelled && presence === presence2)
        #expect([unlabelled, presence].map(describe) == ["normal", "presence"])
        #expect(describe(pusher.subscribe("private-d")) == "private")
        #expect(counted.subscriptionCount == nil && counted.auth == nil)
        presence.onMemberAdded = { _ in }
        presence.onMemberRemoved = { _ in }
        #expect(presence.members.isEmpty && presence.me() == nil && presence.findMember(userId: "x") == nil)

        let global = connection.globalChannel.bind(eventCallback: { _ in })
        connection.globalChannel.unbind(callbackId: global)
        let id = unlabelled.bind(eventName: "e", eventCallback: { _ in })
        unlabelled.unbind(eventName: "e", callbackId: id)
        _ = unlabelled.bind(eventName: "e") { event in _ = event.eventName }
        unlabelled.unbindAll(forEventName: "e")
        unlabelled.unbindAll()
        pusher.unbindAll()
        #expect(unlabelled.unsentEvents.isEmpty)
        let channels = connection.channels
        #expect(channels.find(name: "a") === unlabelled && channels.find("a") === unlabelled)
        #expect(channels.findPresence("presence-c") === presence && channels.channels.count == 4)

        pusher.connect()
        #expect(await eventually { unlabelled.subscribed && presence.subscribed })
        #expect(connection.socketId != nil)
        pusher.unsubscribe("a")
        pusher.unsubscribeAll()
        #expect(channels.channels.isEmpty)
        pusher.disconnect()
        await server.stop()
    }

    @Test func aSignatureGivenAtSubscribeIsUsedAndKept() async throws {
        let server = try await PusherMockServer.start()
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .noMethod, host: .host("127.0.0.1"), port: server.port, useTLS: false))
        let auth = PusherAuth(auth: "app-key:wrong", channelData: nil, sharedSecret: nil)
        pusher.connect()
        #expect(await eventually { pusher.connection.connectionState == .connected })
        let channel = pusher.subscribe("private-x", auth: auth)
        #expect(channel.auth?.auth == "app-key:wrong")
        #expect(await server.waitFor { $0.history.contains { "\($0)".contains("app-key:wrong") } })
        pusher.disconnect()
        await server.stop()
    }

    @Test func theSamplesOfOlderDocumentsRun() async throws {
        let server = try await PusherMockServer.start()
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .inline(secret: "app-secret"), host: .host("127.0.0.1"), port: server.port, useTLS: false))
        let delegate = DummyDelegate()
        pusher.connection.delegate = delegate
        #expect(limitReconnects(pusher) == 2.5)
        #expect(pusher.connection.maxReconnectGapInSeconds == nil)
        let request = AuthRequestBuilder().requestFor(socketID: "1.2", channelName: "private-a")
        #expect(request?.httpBody == Data("socket_id=1.2&channel_name=private-a".utf8))

        let room = subscribeWithMemberCallbacks(pusher)
        let heard = Heard()
        let channel = pusher.subscribe("my-channel")
        prices(in: channel) { company, price in heard.add("\(company) \(price)") }
        pusher.connect()
        #expect(await eventually { room.subscribed && channel.subscribed })
        await server.publish(event: "new-price", channel: "my-channel", data: #"{"company":"Acme","price":12}"#)
        #expect(await eventually { heard.all == ["Acme 12"] })
        pusher.disconnect()
        await server.stop()
    }

    private final class Heard: @unchecked Sendable {
        private let lock = NSLock()
        private var lines: [String] = []

        var all: [String] { lock.withLock { lines } }

        func add(_ line: String) { lock.withLock { lines.append(line) } }
    }

    @available(*, deprecated, message: "the old spelling is what is tested")
    @Test func theOldSpellingOfTLSIsUnderstood() {
        let options = PusherClientOptions(authMethod: .noMethod, host: .cluster("eu"), encrypted: false)
        #expect(!options.useTLS)
        #expect(!options.encrypted)
    }
}
