import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Cache channels, subscription counts and gaps.
struct CacheChannelTests {
    private func origins(_ client: inout ClientScript) -> [EventOrigin] {
        client.machine.takeNotices().flatMap { notice -> [EventOrigin] in
            guard case .events(let batch) = notice else { return [] }
            return batch.map(\.event).filter { !$0.eventName.hasPrefix("pusher:") }.map(\.origin)
        }
    }

    private func subscribed(_ name: String) throws -> ClientScript {
        var client = ClientScript.connected()
        _ = try client.subscribe(name)
        client.succeed(name)
        _ = client.take()
        return client
    }

    private func reconnect(_ client: inout ClientScript, _ name: String) {
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        client.succeed(name)
        _ = client.take()
    }

    private func event(_ data: String, _ name: String = "e") -> String {
        #"{"event":"\#(name)","channel":"cache-x","data":"\#(data)"}"#
    }

    @Test func theFirstEventAfterTheSubscriptionWasKept() throws {
        var client = try subscribed("cache-x")
        client.receive(event("1"), event("2"))
        #expect(origins(&client) == [.cache, .live])
    }

    @Test func afterAMissEverythingIsLive() throws {
        var client = try subscribed("cache-x")
        client.receive(#"{"event":"pusher:cache_miss","channel":"cache-x"}"#, event("1"))
        #expect(origins(&client) == [.live])
    }

    /// A server without caches sends nothing at all.
    @Test func whatComesLongAfterTheSubscriptionIsLive() throws {
        var client = try subscribed("cache-x")
        client.now = client.now + .seconds(2)
        client.receive(event("1"))
        #expect(origins(&client) == [.live])
    }

    @Test(arguments: [(0, EventOrigin.cache), (999, .cache), (1000, .live)])
    func whatWasKeptComesWithinASecond(milliseconds: Int, origin: EventOrigin) throws {
        var client = try subscribed("cache-x")
        client.now = client.now + .milliseconds(milliseconds)
        client.receive(event("1"), event("2"))
        #expect(origins(&client) == [origin, .live])
    }

    /// The network delayed it for longer than a server needs.
    @Test func whatAReconnectRepeatsLateIsTold() throws {
        var client = try subscribed("cache-x")
        client.receive(event("1"))
        _ = client.take()
        reconnect(&client, "cache-x")
        client.now = client.now + .seconds(13)
        client.receive(event("1"), event("1"))
        #expect(origins(&client) == [.repeatedCache, .live])
    }

    @Test func eventsOfClientsAreNotKept() throws {
        var client = try subscribed("cache-x")
        client.receive(event("0", "client-e"), event("1"))
        #expect(origins(&client) == [.live, .cache])
    }

    /// These events were not published.
    @Test func eventsNamedLikeTheProtocolsAreNotKept() throws {
        var client = try subscribed("cache-x")
        client.receive(event("0", "pusher:news"), event("1"), event("2"))
        #expect(origins(&client) == [.cache, .live])
    }

    @Test func whatAReconnectRepeatsIsTold() throws {
        var client = try subscribed("cache-x")
        client.receive(event("1"), event("2"))
        _ = client.take()
        reconnect(&client, "cache-x")
        client.receive(event("2"))
        #expect(origins(&client) == [.repeatedCache])
        reconnect(&client, "cache-x")
        client.receive(event("3"))
        #expect(origins(&client) == [.cache])
    }

    @Test func whatIsOnItsWayWhenAChannelIsLeftIsNotForTheNextOne() throws {
        var client = try subscribed("cache-x")
        client.unsubscribe("cache-x")
        _ = try client.subscribe("cache-x")
        client.receive(event("1"))
        #expect(origins(&client) == [])
        client.succeed("cache-x")
        client.receive(event("1"), event("2"))
        #expect(origins(&client) == [.cache, .live])
    }

    @Test func whatALateSuccessBringsIsNotForTheNextSubscription() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("cache-x")
        client.pass(.seconds(30))
        _ = try client.subscribe("cache-x")
        client.succeed("cache-x")
        client.receive(event("1"), event("2"))
        #expect(origins(&client) == [])
        client.succeed("cache-x")
        client.receive(event("2"), event("3"))
        #expect(origins(&client) == [.cache, .live])
    }

