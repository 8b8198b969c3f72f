import Foundation
import PusherProtocol
import PusherProtocolTestSupport
import TestSupport
import Testing

/// Replays `Fixtures/transcripts`: real server messages, our answers, and the reports to the application.
struct TranscriptTests {
    @Test(arguments: ["vendor", "soketi", "reverb"])
    func theClientTakesPartAsWritten(name: String) throws {
        let text = try Fixtures.text("transcripts/\(name).txt")
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        var expected: [String] = []
        var seen: [String] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("subscribe ") {
                _ = try client.subscribe(String(line.dropFirst("subscribe ".count)))
                continue
            }
            let rest = String(line.dropFirst(2))
            switch line.first {
            case "<":
                client.receive(rest)
                seen += Self.played(&client)
            case ">": expected.append("send \(rest)")
            default: expected.append(rest)
            }
        }
        #expect(seen.sorted() == expected.sorted())
        #expect(seen.filter { !$0.hasPrefix("send") } == expected.filter { !$0.hasPrefix("send") })
    }

    /// Returns the output, with every authorization answered at once.
    private static func played(_ client: inout ClientScript) -> [String] {
        var lines: [String] = []
        var news = client.take()
        while !news.isEmpty {
            for line in news where line.hasPrefix("authorize ") {
                let channel = String(line.split(separator: " ")[1])
                client.answer(channel, .success(AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u1"}"#)))
            }
            lines += news.filter { !$0.hasPrefix("authorize") && !$0.contains("→") }
            news = client.take()
        }
        return lines
    }
}
