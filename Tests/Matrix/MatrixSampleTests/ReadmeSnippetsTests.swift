import Foundation
import MatrixSDK
import Testing

/// The manual's snippets do what the manual says.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct ReadmeSnippetsTests {
    private func answer<Value: Sendable>(_ start: (@escaping (Value) -> Void) -> Void) async -> Value {
        await withCheckedContinuation { continuation in start { continuation.resume(returning: $0) } }
    }

    /// A user whose client has a token, and one of the user's rooms.
    private func scene(_ server: SampleServer) async throws -> (
        snippets: ReadmeSnippets, user: SampleServer.User, roomId: String
    ) {
        let url = try await server.start()
        let user = try await SampleServer.newUser("reader", at: url)
        let snippets = try #require(ReadmeSnippets(homeServer: url))
        snippets.makeClient(userId: user.id, accessToken: user.accessToken)
        let parameters = MXRoomCreationParameters()
        parameters.name = "Manual"
        let roomId = try await snippets.mxRestClient.createRoom(parameters: parameters)
        return (snippets, user, roomId)
    }

    @Test(arguments: SampleServer.allCases) func publicRoomsAreListedWithoutAnAccount(server: SampleServer) async throws
    {
        let (snippets, _, _) = try await scene(server)
        let parameters = MXRoomCreationParameters()
        parameters.name = "Public \(UUID().uuidString)"
        parameters.visibility = .public
        parameters.preset = kMXRoomPresetPublicChat
        let roomId = try await snippets.mxRestClient.createRoom(parameters: parameters)
        let stranger = try #require(ReadmeSnippets(homeServer: snippets.homeServer))
        // The server needs a moment to add it to its directory.
        var isListed = false
        for _ in 0..<300 where !isListed {
            isListed = await answer { stranger.listPublicRooms($0) }.contains { $0.roomId == roomId }
            if !isListed { try await Task.sleep(nanoseconds: 50_000_000) }
        }
        #expect(isListed)
    }

    @Test(arguments: SampleServer.allCases) func aLoginGivesCredentials_andAMessageCanBeSentWithThem(
        server: SampleServer
    ) async throws {
        let (snippets, user, roomId) = try await scene(server)
        let stranger = try #require(ReadmeSnippets(homeServer: snippets.homeServer))
        let credentials = await answer { stranger.logIn(user.name, user.password, $0) }
        #expect(credentials?.userId == user.id)
        let eventId = await answer { snippets.sayHello(in: roomId, $0) }
        #expect(eventId?.hasPrefix("$") == true)
    }

    @Test(arguments: SampleServer.allCases) func aSessionHearsWhatIsNew_andPagesThroughWhatIsOld(server: SampleServer)
        async throws
    {
        let (snippets, _, roomId) = try await scene(server)
        _ = await answer { snippets.sayHello(in: roomId, $0) }
        #expect(await answer { snippets.start($0) })
        #expect(snippets.mxSession.rooms.map(\.roomId) == [roomId])
        let listener = snippets.listen(to: roomId)
        #expect(listener != nil)
        var heard: [String] = []
        snippets.listenToMessages(of: roomId) { heard.append($0) }
        #expect(await answer { snippets.loadHistory(of: roomId, $0) })
        #expect(snippets.events.first == "old m.room.message in Manual")
        #expect(heard == ["Hello world!"])
        let echo = Echo()
        let eventId = await answer { echo.event = snippets.send("and again", to: roomId, $0) }
        #expect(echo.event?.isLocalEvent == true)
        #expect(eventId?.hasPrefix("$") == true)
        #expect(await answer { snippets.wave(in: roomId, $0) })
        #expect(await holds { heard == ["Hello world!", "and again", "waves"] })
        #expect(await holds { snippets.events.last == "new m.room.message" })
        snippets.mxSession.close()
    }

    private final class Echo {
        var event: MXEvent?
    }

    @Test(arguments: SampleServer.allCases) func aFileStoreShowsRoomsBeforeTheServerIsAsked(server: SampleServer)
        async throws
    {
        let (snippets, user, roomId) = try await scene(server)
        let who = try await snippets.mxRestClient.whoAmI()
        #expect(who.userId == user.id)
        let first = await withCheckedContinuation { continuation in
            snippets.startFromFiles { known, isStarted in continuation.resume(returning: (known, isStarted)) }
        }
        #expect(first == (0, true))
        snippets.mxSession.close()
        let second = await withCheckedContinuation { continuation in
            snippets.startFromFiles { known, isStarted in continuation.resume(returning: (known, isStarted)) }
        }
        #expect(second == (1, true))
        #expect(snippets.mxSession.room(withRoomId: roomId)?.summary.displayName == "Manual")
        snippets.mxSession.close()
        let store = MXFileStore()
        _ = try store.open(userId: user.id, deviceId: who.deviceId)
        try store.deleteAllData()
    }

    @Test(arguments: SampleServer.allCases) func aPusherIsSetAndRemoved(server: SampleServer) async throws {
        let (snippets, _, _) = try await scene(server)
        let token = Data([1, 2, 3])
        #expect(
            await answer {
                snippets.registerForPush(token: token, gateway: "http://127.0.0.1:9/_matrix/push/v1/notify", $0)
            })
        #expect(try await snippets.mxRestClient.pushers().map(\.pushKey) == [token.base64EncodedString()])
        #expect(await answer { snippets.unregisterFromPush(token: token, $0) })
        #expect(try await snippets.mxRestClient.pushers().isEmpty)
    }
}
