import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Signing in, events to the signed-in user, and the watchlist.
struct SignInTests {
    private let reader = EventReader(.sequence, eventName: nil, channelName: nil)

    private let userData = #"{"id":"u1","user_info":{"name":"Ann"}}"#
    private var success: String {
        #"{"event":"pusher:signin_success","data":\#(JSONString.quoted(#"{"user_data":\#(JSONString.quoted(userData))}"#))}"#
    }

    private func signedIn() -> ClientScript {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.receive(success)
        client.succeed("#server-to-user-u1")
        _ = client.take()
        return client
    }

    @Test func theSignatureIsSentAndTheUsersChannelSubscribed() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        client.machine.signIn(now: client.now)
        #expect(client.take() == ["authorize user 1.1"])
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        #expect(client.take() == ["send sign in k:s \(userData)"])
        #expect(client.machine.signedInUser == nil)
        client.receive(success)
        #expect(client.take() == ["send subscribe #server-to-user-u1", "signed in u1"])
        #expect(client.machine.signedInUser?.data == userData)
        client.succeed("#server-to-user-u1")
        #expect(client.take() == [])
        #expect(client.machine.channelNames == [])
    }

    @Test func theAnswerIsNotOverdueWhileNothingIsRead() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.hold(reader)
        client.pass(.seconds(100))
        client.release(reader)
        client.receive(success)
        #expect(client.machine.signedInUser?.id == "u1")
        #expect(client.take().contains("signed in u1"))
    }

    @Test func theTimeForTheAnswerStartsAgainWhenReadingDoes() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.pass(.seconds(29))
        client.hold(reader)
        // The deadline of the hold itself.
        #expect(client.machine.nextDeadline == client.now + .seconds(120))
        client.pass(.seconds(100))
        client.release(reader)
        _ = client.take()
        client.pass(.seconds(29))
        #expect(client.take() == [])
        client.pass(.seconds(1))
        #expect(client.take().contains { $0.contains("the server did not answer the sign-in in time") })
    }

    /// The answer of the application's own server does not use the connection.
    @Test func theSignatureIsOverdueThoughNothingIsRead() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        client.hold(reader)
        _ = client.take()
        client.pass(.seconds(30))
        #expect(client.take().contains { $0.contains("there was no answer in time") })
    }

    /// A refusal without a name or a code concerns a signature: that of the sign-in, unless a channel's is pending.
    @Test func anErrorWithoutACodeRefusesTheSignInThoughAPublicChannelWaits() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:bad", userData: userData)))
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature"}}"#)
        #expect(
            client.takeReports() == [
                "error the server reports: Invalid signature",
                "sign-in failed the server refused the sign-in: Invalid signature pusher:signin_error",
            ])
    }

    @Test func anErrorWithoutAnyNameIsThatOfTheOldestRequest() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature"}}"#)
        #expect(
            client.takeReports() == [
                "failed channel private-x: the server refused the subscription: Invalid signature"
            ])
        client.receive(success)
        #expect(client.machine.signedInUser?.id == "u1")
    }

    @Test func anErrorWhoseTextNamesTheUserRefusesTheSignIn() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:bad", userData: userData)))
        _ = client.take()
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of 1.1::user::\(userData), but got 00"
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":\#(JSONString.quoted(message))}}"#)
        #expect(
            client.takeReports() == [
                "error the server reports: Invalid signature",
                "sign-in failed the server refused the sign-in: Invalid signature pusher:signin_error",
            ])
        client.succeed("private-x")
        #expect(client.take().first == "subscribed private-x")
    }

    @Test func aLateSuccessOfTheUsersChannelCounts() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.receive(success)
        client.pass(.seconds(30))
        #expect(client.take().contains { $0.hasPrefix("error channel #server-to-user-u1: events to the signed-in") })
        client.succeed("#server-to-user-u1")
        client.receive(##"{"event":"e","channel":"#server-to-user-u1","data":"x"}"##)
        #expect(client.take() == ["event e #server-to-user-u1 x"])
    }

    @Test func itWaitsForTheConnectionAndIsDoneAgainOnTheNext() {
        var client = ClientScript()
        client.machine.signIn(now: client.now)
        #expect(client.take() == [])
        client.machine.connect(now: client.now)
        _ = client.take()
        client.establish(socketID: "1.1")
        #expect(client.take().contains("authorize user 1.1"))
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.receive(success)
        client.close(4200)
        #expect(client.machine.signedInUser == nil)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take().contains("authorize user 2.2"))
    }

    @Test func anAnswerForAnOldConnectionIsDropped() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        let old = client.userRequest
        client.close(4200)
        client.pass(.zero)
        #expect(client.take().contains("cancel authorization"))
        client.establish(socketID: "2.2")
        _ = client.take()
        if let old {
            client.machine.userAuthAnswered(
                old, .success(UserAuthAnswer(auth: "k:old", userData: userData)), now: client.now)
        }
        #expect(client.take() == [])
    }

    @Test func eventsToTheUserReachTheUsersBindings() {
        var client = signedIn()
        client.receive(##"{"event":"notice","channel":"#server-to-user-u1","data":"hi"}"##)
        guard case .events(let batch)? = client.machine.takeNotices().first, let (event, channel) = batch.first else {
            Issue.record("no event")
            return
        }
        #expect(event.eventName == "notice")
        #expect(channel == .user)
    }

    @Test(arguments: [
        ("{\"auth\":\"k:s\"}", "its answer has no user_data"), ("", "its answer is empty"),
        ("[]", "its answer is not a JSON object"),
    ])
    func anAnswerThatCannotBeUsedIsAFailure(body: String, reason: String) {
        #expect(throws: AuthFailure(reason, kind: .unusable)) { try UserAuthAnswer(body: Array(body.utf8)) }
    }

    @Test(arguments: ["{}", #"{"id":""}"#, #"{"id":5}"#, "no JSON"])
    func userDataWithoutAnIDIsAFailure(userData: String) {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        #expect(
            client.take() == [
                "sign-in failed signing in failed: the user_data in its answer has no id pusher:signin_error"
            ])
    }

    @Test func aFailureIsToldOnceAndCanBeTriedAgain() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.failure(AuthFailure("it answered 403", status: 403)))
        #expect(
            client.take() == ["sign-in failed signing in failed: it answered 403 pusher:signin_error"])
        #expect(client.machine.signInFailure != nil)
        client.machine.signIn(now: client.now)
        #expect(client.take() == ["authorize user 1.1"])
    }

    @Test func whatMayPassIsTriedAgain_andTheErrorSaysSo() {
        var client = ClientScript.connected { $0.maximumAuthRetries = 1 }
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.failure(AuthFailure("it answered 503", status: 503, kind: .temporary)))
        var errors: [PusherError] = []
        for case .error(let error) in client.machine.takeNotices() { errors.append(error) }
        #expect(errors.map(\.willRetry) == [true])
        #expect(errors.map(\.retryAfter) == [ClientMachine.Configuration().authRetryDelay])
        #expect(client.machine.signInFailure == nil)
        client.pass(ClientMachine.Configuration().authRetryDelay)
        #expect(client.take() == ["authorize user 1.1"])
        client.answerUser(.failure(AuthFailure("it answered 503", status: 503, kind: .temporary)))
        #expect(
            client.take() == ["sign-in failed signing in failed: it answered 503 pusher:signin_error"])
    }

    @Test func theServersRefusalEndsIt() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:bad", userData: userData)))
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":4009,"message":"bad"}}"#)
        #expect(
            client.takeReports() == ["sign-in failed the server refused the sign-in: bad pusher:signin_error"])
        client.close(4009)
        #expect(
            client.take() == [
                "error the server closed the connection: the connection is unauthorized (“bad”) (code 4009)",
                "connected → disconnected",
            ])
    }

    @Test func silenceEndsIt() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        client.pass(.seconds(30))
        #expect(client.take().contains { $0.contains("there was no answer in time") })
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        _ = client.take()
        client.pass(.seconds(30))
        #expect(client.take().contains { $0.contains("the server did not answer the sign-in in time") })
    }

    @Test(arguments: [#"{"user_data":"x"}"#, "{}", #"{"user_data":"{\"id\":7}"}"#])
    func aSuccessWithoutAUserIsReported(data: String) {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        _ = client.take()
        client.receive(#"{"event":"pusher:signin_success","data":\#(JSONString.quoted(data))}"#)
        #expect(client.take().first?.contains("without an id") == true)
        #expect(client.machine.signedInUser == nil)
    }

    @Test func userDataMayBeAnObject() {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.receive(#"{"event":"pusher:signin_success","data":{"user_data":{"id":"u1"}}}"#)
        #expect(client.machine.signedInUser?.id == "u1")
    }

    @Test func theWatchlistTellsWhoIsOnline() {
        var client = signedIn()
        client.receive(
            #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":[{\"name\":\"online\",\"user_ids\":[\"u2\",\"u3\"]},{\"name\":\"offline\",\"user_ids\":[\"u4\"]}]}"}"#
        )
        #expect(client.take() == ["watchlist online u2 u3", "watchlist offline u4"])
        client.receive(
            #"{"event":"pusher_internal:watchlist_events","data":{"events":[{"name":"offline","user_ids":["u2"]},{"name":"subscribe","channel_name":"c","user_ids":[]},5]}}"#
        )
        #expect(client.take() == ["watchlist offline u2", "watchlist subscribe "])
        #expect(client.machine.onlineUsers == ["u3"])
        client.close(4200)
        #expect(client.machine.onlineUsers == [])
    }

    @Test func aPresenceChannelMayLeaveItToTheSignInWhoJoins() throws {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        let id = try client.subscribe("presence-x")
        _ = client.take()
        client.answer("presence-x")
        #expect(client.take() == [])  // until the sign-in is done
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: userData)))
        client.receive(success)
        #expect(client.take().contains("send subscribe presence-x k:s"))
        #expect(client.machine.myID(on: id) == "u1")
    }

    @Test func aPresenceChannelFailsWithTheSignIn() throws {
        var client = ClientScript.connected()
        client.machine.signIn(now: client.now)
        _ = try client.subscribe("presence-x")
        _ = client.take()
        client.answer("presence-x")
        client.answerUser(.failure(AuthFailure("no")))
        #expect(client.take().contains { $0.hasPrefix("failed channel presence-x") && $0.contains("unless signed in") })
    }

    @Test func theUsersChannelCannotBeLeftByName() {
        var client = signedIn()
        client.unsubscribe("#server-to-user-u1")
        #expect(client.take() == [])
    }
}
