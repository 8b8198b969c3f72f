import Basics
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

struct EventDataTests {
    private let recorder = Recorder()

    // MARK: Data

    @Test(.overSockets, .regression("Data that is neither an object nor an array was dropped."))
    func dataThatIsNoContainerIsDelivered() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e", callback: { [recorder] data in recorder.add("parsed \(data ?? "nothing")") })
            channel.bind(eventName: "e") { [recorder] event in recorder.add("text \(event.data ?? "nothing")") }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed c"))
            for data in ["5", "2.5", "\"quoted\"", "plain", ""] {
                await server.publish(event: "e", channel: "c", data: data)
            }
            let id = try #require(pusher.connection.socketId)
            try await server.send(raw: #"{"event":"e","channel":"c"}"#, to: id)
            #expect(await recorder.waitFor("text nothing"))
            #expect(
                recorder.all.filter { $0.hasPrefix("parsed") || $0.hasPrefix("text") } == [
                    "parsed 5", "text 5", "parsed 2.5", "text 2.5", "parsed quoted", "text \"quoted\"",
                    "parsed plain", "text plain", "parsed ", "text ", "parsed nothing", "text nothing",
                ])
            #expect(!recorder.contains("error"))
        }
    }

    @Test(
        .regression("Data that is not a string was lost."),
        arguments: [
            (#"{"b": [1, 2.50], "a": null}"#, #"{"b":[1,2.50],"a":null}"#), ("[]", "[]"), ("7", "7"), ("true", "true"),
            ("9007199254740993", "9007199254740993"), (#""5""#, "5"),
        ])
    func dataThatIsNotAStringIsKept(data: String, expected: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":"u"}"#))
        client.succeed("presence-x")
        _ = client.take()
        client.receive(#"{"event":"client-e","channel":"presence-x","data":\#(data),"user_id":"u"}"#)
        #expect(client.take() == ["event client-e presence-x \(expected)"])
    }

    @Test(.regression("A client event that cannot be encoded crashed the program."))
    func triggeringWhatCannotBeEncodedIsAnError() async {
        let pusher = Pusher(key: "k")
        pusher.delegate = recorder
        let channel = pusher.subscribe("private-x")
        for data: Any in [Date(), Double.nan, ["deep": [Recorder()]], [1: 2]] {
            channel.trigger(eventName: "client-e", data: data)
        }
        #expect(await recorder.waitFor("error", count: 4))
        #expect(recorder.count("channel private-x: “client-e” was not sent: its data cannot be written as JSON") == 4)
        #expect(throws: EncodingError.self) { try channel.trigger("client-e", Double.infinity) }
        #expect(channel.unsentEvents.isEmpty)
    }
}
