import CurlTransport
import Foundation
import JSONBytes
import PusherHTTP
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

@testable import PusherMockServer

/// Small inputs designed to be expensive.
@Suite(.overSockets)
struct BombTests {
    private static let depth = 100_000

    /// Arrays in arrays, objects in objects, and some that never end.
    private static let nested: [String] = [
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth),
        String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth),
        String(repeating: "[", count: depth), String(repeating: #"{"a":"#, count: depth),
        String(repeating: #"[{"a":"#, count: depth) + "1",
    ]

    /// All threads but the first have small stacks: half a megabyte here.
    private func onSmallStack(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                body()
                continuation.resume()
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
    }

    @Test func deepJSONIsAnErrorToTheClient() async {
        for json in Self.nested {
            await onSmallStack {
                let frames = [
                    json, #"{"event":"e","channel":"c","data":\#(json)}"#, #"{"event":"e","x":\#(json)}"#,
                    #"{"event":\#(json)}"#,
                ]
                for frame in frames {
                    let bytes = Array(frame.utf8)
                    #expect(throws: MalformedFrame.self) { try FrameParser.parse(bytes, bytes.indices) }
                }
                #expect(JSON.object(json) == nil && JSON.value(json) == nil && !JSONView.isJSON(json))
                for body in [json, #"{"auth":\#(json)}"#, #"{"auth":"k:s","x":\#(json)}"#] {
                    #expect(throws: AuthFailure.self) { try AuthAnswer(body: Array(body.utf8)) }
                    #expect(throws: AuthFailure.self) { try UserAuthAnswer(body: Array(body.utf8)) }
                }
                #expect(PresenceList(Array(#"{"presence":{"hash":\#(json)}}"#.utf8)) == nil)
                #expect(PresenceMembers.Member(data: #"{"user_id":"1","user_info":\#(json)}"#) == nil)
                #expect(SignedInUser(signinData: #"{"user_data":\#(json)}"#) == nil)
                #expect(throws: MalformedFrame.self) { try WatchlistChange.list(#"{"events":\#(json)}"#) }
                let key = ChannelKey([UInt8](repeating: 7, count: 32))
                #expect(throws: ChannelKey.Failure.malformed) { try key?.decrypt(json) }
            }
        }
    }

    @Test func deepDataIsDeliveredAsTextAndNotDecoded() async throws {
        struct Value: Decodable { let a: Int }
        for json in Self.nested {
            let frame = #"{"event":"e","channel":"c","data":\#(JSONString.quoted(json))}"#
            let bytes = Array(frame.utf8)
            let event = try FrameParser.parse(bytes, bytes.indices)
            #expect(event.data == json)
            await onSmallStack {
                #expect(throws: PusherError.self) { try event.decode(Value.self) }
                #expect(throws: PusherError.self) { try event.decode([Int].self) }
            }
        }
    }

    @Test func deepJSONIsAnErrorToTheServerSide() async {
        for json in Self.nested {
            let credentials = AppCredentials(key: "k", secret: "s")
            await onSmallStack {
                #expect(JSONObject(json) == nil && !JSONText.isJSON(json))
                #expect(throws: ClientMessage.Malformed.self) { try ClientMessage(parsing: json) }
                #expect(throws: ClientMessage.Malformed.self) {
                    try ClientMessage(parsing: #"{"event":"client-a","channel":"private-b","data":\#(json)}"#)
                }
                #expect(throws: UserData.Malformed.self) { try UserData(#"{"id":"1","x":\#(json)}"#) }
                let body = Array(#"{"time_ms":1,"events":\#(json)}"#.utf8)
                #expect {
                    try PusherWebhook(
                        body: body, key: "k", signature: credentials.webhookSignature(body: body), secrets: ["k": "s"])
                } throws: { ($0 as? PusherWebhookError)?.kind == .malformed }
                #expect(throws: PusherHTTPError.self) {
                    try PusherSigner(key: "k", secret: "s").authorizeChannel(
                        socketID: "1.2", channel: "presence-x", channelData: #"{"user_id":"1","x":\#(json)}"#)
                }
            }
        }
    }

    /// Returns 10 MB of zeros, compressed to 10 kB.
    private func bomb() async throws -> [UInt8] {
        try await Array(ChildProcess.run("sh", ["-c", "head -c 10000000 /dev/zero | gzip -9"]).output)
    }

    /// Answers are never decompressed, even if the application's own header requests it.
    @Test(arguments: ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
    func aCompressedAnswerIsNotDecompressed(encoding: String) async throws {
        let bomb = try await bomb()
        #expect((100..<100_000).contains(bomb.count))
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write(
                Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: \(bomb.count)\r\n\r\n".utf8)
                    + bomb)
        }
        let response = try await HTTPClient.send(
            HTTPRequest(url: "http://127.0.0.1:\(server.port)/", fields: ["Accept-Encoding": encoding]),
            options: NetworkOptions(proxy: ""))
        #expect(response.body == bomb)
    }

    /// An answer of any length, and one of undeclared length.
    @Test func anAuthAnswerWithoutAnEndIsBounded() async throws {
        let recorder = Recorder()
        let endpoint = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            // Until the client gives up: then writing fails, and reading ends.
            for _ in 0..<64 { peer.write([UInt8](repeating: 0x20, count: 1 << 20)) }
        }
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/")
                $0.maximumAuthRetries = 0
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-x"))
            #expect(recorder.contains("maximumAuthAnswerSize"))
        }
    }

    /// A head with any number of lines.
    @Test func anHTTPHeadWithoutAnEndIsBounded() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n")
            let line = Array(("X-Filler: " + String(repeating: "x", count: 1000) + "\r\n").utf8)
            for _ in 0..<10_000 { peer.write(line) }
        }
        await #expect {
            try await HTTPClient.send(
                HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(20)),
                options: NetworkOptions(proxy: ""))
        } throws: { ($0 as? TransportError)?.code == .tooLarge }
    }
}