    @Test func whatALateSuccessBringsIsNotForAnAuthorization() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-cache-x", auth: AuthAnswer(auth: "k:s"))
        client.pass(.seconds(30))
        _ = try client.subscribe("private-cache-x")
        _ = client.take()
        client.succeed("private-cache-x")
        let event = #"{"event":"e","channel":"private-cache-x","data":"1"}"#
        client.receive(event)
        #expect(client.take() == [])
        client.answer("private-cache-x")
        _ = client.take()
        client.succeed("private-cache-x")
        client.receive(event)
        #expect(origins(&client) == [.cache])
    }

    @Test func otherChannelsKeepNothing() throws {
        var client = try subscribed("x")
        client.receive(#"{"event":"e","channel":"x","data":""}"#)
        #expect(origins(&client) == [.live])
    }

    @Test(arguments: ["x", "presence-x"])
    func subscriptionCountsAreToldAndForgottenWithTheConnection(name: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe(name, auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u"}"#))
        client.succeed(name, data: #"{"presence":{"ids":[],"hash":{},"count":0}}"#)
        _ = client.take()
        client.receive(
            #"{"event":"pusher_internal:subscription_count","channel":"\#(name)","data":"{\"subscription_count\":0}"}"#)
        #expect(client.take() == ["count 0", "event pusher:subscription_count \(name) {\"subscription_count\":0}"])
        #expect(client.machine.subscriptionCount(of: id) == 0)
        client.close(4200)
        #expect(client.machine.subscriptionCount(of: id) == nil)
    }

    @Test(arguments: ["{}", #"{\"subscription_count\":\"x\"}"#, #"{\"subscription_count\":-1}"#, ""])
    func aCountThatIsNoneIsReported(data: String) throws {
        var client = try subscribed("x")
        client.receive(#"{"event":"pusher_internal:subscription_count","channel":"x","data":"\#(data)"}"#)
        #expect(client.take().first?.contains("it has no subscription_count") == true)
    }

    @Test func aReconnectTellsTheGap() throws {
        var client = try subscribed("x")
        client.now = client.now + .seconds(5)
        client.receive(#"{"event":"e","channel":"x","data":""}"#)
        client.now = client.now + .seconds(20)
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.now = client.now + .seconds(3)
        client.succeed("x")
        #expect(client.take() == ["subscribed x", "gap x 23.0 s", "event pusher:subscription_succeeded x {}"])
    }

    @Test func aGapLastsUntilTheSubscriptionIsBack() throws {
        var client = try subscribed("x")
        for socketID in ["2.2", "3.3"] {
            client.close(4200)
            client.now = client.now + .seconds(10)
            client.pass(.zero)
            _ = client.take()
            client.establish(socketID: socketID)
        }
        _ = client.take()
        client.succeed("x")
        #expect(client.take().contains("gap x 20.0 s"))
    }

    @Test func aSubscriptionTakenBackInheritsNoneOfTheOneBefore() throws {
        var client = try subscribed("x")
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        client.unsubscribe("x")
        _ = try client.subscribe("x")
        _ = client.take()
        client.succeed("x")
        #expect(client.take() == ["subscribed x", "event pusher:subscription_succeeded x {}"])
    }

    /// The first success was the late answer to an abandoned subscription, after an error that could have been its
    /// refusal.
    @Test func aSecondAnswerToSubscriptionsTellsOfAGap() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("cache-x")
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":"another one"}}"#)
        client.pass(.seconds(30))
        _ = try client.subscribe("cache-x")
        client.succeed("cache-x")
        _ = client.take()
        client.now = client.now + .seconds(2)
        client.succeed("cache-x")
        #expect(client.take() == ["gap cache-x 2.0 s", "event pusher:subscription_succeeded cache-x {}"])
        client.succeed("cache-x")
        #expect(client.take() == [])
    }

    @Test func theFirstSubscriptionHasNone() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("x")
        _ = client.take()
        client.succeed("x")
        #expect(!client.take().contains { $0.hasPrefix("gap") })
    }

    @Test func anErrorThatNamesAChannelUnderWayRefusesIt() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("x")
        _ = try client.subscribe("y")
        client.succeed("y")
        _ = client.take()
        client.receive(#"{"event":"pusher:error","channel":"x","data":{"code":4009,"message":"no"}}"#)
        #expect(
            client.takeReports() == ["failed channel x: the server refused the subscription: no (code 4009)"])
        client.receive(#"{"event":"pusher:error","channel":"y","data":{"code":4301,"message":"slow"}}"#)
        #expect(client.takeReports() == ["error channel y: the server reports: slow (code 4301)"])
    }
}
