import Basics
import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

@Suite(.overSockets)
struct LogTests {
    private typealias Entry = PusherMockServer.LogEntry

    private func published(_ server: PusherMockServer) async -> [PusherMockServer.PublishedEvent] {
        await server.state.history.compactMap { if case .published(let event) = $0 { event } else { nil } }
    }

    @Test func anEventIsLoggedOnceForAllRecipients() async throws {
        let server = try await PusherMockServer.start()
        _ = try await TestClient.subscribed(to: "c", on: server)
        let (_, excluded) = try await TestClient.subscribed(to: "c", on: server)
        _ = try await TestClient.subscribed(to: "c", on: server)
        await server.publish(event: "e", channel: "c", data: "1")
        await server.publish(event: "e", channel: "nobody", data: "2")
        _ = try await SignedAPI(server: server).post(
            "events", #"{"name":"f","channel":"c","data":"3","socket_id":"\#(excluded)"}"#)
        #expect(
            await published(server) == [
                .init(event: "e", channel: "c", data: "1", app: "app-key", origin: .server, recipientCount: 3),
                .init(event: "e", channel: "nobody", data: "2", app: "app-key", origin: .server, recipientCount: 0),
                .init(event: "f", channel: "c", data: "3", app: "app-key", origin: .httpAPI, recipientCount: 2),
            ])
        await server.stop()
    }

    @Test func aClientEventIsLoggedWithItsSenderAndOnlyIfItIsPassedOn() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(
            to: "presence-x", on: server, channelData: #"{"user_id":"ann"}"#)
        try await client.send(#"{"event":"client-e","channel":"presence-x","data":{"a":1}}"#)
        try await client.send(#"{"event":"client-e","channel":"presence-y","data":{}}"#)
        try await client.send(#"{"event":"client-f","channel":"presence-x"}"#)
        #expect(await eventually { await published(server).count == 2 })
        let origin = PusherMockServer.PublishedEvent.Origin.client(socketID: socketID, userID: "ann")
        #expect(
            await published(server) == [
                .init(
                    event: "client-e", channel: "presence-x", data: #"{"a":1}"#, app: "app-key", origin: origin,
                    recipientCount: 0),
                .init(
                    event: "client-f", channel: "presence-x", data: "", app: "app-key", origin: origin,
                    recipientCount: 0),
            ])
        await server.stop()
    }

    @Test(
        arguments: [
            (nil, "Auth info required to subscribe to private-x"),
            ("app-key:\(HostileText.signature)", "Invalid signature"),
            ("\(HostileText.signature)", "Invalid key in subscription auth data"),
            ("other:\(HostileText.signature)", "Invalid key in subscription auth data"),
        ] as [(String?, String)])
    func aRefusedSubscriptionIsLoggedWithoutItsSignature(auth: String?, reason: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        let member = auth.map { #","auth":"\#($0)""# } ?? ""
        try await client.send(#"{"event":"pusher:subscribe","data":{"channel":"private-x"\#(member)}}"#)
        #expect(
            await server.waitFor {
                $0.history.contains(.subscriptionRefused(channel: "private-x", socketID: socketID, reason: reason))
            })
        await server.stop()
    }

    @Test func aFailedWebhookIsLoggedWithItsReasonAndNextAttempt() async throws {
        let receiver = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        }
        // It must read everything, because closing with unread input causes a reset.
        let silent = SocketServer { peer in
            var text = peer.readHead()
            while !text.contains("time_ms") { text += String(decoding: peer.read(), as: UTF8.self) }
        }
        for (port, status, reason) in [
            (receiver.port, 503, "the receiver answered with status 503"),
            (silent.port, nil, "the receiver closed the connection without an answer"),
            (1, nil, "cannot connect: Connection refused"),
        ] as [(Int, Int?, String)] {
            let webhooks = PusherMockServer.Webhooks(url: "http://127.0.0.1:\(port)/", retryDelay: .seconds(20))
            let server = try await PusherMockServer.start(.init(apps: [.init(webhooks: webhooks)]))
            _ = try await TestClient.subscribed(to: "c", on: server)
            let failure = PusherMockServer.WebhookFailure(
                app: "app-key", status: status, reason: reason, retryDelay: .seconds(20))
            #expect(await server.waitFor { $0.history.contains(.webhookFailed(failure)) }, "\(reason)")
            await server.stop()
        }
    }

    @Test func aWebhookThatIsGivenUpIsSaidToBe() async throws {
        let webhooks = PusherMockServer.Webhooks(url: "http://127.0.0.1:1/", retryDelay: .seconds(301))
        let server = try await PusherMockServer.start(.init(apps: [.init(webhooks: webhooks)]))
        _ = try await TestClient.subscribed(to: "c", on: server)
        #expect(
            await server.waitFor {
                $0.history.contains {
                    if case .webhookFailed(let failure) = $0 { failure.retryDelay == nil } else { false }
                }
            })
        await server.stop()
    }

    @Test func aWebhookThatArrivesIsNoFailure() async throws {
        let receiver = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 204 Fine\r\nContent-Length: 0\r\n\r\n")
        }
        let webhooks = PusherMockServer.Webhooks(url: "http://127.0.0.1:\(receiver.port)/")
        let server = try await PusherMockServer.start(.init(apps: [.init(webhooks: webhooks)]))
        _ = try await TestClient.subscribed(to: "c", on: server)
        #expect(
            await server.waitFor {
                $0.history.contains { if case .webhookSent(_, _, 204) = $0 { true } else { false } }
            })
        #expect(await !server.state.history.contains { if case .webhookFailed = $0 { true } else { false } })
        await server.stop()
    }

    @Test func aSequenceHasWhatIsAskedFor() async throws {
        let server = try await PusherMockServer.start()
        await server.publish(event: "kept", channel: "c", data: "")
        var log = server.log { if case .published = $0 { true } else { false } }.makeAsyncIterator()
        _ = try await TestClient.subscribed(to: "c", on: server)
        await server.publish(event: "new", channel: "c", data: "")
        for expected in ["kept", "new"] {
            guard case .published(let event) = await log.next() else {
                Issue.record("not an event")
                return
            }
            #expect(event.event == expected)
        }
        await server.stop()
        #expect(await log.next() == nil)
    }

    @Test func theServerForgetsAReaderThatIsGone() async throws {
        let server = try await PusherMockServer.start()
        let seen = Lock(0)
        do {
            let log = server.log { _ in
                seen.withLock { $0 += 1 }
                return true
            }
            await server.publish(event: "e", channel: "c", data: "")
            var iterator = log.makeAsyncIterator()
            #expect(await iterator.next() != nil)
        }
        _ = await server.state
        let before = seen.withLock { $0 }
        await server.publish(event: "e", channel: "c", data: "")
        #expect(seen.withLock { $0 } == before)
        await server.stop()
    }

    @Test func aCancelledReaderEnds() async throws {
        let server = try await PusherMockServer.start()
        let reader = Task {
            for await _ in server.log() {}
            return true
        }
        await Task.yield()
        reader.cancel()
        #expect(await reader.value)
        await server.stop()
    }
}

