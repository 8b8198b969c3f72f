import Basics
import Dispatch
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

struct BindingTests {
    private let recorder = Recorder()

    // MARK: Bindings

    @Test(.overSockets, .regression("Names such as \"constructor\" were taken for built-in members."))
    func namesLikeThoseOfBuiltInMembersAreOrdinary() async throws {
        let names = ["constructor", "toString", "hasOwnProperty", "__proto__", "description", "hash", "self", "init"]
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            for channelName in names {
                let channel = pusher.subscribe(channelName)
                for name in names {
                    channel.bind(eventName: name) { [recorder] event in
                        recorder.add("\(channelName).\(name): \(event.channelName ?? "").\(event.eventName)")
                    }
                }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: names.count))
            let start = recorder.all.count
            for name in names { await server.publish(event: name, channel: name, data: "") }
            #expect(await recorder.waitFor("init.init: init.init"))
            #expect(recorder.all.dropFirst(start) == names.map { "\($0).\($0): \($0).\($0)" }[...])
        }
    }

    @Test(.overSockets, .regression("A binding that ended itself made the next one miss the event."))
    func unbindingDuringDispatchSkipsNobody() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let ids = Lock<[String]>([])
            for number in 1...4 {
                let id = channel.bind(eventName: "e") { [recorder] event in
                    recorder.add("\(number) got \(event.data ?? "")")
                    if number < 3 { channel.unbind(eventName: "e", callbackId: ids.withLock { $0[number - 1] }) }
                    if number == 3 { channel.unbindAll(forEventName: "other") }
                }
                ids.withLock { $0.append(id) }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed c"))
            for data in ["a", "b"] { await server.publish(event: "e", channel: "c", data: data) }
            #expect(await recorder.waitFor("4 got b"))
            #expect(
                recorder.all.filter { $0.contains("got") } == [
                    "1 got a", "2 got a", "3 got a", "4 got a", "3 got b", "4 got b",
                ])
        }
    }

    /// Like the example in version 5's documentation, for each format in which servers send the data.
    @Test(
        .overSockets, .regression("pusher:error never reached a binding."),
        arguments: [#"{"code":4301,"message":"m"}"#, #""{\"code\":4301,\"message\":\"m\"}""#], [true, false])
    func errorsReachBindingsAsInVersion5(data: String, parses: Bool) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.attemptToReturnJSONObject = parses }
            pusher.bind({ [recorder] (message: Any?) in
                guard let message = message as? [String: Any], message["event"] as? String == "pusher:error",
                    let data = message["data"] as? [String: Any], let text = data["message"] as? String
                else { return }
                recorder.add("global \(text) \(message["channel"] as? String ?? "-")")
            })
            pusher.subscribe("c").bind(
                eventName: "pusher:error",
                callback: { [recorder] data in
                    recorder.add("channel \((data as? [String: Any])?["message"] as? String ?? "-")")
                })
            pusher.connect()
            #expect(await recorder.waitFor("subscribed c"))
            let socketID = try #require(pusher.connection.socketId)
            try await server.send(raw: #"{"event":"pusher:error","data":\#(data)}"#, to: socketID)
            #expect(await recorder.waitFor("global m -"))
            try await server.send(raw: #"{"event":"pusher:error","channel":"c","data":\#(data)}"#, to: socketID)
            #expect(await recorder.waitFor("channel m"))
            #expect(recorder.contains("global m c"))
            #expect(recorder.count("channel m") == 1)
        }
    }

    @Test(.overSockets, .regression("Unbinding twice removed another binding."))
    func unbindingAnUnboundIDRemovesNothingElse() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let other = pusher.subscribe("d")
            let bound = channel.bind(eventName: "e") { [recorder] _ in recorder.add("bound") }
            let global = pusher.bind { [recorder] event in if event.eventName == "e" { recorder.add("global") } }
            let elsewhere = other.bind(eventName: "e") { _ in }
            for id in ["", "nonsense", "-1", "999999", elsewhere, global] {
                channel.unbind(eventName: "e", callbackId: id)
                channel.unbind(callbackId: id)
            }
            channel.unbind(eventName: "f", callbackId: bound)
            other.unbind(callbackId: bound)
            for id in ["", "nonsense", "-1", "999999", bound] { pusher.unbind(callbackId: id) }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 2))
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await recorder.waitFor("bound"))
            #expect(recorder.count("bound") == 1 && recorder.count("global") == 1)
        }
    }
}
