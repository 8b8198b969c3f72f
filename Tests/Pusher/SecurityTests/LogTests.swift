import Basics
import Foundation
import JSONBytes
import Logging
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

/// Secrets in logs, and text that a server injects into them.
@Suite(.overSockets)
struct LogTests {
    private static let secret = "s3cret-s3cret"
    private static let token = "t0ken-t0ken"
    private static let payload = "payl0ad"
    private static let masterKey = Data(repeating: 7, count: 32).base64EncodedString()
    private let recorder = Recorder()

    /// One client goes through every kind of failure, and all its output is collected.
    @Test func noFailureBringsASecretOrAPayloadIntoTheLog() async throws {
        let app = PusherMockServer.App(secret: Self.secret, encryptionMasterKey: Self.masterKey)
        try await withServer(.init(apps: [app])) { server in
            let lines = LogLines()
            let pusher = Pusher.make(server, recorder) {
                $0.logger = lines.logger
                $0.authMethod = .endpoint(
                    authEndpoint: "http://user:\(Self.secret)@127.0.0.1:\(server.port)/pusher/auth?t=\(Self.token)")
                $0.authHeaders = { ["Authorization": "Bearer \(Self.token)"] }
                $0.authParameters = { ["token": Self.token] }
                $0.userAuthMethod = .inline(secret: "wrong \(Self.secret)", user: PusherUserData(id: "u"))
                $0.maximumAuthRetries = 0
                $0.subscriptionTimeout = .milliseconds(500)
            }
            await server.failAuth(.respond(status: 403, body: "\(Self.payload)"), next: 1)
            pusher.subscribe("private-refused")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-refused"))
            await server.failAuth(.respond(status: 200, body: #"{"auth":1,"x":"\#(Self.payload)"}"#), next: 1)
            pusher.subscribe("private-nonsense")
            #expect(await recorder.waitFor("failed private-nonsense"))
            // The server repeats the received signature.
            let wrong = #"{"auth":"\#(PusherMockServer.App.defaultKey):\#(String(repeating: "5e", count: 32))"}"#
            await server.failAuth(.respond(status: 200, body: wrong), next: 1)
            pusher.subscribe("private-wrong")
            #expect(await recorder.waitFor("failed private-wrong"))
            pusher.user.signIn()
            pusher.subscribe("private-encrypted-x")
            #expect(await recorder.waitFor("subscribed private-encrypted-x"))
            let socketID = try #require(pusher.connection.socketId)
            for frame in [
                Self.payload, #"{"event":"e","channel":"private-encrypted-x","data":"\#(Self.payload)"}"#,
                #"{"event":"e","channel":"unknown","data":"\#(Self.payload)"}"#,
                #"{"event":"pusher_internal:member_added","channel":"private-encrypted-x","data":"\#(Self.payload)"}"#,
                #"{"event":"pusher:error","data":{"message":"got \#(String(repeating: "5e", count: 32))"}}"#,
            ] { try await server.send(raw: frame, to: socketID) }
            #expect(await recorder.waitFor("error the server reports: got …"))
            #expect(await recorder.waitFor("undecryptable e"))
            pusher.disconnect()
            #expect(await recorder.waitFor("→ disconnected"))
            #expect(lines.all.count > 8)
            for line in lines.all {
                for hidden in [Self.secret, Self.token, Self.payload, Self.masterKey, "5e5e5e5e"] {
                    #expect(!line.contains(hidden))
                }
            }
        }
    }

    @Test(arguments: [
        "a\nWARN forged", "a\r\nb", "\u{1B}[2J", "\u{0}", "\u{85}", "\u{2028}next", "\u{202E}gpj.exe", "\u{9B}31m",
    ])
    func aServersWordsStayOnOneLine(words: String) {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"message":\#(JSONString.quoted(words))}}"#)
        client.receive(#"{"event":"e","channel":\#(JSONString.quoted(words)),"data":""}"#)
        client.close(4000)
        // Events belong to the application, and are unchanged.
        let lines =
            client.take().filter { !$0.hasPrefix("event ") } + [
                "\(PusherError(.serverError, words, channelName: words))"
            ]
        #expect(lines.contains { $0.contains("the server reports") })
        for line in lines {
            #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
            #expect(!line.contains("\u{2028}") && !line.contains("\u{202E}"))
        }
    }

    /// A single character can have any number of marks.
    @Test func aServersWordsAreBounded() {
        let error = PusherError(.serverError, "a" + String(repeating: "\u{301}", count: 100_000))
        #expect(error.message.utf8.count <= 4000)
    }
}