struct LogFollowerTests {
    private func entry(_ number: Int, size: Int = 0) -> PusherMockServer.LogEntry {
        .frameSent(String(repeating: "x", count: size), socketID: "\(number)")
    }

    @Test func whatASlowReaderMissesIsCounted() async {
        let follower = LogFollower(limit: 3, maximumSize: .max) { _ in true }
        for number in 1...5 { follower.add(entry(number)) }
        #expect(await follower.next()?.entry == .missed(count: 2))
        #expect(await follower.next()?.entry == entry(3))
        for number in 6...7 { follower.add(entry(number)) }
        #expect(await follower.next()?.entry == .missed(count: 1))
        for number in 5...7 { #expect(await follower.next()?.entry == entry(number)) }
        follower.finish()
        #expect(await follower.next() == nil)
    }

    @Test func aFloodIsBoundedInBytes() async {
        let follower = LogFollower(limit: .max, maximumSize: 10_000) { _ in true }
        for number in 1...100_000 { follower.add(entry(number, size: 900)) }
        follower.finish()
        #expect(await follower.next()?.entry == .missed(count: 99_990))
        for number in 99_991...100_000 { #expect(await follower.next()?.entry == entry(number, size: 900)) }
        #expect(await follower.next() == nil)
    }

    @Test func oneEntryBeyondTheBoundIsKept() async {
        let follower = LogFollower(limit: 10, maximumSize: 100) { _ in true }
        for number in 1...2 { follower.add(entry(number, size: 1000)) }
        #expect(await follower.next()?.entry == .missed(count: 1))
        #expect(await follower.next()?.entry == entry(2, size: 1000))
    }

    @Test func whatIsNotWantedTakesNoPlace() async {
        let follower = LogFollower(limit: 1, maximumSize: .max) { $0 == .connectionRefused(code: 1) }
        follower.add(.connectionRefused(code: 1))
        for number in 1...100 { follower.add(entry(number)) }
        follower.finish()
        #expect(await follower.next()?.entry == .connectionRefused(code: 1))
        #expect(await follower.next() == nil)
    }

    @Test func aWaitingReaderIsWoken() async {
        let follower = LogFollower(limit: 1, maximumSize: .max) { _ in true }
        async let first = follower.next()
        await Task.yield()
        follower.add(entry(1))
        #expect(await first?.entry == entry(1))
        async let second = follower.next()
        await Task.yield()
        follower.finish()
        #expect(await second == nil)
    }
}
