import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// The requests to an authorizer or an endpoint, and their valid answers.
struct AuthorizationRequestTests {
    private let recorder = Recorder()

    // MARK: Authorization

    @Test(.overSockets, .regression("Channel names were not escaped in requests for authorization."))
    func channelNamesArePercentEncodedInAuthBodies() async throws {
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

    @Test(.overSockets, .regression("Any answer of an auth endpoint was taken for a success."))
    func onlyStatus200And201AreAccepted() async throws {
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
            #expect(await recorder.waitFor("failed", count: statuses.count))  // the signature is also wrong
            for status in statuses {
                let isAccepted = status == 200 || status == 201
                let frame = #"{"event":"pusher:subscribe","data":{"channel":"private-\#(status)","#
                if isAccepted { #expect(await server.waitFor { $0.framesReceived(containing: frame) == 1 }) }
                #expect(await server.state.framesReceived(containing: frame) == (isAccepted ? 1 : 0))
                #expect(recorder.contains("the auth endpoint answered \(status)") == !isAccepted)
            }
        }
    }

    @Test(.overSockets, .regression("A secret was changed to lower case before it signed."))
    func inlineAuthorizationKeepsTheCase() async throws {
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

    @Test(.overSockets, .regression("An authorizer that answered nil left its channel pending without a word."))
    func anAuthorizerThatAnswersNilIsAnError() async throws {
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

    @Test(.overSockets, .regression("A malformed endpoint, host or key crashed the program."))
    func aBadEndpointHostOrKeyIsAnErrorAndNoCrash() async throws {
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
}
