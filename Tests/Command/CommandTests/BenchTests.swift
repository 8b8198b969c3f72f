import Foundation
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct BenchTests {
    /// A line that the command prints for programs.
    private struct Line: Decodable {
        struct Times: Decodable {
            let p50, p90, p99, p99_9, max, mean: Double
        }

        let type: String
        let time: String
        let phase: String?
        let interrupted: Bool?
        let connected, published, failed, unsent, expected, delivered, duplicates, out_of_order: Int
        let errors, reconnects: Int
        let lost: Int?
        let latency_ms, connect_ms, subscribe_ms, request_ms, delay_ms: Times?
    }

    private static let environment = [
        "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
        "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_HOST": "127.0.0.1",
    ]

    private func lines(_ command: CommandRun) throws -> [Line] {
        try command.output.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    private func bench(
        _ server: PusherMockServer, _ arguments: String..., environment: [String: String] = [:]
    ) throws -> CommandRun {
        try CommandRun(
            ["bench", "--no-tls", "--port", "\(server.port)", "--json"] + arguments,
            environment: Self.environment.merging(environment) { $1 })
    }

    private func withServer(_ body: (PusherMockServer) async throws -> Void) async throws {
        let server = try await PusherMockServer.start()
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func theEmbeddedServerDeliversEverything() async throws {
        let command = try CommandRun([
            "bench", "--embedded", "--connections", "20", "--channels", "3", "--rate", "100", "--duration", "0.5",
            "--warm-up", "0.5", "--interval", "0.05", "--json",
        ])
        #expect(await command.status() == 0)
        #expect(command.errors == [])
        let lines = try lines(command)
        let summary = try #require(lines.last)
        #expect(summary.type == "summary")
        #expect(summary.interrupted == false)
        #expect(summary.published == 50)
        #expect(summary.expected == 1000)
        #expect(summary.delivered == 1000)
        #expect(summary.lost == 0)
        #expect(summary.connected == 20)
        let latency = try #require(summary.latency_ms)
        #expect(0 < latency.p50 && latency.p50 <= latency.p99 && latency.p99 <= latency.max)
        #expect(summary.connect_ms != nil && summary.subscribe_ms != nil)
        #expect(summary.request_ms != nil && summary.delay_ms != nil)
        #expect(lines.dropLast().allSatisfy { $0.type == "progress" })
        #expect(lines.contains { $0.phase == "warm_up" } && lines.contains { $0.phase == "measuring" })
    }

    @Test func peopleReadASummaryAndPlottersAFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).hgrm")
        defer { try? FileManager.default.removeItem(at: file) }
        let command = try CommandRun([
            "bench", "--embedded", "--rate", "50", "--duration", "0.2", "--hdr", file.path,
        ])
        #expect(await command.status() == 0)
        #expect(command.errors == [])  // no terminal, no progress
        #expect(command.output.first?.contains("embedded: a mock server in this process") == true)
        #expect(command.output.contains { $0.hasPrefix("delivered     10 of 10,") })
        #expect(command.output.contains { $0.contains(/^latency +p50 [\d.]+  p90 .* p99.9 .* max [\d.]+ ms$/) })
        let distribution = try String(contentsOf: file, encoding: .utf8)
        #expect(distribution.hasPrefix("       Value     Percentile TotalCount 1/(1-Percentile)\n"))
        #expect(distribution.contains("Total count    =           10]"))
    }

    @Test(arguments: ["private-b-", "presence-b-", "private-encrypted-b-", "cache-b-"])
    func thePrefixSaysTheTypeOfTheChannels(prefix: String) async throws {
        let command = try CommandRun([
            "bench", "--embedded", "--connections", "4", "--channels", "4", "--subscriptions", "2", "--channel-prefix",
            prefix, "--rate", "0", "--duration", "0.2", "--size", "500", "--json",
        ])
        #expect(await command.status() == 0)
        let summary = try #require(try lines(command).last)
        #expect(summary.published > 0)
        #expect(summary.delivered == 2 * summary.published)
        #expect(summary.out_of_order == 0)
    }

    @Test func duplicatesAndDisorderAreCounted() async throws {
        try await withServer { server in
            await server.injectIntoNewConnections(.duplicateFrames, afterFrames: 2, next: 1)
            await server.injectIntoNewConnections(.reverseFrames(count: 2), afterFrames: 2, next: 1)
            let command = try bench(
                server, "--connections", "2", "--connect-rate", "1", "--rate", "100", "--duration", "0.2")
            #expect(await command.status() == 0)
            let summary = try #require(try lines(command).last)
            #expect(summary.duplicates == 20)
            #expect(summary.out_of_order == 10)
            #expect(summary.delivered == 40)
        }
    }

    @Test func missingDeliveriesAreStatus75() async throws {
        try await withServer { server in
            await server.injectIntoNewConnections(.goSilent, afterFrames: 2, next: 1)
            let command = try bench(
                server, "--connections", "2", "--rate", "100", "--duration", "0.2", "--drain", "1")
            #expect(await command.status() == 75)
            let summary = try #require(try lines(command).last)
            #expect(summary.expected == 40)
            #expect((summary.lost ?? 0) >= 20)
        }
    }

    @Test func aServerThatIsGoneIsToldOnceAndGoesOnCounting() async throws {
        let server = try await PusherMockServer.start()
        let command = try bench(
            server, "--connections", "5", "--rate", "100", "--duration", "60", "--interval", "0.05")
        #expect(await command.waitFor { $0.contains { $0.contains(#""phase":"measuring""#) } })
        await server.stop()
        #expect(await command.waitFor { $0.contains { $0.contains(/"connected":0,.*"failed":[1-9]/) } })
        command.interrupt()
        #expect(await command.status() == 130)
        let summary = try #require(try lines(command).last)
        #expect(summary.failed > 0)
        #expect(summary.errors > 5)  // for connections and for publishing
        #expect(command.errors.count < 10)
    }

    @Test func connectionsThatComeBackAreCounted() async throws {
        try await withServer { server in
            let command = try bench(
                server, "--rate", "200", "--duration", "60", "--interval", "0.05", "--connections", "3")
            #expect(await server.waitFor { $0.subscribers(of: "bench-0").count == 3 })
            for socketID in await server.state.subscribers(of: "bench-0") {
                try await server.inject(.close(code: 4200), into: socketID)
            }
            #expect(await command.waitFor { $0.contains { $0.contains(#""reconnects":3,"#) } })
            command.interrupt()
            #expect(await command.status() == 130)
            let summary = try #require(try lines(command).last)
            #expect(summary.interrupted == true)
            #expect(summary.reconnects == 3)
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func aReaderThatLeavesIsAQuietEnd() async throws {
        let command = try CommandRun(
            ["bench", "--embedded", "--json", "--interval", "0.05", "--duration", "60"], closesOutput: true)
        #expect(await command.status() == 0)
        #expect(command.errors == [])
    }

    @Test(
        arguments: [
            (["PUSHER_KEY": "wrong"], "bench-", 77, "wrong key or wrong cluster"),
            (["PUSHER_SECRET": "wrong"], "bench-", 77, "Invalid signature"),
            (["PUSHER_SECRET": "wrong"], "private-bench-", 77, "Invalid signature"),
            (["PUSHER_APP_ID": "wrong"], "bench-", 77, "Unknown application"),
            (["PUSHER_PORT": "1"], "bench-", 69, "0 of 2 connections"),
        ] as [([String: String], String, Int32, String)])
    func whoIsNotLetInIsToldOnce(
        environment: [String: String], prefix: String, status: Int32, words: String
    ) async throws {
        try await withServer { server in
            let command = try CommandRun(
                [
                    "bench", "--no-tls", "--connections", "2", "--channel-prefix", prefix, "--connect-timeout",
                    environment["PUSHER_PORT"] == nil ? "60" : "1",
                ],
                environment: Self.environment.merging(["PUSHER_PORT": "\(server.port)"]) { $1 }.merging(environment) {
                    $1
                })
            #expect(await command.status() == status)
            #expect(command.output == [])
            #expect(command.errors.count { $0.contains(words) } == 1)
        }
    }

    @Test(arguments: [
        [], ["--embedded", "--connections", "0"], ["--embedded", "--rate", "nan"], ["--embedded", "--rate", "1e9"],
        ["--embedded", "--duration", "0"], ["--embedded", "--size", "63"], ["--embedded", "--size", "10241"],
        ["--embedded", "--subscriptions", "2"], ["--embedded", "--channels", "3", "--subscriptions", "2"],
        ["--embedded", "--channel-prefix", "a b"], ["--embedded", "--host", "h"], ["--embedded", "--interval", "0"],
        ["--embedded", "--rate", "0.001"], ["--embedded", "--drain", "inf"], ["--embedded", "--publishers", "0"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        let command = try CommandRun(["bench"] + arguments)
        #expect(await command.status() == 64)
        #expect(command.output == [])
        #expect(!command.errors.isEmpty)
    }

    @Test func aFileThatCannotBeWrittenIsToldAtTheStart() async throws {
        let command = try CommandRun(["bench", "--embedded", "--hdr", "/nowhere/x.hgrm", "--duration", "60"])
        #expect(await command.status() == 74)
        #expect(command.errors == ["error: --hdr /nowhere/x.hgrm cannot be written"])
    }
}
