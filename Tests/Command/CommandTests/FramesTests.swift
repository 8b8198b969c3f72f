import Foundation
import PusherMockServer
import TestSupport
import Testing

/// `--frames`.
@Suite(.overSockets)
struct FramesTests {
    private static var line: Regex<Substring> { /^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}  [<>]  .+$/ }

    private func withServer(_ body: (PusherMockServer, [String]) async throws -> Void) async throws {
        let server = try await PusherMockServer.start()
        let options = [
            "--key", "app-key", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", "",
            "--frames",
        ]
        try await body(server, options)
        await server.stop()
    }

    private func run(_ arguments: [String]) throws -> CommandRun {
        try CommandRun(arguments, environment: ["PUSHER_SECRET": "app-secret"])
    }

    private func frame(_ direction: String, _ text: String) -> @Sendable (String) -> Bool {
        { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["type"] as? String == "frame" && object?["direction"] as? String == direction
                && object?["time"] is String && (object?["text"] as? String)?.contains(text) == true
        }
    }

    @Test func peopleReadThemOnStandardError() async throws {
        try await withServer { server, options in
            let command = try run(["subscribe", "private-x", "--count", "1"] + options)
            #expect(await server.waitFor { !$0.channels().isEmpty })
            await server.publish(event: "e", channel: "private-x", data: "\u{1B}]0;title\u{7} \u{202E}x")
            #expect(await command.status() == 0)
            #expect(command.output.count == 1)
            let frames = command.errors.filter { $0.contains(Self.line) }
            #expect(
                command.errors.filter { !$0.contains(Self.line) } == [
                    "listening to private-x on 127.0.0.1:\(server.port)"
                ])
            #expect(frames.contains { $0.contains(#"  >  {"event":"pusher:subscribe","#) })
            #expect(frames.contains { $0.contains(#""auth":"app-key:…""#) })
            #expect(frames.contains { $0.contains(#"  <  {"event":"e","#) })
            #expect(!frames.joined().contains(/[0-9a-f]{64}|\x1B|\x07|\x{202E}/))
        }
    }

    @Test func listenPutsThemAmongItsLines() async throws {
        try await withServer { server, options in
            let command = try run(["listen", "private-x", "--json", "--count", "1"] + options)
            #expect(await server.waitFor { !$0.channels().isEmpty })
            await server.publish(event: "e", channel: "private-x", data: "1")
            #expect(await command.status() == 0)
            #expect(command.errors.isEmpty)
            let lines = command.output
            let frame = try #require(lines.firstIndex(where: frame("in", #""event":"e""#)))
            let event = try #require(lines.firstIndex { $0.contains(#""type":"event""#) })
            #expect(frame < event)
            #expect(lines.contains(where: self.frame("out", #""auth":"app-key:…""#)))
            #expect(!lines.joined().contains(/[0-9a-f]{64}/))
        }
    }

    @Test(arguments: [["subscribe", "c", "--count", "1"], ["doctor", "private-x"]])
    func otherCommandsKeepTheirOutput(arguments: [String]) async throws {
        try await withServer { server, options in
            let command = try run(arguments + ["--json"] + options)
            if arguments[0] == "subscribe" {
                #expect(await server.waitFor { !$0.channels().isEmpty })
                await server.publish(event: "e", channel: "c", data: "1")
            }
            #expect(await command.status() == 0)
            #expect(!command.output.contains { $0.contains(#""type":"frame""#) })
            #expect(command.errors.contains(where: frame("in", "pusher:connection_established")))
            #expect(command.errors.contains(where: frame("out", "pusher:subscribe")))
        }
    }

    @Test func aClientEventShowsWhatItSends() async throws {
        try await withServer { _, options in
            let command = try run(["client-event", "private-x", "client-a", "1"] + options)
            #expect(await command.status() == 0)
            #expect(command.output.isEmpty)
            #expect(command.errors.contains { $0.contains(Self.line) && $0.contains(#"  >  {"event":"client-a","#) })
        }
    }

    @Test func withoutItNothingIsShown() async throws {
        try await withServer { _, options in
            let command = try run(["client-event", "private-x", "client-a", "1"] + options.dropLast())
            #expect(await command.status() == 0)
            #expect(command.errors.isEmpty && command.output.isEmpty)
        }
    }
}
