import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Signing in, events to the user and the watchlist, with each kind of server.
@Suite(.overSockets)
struct UserTests {
    private static let secret = PusherMockServer.App.defaultSecret

    private let recorder = Recorder()

    private func client(_ server: PusherMockServer, _ id: String, watchlist: [String] = []) -> Pusher {
        Pusher.make(server, recorder) {
            $0.userAuthMethod = .inline(
                secret: Self.secret, user: PusherUserData(id: id, userInfo: ["name": id], watchlist: watchlist))
        }
    }

    @Test(arguments: Profile.allCases)
    func eventsToTheUserArriveOnEveryConnection(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = client(server, "u1")
            pusher.user.bind(eventName: "notice") { [recorder] in recorder.add("notice \($0.data ?? "")") }
            pusher.connect()
            #expect(try await pusher.user.signedIn() == "u1")
            #expect(pusher.user.userId == "u1")
            #expect(pusher.user.userData?.contains(#""name":"u1""#) == true)
            #expect(await server.waitFor { !$0.subscribers(of: "#server-to-user-u1").isEmpty })
            await server.publish(event: "notice", channel: "#server-to-user-u1", data: "1")
            #expect(await recorder.waitFor("notice 1"))
            let socketID = try #require(pusher.connection.socketId)
            try await server.inject(.dropTCP, into: socketID)
            #expect(
                await server.waitFor {
                    let subscribers = $0.subscribers(of: "#server-to-user-u1")
                    return !subscribers.isEmpty && !subscribers.contains(socketID)
                })
            await server.publish(event: "notice", channel: "#server-to-user-u1", data: "2")
            #expect(await recorder.waitFor("notice 2"))
            #expect(pusher.connection.channels.channels.isEmpty)
        }
    }

    @Test(arguments: Profile.allCases)
    func theEndpointVouchesForTheUser(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.userAuthMethod = .endpoint("http://127.0.0.1:\(server.port)/pusher/user-auth")
                $0.authParameters = { ["user_id": "u7"] }
            }
            pusher.user.signIn()
            pusher.connect()
            let id = try await pusher.user.signedIn()
            #expect(id == "u7")
        }
    }

    @Test(arguments: Profile.allCases)
    func theWatchlistTellsWhoComesAndGoes(profile: Profile) async throws {
        try await withServer(profile) { server in
            let watcher = client(server, "u1", watchlist: ["u2", "u3"])
            watcher.user.watchlist.bind { [recorder] in recorder.add("\($0.eventName) \($0.data ?? "")") }
            watcher.connect()
            try await watcher.user.signedIn()
            #expect(await recorder.waitFor(#"offline {"name":"offline","user_ids":["u2","u3"]}"#))
            let friend = client(server, "u2")
            friend.connect()
            try await friend.user.signedIn()
            #expect(await recorder.waitFor(#"online {"name":"online","user_ids":["u2"]}"#))
            #expect(watcher.user.watchlist.online == ["u2"])
            #expect(watcher.user.watchlist.isOnline(userId: "u2") && !watcher.user.watchlist.isOnline(userId: "u3"))
            friend.disconnect()
            #expect(await recorder.waitFor(#"offline {"name":"offline","user_ids":["u2"]}"#))
            #expect(watcher.user.watchlist.online == [])
        }
    }

    @Test(arguments: Profile.allCases)
    func aWrongSignatureIsReported(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.userAuthMethod = .inline(secret: "wrong", user: PusherUserData(id: "u1"))
                $0.subscriptionTimeout = .milliseconds(500)
            }
            pusher.user.bind(eventName: "pusher:signin_error") { [recorder] _ in recorder.add("told the user") }
            pusher.connect()
            await #expect(throws: PusherError.self) { try await pusher.user.signedIn() }
            #expect(await recorder.waitFor("told the user"))
            #expect(pusher.user.userId == nil)
        }
    }

    @Test(arguments: Profile.allCases)
    func aTerminatedUserMayComeBack(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = client(server, "u1")
            pusher.connect()
            try await pusher.user.signedIn()
            try await server.inject(
                .close(code: 4009, reason: "terminated"), into: #require(pusher.connection.socketId))
            #expect(await recorder.waitFor("→ disconnected"))
            pusher.connect()
            #expect(try await pusher.user.signedIn() == "u1")
        }
    }

    @Test func withoutAMethodSigningInFails() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            pusher.connect()
            let error = await #expect(throws: PusherError.self) { try await pusher.user.signedIn() }
            #expect(error?.message == "signing in failed: the client has no userAuthMethod")
        }
    }

    @Test func whatIsNoJSONIsNotSigned() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.userAuthMethod = .inline(secret: Self.secret, user: PusherUserData(id: "u", userInfo: Date()))
            }
            pusher.connect()
            await #expect(throws: PusherError.self) { try await pusher.user.signedIn() }
        }
    }

    /// The channel is internal to the server.
    @Test func theUsersChannelCannotBeSubscribedByName() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            pusher.subscribe("#server-to-user-u1")
            #expect(await recorder.waitFor("names that start with # are for internal use"))
            #expect(pusher.connection.channels.channels.isEmpty)
        }
    }
}
