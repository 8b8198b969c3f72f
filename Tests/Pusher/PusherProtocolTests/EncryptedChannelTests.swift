import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import TestSupport
import Testing

/// Encrypted channels: keys, key rotation and order.
struct EncryptedChannelTests {
    private let name = "private-encrypted-x"
    private let oldKey = ChannelKey([UInt8](repeating: 1, count: 32))
    private let newKey = ChannelKey([UInt8](repeating: 2, count: 32))

    private func auth(_ key: ChannelKey?) -> AuthAnswer { AuthAnswer(auth: "k:s", sharedSecret: key?.base64) }

    private func frame(_ event: String, _ text: String, _ key: ChannelKey?, channel: String? = nil) throws -> String {
        let data = try #require(key).encrypt(text)
        return #"{"event":"\#(event)","channel":"\#(channel ?? name)","data":\#(JSONString.quoted(data))}"#
    }

    /// Returns a client subscribed with the old key, with nothing left to take.
    private func subscribed(_ change: (inout ClientMachine.Configuration) -> Void = { _ in }) throws -> ClientScript {
        var client = ClientScript.connected(change)
        _ = try client.subscribe(name)
        _ = try client.subscribe("c")
        _ = client.take()
        client.answer(name, .success(auth(oldKey)))
        client.succeed(name)
        client.succeed("c")
        _ = client.take()
        return client
    }

    @Test func eventsAreDecrypted() throws {
        var client = try subscribed()
        client.receive(try frame("e", "{\"a\":1}", oldKey), try frame("e", "", oldKey))
        #expect(client.take() == ["event e \(name) {\"a\":1}", "event e \(name) "])
    }

