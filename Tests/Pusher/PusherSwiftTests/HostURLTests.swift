import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct HostURLTests {
    @Test(arguments: ["http", "ws"])
    func aURLIsTakenWhereAHostIs(scheme: String) async throws {
        try await withServer { server in
            let options = PusherClientOptions(host: .host("\(scheme)://127.0.0.1:\(server.port)"))
            let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
            pusher.connect()
            #expect(await eventually { pusher.connection.connectionState == .connected })
            pusher.disconnect()
        }
    }

    @Test(arguments: [
        ("http://h", "ws://h:80/app/k?"), ("https://h", "wss://h:443/app/k?"),
        ("wss://h:6001/prefix", "wss://h:6001/prefix/app/k?"), ("http://[::1]:6001", "ws://[::1]:6001/app/k?"),
    ])
    func aURLSaysPort_pathAndTLS(host: String, url: String) {
        let pusher = Pusher(key: "k", options: PusherClientOptions(host: .host(host)))
        #expect(pusher.connection.url.hasPrefix(url))
        let other = Pusher(key: "k", options: PusherClientOptions(host: .host("a"), port: 7, path: "p"))
        other.switchCluster(host: .host(host))
        #expect(other.connection.url.hasPrefix(url))
    }

    @Test func optionsAreMadeOfAURL() throws {
        let options = try PusherClientOptions(url: "http://127.0.0.1:6001/prefix")
        let pusher = Pusher(key: "k", options: options)
        #expect(pusher.connection.url.hasPrefix("ws://127.0.0.1:6001/prefix/app/k?"))
    }

    @Test(arguments: ["", "example.org", "ftp://h", "http://key:secret@h", "http://h/../x", "http://"])
    func whatIsNoURLOfAServerIsRefused(url: String) {
        let error = #expect(throws: PusherError.self) { try PusherClientOptions(url: url) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func aPasswordInAHostIsNeverPrinted() {
        let options = PusherClientOptions(host: .host("http://key:secret@h"))
        #expect(!"\(options)\(String(reflecting: options))".contains("secret"))
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!dumped.contains("secret"))
    }
}
