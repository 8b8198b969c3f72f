import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

/// The commands that use the HTTP API.
@Suite(.overSockets)
struct HTTPCommandTests {
    private func run(_ port: Int, _ arguments: String..., input: String = "") throws -> CommandRun {
        try CommandRun(
            arguments + ["--no-tls", "--host", "127.0.0.1", "--port", "\(port)"],
            environment: [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
                "PUSHER_APP_ID": PusherMockServer.App.defaultID,
            ], input: input)
    }

    /// Subscribes a client to a public and a presence channel.
    private func withSubscribers(_ body: (PusherMockServer) async throws -> Void) async throws {
        let server = try await PusherMockServer.start()
        let subscriber = try run(server.port, "subscribe", "a", "presence-x", "--user-id", "ann")
        #expect(await server.waitFor { $0.channels() == ["a", "presence-x"] })
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        subscriber.interrupt()
        #expect(await subscriber.status() == 0)
        await server.stop()
    }

    @Test func channelsUsersAndCountsAreListed() async throws {
        try await withSubscribers { server in
            let all = try run(server.port, "channels")
            #expect(await all.status() == 0)
            #expect(all.output == ["a  occupied", "presence-x  occupied"])
            let counted = try run(server.port, "channels", "--prefix", "presence-", "--info", "user_count", "--json")
            #expect(await counted.status() == 0)
            let line = try #require(counted.output.first)
            #expect(line.hasPrefix(#"{"type":"channel","time":"2"#))
            #expect(line.hasSuffix(#"Z","channel":"presence-x","occupied":true,"user_count":1}"#))
            let channel = try run(server.port, "channel", "a", "--info", "subscription_count")
            #expect(await channel.status() == 0)
            #expect(channel.output == ["a  occupied  1 subscription"])
            let users = try run(server.port, "users", "presence-x")
            #expect(await users.status() == 0)
            #expect(users.output == ["ann"])
            let json = try run(server.port, "users", "presence-x", "--json")
            #expect(await json.status() == 0)
            #expect(json.output.first?.hasSuffix(#","channel":"presence-x","user_id":"ann"}"#) == true)
        }
    }

    @Test func triggerTellsWhatItIsAskedFor() async throws {
        try await withSubscribers { server in
            let single = try run(
                server.port, "trigger", "presence-x,a", "e", "x", "--info", "user_count,subscription_count")
            #expect(await single.status() == 0)
            #expect(single.output == ["a  1 subscription", "presence-x  1 user  1 subscription"])
            let batch = try run(
                server.port, "trigger", "--batch", "-", "--json",
                input: #"{"batch":[{"channel":"a","name":"e","data":"1","info":"subscription_count"}]}"#)
            #expect(await batch.status() == 0)
            #expect(batch.output.first?.hasSuffix(#""channel":"a","subscription_count":1}"#) == true)
        }
    }

    @Test func whatIsCachedIsShown() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            let body = #"{"occupied":false,"cache":{"data":"x\u001b","ttl":60}}"#
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
        }
        let human = try run(server.port, "channel", "cache-a", "--info", "cache")
        #expect(await human.status() == 0)
        #expect(human.output == [#"cache-a  empty  cached for 60 s: x\u{1B}"#])
        let json = try run(server.port, "channel", "cache-a", "--info", "cache", "--json")
        #expect(await json.status() == 0)
        #expect(json.output.first?.hasSuffix(#""occupied":false,"cache":{"data":"x\u001b","ttl":60}}"#) == true)
    }

    @Test func usersAreReachedAndTerminated() async throws {
        let lines = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            lines.withLock { $0.append(String(head.prefix { $0 != "?" })) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        }
        let terminate = try run(server.port, "terminate", "ann")
        #expect(await terminate.status() == 0)
        #expect(terminate.output == [])
        let trigger = try run(server.port, "trigger", "--user", "ann", "e", "x")
        #expect(await trigger.status() == 0)
        let id = PusherMockServer.App.defaultID
        #expect(
            lines.withLock { $0 } == ["POST /apps/\(id)/users/ann/terminate_connections", "POST /apps/\(id)/events"])
    }

    @Test(arguments: [
        ["channels"], ["channel", "a"], ["users", "presence-a"], ["terminate", "ann"], ["trigger", "a", "e", "x"],
    ])
    func aServerThatRefusesIsStatus77AndNoneIs69(arguments: [String]) async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        }
        let common = ["--no-tls", "--host", "127.0.0.1", "--key", "k", "--app-id", "1"]
        let refused = try CommandRun(
            arguments + common + ["--port", "\(server.port)"], environment: ["PUSHER_SECRET": "s"])
        #expect(await refused.status() == 77)
        #expect(refused.errors == ["error: the server answered: no (HTTP status 401)"])
        let nobody = try CommandRun(arguments + common + ["--port", "1"], environment: ["PUSHER_SECRET": "s"])
        #expect(await nobody.status() == 69)
        #expect(nobody.output == [])
    }
}
