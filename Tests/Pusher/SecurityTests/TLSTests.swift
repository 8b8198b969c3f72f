import Basics
import Foundation
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// A client that requires TLS never accepts less, whatever the other side sends.
@Suite(.overSockets)
struct TLSTests {
    private static let key = "a-recognizable-key"
    private let recorder = Recorder()

    private func options(port: Int, proxy: String = "") -> PusherClientOptions {
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: true)
        options.proxy = proxy
        options.reconnectPolicy = .exponential(base: .milliseconds(20), maximumDelay: .milliseconds(100))
        options.connectTimeout = .seconds(2)
        return options
    }

    private func connect(_ options: PusherClientOptions) -> Pusher {
        let pusher = Pusher(key: Self.key, options: options)
        pusher.delegate = recorder
        pusher.connect()
        return pusher
    }

    @Test(
        arguments: [
            (4000, false), (4001, false), (4100, true), (4200, true), (4201, true), (1001, true), (1006, true),
        ] as [(UInt16, Bool)])
    func noCloseCodeLeadsToAPlainConnection(code: UInt16, isRetried: Bool) {
        var client = ClientScript.connected()
        var opened: [String] = []
        for _ in 0..<4 {
            client.close(code)
            client.pass(.seconds(300))
            opened += client.take().filter { $0.hasPrefix("open") }
        }
        #expect(opened.count == (isRetried ? 4 : 0))
        client.machine.disconnect(now: client.now)
        client.machine.connect(now: client.now)
        opened += client.take().filter { $0.hasPrefix("open") }
        #expect(!opened.isEmpty && opened.allSatisfy { $0.hasSuffix(" wss") })
    }

    @Test func anErrorFrameDoesNotLeadToAPlainConnection() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4000,"message":"use ws://"}}"#)
        client.close(4000)
        client.pass(.seconds(300))
        client.machine.connect(now: client.now)
        let opened = client.take().filter { $0.hasPrefix("open") }
        #expect(!opened.isEmpty && opened.allSatisfy { $0.hasSuffix(" wss") })
    }

    /// At every attempt, the other side gets only the beginning of TLS.
    @Test func aServerWithoutTLSLearnsNothing() async {
        let heard = Lock<[[UInt8]]>([])
        let server = SocketServer { peer in
            let bytes = peer.read()
            heard.withLock { $0.append(bytes) }
            peer.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        }
        let pusher = connect(options(port: server.port))
        #expect(await eventually { heard.withLock { $0.count } >= 3 })
        pusher.disconnect()
        for bytes in heard.withLock({ $0 }).prefix(3) { expectTLS(bytes) }
        #expect(!recorder.contains("→ connected"))
    }

    /// Once a tunnel is promised, the proxy gets the beginning of TLS; after any other answer, nothing.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n", true),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", false),
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n", false), ("nonsense", false),
    ])
    func aProxyLearnsNothing(answer: String, isTunnel: Bool) async {
        let heard = Lock<[[UInt8]]>([])
        let proxy = SocketServer { peer in
            let head = peer.readHead()
            if head.isEmpty { return }  // an attempt abandoned on a busy machine
            peer.write(answer)
            let bytes = peer.read()
            heard.withLock { $0 += [Array(head.utf8), bytes] }
        }
        let pusher = connect(options(port: 4433, proxy: "http://127.0.0.1:\(proxy.port)"))
        #expect(await eventually { heard.withLock { $0.count } >= 4 })
        pusher.disconnect()
        for (index, bytes) in heard.withLock({ $0 }).prefix(4).enumerated() {
            guard index.isMultiple(of: 2) else {
                if isTunnel { expectTLS(bytes) } else { #expect(bytes.isEmpty) }
                continue
            }
            let head = String(decoding: bytes, as: UTF8.self)
            #expect(head.hasPrefix("CONNECT 127.0.0.1:4433 "))
            #expect(!head.contains(Self.key))
        }
        #expect(!recorder.contains("→ connected"))
    }

    /// A TLS handshake record (RFC 8446, section 5.1).
    private func expectTLS(_ bytes: [UInt8]) {
        #expect(bytes.starts(with: [0x16, 3]))
        #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.key))
    }

    @Test(arguments: ["ws", "http"])
    func aRedirectOfTheHandshakeIsNotFollowed(scheme: String) async {
        let visits = Lock(0)
        let target = SocketServer { peer in
            visits.withLock { $0 += 1 }
            _ = peer.readHead()
        }
        let asked = Lock(0)
        let server = SocketServer { peer in
            _ = peer.readHead()
            asked.withLock { $0 += 1 }
            peer.write(
                "HTTP/1.1 301 Moved\r\nLocation: \(scheme)://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
        }
        var options = options(port: server.port)
        options.useTLS = false
        let pusher = connect(options)
        #expect(await eventually { asked.withLock { $0 } >= 3 })
        #expect(await recorder.waitFor("refused the WebSocket handshake: 301 Moved", count: 2))
        pusher.disconnect()
        #expect(visits.withLock { $0 } == 0)
    }

    /// The token in its headers does not go to another server, either.
    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectOfTheAuthEndpointIsNotFollowed(status: Int) async throws {
        let visits = Lock(0)
        let target = SocketServer { peer in
            visits.withLock { $0 += 1 }
            _ = peer.readHead()
        }
        let endpoint = SocketServer { peer in
            _ = peer.readHead()
            peer.write(
                "HTTP/1.1 \(status) X\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
        }
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/")
                $0.authHeaders = { ["Authorization": "Bearer t0ken"] }
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("redirects are not followed"))
            #expect(visits.withLock { $0 } == 0)
            pusher.disconnect()
        }
    }

    /// A certificate of another server or of an unknown authority is never accepted.
    @Test(.enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
    func aWrongCertificateIsNeverAccepted() async throws {
        let authority = try await CertificateAuthority()
        for leaf in try await [authority.makeSelfSigned("IP:127.0.0.1"), authority.issue("DNS:other.example")] {
            let tls = PusherMockServer.TLS(certificatePath: leaf.certificate, privateKeyPath: leaf.privateKey)
            try await withServer(.init(tls: tls)) { server in
                let recorder = Recorder()
                var options = options(port: server.port)
                options.caFile = authority.certificate
                let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
                pusher.delegate = recorder
                pusher.connect()
                #expect(await recorder.waitFor("error the certificate", count: 3))
                pusher.disconnect()
                #expect(!recorder.contains("→ connected"))
            }
        }
    }
}
