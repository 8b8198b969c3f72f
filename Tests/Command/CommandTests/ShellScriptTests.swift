import Foundation
import PusherMockServer
import TestSupport
import Testing

@testable import PusherCommands

/// The shell without a terminal.
@Suite(.overSockets)
struct ShellScriptTests {
    private func script(
        _ lines: String, on server: PusherMockServer, environment: [String: String] = [:], _ more: String...
    ) throws -> CommandRun {
        try CommandRun(
            ["shell", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", ""] + more,
            environment: ["PUSHER_KEY": PusherMockServer.App.defaultKey].merging(environment) { $1 }, input: lines)
    }

    private static let credentials = [
        "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "PUSHER_APP_ID": PusherMockServer.App.defaultID,
    ]

    private func withServer(_ body: (PusherMockServer) async throws -> Void) async throws {
        let server = try await PusherMockServer.start()
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func commandsAreDoneOneAfterTheOther() async throws {
        try await withServer { server in
            let run = try script(
                """
                # a comment

                subscribe prices presence-room
                trigger prices up '{"a": 1}'
                trigger presence-room client-x hi
                members presence-room
                channels
                status
                unsubscribe prices
                """, on: server, environment: Self.credentials, "--json", "--user-id", "me")
            #expect(await run.status() == 0)
            #expect(run.errors == [])
            let types = run.output.compactMap { line -> String? in
                let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return object?["type"] as? String
            }
            #expect(types.count == run.output.count)
            for type in ["subscribed", "published", "sent", "member", "channel", "status", "unsubscribed"] {
                #expect(types.contains(type), "\(type)")
            }
            #expect(run.output.contains { $0.contains(#""type":"event""#) && $0.contains(#""data":"{\"a\": 1}""#) })
        }
    }

    @Test func errorsHaveTheNumbersOfTheirLines() async throws {
        try await withServer { server in
            let run = try script(
                """
                subscribe prices
                nonsense
                trigger prices up 1
                subscribe private-x
                channels
                """, on: server, environment: ["PUSHER_SECRET": "wrong"])
            #expect(await run.status() == 64)
            #expect(run.errors.count == 3)
            #expect(run.errors.first == "error: line 2: “nonsense” is not a command; help lists them")
            #expect(
                run.errors.dropFirst().first?.hasPrefix(
                    "error: line 3: only the HTTP API can send this event: the application's id is missing")
                    == true)
            #expect(run.errors.last?.hasPrefix("error: line 4: ") == true)
            #expect(run.output.contains("prices     subscribed"), "\(run.output)")
            #expect(run.output.contains("private-x  refused"))
        }
    }

    @Test func aLineThatIsTooLongIsPassedOver() async throws {
        try await withServer { server in
            let long = String(repeating: "x", count: ScriptReader.maximumLine + 1)
            let run = try script("\(long)\nchannels\n", on: server)
            #expect(await run.status() == 65)
            #expect(run.errors == ["error: line 1 is longer than 1 MiB"])
            #expect(run.output.last == "no channels")
        }
    }

    @Test(arguments: [
        ("trigger c 'x", 65, "line 1: a quote is not closed"), ("members prices", 65, "is not subscribed"),
        ("sign-in", 65, "no user to sign in as"), ("trigger private-x client-y 1", 65, "is not subscribed"),
        ("disconnect\nsubscribe prices", 69, "line 2: there is no connection"),
        ("disconnect\nconnect\nsubscribe bad%name", 65, "line 3: “bad%name” cannot be a channel name"),
        ("subscribe c\nsubscribe private-c", 64, "line 2: the application's secret is missing"),
        ("quit\nnonsense", 0, ""),
    ])
    func whatGoesWrongIsTheStatus(lines: String, status: Int32, message: String) async throws {
        try await withServer { server in
            let run = try script(lines, on: server)
            #expect(await run.status() == status)
            #expect(
                run.errors.contains { $0.contains(message) } || message.isEmpty && run.errors.isEmpty, "\(run.errors)")
        }
    }

    @Test func aServerThatIsNotThereIsGivenUp() async throws {
        let run = try CommandRun(
            [
                "shell", "--host", "127.0.0.1", "--port", "1", "--no-tls", "--proxy", "", "--key", "k", "--timeout",
                "0.3",
            ],
            input: "subscribe a\n")
        #expect(await run.status() == 69)
        #expect(
            run.errors.last?.hasPrefix("error: no connection within 0.3 s: cannot connect to 127.0.0.1:1") == true,
            "\(run.errors)")
    }

    @Test func aMissingMasterKeyIsWrongUse() async throws {
        try await withServer { server in
            let run = try script("subscribe private-encrypted-c", on: server, environment: Self.credentials)
            #expect(await run.status() == 64)
            #expect(run.errors.contains { $0.contains("line 1: the application's encryption master key is missing") })
        }
    }

    @Test func anAnswerThatNeverComesIsSaid() async throws {
        try await withServer { server in
            await server.injectIntoNewConnections(.goSilent, next: 1)
            let run = try script("subscribe prices\n", on: server, "--timeout", "1")
            #expect(await run.status() == 69)
            #expect(
                run.errors == ["error: line 1: channel prices: the server did not answer the subscription in time"])
        }
    }

    @Test func helpIsForPeople() async throws {
        try await withServer { server in
            let run = try script("help\n", on: server, "--json")
            #expect(await run.status() == 0)
            #expect(run.errors.contains { $0.hasPrefix("trigger CHANNEL EVENT DATA  ") })
            #expect(run.output.allSatisfy { $0.hasPrefix("{") })
        }
    }

    @Test func whoeverLeavesTheOutputEndsTheScript() async throws {
        try await withServer { server in
            let run = try CommandRun(
                [
                    "shell", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", "", "--key",
                    "app-key",
                ],
                input: "subscribe a\nchannels\n", closesOutput: true)
            #expect(await run.status() == 0)
        }
    }
}
