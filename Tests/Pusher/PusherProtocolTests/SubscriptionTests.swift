import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

struct SubscriptionTests {
    private let reader = EventReader(.sequence, eventName: nil, channelName: nil)

    // MARK: Normal operation

    @Test func subscribingBeforeConnectingWaitsForTheHandshake() throws {
        var client = ClientScript()
        let id = try client.subscribe("c")
        #expect(client.take() == [])
        client.machine.connect(now: client.now)
        #expect(client.take() == ["open 1 wss", "disconnected → connecting"])
        client.establish(socketID: "1.1")
        #expect(client.take() == ["send subscribe c", "connecting → connected"])
        #expect(!client.machine.isSubscribed(id))
        client.succeed("c")
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c {}"])
        #expect(client.machine.isSubscribed(id))
    }

    @Test func privateChannelsAreAuthorizedForTheSocket() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        #expect(client.take() == ["authorize private-x 1.1"])
        client.answer("private-x")
        #expect(client.take() == ["send subscribe private-x k:s"])
    }

    @Test func aGivenSignatureIsUsedOnce() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:given"))
        #expect(client.take() == ["send subscribe private-x k:given"])
        client.succeed("private-x")
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take().contains("authorize private-x 2.2"))
    }

    @Test func oneFrameForAChannelAndConnection() throws {
        var client = ClientScript.connected()
        let first = try client.subscribe("c")
        #expect(try client.subscribe("c") == first)
        #expect(client.take() == ["send subscribe c"])
        client.succeed("c")
        #expect(try client.subscribe("c") == first)
        client.succeed("c")
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c {}"])
    }

    @Test func successWithoutDataIsASuccess() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        _ = client.take()
        client.succeed("c", data: nil)
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c"])
    }

    @Test func eventsReachTheirChannelInOrder() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("a")
        _ = try client.subscribe("b")
        client.succeed("a")
        client.succeed("b")
        _ = client.take()
        client.receive(
            #"{"event":"e","channel":"a","data":"1"}"#, #"{"event":"e","channel":"b","data":"2"}"#,
            #"{"event":"f","channel":"a","data":"3"}"#)
        #expect(client.take() == ["event e a 1", "event e b 2", "event f a 3"])
    }

    // MARK: Reconnecting

    @Test func everyChannelComesBackWithFreshAuthorization() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x")
        _ = try client.subscribe("c")
        _ = client.take()
        client.answer("private-x")
        client.succeed("private-x")
        client.succeed("c")
        _ = client.take()
        client.close(1006)
        #expect(!client.machine.isSubscribed(id))
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take() == ["authorize private-x 2.2", "send subscribe c", "connecting → connected"])
    }

    @Test func anAnswerForAnOldSocketIsDropped() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        let stale = try #require(client.requests["private-x"])
        client.close(1006)
        #expect(client.take().contains("cancel authorization"))
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.machine.authAnswered(stale.id, .success(AuthAnswer(auth: "k:stale")), now: client.now)
        #expect(client.take() == [])
        client.answer("private-x", .success(AuthAnswer(auth: "k:fresh")))
        #expect(client.take() == ["send subscribe private-x k:fresh"])
    }

    @Test func duplicatedAnswersCountOnce() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x")
        client.answer("private-x")
        client.answer("private-x", .failure(AuthFailure("late")))
        #expect(client.take() == ["send subscribe private-x k:s"])
    }

    @Test func disconnectingKeepsTheSubscriptionsForTheNextConnect() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.machine.disconnect(now: client.now)
        client.close(1000)
        #expect(client.take() == ["close 1", "connected → disconnecting", "disconnecting → disconnected"])
        client.machine.connect(now: client.now)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take() == ["send subscribe c", "connecting → connected"])
    }

    // MARK: The last intent wins

    @Test func unsubscribingSendsAFrameAndSilencesTheChannel() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.unsubscribe("c")
        client.unsubscribe("c")
        client.receive(#"{"event":"e","channel":"c"}"#)
        #expect(client.take() == ["send unsubscribe c"])
        #expect(!client.machine.isSubscribed(id))
        #expect(client.machine.channelNames == [])
    }

    @Test func unsubscribingWithoutAConnectionForgets() throws {
        var client = ClientScript()
        _ = try client.subscribe("c")
        client.unsubscribe("c")
        client.connect()
        #expect(client.take() == [])
        client.unsubscribe("never heard of")
        #expect(client.take() == [])
    }

    @Test func unsubscribingBeforeTheAnswerWaitsForIt() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        _ = client.take()
        client.unsubscribe("c")
        #expect(client.take() == [])
        client.succeed("c")
        #expect(client.take() == ["send unsubscribe c"])
        #expect(try client.subscribe("c") != EventRouter.ChannelID(number: 1))
        #expect(client.take() == ["send subscribe c"])
    }

    @Test func subscribingAgainBeforeTheAnswerTakesItBack() throws {
        var client = ClientScript.connected()
        let first = try client.subscribe("c")
        client.unsubscribe("c")
        let second = try client.subscribe("c")
        #expect(first != second)
        #expect(client.take() == ["send subscribe c"])
        client.succeed("c")
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c {}"])
        #expect(client.machine.isSubscribed(second))
    }

    @Test func unsubscribingWhileAuthorizingSendsNothing() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.unsubscribe("private-x")
        #expect(client.take() == ["cancel authorization"])
        client.answer("private-x")
        #expect(client.take() == [])
    }

    @Test func subscribingRightAfterUnsubscribingKeepsTheOrder() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.unsubscribe("c")
        _ = try client.subscribe("c")
        #expect(client.take() == ["send unsubscribe c", "send subscribe c"])
    }

    @Test func anUnwantedChannelIsForgottenWithTheConnection() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.unsubscribe("c")
        client.close(1006)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take() == ["connecting → connected"])
    }

    @Test func subscribingFreshAfterAnUnsubscribeWhilePendingAndADrop() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.unsubscribe("c")
        _ = try client.subscribe("c")
        client.close(1006)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take() == ["send subscribe c", "connecting → connected"])
    }

    /// Any sequence of calls and answers ends in the last intent, never with two subscriptions at the server.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func anyChainEndsInTheLastIntent(seed: UInt64) throws {
        var random = JitterGenerator(seed: seed)
        var client = ClientScript.connected()
        var isWanted = false
        var serverHas = false
        var unanswered = 0
        func serve(_ lines: [String]) {
            for line in lines {
                if line == "send subscribe private-x k:s" {
                    #expect(!serverHas, "a second subscription")
                    serverHas = true
                    unanswered += 1
                }
                if line == "send unsubscribe private-x" {
                    #expect(serverHas, "an unsubscription of nothing")
                    serverHas = false
                }
            }
        }
        for _ in 0..<Int.random(in: 1...30, using: &random) {
            switch Int.random(in: 0...4, using: &random) {
            case 0, 1:
                _ = try client.subscribe("private-x")
                isWanted = true
            case 2:
                client.unsubscribe("private-x")
                isWanted = false
            case 3: client.answer("private-x")
            default:
                if unanswered > 0 {
                    unanswered -= 1
                    client.succeed("private-x")
                }
            }
            serve(client.take())
        }
        for _ in 0..<5 {  // all pending requests are answered
            client.answer("private-x")
            serve(client.take())
            while unanswered > 0 {
                unanswered -= 1
                client.succeed("private-x")
                serve(client.take())
            }
        }
        #expect(serverHas == isWanted)
        #expect(client.machine.channelNames == (isWanted ? ["private-x"] : []))
        if let id = client.machine.channelID(named: "private-x") { #expect(client.machine.isSubscribed(id)) }
    }

    // MARK: Failures

    @Test func aFailedAuthorizationIsReportedAndCanBeRetried() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x")
        _ = try client.subscribe("c")
        _ = client.take()
        client.answer("private-x", .failure(AuthFailure("the auth endpoint answered 403", status: 403)))
        #expect(
            client.take() == [
                "failed channel private-x: authorization failed: the auth endpoint answered 403"
            ])
        #expect(client.machine.failure(of: id)?.kind == .authorizationFailed)
        #expect(client.machine.connectionState == .connected)
        #expect(try client.subscribe("private-x") == id)
        #expect(client.take() == ["authorize private-x 1.1"])
        client.answer("private-x")
        #expect(client.take() == ["send subscribe private-x k:s"])
        #expect(client.machine.failure(of: id) == nil)
    }

    @Test func theErrorEventSaysWhatHappened() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.machine.takeActions().compactMap { if case .authorize(let request) = $0 { request } else { nil } }
            .map {
                client.machine.authAnswered($0.id, .failure(AuthFailure("it said “no”", status: 500)), now: client.now)
            }
        guard case .subscriptionFailed(_, _, _, let event)? = client.machine.takeNotices().last else {
            Issue.record("no failure")
            return
        }
        #expect(event.eventName == "pusher:subscription_error")
        #expect(event.data == #"{"type":"AuthError","error":"authorization failed: it said “no”","status":500}"#)
    }

    @Test func aPresenceChannelNeedsChannelData() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("presence-x")
        _ = client.take()
        client.answer("presence-x")
        #expect(client.take().first?.contains("no channel_data") == true)
    }

    @Test(arguments: ["pusher:subscription_error", "pusher_internal:subscription_error"])
    func theServersRefusalEndsTheWait(event: String) throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        client.receive(
            #"{"event":"\#(event)","channel":"private-x","data":{"type":"AuthError","error":"no","status":401}}"#)
        #expect(
            client.take() == [
                "failed channel private-x: the server refused the subscription: AuthError: no (status 401)"
            ])
        #expect(client.machine.failure(of: id) != nil)
        client.pass(.seconds(60))
        #expect(client.take() == [])
    }

    @Test func anUnansweredSubscriptionTimesOut() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        _ = client.take()
        client.pass(.seconds(29))
        #expect(client.take() == [])
        client.pass(.seconds(1))
        #expect(client.take() == ["failed channel c: the server did not answer the subscription in time"])
        client.succeed("c")  // late, but true
        #expect(client.machine.isSubscribed(id))
    }

    /// Its answer is due before those of later subscriptions.
    @Test func takingAnUnsubscriptionBackKeepsTheDeadline() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("older")
        client.unsubscribe("older")
        client.pass(.seconds(20))
        _ = try client.subscribe("newer")
        _ = try client.subscribe("older")
        #expect(client.take() == ["send subscribe older", "send subscribe newer"])
        #expect(client.machine.nextDeadline == client.now + .seconds(10))
        client.pass(.seconds(10))
        #expect(client.take() == ["failed channel older: the server did not answer the subscription in time"])
        client.pass(.seconds(20))
        #expect(client.take() == ["failed channel newer: the server did not answer the subscription in time"])
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func noSubscriptionOutlivesItsDeadline(seed: UInt64) throws {
        var random = JitterGenerator(seed: seed)
        var client = ClientScript.connected()
        var sent: [String: MonotonicInstant] = [:]  // unanswered, by channel
        for _ in 0..<200 {
            let name = ["a", "b", "c", "d"].randomElement(using: &random) ?? ""
            switch Int.random(in: 0...9, using: &random) {
            case 0...2: _ = try client.subscribe(name)
            case 3, 4: client.unsubscribe(name)
            case 5 where sent[name] != nil: client.succeed(name)
            default: client.pass(.seconds(Int.random(in: 1...4, using: &random)))
            }
            for line in client.take() {
                let words = line.split(separator: " ").map(String.init)
                switch (words[0], words.dropFirst().first) {
                case ("send", "subscribe"): sent[words[2]] = client.now
                case ("send", "unsubscribe"): sent[words[2]] = nil
                case ("subscribed", let name?): sent[name] = nil
                case ("failed", _): sent[words[2].filter { $0 != ":" }] = nil
                default: break
                }
            }
            for (name, moment) in sent {
                #expect(client.now - moment < .seconds(30), "\(name) is still waited for")
            }
        }
    }

    /// The server may only have been slow, and would see a second subscription.
    @Test func subscribingAgainAfterATimeOutTakesTheFirstBack() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        client.pass(.seconds(30))
        _ = client.take()
        _ = try client.subscribe("c")
        #expect(client.take() == ["send unsubscribe c", "send subscribe c"])
        client.succeed("c")
        client.succeed("c")
        #expect(client.take().count { $0 == "subscribed c" } == 1)
        #expect(client.machine.isSubscribed(id))
    }

    private let refusal = #"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature"}}"#

    /// Otherwise the client would permanently consider itself subscribed.
    @Test func aLateSuccessDoesNotAnswerALaterSubscription() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.pass(.seconds(30))
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:bad"))
        _ = client.take()
        client.succeed("private-x")
        #expect(client.take() == [])
        client.receive(refusal)
        #expect(client.takeReports() == refused("private-x"))
        #expect(!client.machine.isSubscribed(id))
        client.pass(.seconds(30))
        #expect(client.take() == [])
    }

    private func refused(_ channel: String) -> [String] {
        ["failed channel \(channel): the server refused the subscription: Invalid signature"]
    }

    /// The vendor's answer to a wrong signature names no channel, but quotes the text to be signed.
    @Test(arguments: [
        ("private-b", "1.1:private-b, but got 00"), ("private-b,c", "1.1:private-b,c, but got 00"),
        ("presence-a", #"1.1:presence-a:{"user_id":"private-b"}, but got 00"#),
    ])
    func aRefusalWithoutAChannelIsThatOfTheChannelInItsText(channel: String, text: String) throws {
        var client = ClientScript.connected()
        let names = ["private-a", "private-b", "private-b,c", "presence-a", "c"]
        for name in names {
            _ = try client.subscribe(name, auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"private-b"}"#))
        }
        _ = client.take()
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of \(text)"
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":\#(JSONString.quoted(message))}}"#)
        #expect(client.takeReports() == refused(channel))
        for name in names where name != channel {
            client.succeed(name, data: #"{"presence":{"ids":[],"hash":{},"count":0}}"#)
            #expect(client.take().first == "subscribed \(name)")
        }
    }

    /// Requests are answered in order.
    @Test(arguments: ["Invalid signature", "Invalid key in subscription auth data: 'x'"])
    func aRefusalWithoutAnyNameIsThatOfTheOldestRequest(message: String) throws {
        var client = ClientScript.connected()
        for name in ["c", "private-a", "private-b", "private-d"] {
            _ = try client.subscribe(name, auth: AuthAnswer(auth: "k:s"))
        }
        client.succeed("private-a")
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":\#(JSONString.quoted(message))}}"#)
        let told = client.takeReports()
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("failed channel private-b: ") == true)
        client.succeed("private-d")
        client.succeed("c")
        #expect(client.take().filter { $0.hasPrefix("subscribed") } == ["subscribed private-d", "subscribed c"])
    }

    /// An error about something else refuses nothing.
    @Test(arguments: [
        "To send client events, you must enable this feature in the Settings page of your dashboard.",
        "Cannot broadcast client event (connection not subscribed to channel private-a)", "",
    ])
    func otherErrorsRefuseNoSubscription(message: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-a", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#)
        #expect(client.takeReports().count == 1)
        client.succeed("private-a")
        #expect(client.take().first == "subscribed private-a")
    }

    /// Reverb refuses a signature with 4009 and stays connected.
    @Test func anUnauthorizedConnectionThatStaysHasRefusedASubscription() throws {
        var client = ClientScript.connected()
        for name in ["private-a", "private-b"] { _ = try client.subscribe(name, auth: AuthAnswer(auth: "k:s")) }
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#)
        #expect(client.takeReports() == [])
        client.succeed("private-b")
        #expect(
            client.take() == [
                "failed channel private-a: the server refused the subscription: Connection is unauthorized (code 4009)",
                "subscribed private-b", "event pusher:subscription_succeeded private-b {}",
            ])
    }

    @Test func afterARefusalWithoutAChannelTheNextSuccessCounts() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:bad"))
        client.receive(refusal)
        client.pass(.seconds(30))
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        _ = client.take()
        client.succeed("private-x")
        #expect(client.take() == ["subscribed private-x", "event pusher:subscription_succeeded private-x {}"])
    }

    @Test func aSubscriptionLostInSilenceCostsOneMoreAttempt() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.pass(.seconds(30))
        _ = try client.subscribe("c")
        client.succeed("c")  // to the first, for all the client knows
        client.pass(.seconds(30))
        #expect(client.take().last == "failed channel c: the server did not answer the subscription in time")
        _ = try client.subscribe("c")
        _ = client.take()
        client.succeed("c")
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c {}"])
    }

    @Test func aLateRefusalDoesNotEndALaterSubscription() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.pass(.seconds(30))
        _ = try client.subscribe("c")
        _ = client.take()
        client.receive(#"{"event":"pusher:subscription_error","channel":"c","data":{"error":"no"}}"#)
        #expect(client.take() == [])
        client.succeed("c")
        #expect(client.take() == ["subscribed c", "event pusher:subscription_succeeded c {}"])
    }

    @Test func aLateSuccessDoesNotEndTheWaitBeforeAnUnsubscription() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.pass(.seconds(30))
        _ = try client.subscribe("c")
        client.unsubscribe("c")
        _ = client.take()
        client.succeed("c")
        #expect(client.take() == [])
        client.succeed("c")
        #expect(client.take() == ["send unsubscribe c"])
    }

    @Test func answersThatNobodyAskedForAreToldOnceAtMost() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        for _ in 0..<100 {
            client.receive(#"{"event":"pusher:subscription_error","channel":"c","data":{"error":"no"}}"#)
            client.succeed("c")
        }
        #expect(client.take() == ["failed channel c: the server refused the subscription: no"])
        #expect(!client.machine.isSubscribed(id))
    }

    @Test func anUnansweredAuthorizationTimesOut() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.pass(.seconds(30))
        #expect(
            client.take() == [
                "cancel authorization", "failed channel private-x: authorization failed: there was no answer in time",
            ])
    }

    @Test func failedChannelsAreTriedAgainOnTheNextConnection() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x", .failure(AuthFailure("no")))
        client.close(1006)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take().contains("authorize private-x 2.2"))
    }

    // MARK: Bounds

    @Test func fewAuthorizationsRunAtATimeInOrder() throws {
        var client = ClientScript.connected { $0.maximumAuthRequests = 2 }
        for number in 1...5 { _ = try client.subscribe("private-\(number)") }
        #expect(client.take() == ["authorize private-1 1.1", "authorize private-2 1.1"])
        client.answer("private-2")
        #expect(client.take() == ["send subscribe private-2 k:s", "authorize private-3 1.1"])
        client.unsubscribe("private-4")
        client.unsubscribe("private-1")
        #expect(client.take() == ["cancel authorization", "authorize private-5 1.1"])
    }

    @Test func afterAPauseInReadingOnlyWhatWasNotAnsweredIsWaitedFor() throws {
        var client = ClientScript.connected()
        for name in ["a", "b", "c"] {
            _ = try client.subscribe(name)
            client.pass(.seconds(1))
        }
        client.succeed("b")
        client.hold(reader)
        client.pass(.seconds(100))
        client.release(reader)
        _ = client.take()
        client.pass(.seconds(29))
        #expect(client.take() == [])
        client.pass(.seconds(1))
        let failures = client.take().filter { $0.hasPrefix("failed") }
        #expect(
            failures == ["a", "c"].map { "failed channel \($0): the server did not answer the subscription in time" })
    }

    @Test func aPauseInReadingIsNotHeldAgainstTheServer() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.hold(reader)
        _ = client.take()
        client.pass(.seconds(100))
        client.release(reader)
        #expect(client.take() == ["resume"])
        client.pass(.seconds(29))
        #expect(client.take() == [])
        client.succeed("c")
        #expect(client.take().first == "subscribed c")
    }
}
