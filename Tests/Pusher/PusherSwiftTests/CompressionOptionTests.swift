import Basics
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@testable import Transport

/// ``PusherClientOptions/compression`` over a socket; compression itself is tested with its implementation.
struct CompressionOptionTests {
    private let recorder = Recorder()

    /// Returns a server that accepts compression if offered, and sends a greeting.
    private func server(seen handshake: Lock<String>) -> SocketServer {
        SocketServer { peer in
            let head = peer.readHead()
            handshake.withLock { $0 = head }
            let key = head.components(separatedBy: "Sec-WebSocket-Key: ").last?.prefix(24) ?? ""
            let isCompressed = head.contains("permessage-deflate")
            peer.write(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + (isCompressed ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "")
                    + "Sec-WebSocket-Accept: \(ClientHandshake.accept(key: String(key)))\r\n\r\n")
            let greeting = Array(
                #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#.utf8)
            guard isCompressed, let deflater = Deflater(windowBits: 15, keepsContext: true) else {
                peer.write([0x81, UInt8(greeting.count)] + greeting)
                _ = peer.read()
                return
            }
            let payload = deflater.deflate(greeting)
            peer.write([0xC1, UInt8(payload.count)] + payload)
            while let first = peer.read().first { handshake.withLock { $0 += "\nframe \(first)" } }
        }
    }

    private func options(for server: SocketServer) -> PusherClientOptions {
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: server.port, useTLS: false)
        options.proxy = ""
        return options
    }

    @Test(.overSockets) func compressedMessagesGoBothWays() async throws {
        let seen = Lock("")
        let server = server(seen: seen)
        var options = options(for: server)
        options.compression = PusherCompression()
        options.compression?.clientMaxWindowBits = 10
        let pusher = Pusher(key: "key", options: options)
        pusher.delegate = recorder
        pusher.subscribe("channel")
        pusher.connect()
        #expect(await recorder.waitFor("→ connected"))
        #expect(await eventually { seen.withLock { $0.contains("frame \(0xC1)") } })
        #expect(
            seen.withLock {
                $0.contains("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10\r\n")
            })
        pusher.disconnect()
    }

    @Test(.overSockets) func withoutTheOptionNothingIsOffered() async throws {
        let seen = Lock("")
        let server = server(seen: seen)
        let pusher = Pusher(key: "key", options: options(for: server))
        pusher.delegate = recorder
        pusher.connect()
        #expect(await recorder.waitFor("→ connected"))
        #expect(seen.withLock { !$0.contains("Sec-WebSocket-Extensions") })
        pusher.disconnect()
    }

    @Test(.overSockets) func windowsThatCannotBeAreReported() async throws {
        let server = server(seen: Lock(""))
        var options = options(for: server)
        options.compression = PusherCompression()
        options.compression?.clientMaxWindowBits = 8
        let pusher = Pusher(key: "key", options: options)
        pusher.delegate = recorder
        pusher.connect()
        #expect(await recorder.waitFor("9 to 15"))
        pusher.disconnect()
    }
}
