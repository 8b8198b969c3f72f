import Basics
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

struct WebhookEventTests {
    private func hooks(_ lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("webhook ") }.map { String($0.dropFirst("webhook ".count)) }
    }

    private let user = #"{"user_id":"u"}"#

    @Test func comingAndGoingIsToldAtOnceWithoutDelay() throws {
        var stage = Stage(.init(webhooks: .init(departureDelay: .zero)))
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        #expect(
            hooks(try stage.subscribe("1.1", to: "presence-x", channelData: user))
                == [
                    #"{"name":"channel_occupied","channel":"presence-x"}"#,
                    #"{"name":"member_added","channel":"presence-x","user_id":"u"}"#,
                ])
        #expect(hooks(try stage.subscribe("1.2", to: "presence-x", channelData: user)) == [])
        #expect(hooks(try stage.disconnect("1.1")) == [])
        #expect(
            hooks(try stage.disconnect("1.2"))
                == [
                    #"{"name":"member_removed","channel":"presence-x","user_id":"u"}"#,
                    #"{"name":"channel_vacated","channel":"presence-x"}"#,
                ])
    }

    @Test func quickReturnIsNoNews() throws {
        var stage = Stage(.init(webhooks: .init()))
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        try stage.subscribe("1.1", to: "presence-x", channelData: user)
        stage.time = 10
        #expect(hooks(try stage.disconnect("1.1")) == [])
        stage.time = 12
        #expect(hooks(try stage.subscribe("1.2", to: "presence-x", channelData: user)) == [])
        #expect(stage.nextDeadline() == nil)
        stage.time = 20
        #expect(hooks(try stage.unsubscribe("1.2", from: "presence-x")) == [])
        #expect(hooks(stage.nextDeadline() ?? []).count == 2)
        #expect(stage.time == 23)
    }

    @Test func clientEventsAndCountsAreTold() throws {
        var stage = Stage(.init(sendsSubscriptionCounts: true, webhooks: .init()))
        try stage.connect("1.1")
        #expect(
            hooks(try stage.subscribe("1.1", to: "private-x")).last
                == #"{"name":"subscription_count","channel":"private-x","subscription_count":1}"#)
        #expect(
            hooks(try stage.receive(#"{"event":"client-e","channel":"private-x","data":{"a":1.0}}"#, from: "1.1"))
                == [
                    #"{"name":"client_event","channel":"private-x","event":"client-e","data":"{\"a\":1.0}","socket_id":"1.1"}"#
                ])
        try stage.subscribe("1.1", to: "presence-x", channelData: user)
        #expect(
            hooks(try stage.receive(#"{"event":"client-e","channel":"presence-x","data":"x"}"#, from: "1.1"))
                == [
                    #"{"name":"client_event","channel":"presence-x","event":"client-e","data":"x","socket_id":"1.1","user_id":"u"}"#
                ])
    }

    @Test func nothingIsToldWithoutWebhooks() throws {
        var stage = Stage()
        try stage.connect("1.1")
        #expect(try stage.subscribe("1.1", to: "c").count == 1)
        #expect(try stage.disconnect("1.1") == [])
        #expect(stage.application.nextDeadline == nil)
    }
}

struct WebhookQueueTests {
    private func post(_ id: Int, _ channels: String..., time: Int) -> WebhookQueue.Action {
        let events = channels.map { #"{"name":"channel_occupied","channel":"\#($0)"}"# }.joined(separator: ",")
        return .post(id, #"{"time_ms":\#(time),"events":[\#(events)]}"#)
    }

    @Test func eventsAreSingleAndInOrder() {
        var queue = WebhookQueue(configuration: .init())
        #expect(
            queue.add([.channelOccupied("a"), .channelOccupied("b")], now: .at(0), time: 1) == [post(1, "a", time: 1)])
        #expect(queue.add([.channelOccupied("c")], now: .at(0), time: 2) == [])
        #expect(queue.answered(1, status: 200, now: .at(1), time: 3) == [post(2, "b", time: 3)])
        #expect(queue.answered(2, status: 204, now: .at(1), time: 4) == [post(3, "c", time: 4)])
        #expect(queue.answered(3, status: 299, now: .at(1), time: 5) == [])
    }

    @Test func batchHoldsAllThatWaits() {
        var queue = WebhookQueue(configuration: .init(isBatching: true))
        #expect(
            queue.add([.channelOccupied("a"), .channelOccupied("b")], now: .at(0), time: 1)
                == [post(1, "a", "b", time: 1)])
        for channel in ["c", "d"] {
            #expect(queue.add([.channelOccupied(channel)], now: .at(0), time: 1) == [])
        }
        #expect(queue.answered(1, status: 200, now: .at(1), time: 2) == [post(2, "c", "d", time: 2)])
    }

    @Test(arguments: [false, true]) func nothingWaitsForARequestThatFailed(isBatching: Bool) {
        var queue = WebhookQueue(configuration: .init(isBatching: isBatching))
        #expect(queue.add([.channelOccupied("a")], now: .at(0), time: 1) == [post(1, "a", time: 1)])
        #expect(queue.answered(1, status: 500, now: .at(0), time: 2) == [.wait(1, .seconds(1))])
        #expect(queue.add([.channelOccupied("b")], now: .at(0), time: 3) == [post(2, "b", time: 3)])
        #expect(queue.waited(1) == [post(1, "a", time: 1)])
        #expect(queue.answered(1, status: nil, now: .at(1), time: 4) == [.wait(1, .seconds(2))])
        #expect(queue.answered(2, status: 200, now: .at(1), time: 5) == [])
        #expect(queue.add([.channelOccupied("c")], now: .at(2), time: 6) == [post(3, "c", time: 6)])
        #expect(queue.answered(3, status: 503, now: .at(2), time: 7) == [.wait(3, .seconds(1))])
        #expect(queue.waited(1) == [post(1, "a", time: 1)])
        #expect(queue.waited(3) == [post(3, "c", time: 6)])
        #expect(queue.answered(1, status: 200, now: .at(3), time: 8) == [])
        #expect(queue.answered(1, status: 200, now: .at(3), time: 8) == [], "it is told once")
        #expect(queue.answered(3, status: 200, now: .at(3), time: 8) == [])
    }

    @Test func aReceiverThatIsDownIsNotCalledByAllAtOnce() {
        var queue = WebhookQueue(configuration: .init())
        let count = 2 * WebhookQueue.maximumRetrying
        for id in 1...count {
            #expect(queue.add([.channelOccupied("c")], now: .at(0), time: 0) == [post(id, "c", time: 0)])
            #expect(queue.answered(id, status: nil, now: .at(0), time: 0) == [.wait(id, .seconds(1))])
        }
        for id in 1...count {
            #expect(queue.waited(id) == (id <= WebhookQueue.maximumRetrying ? [post(id, "c", time: 0)] : []))
        }
        for id in 1...WebhookQueue.maximumRetrying {
            let next = post(id + WebhookQueue.maximumRetrying, "c", time: 0)
            #expect(queue.answered(id, status: 200, now: .at(1), time: 1) == [next])
        }
    }

    @Test func requestsThatWaitToBeRepeatedAreBoundedInBytes() {
        var queue = WebhookQueue(configuration: .init())
        let event = WebhookEvent.clientEvent(
            channel: "private-x", event: "client-e", data: String(repeating: "x", count: 1 << 20), socketID: "1.1",
            userID: nil)
        for id in 1...20 {
            #expect(queue.add([event], now: .at(0), time: 0).count == 1)
            let waits = queue.answered(id, status: 500, now: .at(0), time: 0) == [.wait(id, .seconds(1))]
            #expect(waits == (id <= 15), "\(id)")
        }
        #expect(queue.waited(1).count == 1)
        #expect(queue.answered(1, status: 200, now: .at(1), time: 1) == [])
        #expect(queue.add([event], now: .at(1), time: 1).count == 1)
        #expect(
            queue.answered(21, status: 500, now: .at(1), time: 1) == [.wait(21, .seconds(1))], "there is room again")
    }

    @Test func oldestEventsAreGivenUpWhenTooManyWait() {
        var queue = WebhookQueue(configuration: .init(isBatching: true))
        _ = queue.add([.channelOccupied("first")], now: .at(0), time: 1)
        let many = (0...WebhookQueue.maximumWaiting).map { WebhookEvent.channelOccupied("c\($0)") }
        #expect(queue.add(many, now: .at(0), time: 1) == [])
        guard case .post(_, let body) = queue.answered(1, status: 200, now: .at(1), time: 2).first else {
            Issue.record("nothing is posted")
            return
        }
        #expect(!body.contains(#""c0""#) && body.contains(#""c1""#) && body.contains(#""c10000""#))
    }

    @Test func failureIsRepeatedWithGrowingPausesForFiveMinutes() {
        var queue = WebhookQueue(configuration: .init())
        let first = queue.add([.channelOccupied("a")], now: .at(0), time: 1)
        var now = 0.0
        var pauses: [Int] = []
        while case .wait(1, let pause) = queue.answered(1, status: pauses.isEmpty ? nil : 500, now: .at(now), time: 9)
            .first
        {
            pauses.append(Int(pause.components.seconds))
            now += Double(pause.components.seconds)
            #expect(queue.waited(1) == first, "the same request, with the time of the first attempt")
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128])
        #expect(queue.waited(1) == [], "it is given up")
    }

    @Test(
        arguments: [
            ("http://h", "h", 80, false, "/"), ("https://h/a%20b?c=d", "h", 443, true, "/a%20b?c=d"),
            ("HTTP://[::1]:8080/x", "::1", 8080, false, "/x"),
        ])
    func targetIsReadFromTheURL(url: String, host: String, port: Int, isSecure: Bool, target: String) {
        let read = WebhookTarget(url)
        #expect(read?.host == host)
        #expect(read?.port == port)
        #expect(read?.isSecure == isSecure)
        #expect(read?.requestTarget == target)
    }

    @Test(arguments: ["", "h", "ftp://h", "http://", "/x"])
    func otherURLsAreAnError(url: String) async throws {
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(.init(apps: [.init(webhooks: .init(url: url))]))
        }
        #expect(error?.code == .invalidConfiguration)
    }
}

