import PusherProtocol
import Testing

struct ChannelNameTests {
    @Test(
        arguments: [
            ("my-channel", .public, false), ("cache-x", .public, true), ("private-x", .private, false),
            ("private-cache-x", .private, true), ("private-encrypted-x", .encrypted, false),
            ("private-encrypted-cache-x", .encrypted, true), ("presence-x", .presence, false),
            ("presence-cache-x", .presence, true), ("private-encryptedfoo", .private, false),
            ("private-encr-x", .private, false), ("--x-private-encrypted-y", .public, false),
            ("Private-x", .public, false), ("presence", .public, false), ("private", .public, false),
            ("#server-to-user-12345", .serverToUser, false),
        ] as [(String, ChannelName.Kind, Bool)])
    func thePrefixSaysTheKind(name: String, kind: ChannelName.Kind, isCached: Bool) throws {
        let channel = try ChannelName(name)
        #expect(channel.kind == kind)
        #expect(channel.isCached == isCached)
        #expect(channel.string == name)
    }

    @Test(arguments: [
        "", "a b", "a/b", "ü", "#x", "a:b", "a\nb", "a\"b", String(repeating: "x", count: 165),
        "#server-to-user-" + String(repeating: "u", count: 201),
    ])
    func otherNamesAreRefused(name: String) {
        #expect(throws: InvalidChannelName.self) { try ChannelName(name) }
    }

    @Test func theLongestNameIsAccepted() throws {
        _ = try ChannelName(String(repeating: "x", count: 164))
        _ = try ChannelName("azAZ09_-=@,.;")
        _ = try ChannelName("#server-to-user-" + String(repeating: "u", count: 200))
    }

    @Test(
        arguments: [
            ("1.2", true), ("123456.7890", true), ("1234", false), ("1.2.3", false), ("1.", false), (".1", false),
            ("a.1", false), ("1.2:private-x", false), ("", false), ("1.2\n", false),
        ] as [(String, Bool)])
    func socketIDsAreTwoNumbers(text: String, isValid: Bool) {
        #expect((SocketID(text) != nil) == isValid)
    }
}

struct EndpointTests {
    @Test func followsTheProtocol() {
        let endpoint = Endpoint(host: "ws-eu.pusher.com", key: "abc", clientVersion: "1.0")
        #expect(
            endpoint.url == "wss://ws-eu.pusher.com:443/app/abc?protocol=7&client=pusher-swift-linux&version=1.0")
    }

    @Test(
        arguments: [
            ("h", nil, "", false, "ws://h:80/app/k?"), ("h", 6001, "", false, "ws://h:6001/app/k?"),
            ("::1", 6001, "", true, "wss://[::1]:6001/app/k?"), ("[::1]", 1, "", true, "wss://[::1]:1/app/k?"),
            ("h", nil, "/ws", true, "wss://h:443/ws/app/k?"), ("h", nil, "ws/", true, "wss://h:443/ws/app/k?"),
            ("h", nil, "/", true, "wss://h:443/app/k?"),
        ] as [(String, Int?, String, Bool, String)])
    func anyHostPortAndPath(host: String, port: Int?, path: String, usesTLS: Bool, prefix: String) {
        let endpoint = Endpoint(host: host, port: port, path: path, key: "k", usesTLS: usesTLS, clientVersion: "1.0")
        #expect(endpoint.url.hasPrefix(prefix))
    }

    @Test func oddKeysAreEscaped() {
        let endpoint = Endpoint(host: "h", key: "a/b?c d\r\n", clientVersion: "1.0")
        #expect(endpoint.url.contains("/app/a%2Fb%3Fc%20d%0D%0A?"))
    }
}

struct CloseCodeTests {
    @Test(
        arguments: [
            (1000, .backOff(atLeast: .zero)), (1006, .backOff(atLeast: .zero)), (4000, .reconnectWithTLS),
            (4001, .stop),
            (4002, .stop), (4010, .stop), (4099, .stop), (4100, .backOff(atLeast: .seconds(1))),
            (4199, .backOff(atLeast: .seconds(1))), (4200, .reconnectImmediately), (4299, .reconnectImmediately),
            (4300, .stop), (4999, .stop),
        ] as [(Int, CloseCode.Disposition)])
    func theRangeDecides(code: Int, disposition: CloseCode.Disposition) {
        #expect(CloseCode(rawValue: code).disposition == disposition)
    }

