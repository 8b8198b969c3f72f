import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

/// `client-event --lines`.
@Suite(.overSockets)
struct ClientEventLinesTests {
    private func run(
        _ arguments: [String], port: Int, input: String = "", keepsInput: Bool = false
    ) throws -> CommandRun {
        try CommandRun(
            arguments + ["--no-tls", "--host", "127.0.0.1", "--port", "\(port)", "--max-reconnect-delay", "0.1"],
            environment: [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
            ], input: input, keepsInput: keepsInput)
    }

    private func withListener(
        limit: Int = 100_000, count: Int? = nil, _ body: (PusherMockServer, CommandRun) async throws -> Void
    ) async throws {
        let app = PusherMockServer.App(clientEventRateLimit: limit)
        let server = try await PusherMockServer.start(PusherMockServer.Configuration(apps: [app]))
        let listener = try run(
            ["subscribe", "private-a", "--raw"] + (count.map { ["--count", "\($0)"] } ?? []), port: server.port)
        #expect(await server.waitFor { $0.channels() == ["private-a"] })
        do { try await body(server, listener) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func linesComeInOrder() async throws {
        let lines = (1...200).map { $0 % 2 == 0 ? #"{"number":\#($0)}"# : "line \($0)" }
        try await withListener(count: lines.count) { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines", "--rate", "1000"], port: server.port,
                input: lines.joined(separator: "\n"))
            #expect(await sender.status() == 0)
            #expect(sender.errors == [])
            #expect(await listener.status() == 0)
            #expect(listener.output == lines)
        }
    }

    @Test func theUsualRateIsBelowTheServersLimit() async throws {
        try await withListener(limit: 10, count: 25) { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines"], port: server.port,
                input: (1...25).map(String.init).joined(separator: "\n"))
            #expect(await sender.status() == 0)
            #expect(sender.errors == [])
            #expect(await listener.status() == 0)
        }
    }

    /// Including rejections that the client omits from its reports because they come quickly.
    @Test func everyRejectionIsCounted() async throws {
        try await withListener(limit: 3) { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines", "--rate", "200"], port: server.port,
                input: (1...60).map(String.init).joined(separator: "\n") + "\n" + String(repeating: "x", count: 10_241))
            #expect(await sender.status() == 65)
            #expect(
                sender.errors.contains {
                    $0.wholeMatch(of: /error: \d+ of lines 1 to 10 were rejected: .*4301\)/) != nil
                })
            #expect(sender.errors.contains { $0.hasPrefix("error: line 61 was not sent: it has 10241 bytes") })
            let sent = try #require(
                sender.errors.last?.wholeMatch(of: /error: (\d+) lines sent, (\d+) failed/)?.output)
            #expect(Int(sent.1) == 61 - (Int(sent.2) ?? 0))
            #expect(
                await listener.waitFor { $0.count == Int(sent.1) }, "\(listener.output.count) arrived, \(sent.1) told")
        }
    }

    @Test func aLostConnectionKeepsTheOrderAndRepeatsNothing() async throws {
        try await withListener { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines", "--rate", "1000"], port: server.port,
                keepsInput: true)
            try sender.type("1\n2\n")
            #expect(await listener.waitFor { $0 == ["1", "2"] })
            let listeners = await server.state.subscribers(of: "private-a").count
            #expect(listeners == 2)
            let socketID = try #require(
                await server.state.history.compactMap { entry -> String? in
                    if case .frameReceived(let frame, let id) = entry, frame.contains("client-e") { id } else { nil }
                }.first)
            try await server.inject(.dropTCP, into: socketID)
            #expect(await server.waitFor { !$0.connections.contains { $0.socketID == socketID } })
            try sender.type("3\n4\n")
            try sender.endInput()
            let status = await sender.status()
            // Events sent before the loss is noticed are lost with the connection, and reported.
            let isTold = sender.errors.contains { $0.contains("may or may not have been sent") }
            #expect(status == 0 || isTold)
            let lines = ["1", "2", "3", "4"]
            if !isTold { #expect(await listener.waitFor { $0.count == lines.count }) }
            #expect(listener.output == lines.filter(listener.output.contains))
        }
    }

    /// The answer to the ping never comes.
    @Test func aServerThatFallsSilentLeavesLinesUncertain() async throws {
        try await withListener { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines", "--pong-timeout", "0.2", "--timeout", "0.5"],
                port: server.port, keepsInput: true)
            try sender.type("1\n")
            #expect(await listener.waitFor { $0 == ["1"] })
            let socketID = try #require(
                await server.state.history.compactMap { entry -> String? in
                    if case .frameReceived(let frame, let id) = entry, frame.contains("client-e") { id } else { nil }
                }.first)
            await server.failHandshakes(.never)
            try await server.inject(.goSilent, into: socketID)
            try sender.type("2\n")
            #expect(await eventually { sender.errors.contains { $0.contains("line 2 may or may not have been sent") } })
            try sender.type("3\n")
            #expect(await sender.status() == 69)
            #expect(sender.errors.contains { $0.hasPrefix("error: nothing from line 3 on was sent: ") })
            #expect(sender.errors.last == "error: 1 line sent, 2 failed")
        }
    }

    @Test func ctrlCSaysHowFarItCame() async throws {
        try await withListener { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines"], port: server.port, keepsInput: true)
            try sender.type("1\n2\n")
            #expect(await listener.waitFor { $0 == ["1", "2"] })
            sender.interrupt()
            #expect(await sender.status() == 130)
            #expect(sender.errors == ["error: stopped after line 2: 2 lines sent, 0 failed"])
        }
    }

    /// The rate would delay the second line for longer than the test waits.
    @Test func ctrlCLeavesOutWhatHasNotBeenSent() async throws {
        try await withListener { server, listener in
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines", "--rate", "0.005"], port: server.port,
                input: "1\n2\n3\n", keepsInput: true)
            #expect(await listener.waitFor { $0 == ["1"] })
            #expect(await eventually { sender.unreadInput == 0 })
            sender.interrupt()
            #expect(await sender.status() == 130)
            #expect(listener.output == ["1"])
            #expect(sender.errors == ["error: stopped after line 1: 1 line sent, 0 failed, at least 2 not sent"])
        }
    }

    /// The answer to the ping never comes.
    @Test func aSecondSignalEndsTheWaitAndStillReports() async throws {
        try await withListener { server, listener in
            await server.injectIntoNewConnections(.ignorePings, next: 1)
            let sender = try run(
                ["client-event", "private-a", "client-e", "--lines"], port: server.port, input: "1\n", keepsInput: true)
            #expect(await listener.waitFor { $0 == ["1"] })
            // Two identical signals in quick succession may arrive as one.
            sender.signal(SIGINT)
            sender.signal(SIGTERM)
            #expect(await sender.status() == 130)
            #expect(sender.errors.first?.hasPrefix("error: line 1 may or may not have been sent") == true)
            #expect(sender.errors.last == "error: stopped after line 1: 0 lines sent, 1 failed")
        }
    }

    @Test func ctrlCWhileConnectingEndsIt() async throws {
        let server = try await PusherMockServer.start()
        await server.failHandshakes(.never)
        let sender = try run(
            ["client-event", "private-a", "client-e", "--lines"], port: server.port, keepsInput: true)
        #expect(await server.waitFor { $0.tcpConnectionCount == 1 })
        sender.interrupt()
        #expect(await sender.status() == 130)
        await server.stop()
    }

    @Test(arguments: [
        (["public", "client-a"], 64, "private- and presence- channels"),
        (["private-x", "typing"], 64, "must start with client-"),
        (["bad name", "client-a"], 64, "cannot be a channel name"),
        (["private-x", "client-a", "1"], 64, "give DATA, or --lines"),
        (["private-x", "client-a", "--auth-endpoint", "http://127.0.0.1:1/"], 69, "authorization failed"),
    ])
    func whatCannotBeSentIsSaidAtOnce(arguments: [String], status: Int32, words: String) async throws {
        let server = try await PusherMockServer.start()
        let sender = try run(["client-event", "--lines"] + arguments, port: server.port, keepsInput: true)
        #expect(await sender.status() == status)
        #expect(sender.errors.contains { $0.contains(words) }, "\(sender.errors)")
        await server.stop()
    }
}
