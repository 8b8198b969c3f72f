import Basics
import NIOCore
import NIOPosix
import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

@Suite(.overSockets)
struct AuthEndpointTests {
    private func auth(
        _ server: PusherMockServer, _ form: String, target: String = "/pusher/auth", fields: [String: String] = [:]
    ) async throws -> SignedAPI.Answer {
        try await SignedAPI.send("POST", target, to: server, body: form, fields: fields)
    }

    @Test func privateChannelIsSigned() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [.init(key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")]))
        #expect(
            try await auth(server, "socket_id=1234.1234&channel_name=private-foobar").body
                == #"{"auth":"278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}"#)
        #expect(await server.state.authRequestCount == 1)
        await server.stop()
    }

    @Test func encryptedChannelGetsItsKey() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [
                .init(
                    key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8",
                    encryptionMasterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
            ]))
        #expect(
            try await auth(server, "socket_id=1234.1234&channel_name=private-encrypted-room").body
                == #"{"auth":"278d425bdf160c739803:98e84cf417fd22d611fa93b4ec322087ab4298977c873bc416735f8743194648","#
                + #""shared_secret":"jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="}"#)
        await server.stop()
    }

    /// Every client can try encrypted channels without any setup.
    @Test func theDefaultApplicationHasEncryptedChannels() async throws {
        let server = try await PusherMockServer.start()
        let key = try #require(EncryptionMasterKey(base64: PusherMockServer.App.defaultEncryptionMasterKey))
        let expected = key.key(of: try ChannelName("private-encrypted-x")).base64
        let answer = try await auth(server, "socket_id=1.2&channel_name=private-encrypted-x")
        #expect(answer.body.contains(#""shared_secret":"\#(expected)""#))
        await server.stop()
    }

    @Test func masterKeyMustBeOne() async throws {
        await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(.init(apps: [.init(encryptionMasterKey: "AAAA")]))
        }
    }

    @Test(
        arguments: [
            ("", #"{\"user_id\":\"1.2\"}"#, #"{"user_id":"1.2"}"#),
            (
                "&user_id=a+b%40c&user_info=%7B%22n%22%3A1.0%7D",
                #"{\"user_id\":\"a b@c\",\"user_info\":{\"n\":1.0}}"#, #"{"user_id":"a b@c","user_info":{"n":1.0}}"#
            ),
        ])
    func presenceChannelGetsItsUser(parameters: String, quoted: String, channelData: String) async throws {
        let server = try await PusherMockServer.start()
        let answer = try await auth(server, "socket_id=1.2&channel_name=presence-x\(parameters)")
        let socketID = try #require(SocketID("1.2"))
        let signature = TestClient.credentials.channelAuth(
            socketID: socketID, channel: try ChannelName("presence-x"), channelData: channelData)
        #expect(answer.body == #"{"auth":"\#(signature)","channel_data":"\#(quoted)"}"#)
        await server.stop()
    }

    @Test(
        arguments: [
            ("socket_id=1&channel_name=private-x", 400), ("channel_name=private-x", 400),
            ("socket_id=1.2", 400), ("socket_id=1.2&channel_name=a%20b", 400),
            ("socket_id=1.2&channel_name=presence-x&user_id=", 400),
            ("socket_id=1.2&channel_name=presence-x&user_info=%7B", 400),
            ("socket_id=1.2&channel_name=presence-x&user_info=1%2C%22user_id%22%3A2", 400),
        ])
    func wrongRequestIsRefused(form: String, status: Int) async throws {
        let server = try await PusherMockServer.start()
        #expect(try await auth(server, form).status == status)
        await server.stop()
    }

    @Test func headerMayBeRequired() async throws {
        let server = try await PusherMockServer.start(.init(requiredAuthHeaders: ["X-Token": "t"]))
        let form = "socket_id=1.2&channel_name=private-x"
        #expect(try await auth(server, form).status == 403)
        #expect(try await auth(server, form, fields: ["x-token": "t"]).status == 200)
        let requests = await server.state.history.compactMap { entry in
            if case .authRequest(let request) = entry { request } else { nil }
        }
        #expect(requests.map(\.channelName) == ["private-x", "private-x"])
        #expect(requests.map { $0.headers["x-token"] } == [nil, "t"])
        await server.stop()
    }

    @Test func queryChoosesTheApplication() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(), .init(id: "2", key: "two")]))
        let form = "socket_id=1.2&channel_name=private-x"
        #expect(try await auth(server, form, target: "/pusher/auth?key=two").body.contains(#""auth":"two:"#))
        #expect(try await auth(server, form, target: "/pusher/auth?key=three").status == 404)
        await server.stop()
    }

    @Test func faultsStrikeInOrder() async throws {
        let server = try await PusherMockServer.start()
        let form = "socket_id=1.2&channel_name=private-x"
        await server.failAuth(.respond(status: 403, body: "no"), next: 1)
        await server.failAuth(.respond(status: 200, body: "[]"), next: 1)
        await server.failAuth(.delay(.milliseconds(50)), next: 1)
        #expect(try await auth(server, form) == .init(status: 403, body: "no"))
        #expect(try await auth(server, form) == .init(status: 200, body: "[]"))
        let start = ContinuousClock.now
        #expect(try await auth(server, form).status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        #expect(try await auth(server, form).status == 200)
        await server.stop()
    }

    @Test(
        arguments: [
            ("", #"{"id":"1.2"}"#),
            (
                "&user_id=a+b&user_info=%7B%22n%22%3A1.0%7D&watchlist=%5B%22x%22%5D",
                #"{"id":"a b","user_info":{"n":1.0},"watchlist":["x"]}"#
            ),
        ])
    func userIsSigned(parameters: String, userData: String) async throws {
        let server = try await PusherMockServer.start()
        let answer = try await auth(server, "socket_id=1.2\(parameters)", target: "/pusher/user-auth")
        let socketID = try #require(SocketID("1.2"))
        let signature = TestClient.credentials.userAuth(socketID: socketID, userData: userData)
        let quoted = userData.replacing("\"", with: "\\\"")
        #expect(answer.body == #"{"auth":"\#(signature)","user_data":"\#(quoted)"}"#)
        await server.stop()
    }

    @Test(arguments: [
        "socket_id=1", "socket_id=1.2&user_id=", "socket_id=1.2&user_info=%7B", "socket_id=1.2&watchlist=%5B1%5D",
        "socket_id=1.2&user_info=1%2C%22id%22%3A2",
    ])
    func wrongUserIsRefused(form: String) async throws {
        let server = try await PusherMockServer.start()
        #expect(try await auth(server, form, target: "/pusher/user-auth").status == 400)
        await server.failAuth(.respond(status: 503), next: 1)
        #expect(try await auth(server, "socket_id=1.2", target: "/pusher/user-auth").status == 503)
        await server.stop()
    }

    @Test func answersComeInReverseOrder() async throws {
        let server = try await PusherMockServer.start()
        await server.failAuth(.reverseOrder(of: 2), next: 1)
        let order = Lock<[String]>([])
        try await withThrowingTaskGroup { group in
            for (number, channel) in ["private-a", "private-b"].enumerated() {
                group.addTask {
                    let answer = try await auth(server, "socket_id=1.2&channel_name=\(channel)")
                    order.withLock { $0.append(channel) }
                    #expect(answer.status == 200)
                }
                #expect(await server.waitFor { $0.authRequestCount == number + 1 })
            }
            try await group.waitForAll()
        }
        // Two connections may read answers from the same turn of the server's loop in any order.
        #expect(order.withLock { Set($0) } == ["private-a", "private-b"])
        #expect(try await auth(server, "socket_id=1.2&channel_name=private-c").status == 200)
        await server.stop()
    }

    @Test func masterKeyChangesWhileRunning() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(encryptionMasterKey: nil)]))
        let form = "socket_id=1234.1234&channel_name=private-encrypted-room"
        #expect(try await !auth(server, form).body.contains("shared_secret"))
        try await server.setEncryptionMasterKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        #expect(
            try await auth(server, form).body.contains("jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="))
        var error = await #expect(throws: PusherMockServerError.self) {
            try await server.setEncryptionMasterKey("AAAA")
        }
        #expect(error?.code == .invalidConfiguration)
        error = await #expect(throws: PusherMockServerError.self) {
            try await server.setEncryptionMasterKey(nil, app: "none")
        }
        #expect(error?.code == .unknownApp)
        await server.stop()
    }

    @Test func nothingElseIsServedWhereOnlyAuthIs() async throws {
        let server = try await PusherMockServer.start(.init(servesAuthOnly: true))
        #expect(try await auth(server, "socket_id=1.2&channel_name=private-x").status == 200)
        #expect(try await auth(server, "socket_id=1.2", target: "/pusher/user-auth").status == 200)
        #expect(try await SignedAPI(server: server).get("channels").status == 404)
        await #expect(throws: (any Error).self) { try await TestClient.connect(to: server) }
        await server.stop()
    }
}

struct HeldAnswersTests {
    @Test func lastOneIsGivenFirst() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var held = HeldAnswers(count: 3)
        let order = Lock<[Int]>([])
        for status in 1...3 {
            #expect(!held.isComplete)
            let promise = loop.makePromise(of: APIResponse.self)
            promise.futureResult.whenSuccess { answer in order.withLock { $0.append(answer.status) } }
            held.hold(APIResponse(status: status, body: ""), promise: promise)
        }
        #expect(held.isComplete)
        held.giveAll()
        #expect(await eventually { order.withLock { $0 } == [3, 2, 1] })
    }
}
