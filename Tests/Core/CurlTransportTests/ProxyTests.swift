import Basics
import CurlTransport
import Dispatch
import Foundation
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct ProxyTests {
    /// A proxy that speaks CONNECT, or refuses with `status`.
    private static func connectProxy(status: Int = 200, _ log: Lock<[String]>) -> SocketServer {
        SocketServer { peer in
            let head = peer.readHead()
            log.withLock { $0.append(String(head.prefix { $0 != "\r\n" })) }
            guard status == 200, let port = Int(head.split(separator: " ")[1].split(separator: ":").last ?? ""),
                let target = SocketServer.Peer.connect(port: port)
            else { return peer.write("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n") }
            peer.write("HTTP/1.1 200 Connection established\r\n\r\n")
            peer.relay(with: target)
        }
    }

    /// A proxy for RFC 1928 without authentication.
    private static func socksProxy(_ log: Lock<[String]>) -> SocketServer {
        SocketServer { peer in
            _ = peer.read()  // version and methods
            peer.write([5, 0])
            let request = peer.read(atMost: 300)
            guard request.count > 6,
                let target = SocketServer.Peer.connect(
                    port: Int(request[request.count - 2]) << 8 | Int(request[request.count - 1]))
            else { return }
            log.withLock { $0.append("socks \(request[3])") }
            peer.write([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
            peer.relay(with: target)
        }
    }

    @Test func anHTTPProxyCarriesPlainAndTLS() async throws {
        let authority = try await CertificateAuthority()
        for tls in [nil, try await authority.issue("IP:127.0.0.1")] {
            let log = Lock<[String]>([])
            let proxy = Self.connectProxy(log)
            let server = try await EchoServer(tls: tls)
            let connection = TestConnection(
                WebSocketRequest(url: "\(tls == nil ? "ws" : "wss")://127.0.0.1:\(server.port)/"),
                options: NetworkOptions(caFile: authority.certificate, proxy: "http://127.0.0.1:\(proxy.port)"))
            #expect(await connection.waitFor { $0.isOpened })
            connection.send("through")
            #expect(await connection.waitFor { $0.messages.count == 1 })
            #expect(log.withLock { $0 } == ["CONNECT 127.0.0.1:\(server.port) HTTP/1.1"])
            connection.perform { $0.drop() }
            await server.stop()
        }
    }

    @Test(arguments: ["socks5", "socks5h"])
    func aSOCKSProxyCarriesIt(scheme: String) async throws {
        let log = Lock<[String]>([])
        let proxy = Self.socksProxy(log)
        let server = try await EchoServer()
        let connection = TestConnection(
            WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/"),
            options: NetworkOptions(proxy: "\(scheme)://127.0.0.1:\(proxy.port)"))
        #expect(await connection.waitFor { $0.isOpened })
        connection.send("through")
        #expect(await connection.waitFor { $0.messages.count == 1 })
        #expect(log.withLock { $0.count } == 1)
        connection.perform { $0.drop() }
        await server.stop()
    }

    @Test func aProxyThatRefusesOrIsGoneIsSaid() async throws {
        let proxy = Self.connectProxy(status: 403, Lock([]))
        let refused = TestConnection(
            WebSocketRequest(url: "ws://127.0.0.1:1/"),
            options: NetworkOptions(proxy: "http://user:secret@127.0.0.1:\(proxy.port)"))
        let error = await refused.closure()?.error
        #expect(error?.code == .proxy)
        #expect(error?.message.contains("403") == true && error?.message.contains("secret") == false)
        let nonsense = TestConnection(WebSocketRequest(url: "ws://127.0.0.1:1/"), options: NetworkOptions(proxy: "://"))
        #expect(await nonsense.closure()?.error?.code == .invalidRequest)
    }
    @Test(arguments: ["http", "socks5"])
    func aProxyThatIsNotThereIsToldFromAServerThatIsNot(scheme: String) async throws {
        let options = NetworkOptions(proxy: "\(scheme)://user:secret@127.0.0.1:1")
        let socket = await TestConnection(WebSocketRequest(url: "ws://127.0.0.1:2/"), options: options).closure()?.error
        #expect(socket?.code == .proxy)
        #expect(socket?.message.contains("secret") == false)
        await #expect {
            try await HTTPClient.send(HTTPRequest(url: "http://127.0.0.1:2/"), options: options)
        } throws: { ($0 as? TransportError)?.code == .proxy }
    }
}
