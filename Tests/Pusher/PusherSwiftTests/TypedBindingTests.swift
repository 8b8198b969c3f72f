import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct TypedBindingTests {
    private struct Price: Codable {
        struct Amount: Codable {
            let value: Int
        }

        let amount: Amount
    }

    private let recorder = Recorder()

    @Test func dataIsDecodedAndWhatDoesNotFitIsReported() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind("price", as: Price.self) { [recorder] price in recorder.add("price \(price.amount.value)") }
            var prices = channel.events("price", as: Price.self).makeAsyncIterator()
            pusher.connect()
            try await channel.subscribed()
            await server.publish(event: "price", channel: "c", data: #"{"amount":{"value":1}}"#)
            await server.publish(event: "price", channel: "c", data: #"{"amount":{"value":"secret"}}"#)
            await server.publish(event: "price", channel: "c", data: #"{"amount":{"value":2}}"#)
            #expect(await recorder.waitFor("price 2"))
            #expect(recorder.contains("price 1"))
            #expect(
                await recorder.waitFor(
                    "error channel c: event price cannot be decoded: no Int at amount.value", count: 2))
            #expect(!recorder.contains("secret"))
            #expect(await prices.next()?.amount.value == 1)
            #expect(await prices.next()?.amount.value == 2)
        }
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"["a": 1]"#), ("[1,2]", "[1, 2]"), ("5", "5"), (#""x""#, "x"), ("plain", "plain"),
        ("null", "null"), ("", ""),
    ])
    func theParsedFormGivesSwiftValues(data: String, expected: String) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e", callback: { [recorder] data in recorder.add("got \(data ?? "nil")") })
            pusher.connect()
            try await channel.subscribed()
            await server.publish(event: "e", channel: "c", data: data)
            #expect(await recorder.waitFor("got \(expected)"))
        }
    }

    @Test func parsingCanBeSwitchedOff() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.attemptToReturnJSONObject = false }
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e", callback: { [recorder] data in recorder.add("got \(data as? String ?? "-")") })
            pusher.connect()
            try await channel.subscribed()
            await server.publish(event: "e", channel: "c", data: #"{"a":1}"#)
            #expect(await recorder.waitFor(#"got {"a":1}"#))
        }
    }

    @Test func aTrailingClosureGetsTheEvent() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            pusher.bind { [recorder] event in recorder.add("global \(event.eventName)") }
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e") { [recorder] event in recorder.add("bound \(event.eventName)") }
            pusher.connect()
            try await channel.subscribed()
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await recorder.waitFor("bound e"))
            #expect(recorder.contains("global e"))
        }
    }

    @Test func propertiesOfTheMessageCanBeRead() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e") { [recorder] event in
                let names = ["event", "channel", "data", "user_id", "extra"]
                recorder.add(names.map { "\(event.property(withKey: $0) ?? "nil")" }.joined(separator: " "))
            }
            pusher.connect()
            try await channel.subscribed()
            let socketID = try #require(pusher.connection.socketId)
            let frame = #"{"event":"e","channel":"c","data":"d","extra":"x"}"#
            try await server.send(raw: frame, to: socketID)
            #expect(await recorder.waitFor("e c d nil x"))
        }
    }
}