@Suite(.overSockets)
struct WebhookDeliveryTests {
    @Test func webhookIsSignedAndRepeatedUntilItIsTaken() async throws {
        let receiver = try await WebhookReceiver.start(statuses: [500, 200])
        let server = try await PusherMockServer.start(
            .init(apps: [
                .init(
                    webhooks: .init(
                        url: "\(receiver.url)/hooks?a=b", departureDelay: .zero, retryDelay: .milliseconds(5)))
            ]))
        let (client, _) = try await TestClient.subscribed(to: "c", on: server)
        #expect(await server.waitFor { statuses(in: $0) == [500, 200] })
        try await client.drop()
        let requests = [await receiver.next(), await receiver.next(), await receiver.next()].compactMap { $0 }
        let events = [
            #""events":[{"name":"channel_occupied","channel":"c"}]}"#,
            #""events":[{"name":"channel_occupied","channel":"c"}]}"#,
            #""events":[{"name":"channel_vacated","channel":"c"}]}"#,
        ]
        #expect(requests.count == 3)
        for (request, event) in zip(requests, events) {
            #expect(request.target == "/hooks?a=b")
            #expect(request.body.hasSuffix(event))
            #expect(request.fields["x-pusher-key"] == "app-key")
            #expect(
                request.fields["x-pusher-signature"]
                    == TestClient.credentials.webhookSignature(body: Array(request.body.utf8)))
            #expect(request.fields["content-type"] == "application/json")
        }
        #expect(await server.waitFor { statuses(in: $0) == [500, 200, 200] })
        await server.stop()
        try await receiver.stop()
    }

    @Test func laterWebhooksDoNotWaitForOneThatFailed() async throws {
        let receiver = try await WebhookReceiver.start(statuses: [500, 200])
        let server = try await PusherMockServer.start(
            .init(apps: [.init(webhooks: .init(url: receiver.url, retryDelay: .seconds(600)))]))
        _ = try await TestClient.subscribed(to: "a", on: server)
        #expect(await receiver.next()?.body.contains(#""channel":"a""#) == true)
        _ = try await TestClient.subscribed(to: "b", on: server)
        #expect(await receiver.next()?.body.contains(#""channel":"b""#) == true)
        #expect(await server.waitFor { statuses(in: $0) == [500, 200] })
        await server.stop()
        try await receiver.stop()
    }

    @Test func unreachableReceiverIsLogged() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [.init(webhooks: .init(url: "http://127.0.0.1:1/", retryDelay: .seconds(600)))]))
        _ = try await TestClient.subscribed(to: "c", on: server)
        #expect(await server.waitFor { statuses(in: $0) == [nil] })
        await server.stop()
    }

    @Test func eventsAreLoggedWithoutAReceiver() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(webhooks: .init())]))
        _ = try await TestClient.subscribed(to: "c", on: server)
        let entry = PusherMockServer.LogEntry.webhook(
            event: #"{"name":"channel_occupied","channel":"c"}"#, app: "app-key")
        #expect(await server.waitFor { $0.history.contains(entry) })
        await server.stop()
    }
}

