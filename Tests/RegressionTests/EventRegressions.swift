import Dispatch
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// Events and callbacks that older clients lost or mixed up, and inputs that crashed them.
struct EventRegressions {
    private let recorder = Recorder()

    // MARK: Data

    @Test(.overSockets) func dataThatIsNoContainerIsDelivered() async throws {
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

    @Test(arguments: [
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

    @Test func triggeringWhatCannotBeEncodedIsAnError() async {
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

    // MARK: Bindings

    @Test(.overSockets) func namesLikeThoseOfBuiltInMembersAreOrdinary() async throws {
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

    @Test(.overSockets) func unbindingDuringDispatchSkipsNobody() async throws {
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

    @Test(.overSockets) func unbindingAnUnboundIDRemovesNothingElse() async throws {
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

    // MARK: Authorization

    @Test(.overSockets) func channelNamesArePercentEncodedInAuthBodies() async throws {
        let body = Lock("")
        let endpoint = SocketServer { peer in
            _ = peer.readHead()
            body.withLock { $0 = String(decoding: peer.read(), as: UTF8.self) }
            peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/auth")
            }
            pusher.subscribe("private-a=@,.;b")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-a=@,.;b"))
            let socketID = try #require(pusher.connection.socketId)
            #expect(body.withLock { $0 } == "socket_id=\(socketID)&channel_name=private-a%3D%40%2C.%3Bb")
        }
    }

    @Test(.overSockets) func onlyStatus200And201AreAccepted() async throws {
        let statuses = [200, 201, 202, 203, 204, 206, 300, 400, 401, 404, 500]
        try await withServer { server in
            for status in statuses {
                await server.failAuth(.respond(status: status, body: #"{"auth":"app-key:signature"}"#), next: 1)
            }
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.maximumAuthRequests = 1
                $0.maximumAuthRetries = 0
            }
            for status in statuses { pusher.subscribe("private-\(status)") }
            pusher.connect()
            #expect(await recorder.waitFor("failed", count: statuses.count))  // the signature is wrong, too
            for status in statuses {
                let isAccepted = status == 200 || status == 201
                let frame = #"{"event":"pusher:subscribe","data":{"channel":"private-\#(status)","#
                if isAccepted { #expect(await server.waitFor { $0.framesReceived(containing: frame) == 1 }) }
                #expect(await server.state.framesReceived(containing: frame) == (isAccepted ? 1 : 0))
                #expect(recorder.contains("the auth endpoint answered \(status)") == !isAccepted)
            }
        }
    }

    @Test(.overSockets) func inlineAuthorizationKeepsTheCase() async throws {
        let app = PusherMockServer.App(key: "MiXedKey", secret: "SeCrEt")
        try await withServer(.init(apps: [app])) { server in
            let pusher = Pusher(key: "MiXedKey", options: .local(server, authMethod: .inline(secret: "SeCrEt")))
            pusher.delegate = recorder
            pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "Ann", userInfo: ["Name": "A"]) }
            pusher.subscribe("private-RoomA")
            pusher.subscribe("presence-RoomB")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 2))
            #expect(await server.state.channels() == ["presence-RoomB", "private-RoomA"])
            #expect(await server.state.users(of: "presence-RoomB") == ["Ann"])
        }
    }

    private struct Nobody: Authorizer {
        func fetchAuthValue(
            socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) { completionHandler(nil) }
    }

    @Test(.overSockets) func anAuthorizerThatAnswersNilIsAnError() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .authorizer(authorizer: Nobody()) }
            pusher.subscribe("private-x").bind(eventName: "pusher:subscription_error") { [recorder] _ in
                recorder.add("bound")
            }
            pusher.connect()
            #expect(await recorder.waitFor("bound"))
            #expect(recorder.count("failed private-x") == 1)
            #expect(recorder.contains("the authorizer answered nil"))
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    @Test(.overSockets) func aBadEndpointHostOrKeyIsAnErrorAndNoCrash() async throws {
        try await withServer { server in
            for endpoint in ["", "not a url", "http://", "http://[::", "ftp://127.0.0.1/", "http://127.0.0.1:99999/"] {
                let recorder = Recorder()
                let pusher = Pusher.make(server, recorder) {
                    $0.authMethod = .endpoint(authEndpoint: endpoint)
                    $0.maximumAuthRetries = 0
                }
                pusher.subscribe("private-x")
                pusher.connect()
                #expect(await recorder.waitFor("failed private-x"), "\(endpoint)")
                #expect(pusher.connection.connectionState == .connected, "\(endpoint)")
            }
            for host in ["", "two words", "[", "a/b?c#d", "127.0.0.1:1:2", "\u{0}", "☃ ☃"] {
                let recorder = Recorder()
                let pusher = Pusher.make(server, recorder) {
                    $0.host = .host(host)
                    $0.reconnectAttemptsMax = 0
                }
                pusher.connect()
                #expect(await recorder.waitFor("connecting → disconnected"), "\(host)")
                #expect(recorder.count("error") == 1, "\(host)")
            }
            for key in ["", "wrong", "a/b", "../..", "two words", "?#%", "ключ", "\u{0}"] {
                let recorder = Recorder()
                let pusher = Pusher(key: key, options: .local(server))
                pusher.delegate = recorder
                pusher.connect()
                #expect(await recorder.waitFor("connecting → disconnected"), "\(key)")
                #expect(recorder.count("error") == 1, "\(key)")
                #expect(recorder.contains("(code 400"), "\(key)")
            }
        }
    }

    // MARK: Surroundings

    /// In a process of its own, where numbers have a decimal comma and, if the system knows Turkish, the small letter of
    /// `I` is not `i`.
    @Test func nothingDependsOnTheLocale() async {
        await #expect(processExitsWith: .success) {
            try useForeignLocale()
            try Abroad.readAndWriteNumbers()
            try Abroad.compareNames()
            try await Abroad.connect()
        }
    }

    // MARK: The end of a client

    @Test(.overSockets) func aThousandClientsLeaveNothingBehind() async throws {
        try await withServer { server in
            let released = Lock(0)
            for _ in 0..<10 {
                var clients: [Pusher] = []
                for _ in 0..<100 {
                    let token = Token { released.withLock { $0 += 1 } }
                    // Bindings are let go of early; the options live as long as anything of the client does.
                    let core = Token { released.withLock { $0 += 1 } }
                    var options = PusherClientOptions.local(server)
                    options.authHeaders = { [core] in
                        _ = core
                        return [:]
                    }
                    let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
                    let connection = pusher.connection
                    let channel = pusher.subscribe("private-c", onMemberAdded: { _ in _ = (token, connection) })
                    channel.bind { _ in _ = (token, channel, connection) }
                    pusher.bind { _ in _ = (token, channel) }
                    pusher.connect()
                    clients.append(pusher)
                }
                #expect(await server.waitFor { $0.subscribers(of: "private-c").count == 100 })
                clients = []
                #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            }
            #expect(await eventually { released.withLock { $0 } == 2000 })
        }
    }

    /// One callback runs and many wait when the client goes.
    @Test(.overSockets) func nothingIsCalledBackAfterTheClientIsGone() async throws {
        try await withServer { server in
            let queue = DispatchQueue(label: "callbacks")
            let gate = Gate()
            var pusher: Pusher? = Pusher.make(server, recorder) { $0.callbackQueue = .queue(queue) }
            let channel = pusher?.subscribe("c")
            channel?.bind(eventName: "e") { [recorder] event in
                recorder.add("event \(event.data ?? "")")
                gate.wait()
            }
            pusher?.connect()
            #expect(await recorder.waitFor("subscribed c"))
            for number in 1...100 { await server.publish(event: "e", channel: "c", data: "\(number)") }
            #expect(await recorder.waitFor("event 1"))
            pusher = nil
            let told = recorder.all
            gate.open()
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            #expect(recorder.all == told)
            #expect(told.count { $0.hasPrefix("event") } == 1)
        }
    }
}

/// What is the same in every place.
private enum Abroad {
    private struct Price: Codable {
        let amount: Double
    }

    static func readAndWriteNumbers() throws {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.receive(
            #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1234567.89\",\"activity_timeout\":7.5}"}"#
        )
        #expect(client.machine.nextDeadline == client.now + .seconds(7.5))
        #expect(client.machine.socketID?.string == "1234567.89")
        _ = client.take()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":1234567}"#))
        client.succeed("presence-x", data: #"{"presence":{"ids":[1234567],"hash":{"1234567":{"x":2.5}}}}"#)
        #expect(client.machine.myID(on: id) == "1234567")
        #expect(client.machine.members(of: id)["1234567"]?.userInfo == #"{"x":2.5}"#)
        _ = client.take()
        client.receive(#"{"event":"e","channel":"presence-x","data":{"amount": 1234567.25}}"#)
        guard case .events(let batch)? = client.machine.takeNotices().first, let event = batch.first?.event else {
            Issue.record("no event")
            return
        }
        #expect(event.data == #"{"amount":1234567.25}"#)
        #expect(try event.decode(Price.self).amount == 1_234_567.25)
        #expect(JSON.text(["amount": 1_234_567.25]) == #"{"amount":1234567.25}"#)
        #expect(JSON.value("2.5") as? Double == 2.5)
        client.close(4100)
        #expect(client.take().contains { $0.hasSuffix("(code 4100); will retry in 1.0 s") })
    }

    static func compareNames() throws {
        let fields: HTTPFields = ["TITLE-ID": "x"]
        #expect(fields["title-id"] == "x")
        #expect(try ChannelName("PRIVATE-I").kind == .public)
        #expect("İi".percentEncoded == "%C4%B0i")
    }

    static func connect() async throws {
        let recorder = Recorder()
        var configuration = PusherMockServer.Configuration()
        configuration.requiredAuthHeaders = ["X-TITLE-ID": "I"]
        try await withServer(configuration) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.authHeaders = { ["x-title-id": "I"] }
            }
            pusher.subscribe("private-TITLE").bind(
                eventName: "e", callback: { recorder.add("parsed \($0 as? Double ?? 0)") })
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-TITLE", within: .seconds(10)))
            await server.publish(event: "e", channel: "private-TITLE", data: "2.5")
            #expect(await recorder.waitFor("parsed 2.5", within: .seconds(10)))
        }
    }
}
