import Foundation
import PusherMockServer
import TestSupport
import Testing

@testable import CommandKit

/// `--raw`, `--format` and `-0`.
@Suite(.overSockets)
struct StreamFormTests {
    private static let options = ["--no-tls", "--host", "127.0.0.1", "--key", PusherMockServer.App.defaultKey]

    /// Returns a run's output for events that come in this order.
    private func output(
        _ arguments: [String], command: String = "subscribe", of data: [String], event: String = "e"
    ) async throws -> CommandRun {
        let server = try await PusherMockServer.start()
        let run = try CommandRun(
            [command, "a", "--count", "\(data.count)", "--port", "\(server.port)"] + arguments + Self.options)
        #expect(await server.waitFor { $0.channels() == ["a"] })
        for data in data { await server.publish(event: event, channel: "a", data: data) }
        #expect(await run.status() == 0)
        await server.stop()
        return run
    }

    private static let hostile = [HostileText.short, "plain", "{\n  \"x\": \"a\\u001b[2J\\nb\u{202E}\"\n}\n", "a\0b"]

    @Test(arguments: [["--raw"], ["--format", "{{data}}"], ["--format", "{{event}} {{channel}} {{data}} {{data.x}}"]])
    func nobodyForgesALine(arguments: [String]) async throws {
        let run = try await output(arguments, of: Self.hostile, event: HostileText.short)
        let lines = run.outputText.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == Self.hostile.count + 1, "\(lines)")
        for line in lines {
            #expect(HostileText.flaws(in: String(line), isBounded: false, isPiped: true) == [], "\(line)")
        }
        #expect(!lines.contains { $0.hasPrefix("2026-01-01") })
    }

    @Test func escapedJSONStaysJSON() async throws {
        let run = try await output(["--raw"], of: Self.hostile)
        let line = try #require(run.output.dropFirst(2).first)
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
        #expect(object == ["x": "a\u{1B}[2J\nb\u{202E}"])
    }

    @Test func recordsThatEndWithNULAreAsTheyCame() async throws {
        let run = try await output(["--raw", "-0"], of: Self.hostile)
        #expect(run.outputText == Self.hostile.map { $0.replacing("\0", with: #"\u{0}"#) + "\0" }.joined())
        let formatted = try await output(["--format", #"{{event}}\n{{data}}"#, "--null"], of: ["x\ny", ""])
        #expect(formatted.outputText == "e\nx\ny\0e\n\0")
    }

    @Test func aTerminalIsNotDrivenByNULEndedRecordsEither() {
        let separator = RecordSeparator(isNul: true, isTerminal: true)
        #expect(HostileText.flaws(in: separator.fit(HostileText.short)) == [])
        #expect(RecordSeparator(isNul: true, isTerminal: false).fit("\u{1B}[2J") == "\u{1B}[2J")
    }

    @Test func everythingButEventsGoesToStandardError() async throws {
        let run = try await output(["--raw"], command: "listen", of: ["1", "2"])
        #expect(run.output == ["1", "2"])
        #expect(run.errors.contains { $0.contains("connected") })
        #expect(run.errors.contains { $0.contains("a  subscribed") })
        let typed = try await output(["--format", "{{type}} {{channel}} {{data.to}}"], command: "listen", of: ["1"])
        #expect(typed.output.contains("state  connected"))
        #expect(typed.output.contains("subscribed a "))
        #expect(typed.output.last == "event a ")
    }

    @Test(arguments: [
        (["--format", "{{price}}"], "the fields are channel, event, data, user_id, time, type"),
        (["--format", "{{channel.x}}"], "There is no field {{channel.x}}"),
        (["--format", "{{data..x}}"], "There is no field"), (["--format", "{{data"], "ends with }}"),
        (["--format", #"\x"#], "A backslash is followed by"), (["--format", #"x\"#], "A backslash is followed by"),
        (["--raw", "--json"], "give one of"), (["--raw", "--exec", "true"], "give one of"), (["-0"], "-0 needs"),
        (["-0", "--json"], "-0 needs"), (["--jobs", "2"], "--jobs needs"),
        (["--exec", "true", "--jobs", "0"], "--jobs must be 1 to 1000"),
    ])
    func wrongUseIsStatus64(arguments: [String], words: String) async throws {
        let run = try CommandRun(["subscribe", "a"] + arguments + Self.options)
        #expect(await run.status() == 64)
        #expect(run.errors.contains { $0.contains(words) }, "\(run.errors)")
    }

    @Test(arguments: [
        (#"{{data.a.b}}"#, "1"), ("{{data.list.1}}", #"{"c":true}"#), ("{{data.list.1.c}}", "true"), ("{{data.0}}", ""),
        ("{{ data.text }}", "ä ö"), ("{{data.none.x}}", ""), ("{{data.null}}", "null"), (#"\{{\t\\{}}"#, "{{\t\\{}}"),
        ("{{channel}}{{event}}{{user_id}}", "cnu"), ("{ {{type}} }", "{ event }"),
    ])
    func aTemplateTakesWhatItNames(template: String, text: String) throws {
        let event = EventFields(
            channel: "c", name: "n",
            data: #"{"a": {"b": 1}, "list": [0, {"c": true}], "text": "\u00e4 ö", "null": null}"#, userID: "u")
        let made = try StreamTemplate(template).text(of: event, at: Date()) { $0 }
        #expect(made == text)
    }
}