private func statuses(in state: PusherMockServer.State) -> [Int?] {
    state.history.compactMap { entry -> Int?? in
        if case .webhookSent(_, _, let status) = entry { .some(status) } else { nil }
    }
}

/// An HTTP server that records posted requests. It answers with one status after the other, and repeats the last one.
private final class WebhookReceiver: Sendable {
    struct Request: Sendable {
        var target: String
        var fields: [String: String]
        var body = ""
    }

    private let listener: any Channel
    private let requests: AsyncStream<Request>

    private init(listener: any Channel, requests: AsyncStream<Request>) {
        self.listener = listener
        self.requests = requests
    }

    static func start(statuses: [Int]) async throws -> WebhookReceiver {
        let (stream, continuation) = AsyncStream.makeStream(of: Request.self)
        let remaining = Lock(statuses)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(requests: continuation) {
                            remaining.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return WebhookReceiver(listener: listener, requests: stream)
    }

    var url: String { "http://127.0.0.1:\(listener.localAddress?.port ?? 0)" }

    func next() async -> Request? {
        var iterator = requests.makeAsyncIterator()
        return await iterator.next()
    }

    func stop() async throws { try await listener.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let requests: AsyncStream<Request>.Continuation
        private let status: () -> Int
        private var request: Request?

        init(requests: AsyncStream<Request>.Continuation, status: @escaping () -> Int) {
            self.requests = requests
            self.status = status
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch Self.unwrapInboundIn(data) {
            case .head(let head):
                request = Request(
                    target: head.uri,
                    fields: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 }))
            case .body(let part): request?.body += String(buffer: part)
            case .end:
                if let request { requests.yield(request) }
                let head = HTTPResponseHead(
                    version: .http1_1, status: .init(statusCode: status()), headers: ["Content-Length": "0"])
                context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
