import Basics
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// The application's header fields in the WebSocket handshake.
@Suite(.overSockets)
struct HandshakeHeadersTests {
    private let recorder = Recorder()

    private func connect(port: Int, _ headers: [String: String], _ logger: Logger? = nil) -> Pusher {
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
        options.proxy = ""
        options.reconnectPolicy = .exponential(base: .milliseconds(20), maximumDelay: .milliseconds(100))
        options.handshakeHeaders = headers
        options.logger = logger
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        pusher.delegate = recorder
        pusher.connect()
        return pusher
    }

    @Test func theyAreSentWithEachHandshakeAndNotLogged() async throws {
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            heads.withLock { $0.append(head) }
            peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        let lines = LogLines()
        let pusher = connect(
            port: server.port, ["Authorization": "Bearer t0ken", "X-Empty": ""],
            lines.logger)
        #expect(await recorder.waitFor("refused the WebSocket handshake: 403", count: 2))
        pusher.disconnect()
        for head in heads.withLock({ $0 }) {
            #expect(head.contains("\r\nAuthorization: Bearer t0ken\r\n"))
            #expect(head.contains("\r\nX-Empty: \r\n"))
            #expect(head.components(separatedBy: "\r\nHost: ").count == 2)
        }
        #expect(!recorder.contains("t0ken"))
        #expect(!lines.all.contains { $0.contains("t0ken") })
        #expect(!"\(pusher.connection.options)".contains("t0ken"))
    }

    @Test(arguments: [
        "Host", "UPGRADE", "connection", "Sec-WebSocket-Key", "sec-websocket-Anything", "Content-Length",
        "Transfer-Encoding", "TE", "Expect", "", "X Y", "X:Y", "X\r\nY", "Ü",
    ])
    func aNameThatIsNotTheApplicationsIsRefused(name: String) async {
        await expectRefused([name: "t0ken"])
    }

    @Test(arguments: ["a\r\nX: b", "a\nb", "a\rb", "a\0b"])
    func aValueThatEndsItsLineIsRefused(value: String) async {
        await expectRefused(["X-Token": "t0ken" + value])
    }

    private func expectRefused(_ headers: [String: String]) async {
        let visits = Lock(0)
        let server = SocketServer { peer in
            if !peer.readHead().isEmpty { visits.withLock { $0 += 1 } }
        }
        let pusher = connect(port: server.port, headers)
        #expect(await recorder.waitFor("error "))
        #expect(await recorder.waitFor("→ disconnected"))
        pusher.disconnect()
        #expect(recorder.contains("header"))
        #expect(!recorder.contains("will retry"))
        #expect(!recorder.contains("t0ken"))
        #expect(visits.withLock { $0 } == 0)
    }
}
