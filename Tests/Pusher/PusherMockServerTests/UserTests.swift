import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

struct UserTests {
    private static let ann = #"{"id":"ann","user_info":{"n":1.0}}"#
    private static let annSignedIn =
        #"{"event":"pusher:signin_success","data":"{\"user_data\":\"{\\\"id\\\":\\\"ann\\\",\\\"user_info\\\":{\\\"n\\\":1.0}}\"}"}"#

    private func watchlist(_ events: String) -> String {
        #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":[\#(events)]}"}"#
    }

    private func change(_ name: String, _ users: String...) -> String {
        let ids = users.map { #"\"\#($0)\""# }.joined(separator: ",")
        return #"{\"name\":\"\#(name)\",\"user_ids\":[\#(ids)]}"#
    }

    @Test func signInIsConfirmedWithTheUserDataAsSigned() throws {
        var stage = Stage()
        try stage.connect("1.1")
        #expect(try stage.signIn("1.1", Self.ann) == ["1.1 \(Self.annSignedIn)"])
        #expect(try stage.signIn("1.1", Self.ann) == ["1.1 \(Self.annSignedIn)"], "the same user once more")
        #expect(
            try stage.signIn("1.1", #"{"id":"bob"}"#)
                == ["1.1 \(errorFrame("Connection is already signed in as another user"))"])
    }

    @Test(
        arguments: [
            ("{}", nil, "user_data must be a JSON object with an id, a string that is not empty"),
            (#"{"id":1}"#, nil, "user_data must be a JSON object with an id, a string that is not empty"),
            (#"{"id":""}"#, nil, "user_data must be a JSON object with an id, a string that is not empty"),
            (#"{"id":"u","watchlist":[1]}"#, nil, "The watchlist of a user must be an array of strings"),
            ("u", "app-key:00", "Invalid signature: Expected HMAC SHA256 hex digest of 1.1::user::u"),
            ("u", "other:00", "Invalid key in sign-in auth data"),
            ("u", "", "Auth info required to sign in"),
        ])
    func failedSignInIsAnError(userData: String, auth: String?, message: String) throws {
        var stage = Stage()
        try stage.connect("1.1")
        #expect(try stage.signIn("1.1", userData, auth: auth) == ["1.1 \(errorFrame(message))"])
        #expect(stage.application.users.isEmpty)
    }

    @Test func userChannelIsForTheUserAlone() throws {
        var stage = Stage()
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        let channel = "#server-to-user-ann"
        let refusal = errorFrame("Invalid channel name: \(channel) is for internal use")
        #expect(try stage.subscribe("1.1", to: channel) == ["1.1 \(refusal)"])
        try stage.signIn("1.1", Self.ann)
        try stage.signIn("1.2", #"{"id":"bob"}"#)
        #expect(try stage.subscribe("1.1", to: channel) == ["1.1 \(succeeded(channel))"])
        #expect(try stage.subscribe("1.2", to: channel) == ["1.2 \(refusal)"])
        #expect(
            stage.publish("e", on: channel, "x") == [##"1.1 {"event":"e","channel":"#server-to-user-ann","data":"x"}"##]
        )
        #expect(stage.application.listedChannels.isEmpty)
    }

    @Test func watcherIsToldTheStateAndItsChanges() throws {
        var stage = Stage()
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        try stage.signIn("1.2", #"{"id":"bob"}"#)
        let watching = #"{"id":"ann","watchlist":["bob","cy","bob"]}"#
        #expect(
            try stage.signIn("1.1", watching).last
                == "1.1 \(watchlist("\(change("online", "bob")),\(change("offline", "cy"))"))")
        #expect(try stage.signIn("1.3", #"{"id":"bob"}"#).count == 1, "a second connection of a user is no news")
        #expect(try stage.disconnect("1.2") == [])
        #expect(try stage.disconnect("1.3") == ["1.1 \(watchlist(change("offline", "bob")))"])
        try stage.connect("1.4")
        #expect(try stage.signIn("1.4", #"{"id":"cy"}"#).last == "1.1 \(watchlist(change("online", "cy")))")
    }

    @Test func watchlistBeyondItsLimitIsCut() throws {
        var stage = Stage()
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        let ids = (1...101).map { #""u\#($0)""# }.joined(separator: ",")
        let frames = try stage.signIn("1.1", #"{"id":"ann","watchlist":[\#(ids)]}"#)
        #expect(frames.count == 3)
        #expect(frames.first?.contains("signin_success") == true)
        #expect(
            frames.last == "1.1 \(errorFrame("The watchlist exceeds the allowed maximum (100 users)", code: 4302))")
        #expect(try stage.signIn("1.2", #"{"id":"u101"}"#).count == 1, "the last one is not watched")
        try stage.connect("1.3")
        #expect(try stage.signIn("1.3", #"{"id":"u100"}"#).count == 2)
    }

    @Test func terminationClosesEveryConnectionOfTheUser() throws {
        var stage = Stage()
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        for id in ["1.1", "1.2"] { try stage.signIn(id, Self.ann) }
        let error = errorFrame("You got disconnected by the app.", code: 4009)
        #expect(
            stage.terminateConnections(of: "ann")
                == ["1.1 \(error)", "1.1 close 4009", "1.2 \(error)", "1.2 close 4009"])
        #expect(stage.terminateConnections(of: "nobody") == [])
    }

    @Test func authorizationMayBeRequiredInTime() throws {
        var stage = Stage(.init(authorizationTimeout: .seconds(10)))
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        try stage.signIn("1.1", Self.ann)
        try stage.subscribe("1.2", to: "private-x")
        try stage.subscribe("1.3", to: "c")
        #expect(
            stage.nextDeadline()
                == ["1.3 \(errorFrame("Connection not authorized within timeout", code: 4009))", "1.3 close 4009"])
        #expect(stage.time == 10)
        #expect(stage.application.nextDeadline == nil)
    }
}

@Suite(.overSockets)
struct UserAPITests {
    private func signedIn(as user: String, on server: PusherMockServer) async throws -> (TestClient, String) {
        let (client, socketID) = try await TestClient.established(to: server)
        let userData = #"{\"id\":\"\#(user)\"}"#
        let auth = TestClient.credentials.userAuth(
            socketID: try #require(SocketID(socketID)), userData: #"{"id":"\#(user)"}"#)
        try await client.send(#"{"event":"pusher:signin","data":{"auth":"\#(auth)","user_data":"\#(userData)"}}"#)
        #expect(await client.text()?.contains("signin_success") == true)
        return (client, socketID)
    }

    @Test func eventReachesAUser() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await signedIn(as: "ann", on: server)
        _ = try await client.subscribe("#server-to-user-ann", socketID: socketID)
        let api = SignedAPI(server: server)
        let event = ##"{"name":"e","channel":"#server-to-user-ann","data":"x"}"##
        #expect(try await api.post("events", event) == .init(status: 200, body: "{}"))
        #expect(await client.text() == ##"{"event":"e","channel":"#server-to-user-ann","data":"x"}"##)
        #expect(try await api.get("channels").body == #"{"channels":{}}"#)
        await server.stop()
    }

    @Test(arguments: ["/apps/1/users/ann/terminate_connections", "/users/ann/terminate_connections"])
    func connectionsAreTerminated(path: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await signedIn(as: "ann", on: server)
        let (other, _) = try await signedIn(as: "bob", on: server)
        let answer = try await SignedAPI(server: server).call("POST", absolutePath: path, body: "{}")
        #expect(answer == .init(status: 200, body: "{}"))
        let reason = "You got disconnected by the app."
        #expect(await client.text() == errorFrame(reason, code: 4009))
        #expect(await client.next() == .close(code: 4009, reason: reason))
        try await other.send(#"{"event":"pusher:ping"}"#)
        #expect(await other.text()?.contains("pusher:pong") == true)
        await server.stop()
    }

    @Test func terminationIsChecked() async throws {
        let server = try await PusherMockServer.start()
        var api = SignedAPI(server: server)
        #expect(try await api.call("POST", "users/ann/terminate_connections", body: nil).status == 200)
        #expect(try await api.call("POST", "users/ann/terminate_connections", body: "x").status == 400)
        api.credentials = AppCredentials(key: PusherMockServer.App.defaultKey, secret: "other")
        let path = "/users/ann/terminate_connections"
        #expect(try await api.call("POST", absolutePath: path, body: "{}").status == 401)
        api.credentials = AppCredentials(key: "other", secret: "other")
        #expect(try await api.call("POST", absolutePath: path, body: "{}").status == 401)
        await server.stop()
    }

    @Test func deprecatedCallsAreServed() async throws {
        let server = try await PusherMockServer.start()
        let api = SignedAPI(server: server)
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        let query = [("name", "e"), ("socket_id", "1.2")]
        #expect(
            try await api.call("POST", "channels/c/events", query, body: "raw \"text\"") == .init(status: 202, body: "")
        )
        #expect(await client.text() == #"{"event":"e","channel":"c","data":"raw \"text\""}"#)
        #expect(try await api.call("POST", "channels/c/events", body: "x").status == 400)
        #expect(try await api.get("channels/c/stats").body == #"{"occupied":true,"connection_count":1}"#)
        _ = try await client.subscribe("presence-p", socketID: socketID, channelData: #"{"user_id":"u"}"#)
        #expect(
            try await api.get("channels/presence-p/stats").body
                == #"{"occupied":true,"user_count":1,"connection_count":1}"#)
        #expect(try await api.get("channels/empty/stats").body == #"{"occupied":false,"connection_count":0}"#)
        await server.stop()
    }
}
