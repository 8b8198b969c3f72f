import Basics
import PusherHTTP
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct PublishingTests {
    private func client(
        _ server: PusherMockServer, secret: String = PusherMockServer.App.defaultSecret, maximumDataSize: Int = 10_240
    ) -> PusherHTTPClient {
        PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey, secret: secret,
            host: "127.0.0.1", port: server.port, useTLS: false, proxy: "", maximumDataSize: maximumDataSize)
    }

    @Test func theServerAcceptsSignedCalls() async throws {
        let server = try await PusherMockServer.start()
        let api = client(server)
        try await api.trigger(event: "e", channels: ["a", "private-b"], data: "☃ \"quoted\"")
        try await api.trigger(event: "e", channels: ["a"], data: "", socketID: "1.2")
        try await api.triggerBatch([
            .init(channel: "a", event: "e", data: "1"), .init(channel: "b", event: "f", data: "2", socketID: "3.4"),
        ])
        let statuses = await server.state.history.compactMap { entry -> Int? in
            if case .httpRequest(_, _, let status) = entry { status } else { nil }
        }
        #expect(statuses == [200, 200, 200])
        await server.stop()
    }

    @Test func encryptedChannelsNeedAMasterKeyAndAreAlone() async throws {
        let server = try await PusherMockServer.start()
        func api(_ masterKey: String?) -> PusherHTTPClient {
            PusherHTTPClient(
                appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
                secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: server.port, useTLS: false,
                proxy: "", encryptionMasterKey: masterKey)
        }
        let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await api(masterKey).trigger(event: "e", channels: ["private-encrypted-x"], data: "x")
        try await api(masterKey).triggerBatch([.init(channel: "private-encrypted-x", event: "e", data: "x")])
        for (masterKey, channels, reason) in [
            (nil, ["private-encrypted-x"], "needs an encryptionMasterKey"),
            ("AAAA", ["private-encrypted-x"], "not base64 of 32 bytes"),
            (masterKey, ["private-encrypted-x", "a"], "goes to that channel alone"),
        ] as [(String?, [String], String)] {
            await #expect {
                try await api(masterKey).trigger(event: "e", channels: channels, data: "x")
            } throws: { error in
                let error = error as? PusherHTTPError
                return error?.kind == .invalidArgument && error?.message.contains(reason) == true
            }
        }
        await server.stop()
    }

    @Test func refusalsAreTyped() async throws {
        let server = try await PusherMockServer.start()
        await #expect {
            try await client(server, secret: "wrong").trigger(event: "e", channels: ["a"], data: "x")
        } throws: { error in
            let error = error as? PusherHTTPError
            return error?.kind == .refused && error?.status == 401 && error?.mayRetry == false
                && "\(error.map { "\($0)" } ?? "")".contains("wrong") == false
        }
        await #expect {
            try await client(server, maximumDataSize: 20_000).trigger(
                event: "e", channels: ["a"], data: String(repeating: "x", count: 10_241))
        } throws: { error in
            (error as? PusherHTTPError)?.kind == .rejected && (error as? PusherHTTPError)?.status == 413
        }
        await server.stop()
        await #expect {
            try await client(server).trigger(event: "e", channels: ["a"], data: "x")
        } throws: { error in
            (error as? PusherHTTPError)?.kind == .unreachable && (error as? PusherHTTPError)?.mayRetry == true
        }
    }

    /// A page of a proxy or a portal means that the event has not reached the server.
    @Test(arguments: ["<html>hi</html>", "ok then", "{"])
    func anAnswerThatIsNoJSONIsNoSuccess(body: String) async throws {
        let server = SocketServer { peer in
            _ = peer.readRequest()
            peer.answer(body)
        }
        let api = PusherHTTPClient(server)
        let single = await #expect(throws: PusherHTTPError.self) {
            try await api.trigger(event: "e", channels: ["a"], data: "x", info: [.userCount])
        }
        #expect(single?.kind == .unexpectedAnswer)
        let batch = await #expect(throws: PusherHTTPError.self) {
            try await api.triggerBatch([.init(channel: "a", event: "e", data: "x")])
        }
        #expect(batch?.kind == .unexpectedAnswer)
    }

    /// Each kind of server has its own answer.
    @Test(arguments: ["", "{}", #"{"ok":true}"#, "[]", " \n{}\n"])
    func anyJSONIsASuccess(body: String) async throws {
        let server = SocketServer { peer in
            _ = peer.readRequest()
            peer.answer(body)
        }
        try await PusherHTTPClient(server).trigger(event: "e", channels: ["a"], data: "x")
    }

    @Test func aServerThatDoesNotSpeakHTTPIsNoServer() async throws {
        let server = SocketServer { peer in
            peer.write("SSH-2.0-OpenSSH_9.2\r\n")
            while !peer.read().isEmpty {}
        }
        let error = await #expect(throws: PusherHTTPError.self) {
            try await PusherHTTPClient(server).trigger(event: "e", channels: ["a"], data: "x")
        }
        #expect(error?.kind == .unreachable)
        #expect(error?.message == "127.0.0.1:\(server.port) does not answer in HTTP")
    }

    @Test func infoIsToldOfEveryChannelOrEvent() async throws {
        let server = SocketServer { peer in
            let body = peer.readRequest().body
            let answer =
                body.contains("batch")
                ? #"{"batch":[{"user_count":42},{},{"subscription_count":13}]}"#
                : #"{"channels":{"presence-a":{"user_count":42},"b":{"subscription_count":13}}}"#
            peer.answer(answer)
        }
        let api = PusherHTTPClient(server)
        let channels = try await api.trigger(
            event: "e", channels: ["presence-a", "b"], data: "x", info: [.userCount, .subscriptionCount])
        #expect(channels.mapValues(\.userCount) == ["presence-a": 42, "b": nil])
        #expect(channels.mapValues(\.subscriptionCount) == ["presence-a": nil, "b": 13])
        let batch = try await api.triggerBatch([
            .init(channel: "presence-a", event: "e", data: "x", info: [.userCount]),
            .init(channel: "c", event: "e", data: "x"),
            .init(channel: "b", event: "e", data: "x", info: [.subscriptionCount]),
        ])
        #expect(batch.map(\.userCount) == [42, nil, nil])
        #expect(batch.map(\.subscriptionCount) == [nil, nil, 13])
    }

    @Test func whatIsSentIsWhatWasGiven() async throws {
        let bodies = Lock<[String]>([])
        let server = SocketServer { peer in
            let body = peer.readRequest().body
            bodies.withLock { $0.append(body) }
            peer.answer("{}")
        }
        struct Price: Encodable {
            let unit = "€/kg"
            let value = 1.5
        }
        let api = PusherHTTPClient(server)
        try await api.trigger(event: "e", channels: ["a", "b"], json: Price(), socketID: "1.2")
        try await api.trigger(event: "e", toUser: "ann@x", data: "hi")
        try await api.trigger(event: "e", toUser: "ann", json: ["n": 1])
        try await api.triggerBatch([try .init(channel: "a", event: "e", json: [1, 2])])
        #expect(
            bodies.withLock { $0 } == [
                #"{"channels":["a","b"],"data":"{\"unit\":\"€/kg\",\"value\":1.5}","name":"e","socket_id":"1.2"}"#,
                ##"{"channels":["#server-to-user-ann@x"],"data":"hi","name":"e"}"##,
                ##"{"channels":["#server-to-user-ann"],"data":"{\"n\":1}","name":"e"}"##,
                #"{"batch":[{"channel":"a","data":"[1,2]","name":"e"}]}"#,
            ])
    }

    @Test(arguments: [
        ("", "x", "the event has no name"),
        (String(repeating: "é", count: 101), "x", "the event name has 202 bytes, at most 200 are allowed"),
        ("pusher:e", "x", "start with pusher:"), ("pusher:\u{301}e", "x", "start with pusher:"),
        ("pusher_internal:e", "x", "start with pusher:"),
        ("e", String(repeating: "é", count: 5121), "the event's data has 10242 bytes, at most 10240 are allowed"),
    ])
    func aBadEventIsExplainedAndNotSent(event: String, data: String, reason: String) async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "")
        let errors = [
            await #expect(throws: PusherHTTPError.self) {
                try await api.trigger(event: event, channels: ["a"], data: data)
            },
            await #expect(throws: PusherHTTPError.self) {
                try await api.trigger(event: event, toUser: "ann", data: data)
            },
            await #expect(throws: PusherHTTPError.self) {
                try await api.triggerBatch([.init(channel: "a", event: event, data: data)])
            },
        ]
        for error in errors {
            #expect(error?.kind == .invalidArgument)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        }
    }

    @Test func theSizeOfEncryptedDataIsWhatCounts() async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "",
            encryptionMasterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        let error = await #expect(throws: PusherHTTPError.self) {
            try await api.trigger(
                event: "e", channels: ["private-encrypted-x"], data: String(repeating: "x", count: 8000))
        }
        #expect(error?.message.contains("the event's data has 10748 bytes") == true, "\(error?.message ?? "")")
    }

    @Test func whatCannotBeRightIsNotSent() async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "")
        for (channels, socketID) in [
            ([], nil), (["a b"], nil), (["a"], "1.2:x"), ((0...100).map { "c\($0)" }, nil),
        ] as [([String], String?)] {
            await #expect {
                try await api.trigger(event: "e", channels: channels, data: "", socketID: socketID)
            } throws: { error in
                (error as? PusherHTTPError)?.kind == .invalidArgument
            }
        }
        await #expect(throws: PusherHTTPError.self) { try await api.triggerBatch([]) }
        await #expect(throws: PusherHTTPError.self) {
            try await api.triggerBatch((0...10).map { .init(channel: "c", event: "e", data: "\($0)") })
        }
    }
}
