import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

/// `client-event`, `doctor`, and sign-in.
@Suite(.overSockets)
struct ConnectingCommandTests {
    private func withServer(_ body: (PusherMockServer, [String]) async throws -> Void) async throws {
        let server = try await PusherMockServer.start()
        let options = [
            "--key", "app-key", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", "",
            "--secret",
            "app-secret",
        ]
        try await body(server, options)
        await server.stop()
    }

    @Test func aClientEventReachesTheOthers() async throws {
        try await withServer { server, options in
            let listener = try CommandRun(["subscribe", "presence-x", "--json", "--count", "2"] + options)
            #expect(await server.waitFor { !$0.channels().isEmpty })
            for data in [#"{"on": 12345678901234567890}"#, "plain text"] {
                let sender = try CommandRun(
                    ["client-event", "presence-x", "client-typing", data, "--user-id", "ann"] + options)
                #expect(await sender.status() == 0)
            }
            #expect(await listener.status() == 0)
            #expect(
                listener.output.first?.contains(#""data":"{\"on\":12345678901234567890}","user_id":"ann""#) == true)
            #expect(listener.output.last?.contains(#""data":"plain text""#) == true)
        }
    }

    @Test(arguments: [
        (["public", "client-a", "1"], 64, "private- and presence- channels"),
        (["private-x", "typing", "1"], 64, "must start with client-"),
        (["bad name", "client-a", "1"], 64, "cannot be a channel name"),
        (["private-x", "client-a", "1", "--auth-endpoint", "http://127.0.0.1:1/"], 69, "authorization failed"),
    ])
    func whatCannotBeSentIsSaid(arguments: [String], status: Int32, words: String) async throws {
        try await withServer { _, options in
            let command = try CommandRun(["client-event"] + arguments + options)
            #expect(await command.status() == status)
            #expect(command.errors.contains { $0.contains(words) })
        }
    }

    @Test func theDoctorFindsNothing() async throws {
        try await withServer { _, options in
            let command = try CommandRun(["doctor", "private-x", "--sign-in", "--user-id", "ann", "--json"] + options)
            #expect(await command.status() == 0)
            let steps = ["server", "name lookup", "TCP", "WebSocket", "socket id", "ping", "sign-in", "private-x"]
            #expect(command.output.count == steps.count)
            for (line, step) in zip(command.output, steps) {
                #expect(line.contains(#""step":"\#(step)","ok":true"#))
            }
        }
    }

    @Test func theDoctorFindsWhatIsWrong() async throws {
        try await withServer { _, options in
            let wrongKey = try CommandRun(["doctor"] + options + ["--key", "wrong"])
            #expect(await wrongKey.status() == 77)
            #expect(wrongKey.output.last?.contains("the application does not exist") == true)
            let refused = try CommandRun(
                ["doctor", "private-x", "c", "--auth-endpoint", "http://127.0.0.1:1/"] + options)
            #expect(await refused.status() == 69)
            #expect(refused.output.contains { $0.hasPrefix("FAIL  private-x") })
            #expect(refused.output.last?.hasPrefix("ok    c") == true)
        }
    }

    @Test func aSilentServerIsNoticedWithinTheTimeOutsGiven() async throws {
        try await withServer { server, options in
            await server.injectIntoNewConnections(.goSilent, next: 1)
            let command = try CommandRun(
                ["listen", "c", "--json", "--activity-timeout", "0.2", "--pong-timeout", "0.2"] + options)
            #expect(
                await command.waitFor { $0.contains { $0.contains(#""from":"connected","to":"reconnecting""#) } })
            #expect(await server.waitFor { !$0.subscribers(of: "c").isEmpty })
        }
    }

    @Test(arguments: ["--activity-timeout", "--pong-timeout", "--max-reconnect-delay"])
    func aTimeOutIsAboveZero(option: String) async throws {
        let command = try CommandRun(["listen", "c", option, "0"])
        #expect(await command.status() == 64)
        #expect(command.errors.contains { $0.contains("\(option) takes seconds, above 0 to 1000000000") })
    }

    @Test func listenPrintsWhatIsSentToTheUser() async throws {
        try await withServer { server, options in
            let command = try CommandRun(
                ["listen", "--sign-in", "--user-id", "ann", "--watch", "bob", "--count", "1", "--json"] + options)
            #expect(await server.waitFor { !$0.subscribers(of: "#server-to-user-ann").isEmpty })
            await server.publish(event: "notice", channel: "#server-to-user-ann", data: "hi")
            #expect(await command.status() == 0)
            #expect(command.output.contains { $0.contains(#""type":"signed_in""#) && $0.contains(#""user_id":"ann""#) })
            #expect(command.output.contains { $0.contains(#""type":"watchlist""#) && $0.contains(#"["bob"]"#) })
            #expect(command.output.last?.contains(#""event":"notice","data":"hi""#) == true)
        }
    }

    @Test func aSignInThatFailsEndsAStreamOfNothingElse() async throws {
        try await withServer { _, options in
            let endpoint = ["--user-auth-endpoint", "http://127.0.0.1:1/"]
            let unreachable = try CommandRun(["listen", "--sign-in"] + endpoint + options)
            #expect(await unreachable.status() == 69)
            let refused = try CommandRun(
                ["listen", "--sign-in", "--user-id", "ann"] + options + ["--secret", "wrong"])
            #expect(await refused.status() == 77)
            let wrongUse = try CommandRun(["listen", "c", "--sign-in"] + options)
            #expect(await wrongUse.status() == 64)
        }
    }

    @Test func aStreamSaysWhenItListensAgain() async throws {
        try await withServer { server, options in
            let stream = try CommandRun(["subscribe", "a", "b", "--count", "1"] + options)
            #expect(await eventually { stream.errors.last == "listening to a and b on 127.0.0.1:\(server.port)" })
            for connection in await server.state.connections {
                try await server.inject(.dropTCP, into: connection.socketID)
            }
            #expect(await eventually { stream.errors.last == "listening again" })
            await server.publish(event: "e", channel: "b", data: "x")
            #expect(await stream.status() == 0)
        }
    }

    // MARK: Servers that do not answer

    /// Without a subscription, nothing is received, so the end of the time limit is not a success.
    @Test(
        arguments: [
            (["subscribe", "c"], "channel c: the server did not answer the subscription in time"),
            (["listen", "c", "d"], "the server did not answer the subscription in time"),
            (["subscribe", "c", "--count", "1"], "the server did not answer the subscription in time"),
            (["client-event", "private-c", "client-e", "x"], "the server did not answer the subscription in time"),
            (["doctor", "c"], "no answer in 4 s"),
            (["listen", "--sign-in", "--user-id", "ann"], "the server did not answer the sign-in in time"),
        ])
    func aSubscriptionThatIsNotAnsweredIsNoSuccess(arguments: [String], words: String) async throws {
        try await withServer { server, options in
            await server.injectIntoNewConnections(.goSilent)
            // The client gives up 5 % earlier. That must still be longer than a slow start.
            let command = try CommandRun(arguments + ["--timeout", "4"] + options)
            #expect(await command.status() == 69)
            #expect((command.errors + command.output).contains { $0.contains(words) }, "\(command.errors)")
        }
    }

    /// It retries continuously, so that only the time limit ends it.
    @Test func aSignInEndpointThatIsNotThereIsNoSuccess() async throws {
        try await withServer { _, options in
            let stream = try CommandRun(
                ["subscribe", "c", "--sign-in", "--user-auth-endpoint", "http://127.0.0.1:1/", "--timeout", "1"]
                    + options)
            #expect(await stream.status() == 69)
            #expect(
                stream.errors.last?.contains("the sign-in did not succeed within 1 s: ") == true, "\(stream.errors)")
        }
    }

    @Test func whatNeverListenedIsNotDoneWhenItIsStopped() async throws {
        let hasConnected = Lock(false)
        let server = SocketServer { peer in
            hasConnected.withLock { $0 = true }
            while !peer.read().isEmpty {}
        }
        let stream = try CommandRun(
            ["subscribe", "c", "--key", "k", "--host", "127.0.0.1:\(server.port)", "--no-tls", "--proxy", ""])
        #expect(await eventually { hasConnected.withLock { $0 } })
        stream.interrupt()
        #expect(await stream.status() == 130)
    }

    @Test(arguments: [
        (["subscribe", "c", "--connect-timeout", "1"], "no connection within 1 s: "),
        (["subscribe", "c", "--timeout", "1"], "no connection within 1 s: "),
        (["client-event", "private-c", "client-e", "x", "--timeout", "1"], "no connection within 1 s: "),
        (["doctor", "--timeout", "1"], ""),
    ])
    func howFarASilentServerLetTheConnectionComeIsSaid(arguments: [String], words: String) async throws {
        let server = SocketServer { peer in while !peer.read().isEmpty {} }
        let command = try CommandRun(
            arguments + [
                "--key", "k", "--secret", "s", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy",
                "",
            ])
        #expect(await command.status() == 69)
        let reason =
            "127.0.0.1:\(server.port) accepted the connection but did not answer the WebSocket handshake in time"
        #expect((command.errors + command.output).contains { $0.contains(words + reason) }, "\(command.errors)")
    }
}
