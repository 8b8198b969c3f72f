import Basics
import Foundation
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Wire logs, and the secrets that they hide.
@Suite(.overSockets)
struct WireTapTests {
    private static let masterKey = Data((0..<32).map { UInt8($0) }).base64EncodedString()
    private let recorder = Recorder()
    private let messages = Lock<[PusherWireMessage]>([])

    private var incoming: [String] { texts(.incoming) }
    private var outgoing: [String] { texts(.outgoing) }

    private func texts(_ direction: PusherWireMessage.Direction) -> [String] {
        messages.withLock { $0 }.filter { $0.direction == direction }.map(\.text)
    }

    /// Every secret of the protocol occurs here: signatures of channels and of a user, a channel's key.
    @Test func noSecretIsShown() async throws {
        let app = PusherMockServer.App(encryptionMasterKey: Self.masterKey)
        try await withServer(.init(apps: [app])) { server in
            let start = Date()
            let pusher = Pusher.make(server, recorder) { [messages] in
                $0.encryptionMasterKey = Self.masterKey
                $0.userAuthMethod = .inline(
                    secret: PusherMockServer.App.defaultSecret, user: PusherUserData(id: "ann"))
                $0.wireTap = { message in messages.withLock { $0.append(message) } }
            }
            let names = ["private-x", "presence-x", "private-encrypted-x", "plain"]
            for name in names { pusher.subscribe(name) }
            pusher.connect()
            pusher.user.signIn()
            for name in names { #expect(await recorder.waitFor("subscribed \(name)")) }
            _ = try await pusher.user.signedIn()
            await server.publish(event: "e", channel: "plain", data: #"{"price":1}"#)
            #expect(await eventually { incoming.contains { $0.contains(#"\"price\":1"#) } })
            pusher.disconnect()

            // The shown text matches the server's frames one by one, except for the secrets.
            let signatures = /app-key:[0-9a-f]{64}/
            let received = await server.state.history.compactMap { entry in
                if case .frameReceived(let text, _) = entry { text } else { nil }
            }
            #expect(received.count { $0.contains(signatures) } == 4)
            #expect(outgoing.count { $0.contains(#""auth":"app-key:…""#) } == 4)
            #expect(
                outgoing.prefix(received.count).elementsEqual(
                    received.map { $0.replacing(signatures, with: "app-key:…") }))
            let shown = messages.withLock { $0 }
            for message in shown {
                #expect(!message.text.contains(/[0-9a-f]{64}/))
                #expect(message.time >= start && message.time <= Date())
            }
            #expect(shown.first?.text.contains("pusher:connection_established") == true)
        }
    }

    /// Servers repeat what they receive, and more.
    @Test func whatTheServerRepeatsIsNotShownEither() async throws {
        let signature = String(repeating: "5e", count: 32)
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            peer.writeFrame(
                #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#)
            let frame = peer.readFrame() ?? ""
            let quoted = frame.replacing("\"", with: #"\""#)
            peer.writeFrame(#"{"event":"pusher:error","data":{"code":null,"message":"not understood: \#(quoted)"}}"#)
            peer.writeFrame(
                #"{"event":"pusher:error","data":{"message":"Invalid signature: Expected \#(signature)"}}"#)
            peer.writeFrame("garbage: \(frame) \(signature)")
            peer.writeFrame(#"{"event":"done"}"#)
            _ = peer.read()
        }
        var options = PusherClientOptions(
            authMethod: .inline(secret: PusherMockServer.App.defaultSecret), host: .host("127.0.0.1"),
            port: server.port, useTLS: false)
        options.proxy = ""
        options.wireTap = { [messages] message in messages.withLock { $0.append(message) } }
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        pusher.subscribe("private-x")
        pusher.connect()
        #expect(await eventually { incoming.contains(#"{"event":"done"}"#) })
        pusher.disconnect()
        #expect(incoming.count == 5)
        #expect(incoming.count { $0.contains("pusher:subscribe") } == 2)
        for text in incoming { #expect(!text.contains(/[0-9a-f]{40}/), "\(text)") }
    }

    /// Each message comes before its consequences, and all on the callback queue.
    @Test func messagesComeBeforeTheirEvents() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { [recorder] in
                $0.wireTap = { message in
                    if message.text.contains(#""event":"e""#) {
                        recorder.add("frame \(message.text.suffix(3).prefix(1))")
                    }
                }
            }
            pusher.bind { [recorder] event in
                if event.eventName == "e" { recorder.add("event \(event.data?.suffix(1) ?? "")") }
            }
            pusher.subscribe("c")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed c"))
            for number in 0..<5 { await server.publish(event: "e", channel: "c", data: "n\(number)") }
            #expect(await recorder.waitFor("event 4"))
            pusher.disconnect()
            for number in 0..<5 {
                let lines = recorder.all
                let event = try #require(lines.firstIndex(of: "event \(number)"))
                #expect(lines[..<event].contains("event \(number)") == false)
                #expect(lines.count { $0.hasPrefix("frame") } == 5)
                let frames = lines[..<event].count { $0.hasPrefix("frame") }
                #expect(frames > number)
            }
        }
    }

    @Test func afterTheClientHasGoneNothingIsShown() async throws {
        try await withServer { server in
            var pusher: Pusher? = Pusher.make(server, recorder) { [messages] in
                $0.wireTap = { message in messages.withLock { $0.append(message) } }
            }
            pusher?.subscribe("c")
            pusher?.connect()
            #expect(await recorder.waitFor("subscribed c"))
            pusher = nil
            #expect(await server.waitFor { $0.connectionCount == 0 })
            let count = messages.withLock { $0.count }
            await server.publish(event: "e", channel: "c", data: "x")
            #expect(messages.withLock { $0.count } == count)
        }
    }
}
