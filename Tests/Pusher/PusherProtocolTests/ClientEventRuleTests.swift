import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Sizes and rates of client events.
struct ClientEventRuleTests {
    private func subscribed(
        _ change: (inout ClientMachine.Configuration) -> Void = { _ in }
    ) throws -> (ClientScript, EventRouter.ChannelID) {
        var client = ClientScript.connected(change)
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-x")
        _ = client.take()
        return (client, id)
    }

    @Test func tenKilobytesAreSentAndOneMoreByteIsNot() throws {
        var (client, id) = try subscribed()
        let largest = "\"" + String(repeating: "x", count: 10_238) + "\""
        try client.machine.trigger("client-a", data: largest, on: id, now: client.now)
        #expect(client.take().count == 1)
        let error = #expect(throws: PusherError.self) {
            try client.machine.trigger("client-a", data: largest + " ", on: id, now: client.now)
        }
        #expect(error?.message == "“client-a” was not sent: its data has 10241 bytes, at most 10240 are allowed")
        #expect(error?.channelName == "private-x")
    }

    @Test func aNameOf201BytesIsRefused() throws {
        let (client, id) = try subscribed()
        var machine = client.machine
        try machine.trigger("client-" + String(repeating: "n", count: 193), data: "1", on: id, now: client.now)
        #expect(throws: PusherError.self) {
            try machine.trigger("client-" + String(repeating: "n", count: 194), data: "1", on: id, now: client.now)
        }
    }

    @Test func withoutALimitAllAreSentAtOnce() throws {
        var (client, id) = try subscribed()
        for number in 0..<50 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        #expect(client.take().count == 50)
    }

    @Test func theLimiterLetsTenPassInAnySecondAndKeepsTheOrder() throws {
        var (client, id) = try subscribed { $0.clientEventRateLimit = 10 }
        var sent: [(MonotonicInstant, String)] = []
        for number in 0..<35 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        sent += client.take().map { (client.now, $0) }
        #expect(sent.count == 10)
        while let deadline = client.machine.nextDeadline, sent.count < 35 {
            client.pass(deadline - client.now)
            sent += client.take().map { (client.now, $0) }
        }
        #expect(sent.map(\.1) == (0..<35).map { "send client-a private-x \($0)" })
        for index in 10..<35 { #expect(sent[index].0 - sent[index - 10].0 >= .seconds(1)) }
    }

    @Test func tooManyWaitingAreAnError() throws {
        var (client, id) = try subscribed {
            $0.clientEventRateLimit = 1
            $0.maximumUnsentEvents = 2
        }
        for _ in 0..<3 { try client.machine.trigger("client-a", data: "1", on: id, now: client.now) }
        let error = #expect(throws: PusherError.self) {
            try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        }
        #expect(error?.message.contains("2 events wait already for the rate limit") == true)
    }

    // MARK: Events that are never sent are reported

    private let discarded = "client events were not sent: the channel was unsubscribed"

    @Test func whatWaitsForTheSubscriptionIsReportedWhenTheChannelIsLeft() throws {
        var client = ClientScript()
        let id = try client.subscribe("private-x")
        for number in 0..<3 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        client.unsubscribe("private-x")
        #expect(client.take() == ["error channel private-x: 3 \(discarded)"])
    }

    @Test func whatTheLimiterHoldsIsReportedWhenTheChannelIsLeft() throws {
        var (client, id) = try subscribed { $0.clientEventRateLimit = 1 }
        let other = try client.subscribe("private-y", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-y")
        _ = client.take()
        for number in 0..<3 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        try client.machine.trigger("client-b", data: "4", on: other, now: client.now)
        _ = client.take()
        client.unsubscribe("private-x")
        #expect(client.take() == ["send unsubscribe private-x", "error channel private-x: 2 \(discarded)"])
        client.pass(.seconds(1))
        #expect(client.take() == ["send client-b private-y 4"])
    }

    @Test func whatTheLimiterHoldsGoesBeforeWhatCameAfterTheServerEndedTheSubscription() throws {
        var (client, id) = try subscribed { $0.clientEventRateLimit = 2 }
        for number in 0..<4 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        client.receive(#"{"event":"pusher:subscription_error","channel":"private-x","data":{"type":"x","error":"e"}}"#)
        try client.machine.trigger("client-a", data: "4", on: id, now: client.now)
        client.pass(.seconds(1))
        _ = client.take()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-x")
        client.pass(.seconds(1))
        client.pass(.seconds(1))
        #expect(client.take().filter { $0.contains("client-a") } == (2...4).map { "send client-a private-x \($0)" })
    }

    @Test func nothingIsReportedWhenNothingWaits() throws {
        var (client, id) = try subscribed()
        try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        _ = client.take()
        client.unsubscribe("private-x")
        #expect(client.take() == ["send unsubscribe private-x"])
    }

    @Test func aChannelThatIsJoinedAgainDoesNotSendWhatTheOneBeforeHadWaiting() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        try client.machine.trigger("client-a", data: "1", on: id, now: client.now)
        _ = client.take()
        client.unsubscribe("private-x")
        _ = try client.subscribe("private-x")
        #expect(client.take() == ["error channel private-x: 1 \(discarded)"])
        client.succeed("private-x")
        #expect(!client.take().contains { $0.hasPrefix("send") })
    }

    @Test func whatTheLimiterHoldsSurvivesAReconnect() throws {
        var (client, id) = try subscribed { $0.clientEventRateLimit = 2 }
        for number in 0..<4 { try client.machine.trigger("client-a", data: "\(number)", on: id, now: client.now) }
        _ = client.take()
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        try client.machine.trigger("client-a", data: "4", on: id, now: client.now)
        client.establish(socketID: "2.2")
        _ = client.take()
        client.answer("private-x")
        client.succeed("private-x")
        #expect(
            client.take().filter { $0.hasPrefix("send client") } == [
                "send client-a private-x 2", "send client-a private-x 3",
            ])
        client.pass(.seconds(1))
        #expect(client.take() == ["send client-a private-x 4"])
    }
}