    @Test func eventsOfTheProtocolAreNot() throws {
        var client = try subscribed()
        client.receive(#"{"event":"pusher:cache_miss","channel":"\#(name)"}"#)
        #expect(client.take() == ["event pusher:cache_miss \(name)"])
    }

    /// Names that resemble the protocol's, and protocol names that no server sends to a channel.
    private static let nearMisses = [
        "pusher", "pusherx", "pusherorder", "pusher-news", "PUSHER:x", "Pusher:cache_miss", "pusher_internal",
        "pusher_internalx", "pusher:", "pusher:x", "pusher:cache_missed", "pusher:cache_mis", "pusher:cache_miss ",
        "pusher:ping", "pusher:pong", "pusher:connection_established", "pusher:signin_success",
        "pusher:subscription_succeeded", "pusher:member_added", "pusher:subscription_count",
    ]

    @Test(arguments: nearMisses)
    func onlyEventsOfTheProtocolBypassDecryption(event: String) throws {
        var client = try subscribed()
        client.receive(#"{"event":"\#(event)","channel":"\#(name)","data":"injected"}"#, try frame(event, "1", oldKey))
        let told = client.take()
        #expect(!told.contains { $0.hasPrefix("event") && $0.hasSuffix("injected") })
        #expect(told.first == "undecryptable \(event) injected")
        #expect(told.last == "event \(event) \(name) 1")
    }

    @Test(
        arguments: nearMisses, ["c", "private-x", "presence-x", "cache-x", "private-cache-x", "presence-cache-x"])
    func namesLikeTheProtocolsAreOrdinaryElsewhere(event: String, channel: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe(channel, auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u"}"#))
        client.succeed(channel, data: #"{"presence":{"ids":[],"hash":{},"count":0}}"#)
        _ = client.take()
        client.receive(#"{"event":"\#(event)","channel":"\#(channel)","data":"x"}"#)
        #expect(client.take() == ["event \(event) \(channel) x"])
    }

    @Test func aNewKeyIsAskedForOnceAnEvent() throws {
        var client = try subscribed()
        client.receive(try frame("a", "1", newKey), try frame("b", "2", newKey), try frame("d", "3", oldKey))
        #expect(client.take() == ["authorize \(name) 1.1"])
        client.answer(name, .success(auth(newKey)))
        // The third uses the old key again and needs its own request.
        #expect(client.take() == ["authorize \(name) 1.1", "event a \(name) 1", "event b \(name) 2"])
        client.answer(name, .success(auth(newKey)))
        let told = client.take()
        #expect(told.count == 2)
        #expect(told[0].hasPrefix("undecryptable d {"))
        #expect(told[1].contains("channel \(name): event d cannot be decrypted and was dropped: no key"))
        client.receive(try frame("f", "4", newKey))
        #expect(client.take() == ["event f \(name) 4"])
    }

    /// The server decides how much arrives while a newer key is requested.
    @Test func eventsThatWaitForANewerKeyAreBoundedInBytes() throws {
        var client = try subscribed { $0.maximumSealedBytes = 10_000 }
        let text = String(repeating: "x", count: 3000)
        for number in 1...4 { client.receive(try frame("e\(number)", text, newKey)) }
        let told = client.take()
        #expect(told.first == "authorize \(name) 1.1")
        #expect(
            told.filter { $0.hasPrefix("undecryptable") }.map { $0.prefix(16) } == [
                "undecryptable e3", "undecryptable e4",
            ])
        #expect(told.last?.hasSuffix("too many bytes of events wait for a newer key") == true)
        client.answer(name, .success(auth(newKey)))
        #expect(client.take() == ["event e1 \(name) \(text)", "event e2 \(name) \(text)"])
    }

    /// A server without the key must not make the client query the application's endpoint as fast as it answers.
    @Test func aKeyThatOpensNothingIsNotAskedForAgainAtOnce() throws {
        var client = try subscribed()
        var requests = 0
        for second in 0..<600 {
            for number in 0..<3 { client.receive(try frame("e\(second).\(number)", "x", newKey)) }
            let told = client.take()
            requests += told.count { $0 == "authorize \(name) 1.1" }
            if told.contains("authorize \(name) 1.1") { client.answer(name, .success(auth(oldKey))) }
            #expect(client.machine.isSubscribing(try #require(client.machine.channelID(named: name))))
            client.pass(.seconds(1))
        }
        #expect((5...20).contains(requests))
        client.pass(.seconds(120))
        _ = client.take()
        client.receive(try frame("a", "1", newKey))
        #expect(client.take().contains("authorize \(name) 1.1"))
        client.answer(name, .success(auth(newKey)))
        #expect(client.take().contains("event a \(name) 1"))
    }

    @Test func otherChannelsDoNotWait() throws {
        var client = try subscribed()
        client.receive(
            try frame("a", "1", newKey), #"{"event":"e","channel":"c","data":"plain"}"#, try frame("b", "2", oldKey))
        #expect(client.take() == ["authorize \(name) 1.1", "event e c plain"])
        client.answer(name, .failure(AuthFailure("the auth endpoint answered 403")))
        let told = client.take()
        #expect(told.first?.hasPrefix("undecryptable a") == true)
        #expect(told.contains { $0.contains("asked for a newer key, the auth endpoint answered 403") })
        #expect(told.last == "event b \(name) 2")  // the channel continues
    }

    @Test func malformedDataAsksForNothing() throws {
        var client = try subscribed()
        client.receive(#"{"event":"e","channel":"\#(name)","data":"plain"}"#, try frame("f", "1", oldKey))
        let told = client.take()
        #expect(told.first == "undecryptable e plain")
        #expect(told.last == "event f \(name) 1")
        #expect(!told.contains { $0.hasPrefix("authorize") })
    }

    @Test(arguments: [
        (nil, "its answer has no shared_secret"), ("AAAA", "the shared_secret in its answer is not base64 of 32 bytes"),
    ])
    func withoutAKeyThereIsNoSubscription(secret: String?, reason: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe(name)
        _ = client.take()
        client.answer(name, .success(AuthAnswer(auth: "k:s", sharedSecret: secret)))
        let told = client.take()
        #expect(told.count == 1)
        #expect(told[0].contains(reason))
    }

    @Test func aKeyGivenAtSubscribeIsUsed() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe(name, auth: auth(oldKey))
        client.succeed(name)
        _ = client.take()
        client.receive(try frame("e", "1", oldKey))
        #expect(client.take() == ["event e \(name) 1"])
    }

    @Test func unsubscribingForgetsWhatWaits() throws {
        var client = try subscribed()
        client.receive(try frame("a", "1", newKey))
        _ = client.take()
        client.unsubscribe(name)
        #expect(client.take() == ["cancel authorization", "send unsubscribe \(name)"])
        client.answer(name, .success(auth(newKey)))
        #expect(client.take() == [])
    }

    /// They would cause a key request, and mix with the events of the new subscription.
    @Test func whatIsOnItsWayWhenTheChannelIsLeftIsNotForTheNextOne() throws {
        var client = try subscribed()
        client.unsubscribe(name)
        _ = try client.subscribe(name)
        _ = client.take()
        client.receive(try frame("a", "1", oldKey))
        #expect(client.take() == [])
        client.answer(name, .success(auth(oldKey)))
        client.succeed(name)
        _ = client.take()
        client.receive(try frame("b", "2", oldKey))
        #expect(client.take() == ["event b \(name) 2"])
    }

    @Test func whatWaitsSurvivesAReconnect() throws {
        var client = try subscribed()
        client.receive(try frame("a", "1", newKey))
        _ = client.take()
        client.close(4200)
        client.pass(.seconds(1))
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take().contains("authorize \(name) 2.2"))
        client.answer(name, .success(auth(newKey)))
        #expect(client.take().contains("event a \(name) 1"))
    }

    @Test func askingForKeysKeepsTheBoundOnRequests() throws {
        var client = ClientScript.connected { $0.maximumAuthRequests = 1 }
        for number in 1...3 { _ = try client.subscribe("private-encrypted-\(number)", auth: auth(oldKey)) }
        for number in 1...3 { client.succeed("private-encrypted-\(number)") }
        _ = client.take()
        for number in 1...3 {
            client.receive(try frame("e", "x", newKey, channel: "private-encrypted-\(number)"))
        }
        for number in 1...3 {
            #expect(client.take().filter { $0.hasPrefix("authorize") } == ["authorize private-encrypted-\(number) 1.1"])
            client.answer("private-encrypted-\(number)", .success(auth(newKey)))
        }
        #expect(client.take() == ["event e private-encrypted-3 x"])
    }
}
