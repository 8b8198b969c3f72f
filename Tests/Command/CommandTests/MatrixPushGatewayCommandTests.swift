import Basics
import Foundation
import FoundationNetworking
import PusherHTTP
import PusherMockServer
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands

/// `matrix push-gateway`. PushGatewayTests covers the gateway itself.
@Suite(.overSockets)
struct MatrixPushGatewayCommandTests {
    private func url(of run: CommandRun) async throws -> URL {
        #expect(await eventually { !run.errors.isEmpty })
        let words = try #require(run.errors.first { $0.hasPrefix("listening on ") })
        return try #require(URL(string: String(words.dropFirst("listening on ".count))))
    }

    private func push(_ id: String, to url: URL, body: String = "hello") async throws -> Int? {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(
            #"""
            {"notification":{"event_id":"\#(id)","room_id":"!r:hs","type":"m.room.message","sender":"@bob:hs",
            "content":{"msgtype":"m.text","body":"\#(body)"},"counts":{"unread":1},
            "devices":[{"app_id":"app","pushkey":"secret-push-key"}]}}
            """#.utf8)
        let (_, response) = try await URLSession.shared.data(for: request)
        return (response as? HTTPURLResponse)?.statusCode
    }

    @Test func notificationsArePrinted_withoutTheirPushKeys() async throws {
        let run = try CommandRun(["matrix", "push-gateway", "--port", "0", "--json"])
        let url = try await url(of: run)
        for id in ["$1", "$2"] { #expect(try await push(id, to: url) == 200) }
        #expect(await run.waitFor { $0.count == 2 })
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.objects.map { $0["event_id"] as? String } == ["$1", "$2"])
        #expect(run.objects.first?["channel"] as? String == "matrix:!r:hs")
        #expect(!run.words.contains("secret-push-key"))
    }

    @Test func notificationsArePublishedToAChannel() async throws {
        let server = try await PusherMockServer.start()
        let listener = try CommandRun([
            "subscribe", "pushes", "--json", "--count", "2", "--no-tls", "--host", "127.0.0.1", "--port",
            "\(server.port)", "--key", PusherMockServer.App.defaultKey,
        ])
        #expect(await server.waitFor { $0.channels() == ["pushes"] })
        let environment = [
            "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_KEY": PusherMockServer.App.defaultKey,
            "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "PUSHER_HOST": "127.0.0.1",
            "PUSHER_PORT": "\(server.port)",
        ]
        let arguments = ["matrix", "push-gateway", "--port", "0", "--channel", "pushes", "--no-tls"]
        let typed = try CommandRun(arguments, environment: environment)
        #expect(try await push("$1", to: try await url(of: typed)) == 200)
        #expect(await listener.waitFor { $0.count == 1 })
        let named = try CommandRun(arguments + ["--event", "push"], environment: environment)
        #expect(
            try await push("$large", to: try await url(of: named), body: String(repeating: "x", count: 20_000)) == 200)
        #expect(await eventually { named.errors.contains { $0.contains("a notification was not published") } })
        #expect(try await push("$2", to: try await url(of: named)) == 200)
        #expect(await listener.status() == 0)
        #expect(listener.objects.map { $0["event"] as? String } == ["m.room.message", "push"])
        #expect(listener.output.allSatisfy { $0.contains("hello") && !$0.contains("secret-push-key") })
        await server.stop()
    }

    @Test func aServerThatRefusesEndsIt_andOneThatIsGoneIsTriedAgain() async throws {
        let server = try await PusherMockServer.start()
        var environment = [
            "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_KEY": PusherMockServer.App.defaultKey,
            "PUSHER_SECRET": "wrong", "PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": "\(server.port)",
        ]
        // A channel that keeps its last event for late subscribers.
        let arguments = ["matrix", "push-gateway", "--port", "0", "--channel", "cache-pushes", "--no-tls"]
        let refused = try CommandRun(arguments, environment: environment)
        _ = try await push("$1", to: try await url(of: refused))
        #expect(await refused.status() == 77)
        await server.stop()
        environment["PUSHER_SECRET"] = PusherMockServer.App.defaultSecret
        let patient = try CommandRun(arguments, environment: environment)
        #expect(try await push("$1", to: try await url(of: patient)) == 200)
        #expect(await eventually { patient.errors.contains { $0.contains("it is tried again") } })
        let second = try await PusherMockServer.start(server.configuration)
        let listener = try CommandRun([
            "subscribe", "cache-pushes", "--json", "--count", "1", "--no-tls", "--host", "127.0.0.1", "--port",
            "\(second.port)", "--key", PusherMockServer.App.defaultKey,
        ])
        #expect(await listener.status() == 0)
        #expect(listener.objects.first?["event"] as? String == "m.room.message")
        patient.interrupt()
        #expect(await patient.status() == 0)
        await second.stop()
    }

    @Test func whatHasArrivedIsPublishedBeforeItEnds_orCounted() async throws {
        let server = try await PusherMockServer.start()
        let environment = [
            "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_KEY": PusherMockServer.App.defaultKey,
            "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "PUSHER_HOST": "127.0.0.1",
            "PUSHER_PORT": "\(server.port)",
        ]
        await server.stop()
        let run = try CommandRun(
            ["matrix", "push-gateway", "--port", "0", "--channel", "pushes", "--no-tls"], environment: environment)
        let url = try await url(of: run)
        for id in ["$1", "$2", "$3"] { #expect(try await push(id, to: url) == 200) }
        #expect(await eventually { run.errors.contains { $0.contains("it is tried again") } })
        run.interrupt()
        // Soon it accepts no more.
        let accepted = Lock(3)
        #expect(
            await eventually {
                guard let status = try? await push("$more", to: url) else { return true }
                if status == 200 { accepted.withLock { $0 += 1 } }
                return false
            })
        let second = try await PusherMockServer.start(server.configuration)
        #expect(await run.status() == 0)
        let published = await second.state.history.filter { entry in
            if case .httpRequest("POST", _, 200) = entry { true } else { false }
        }
        #expect(published.count == accepted.withLock { $0 })
        await second.stop()
    }

    @Test func whatCouldNotBePublishedIsCounted() async throws {
        let server = try await PusherMockServer.start()
        await server.stop()
        let client = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false)
        let publisher = PushPublisher(client: client, channel: "pushes", event: nil)
        let (notifications, continuation) = AsyncStream.makeStream(of: PushNotification.self)
        let notification = try PushNotification(
            body: Data(#"{"notification":{"event_id":"$1","devices":[{"app_id":"a","pushkey":"p"}]}}"#.utf8))
        for _ in 0..<3 { continuation.yield(notification) }
        continuation.finish()
        let work = Task { try await publisher.publish(notifications) }
        work.cancel()
        await #expect {
            try await work.value
        } throws: { "\($0)".contains("3 notifications that had arrived were not published") }
    }

    @Test func aPortThatIsTakenIsStatus69() async throws {
        let server = try await PusherMockServer.start()
        let run = try CommandRun(["matrix", "push-gateway", "--port", "\(server.port)"])
        #expect(await run.status() == 69)
        await server.stop()
    }
}