    /// RFC 6455's and the protocol's codes have their own descriptions; others are described by range or by number.
    @Test func everyKnownCodeHasItsWords() {
        let known =
            Array(1000...1003) + [1005, 1006, 1007, 1008, 1009, 1011, 4000, 4001] + Array(4003...4009) + [
                4100, 4200, 4201, 4202, 4301, 4302,
            ]
        let words = known.map { CloseCode(rawValue: $0).meaning }
        #expect(Set(words).count == known.count)
        #expect(!words.contains { $0.contains("close code") })
    }

    @Test(
        arguments: [
            (1000, "normal closure"), (1005, "closed without a code"), (1006, "connection lost without a close frame"),
            (1009, "message too large"), (4001, "the application does not exist: wrong key or wrong cluster"),
            (4004, "the application is over its connection quota"), (4009, "the connection is unauthorized"),
            (4100, "the server is over capacity"), (4200, "the server asks to reconnect"),
            (4201, "the server missed our pong"), (4301, "client event rejected: rate limit"),
            (4302, "watchlist limit exceeded"), (4002, "refused for good"), (4099, "refused for good"),
            (4101, "temporary failure of the server"), (4199, "temporary failure of the server"),
            (4203, "the server asks to reconnect"), (4299, "the server asks to reconnect"), (4300, "close code 4300"),
            (999, "close code 999"), (1004, "close code 1004"), (3999, "close code 3999"),
        ])
    func aCodeIsToldInWords(code: Int, words: String) {
        #expect(CloseCode(rawValue: code).meaning == words)
    }
}

struct AuthAnswerTests {
    private func answer(_ text: String) throws -> AuthAnswer { try AuthAnswer(body: Array(text.utf8)) }

    @Test func readsWhatTheServerSigned() throws {
        #expect(try answer(#"{"auth":"k:s"}"#) == AuthAnswer(auth: "k:s"))
        #expect(try answer(" {\"auth\":\"k:s\",\"x\":1,\"channel_data\":null}\n") == AuthAnswer(auth: "k:s"))
        #expect(
            try answer(#"{"auth":"k:s","channel_data":"{\"user_id\": \"1\"}"}"#)
                == AuthAnswer(auth: "k:s", channelData: #"{"user_id": "1"}"#))
    }

    @Test(arguments: [
        ("", "its answer is empty"), (" \n", "its answer is empty"),
        ("<html>", "it answered HTML instead of a JSON object"), ("nope", "its answer is not a JSON object"),
        ("[1]", "its answer is not a JSON object"), ("{}", "its answer has no auth"),
        (#"{"data":{"auth":"k:s"}}"#, "its answer has no auth"),
        (#"{"auth":5}"#, "the auth in its answer is not a string"),
        (#"{"auth":"k:s","channel_data":{"user_id":"1"}}"#, "the channel_data in its answer is not a string"),
    ])
    func anythingElseIsAFailureWithAReason(body: String, reason: String) {
        #expect(throws: AuthFailure(reason, kind: .unusable)) { try answer(body) }
    }
}

struct ClientFrameTests {
    @Test func framesAreCompactJSON() throws {
        #expect(
            ClientFrame.subscribe(try ChannelName("private-x"), auth: "k:s", channelData: #"{"user_id":"1"}"#).text
                == #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"k:s","channel_data":"{\"user_id\":\"1\"}"}}"#
        )
        #expect(
            ClientFrame.subscribe(try ChannelName("x"), auth: nil, channelData: nil).text
                == #"{"event":"pusher:subscribe","data":{"channel":"x"}}"#)
        #expect(
            ClientFrame.clientEvent(name: "client-\"", try ChannelName("private-x"), data: "[1]").text
                == #"{"event":"client-\"","channel":"private-x","data":[1]}"#)
    }
}
