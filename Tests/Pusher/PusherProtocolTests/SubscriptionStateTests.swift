import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// The subscriptions after any actions of the application and the network.
struct SubscriptionStateTests {
    /// Returns a client subscribed to `name` with the application's signature, with nothing left to take.
    private func makeSubscribed(_ name: String) throws -> (ClientScript, EventRouter.ChannelID) {
        var client = ClientScript.connected()
        let id = try client.subscribe(name, auth: AuthAnswer(auth: "k:s"))
        client.succeed(name)
        _ = client.take()
        return (client, id)
    }

    // MARK: Authorization

    @Test(.regression("A signature for one connection was sent on the next."))
    func aStaleSignatureIsDropped() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        let stale = try #require(client.requests["private-x"])
        client.reconnect()
        _ = client.take()
        client.machine.authAnswered(stale.id, .success(AuthAnswer(auth: "k:stale")), now: client.now)
        #expect(client.take() == [])
        client.answer("private-x", .success(AuthAnswer(auth: "k:fresh")))
        #expect(client.take() == ["send subscribe private-x k:fresh"])
    }

    @Test(.regression("A channel whose authorization failed stayed pending."))
    func aChannelWhoseAuthorizationFailedIsNotPending() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x", .failure(AuthFailure("the auth endpoint answered 403", status: 403)))
        #expect(client.take().count == 1)
        #expect(client.machine.failure(of: id)?.code == 403)
        client.succeed("private-x")  // of a subscription that was not requested
        #expect(!client.machine.isSubscribed(id))
        _ = try client.subscribe("private-x")
        #expect(client.take() == ["authorize private-x 1.1"])
    }

    @Test(.regression("The channel_data of private channels was left out."))
    func channelDataOnPrivateChannelsIsForwarded() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x", .success(AuthAnswer(auth: "k:s", channelData: #"{"a": 1.50}"#)))
        guard case .send(_, let frame)? = client.machine.takeSorted().orders.first else {
            Issue.record("no frame")
            return
        }
        #expect(
            frame.text
                == #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"k:s","channel_data":"{\"a\": 1.50}"}}"#
        )
    }

    // MARK: The `subscribed` property

    @Test(.regression("A channel that was left still said that it was subscribed."))
    func subscribedIsFalseAfterUnsubscribe() throws {
        var (client, id) = try makeSubscribed("c")
        #expect(client.machine.isSubscribed(id))
        client.unsubscribe("c")
        #expect(!client.machine.isSubscribed(id))
        client.succeed("c")
        #expect(!client.machine.isSubscribed(id))
    }

    @Test(.regression("A channel said that it was subscribed while there was no connection."))
    func subscribedIsFalseWhileReconnecting() throws {
        var (client, id) = try makeSubscribed("c")
        client.close(1006)
        #expect(!client.machine.isSubscribed(id))
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(!client.machine.isSubscribed(id))
        client.succeed("c")
        #expect(client.machine.isSubscribed(id))
    }

    // MARK: Unsubscribing

    @Test(.regression("A channel could not be left before its subscription had succeeded."))
    func aPendingChannelCanBeUnsubscribed() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.unsubscribe("c")
        client.unsubscribe("private-x")
        #expect(client.take() == ["cancel authorization"])
        client.answer("private-x")
        client.succeed("c")
        #expect(client.take() == ["send unsubscribe c"])
        #expect(!client.machine.isSubscribed(id))
        client.reconnect()
        #expect(client.take() == ["connecting → connected"])
    }

    @Test(.regression("A channel that had failed could not be left."))
    func aFailedChannelCanBeUnsubscribed() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x", .failure(AuthFailure("no")))
        _ = client.take()
        client.unsubscribe("private-x")
        #expect(client.take() == [])
        #expect(client.machine.channelNames == [])
        client.reconnect()
        #expect(client.take() == ["connecting → connected"])
    }

    @Test(.regression("Leaving a channel twice crashed the program."))
    func unsubscribingTwiceIsHarmless() throws {
        var (client, _) = try makeSubscribed("c")
        client.unsubscribe("c")
        client.unsubscribe("c")
        #expect(client.take() == ["send unsubscribe c"])
        client.unsubscribe("c")
        client.unsubscribe("never heard of")
        #expect(client.take() == [])
    }

    // MARK: Subscribing

    @Test(.regression("A channel was subscribed to twice on one connection."))
    func thereIsNoDuplicateSubscribeFrame() throws {
        var client = ClientScript()
        for _ in 0..<3 { _ = try client.subscribe("c") }
        client.machine.connect(now: client.now)
        _ = client.take()
        client.establish(socketID: "1.1")
        _ = try client.subscribe("c")
        #expect(client.take().filter { $0.hasPrefix("send") } == ["send subscribe c"])
        client.succeed("c")
        _ = try client.subscribe("c")
        #expect(!client.take().contains { $0.hasPrefix("send") })
    }

    @Test(.regression("A success without data was taken for a failure."))
    func aSuccessWithoutDataIsASuccess() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        _ = client.take()
        client.succeed("c", data: nil)
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c"])
        #expect(client.machine.isSubscribed(id))
    }

    @Test(.regression("One success was told twice."))
    func successIsToldOnceAConnection() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        for _ in 0..<3 { client.succeed("c") }
        #expect(client.take().count { $0 == "subscribed c" } == 1)
        client.reconnect()
        for _ in 0..<3 { client.succeed("c") }
        #expect(client.take().count { $0 == "subscribed c" } == 1)
    }

    @Test(.regression("A connection lost while subscribing left the channel behind."))
    func aDropWhileSubscribingSubscribesAgain() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        let id = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x")
        #expect(client.take() == ["send subscribe private-x k:s"])
        client.reconnect()
        #expect(client.take() == ["send subscribe c", "authorize private-x 2.2", "connecting → connected"])
        client.answer("private-x")
        client.succeed("private-x")
        #expect(client.machine.isSubscribed(id))
    }

    @Test(
        .regression("A refusal by the server was not told."),
        arguments: ["pusher:subscription_error", "pusher_internal:subscription_error"])
    func aSubscriptionErrorOfTheServerIsTold(event: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        client.receive(
            #"{"event":"\#(event)","channel":"private-x","data":"{\"type\":\"AuthError\",\"error\":\"no\",\"status\":401}"}"#
        )
        guard case .subscriptionFailed(id, let error, _, let told)? = client.machine.takeNotices().first else {
            Issue.record("no failure")
            return
        }
        #expect(error.kind == .subscriptionFailed)
        #expect(error.message.contains("AuthError: no (status 401)"))
        #expect(told.eventName == "pusher:subscription_error")
        #expect(!client.machine.isSubscribed(id))
        #expect(client.machine.connectionState == .connected)
    }

    // MARK: Pending client events

    @Test(.regression("Client events that had waited were sent out of order."))
    func queuedClientEventsAreFlushedInOrder() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        for number in 0..<20 {
            try client.machine.trigger("client-\(number % 3)", data: "\(number)", on: id, now: client.now)
        }
        #expect(client.take() == [])
        client.succeed("private-x")
        #expect(
            client.take().filter { $0.hasPrefix("send") }
                == (0..<20).map { "send client-\($0 % 3) private-x \($0)" })
    }

    @Test(.regression("Of client events of one name that waited, one was sent."))
    func queuedClientEventsOfTheSameNameAreNotOverwritten() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        for data in ["1", "2", "2"] { try client.machine.trigger("client-a", data: data, on: id, now: client.now) }
        client.succeed("private-x")
        #expect(
            client.take().filter { $0.hasPrefix("send") } == [
                "send client-a private-x 1", "send client-a private-x 2", "send client-a private-x 2",
            ])
    }

    // MARK: Counts

    @Test(.regression("Subscription counts of presence channels were dropped."))
    func subscriptionCountsComeOnPresenceChannelsToo() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u"}"#))
        client.succeed("presence-x", data: #"{"presence":{"ids":["u"],"hash":{"u":null},"count":1}}"#)
        _ = client.take()
        client.receive(
            #"{"event":"pusher_internal:subscription_count","channel":"presence-x","data":"{\"subscription_count\":7}"}"#
        )
        #expect(client.take().first == "count 7")
        #expect(client.machine.subscriptionCount(of: id) == 7)
        #expect(client.machine.members(of: id).count == 1)
    }

    // MARK: Any order

    @Test(.regression("Quick changes of mind left a channel in the wrong state."))
    func anyChainOfSubscribesAndUnsubscribesEndsInTheLastIntent() throws {
        for seed: UInt64 in 0..<400 {
            var play = Play(seed: seed)
            try play.run()
            #expect(play.mistakes == [], "seed \(seed)")
            #expect(play.serverHas == play.isWanted, "seed \(seed)")
            #expect(play.client.machine.channelNames == (play.isWanted ? [Play.channel] : []), "seed \(seed)")
            if let id = play.client.machine.channelID(named: Play.channel) {
                #expect(play.client.machine.isSubscribed(id), "seed \(seed)")
            }
        }
    }

    /// An application that keeps changing its mind, an auth endpoint and a server that sometimes refuse, and a network
    /// that fails.
    private struct Play {
        static let channel = "private-x"

        var client = ClientScript.connected()
        var isWanted = false
        var serverHas = false
        var mistakes: [String] = []
        /// The server's pending answers: success or refusal.
        private var answers: [Bool] = []
        private var isFriendly = false
        private var random: JitterGenerator

        init(seed: UInt64) {
            random = JitterGenerator(seed: seed)
        }

        mutating func run() throws {
            for _ in 0..<Int.random(in: 1...40, using: &random) { try step() }
            isFriendly = true
            for _ in 0..<3 {
                try settle()
                guard isWanted, !serverHas else { return }
                drop()  // refused subscriptions are retried on the next connection
            }
        }

        private mutating func step() throws {
            switch Int.random(in: 0...11, using: &random) {
            case 0...2:
                _ = try client.subscribe(Self.channel)
                isWanted = true
            case 3, 4:
                client.unsubscribe(Self.channel)
                isWanted = false
            case 5, 6: client.answer(Self.channel)
            case 7: client.answer(Self.channel, .failure(AuthFailure("no", status: 403)))
            case 8, 9: answer()
            case 10: if Bool.random(using: &random) { drop() } else { comeBack() }
            default:  // long enough for time-outs
                if answers.allSatisfy({ $0 }) { client.pass(.seconds(Int.random(in: 1...40, using: &random))) }
            }
            serve()
        }

        /// Completes all pending work.
        private mutating func settle() throws {
            for _ in 0..<5 {
                comeBack()
                client.answer(Self.channel)
                serve()
                while !answers.isEmpty {
                    answer()
                    serve()
                }
            }
        }

        private mutating func answer() {
            guard !answers.isEmpty else { return }
            if answers.removeFirst() {
                client.succeed(Self.channel)
            } else {
                client.receive(
                    #"{"event":"pusher:subscription_error","channel":"\#(Self.channel)","data":{"type":"AuthError"}}"#)
            }
        }

        private mutating func drop() {
            client.close([1006, 4200, 4100].randomElement(using: &random) ?? 1006)
            (serverHas, answers) = (false, [])
        }

        private mutating func comeBack() {
            if client.machine.connectionState == .reconnecting, let deadline = client.machine.nextDeadline {
                client.pass(max(deadline - client.now, .zero))
                serve()
            }
            if client.machine.connectionState == .connecting {
                client.establish(socketID: "\(Int.random(in: 1...999, using: &random)).1")
            }
        }

        /// Lets the server process the sent frames.
        private mutating func serve() {
            for line in client.take() {
                if line.hasPrefix("drop") { (serverHas, answers) = (false, []) }
                if line == "send subscribe \(Self.channel) k:s" {
                    if serverHas { mistakes.append("a second subscription") }
                    serverHas = isFriendly || Int.random(in: 0...3, using: &random) > 0
                    answers.append(serverHas)
                }
                if line == "send unsubscribe \(Self.channel)" {
                    if !serverHas, answers.isEmpty { mistakes.append("an unsubscription of nothing") }
                    serverHas = false
                }
            }
        }
    }
}
