import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

struct ProfileTests {
    private func stage(_ profile: PusherMockServer.Profile, _ app: PusherMockServer.App = .init()) throws -> Stage {
        var stage = Stage(app, profile: profile)
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        return stage
    }

    @Test(
        arguments: [
            (.vendor, 120), (.soketi, 30), (.reverb, 30),
        ] as [(PusherMockServer.Profile, Int)])
    func activityTimeoutIsTheServers(profile: PusherMockServer.Profile, seconds: Int) throws {
        var stage = Stage(profile: profile)
        #expect(try stage.connect("1.1").first?.contains(#"\"activity_timeout\":\#(seconds)"#) == true)
        var other = Stage(.init(activityTimeout: .seconds(7)), profile: profile)
        #expect(try other.connect("1.1").first?.contains(#"\"activity_timeout\":7}"#) == true)
    }

    @Test(
        arguments: [
            (.vendor, succeeded("c")), (.reverb, succeeded("c")),
            (.soketi, #"{"event":"pusher_internal:subscription_succeeded","channel":"c"}"#),
        ] as [(PusherMockServer.Profile, String)])
    func subscriptionSucceeds(profile: PusherMockServer.Profile, frame: String) throws {
        var stage = try stage(profile)
        #expect(try stage.subscribe("1.1", to: "c") == ["1.1 \(frame)"])
        let again = profile == .vendor ? errorFrame("Existing subscription to channel c") : frame
        #expect(try stage.subscribe("1.1", to: "c") == ["1.1 \(again)"])
    }

    private static let unauthorized =
        #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#
    private static let invalidFormat =
        #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#

    @Test(
        arguments: [
            (
                .soketi, #""channel":"private-x""#,
                #"{"event":"pusher:subscription_error","channel":"private-x","data":{"type":"AuthError","#
                    + #""error":"Auth info required to subscribe to private-x","status":401}}"#
            ),
            (
                .soketi, #""channel":"\#(String(repeating: "c", count: 165))""#,
                #"{"event":"pusher:subscription_error","channel":"\#(String(repeating: "c", count: 165))","data":{"type":"#
                    + #""LimitReached","error":"Invalid channel name: “\#(String(repeating: "c", count: 165))” cannot be a "#
                    + #"channel name: it has 165 characters, at most 164 are allowed","status":4009}}"#
            ),
            (
                .soketi, #""channel":"a b""#,
                #"{"event":"pusher:subscription_error","channel":"a b","data":{"type":"ServerError","#
                    + #""error":"Invalid channel name: “a b” cannot be a channel name: only letters, digits and "#
                    + #"_ - = @ , . ; are allowed","status":4302}}"#
            ),
            (.reverb, #""channel":"private-x","auth":"app-key:00""#, unauthorized),
            (.reverb, #""channel":"""#, invalidFormat),
        ] as [(PusherMockServer.Profile, String, String)])
    func subscriptionIsRefused(profile: PusherMockServer.Profile, data: String, frame: String) throws {
        var stage = try stage(profile)
        #expect(
            try stage.receive(#"{"event":"pusher:subscribe","data":{\#(data)}}"#, from: "1.1") == ["1.1 \(frame)"])
    }

    @Test(arguments: ["{", #"{"event":"other"}"#, #"{"event":"pusher:subscribe","data":1}"#])
    func malformedMessageIsAnswered(text: String) throws {
        var soketi = try stage(.soketi)
        #expect(try soketi.receive(text, from: "1.1") == [])
        var reverb = try stage(.reverb)
        #expect(try reverb.receive(text, from: "1.1") == ["1.1 \(Self.invalidFormat)"])
    }

    @Test(
        arguments: [
            ("{}", true), ("[1]", true), ("null", true), (#""[1]""#, true), (#""5""#, true),
            (#""plain""#, false), (#""""#, false), ("5", false), ("true", false),
        ])
    func reverbWantsStructuredClientEvents(data: String, isDelivered: Bool) throws {
        var stage = try stage(.reverb)
        for id in ["1.1", "1.2"] { try stage.subscribe(id, to: "private-x") }
        let event = #"{"event":"client-e","channel":"private-x","data":\#(data)}"#
        #expect(
            try stage.receive(event, from: "1.1") == [isDelivered ? "1.2 \(event)" : "1.1 \(Self.invalidFormat)"])
    }

    @Test func soketiNamesTheChannelInItsErrors() throws {
        var stage = try stage(.soketi)
        let frames = try stage.receive(#"{"event":"client-e","channel":"private-x"}"#, from: "1.1")
        #expect(
            frames == [
                #"1.1 {"event":"pusher:error","channel":"private-x","data":{"code":4301,"message":"#
                    + #""Cannot broadcast client event (connection not subscribed to channel private-x)"}}"#
            ])
    }

    @Test(
        arguments: [
            (.vendor, #"{\"a\":{},\"b\":null}"#, #"[\"a\",\"b\"]"#, "a", "b"),
            (.reverb, #"{\"a\":[],\"b\":null}"#, #"[\"a\",\"b\"]"#, "a", "b"),
            // Keys that count from zero form a list in PHP.
            (.reverb, #"[[],null]"#, #"[\"0\",\"1\"]"#, "0", "1"),
        ] as [(PusherMockServer.Profile, String, String, String, String)])
    func presenceHasTheShapeOfTheServersLanguage(
        profile: PusherMockServer.Profile, hash: String, ids: String, first: String, second: String
    ) throws {
        var stage = try stage(profile)
        try stage.subscribe("1.1", to: "presence-x", channelData: #"{"user_id":"\#(first)","user_info":{}}"#)
        let frames = try stage.subscribe("1.2", to: "presence-x", channelData: #"{"user_id":"\#(second)"}"#)
        #expect(frames.first?.contains(#"\"presence\":{\"ids\":\#(ids),\"hash\":\#(hash),\"count\":2}"#) == true)
    }

    @Test func presenceWithoutUserIDsIsEmptyInReverb() throws {
        var stage = try stage(.reverb)
        let empty = #"{\"presence\":{\"ids\":[],\"hash\":[],\"count\":0}}"#
        for data in [nil, "{}"] {
            let frames = try stage.subscribe("1.1", to: "presence-x", channelData: data)
            #expect(frames.count == 1 && frames.first?.contains(empty) == true)
        }
        #expect(try stage.subscribe("1.2", to: "presence-x", channelData: "nonsense") == ["1.2 \(Self.invalidFormat)"])
    }

    @Test(
        arguments: [
            (.vendor, #"{"event":"pusher:pong","data":{}}"#), (.soketi, #"{"event":"pusher:pong"}"#),
            (.reverb, #"{"event":"pusher:pong"}"#),
        ] as [(PusherMockServer.Profile, String)])
    func pongHasDataOrNot(profile: PusherMockServer.Profile, pong: String) throws {
        var stage = try stage(profile)
        #expect(try stage.receive(#"{"event":"pusher:ping"}"#, from: "1.1") == ["1.1 \(pong)"])
    }

    @Test(
        arguments: [
            #"{"a":"é/😀"}"#: #"{"a":"\u00e9\/\ud83d\ude00"}"#, #"{"a":"\/ \\/ \""}"#: #"{"a":"\/ \\\/ \""}"#,
        ])
    func phpEscapesMoreThanItMust(json: String, escaped: String) {
        #expect(JSONText.escapedLikePHP(json) == escaped)
    }

    @Test func eventsOfReverbAreEscapedLikePHP() throws {
        var stage = try stage(.reverb)
        try stage.subscribe("1.1", to: "c")
        #expect(
            stage.publish("App\\E", on: "c", "a/é") == [#"1.1 {"event":"App\\E","channel":"c","data":"a\/\u00e9"}"#])
    }

    @Test(
        arguments: [
            (
                .soketi,
                [
                    #"1.1 {"event":"pusher:error","data":{"code":4009,"message":"Connection not authorized."}}"#,
                    "1.1 close 4009",
                ]
            ),
            (.reverb, ["1.1 \(unauthorized)"]),
        ] as [(PusherMockServer.Profile, [String])])
    func signInFails(profile: PusherMockServer.Profile, lines: [String]) throws {
        var stage = try stage(profile)
        #expect(try stage.signIn("1.1", #"{"id":"u"}"#, auth: "app-key:00") == lines)
    }

    @Test func soketiConfirmsASignInWithAnObject() throws {
        var stage = try stage(.soketi)
        #expect(
            try stage.signIn("1.1", #"{"id":"u"}"#)
                == [#"1.1 {"event":"pusher:signin_success","data":{"user_data":"{\"id\":\"u\"}"}}"#])
    }

    @Test(
        arguments: [
            (.vendor, "my-private-x", false), (.soketi, "my-private-x", true), (.reverb, "my-private-x", false),
            (.vendor, "privateer", false), (.soketi, "privateer", false), (.reverb, "privateer", true),
            (.soketi, "my-presence-x", true), (.reverb, "Private-x", false),
        ] as [(PusherMockServer.Profile, String, Bool)])
    func namesAreMatchedAsTheServerDoes(profile: PusherMockServer.Profile, name: String, isPrivate: Bool) throws {
        var stage = try stage(profile)
        let frames = try stage.receive(#"{"event":"pusher:subscribe","data":{"channel":"\#(name)"}}"#, from: "1.1")
        #expect((frames.first?.contains("subscription_succeeded") == true) == !isPrivate)
    }

    @Test(
        arguments: [
            (.soketi, "my-cache-x", true), (.reverb, "my-cache-x", false), (.reverb, "cached", true),
            (.vendor, "cached", false),
        ] as [(PusherMockServer.Profile, String, Bool)])
    func cacheNamesAreMatchedAsTheServerDoes(
        profile: PusherMockServer.Profile, name: String, isCached: Bool
    ) throws {
        var stage = try stage(profile)
        #expect((try stage.subscribe("1.1", to: name).last?.contains("cache_miss") == true) == isCached)
    }

    @Test func reverbLooksAtTheSignatureAlone() throws {
        var stage = try stage(.reverb)
        let auth = TestClient.credentials.channelAuth(
            socketID: try #require(.init("1.1")), channel: try .init("private-x"))
        let signature = auth.drop { $0 != ":" }
        let frame = #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"other\#(signature)"}}"#
        #expect(try stage.receive(frame, from: "1.1") == ["1.1 \(succeeded("private-x"))"])
    }
}

@Suite(.overSockets)
struct ProfileOverSocketsTests {
    @Test func refusalsAndInvalidEventsAreTheServers() async throws {
        let server = try await PusherMockServer.start(.init(profile: .reverb))
        let client = try await TestClient.connect(to: server, path: "/app/wrong?protocol=7")
        #expect(await client.text()?.hasPrefix(#"{"event":"pusher:error","data":"{\"code\":4001,"#) == true)
        let api = SignedAPI(server: server)
        #expect(try await api.post("events", #"{"name":"e","channel":"c","data":{}}"#).status == 422)
        #expect(try await api.get("channels/c/users").status == 400)
        await server.stop()
    }

    @Test(
        arguments: [
            (.vendor, "", "4008"), (.vendor, "?protocol=3", "4007"), (.vendor, "?protocol=7&version=x", "4006"),
            (.soketi, "", nil), (.soketi, "?protocol=3", nil), (.soketi, "?protocol=x&version=x", nil),
            (.reverb, "", nil), (.reverb, "?protocol=8", nil), (.reverb, "?protocol=&version=", nil),
        ] as [(PusherMockServer.Profile, String, String?)])
    func onlyTheVendorLooksAtVersions(profile: PusherMockServer.Profile, query: String, code: String?) async throws {
        let server = try await PusherMockServer.start(.init(profile: profile))
        let client = try await TestClient.connect(to: server, path: "/app/app-key\(query)")
        #expect(await client.text()?.contains(code ?? "pusher:connection_established") == true)
        await server.stop()
    }

    @Test(
        arguments: [
            (.vendor, false, "4008"), (.vendor, true, "4008"), (.soketi, true, "4008"), (.reverb, true, "4008"),
        ] as [(PusherMockServer.Profile, Bool, String)])
    func aProtocolVersionCanBeInsistedOn(profile: PusherMockServer.Profile, isRequired: Bool, code: String) async throws
    {
        let server = try await PusherMockServer.start(
            .init(profile: profile, requiresProtocolVersion: isRequired ? true : nil))
        let refused = try await TestClient.connect(to: server, path: "/app/app-key")
        #expect(await refused.text()?.contains(code) == true)
        await server.stop()
        let lenient = try await PusherMockServer.start(.init(profile: profile, requiresProtocolVersion: false))
        let served = try await TestClient.connect(to: lenient, path: "/app/app-key")
        #expect(await served.text()?.contains("pusher:connection_established") == true)
        await lenient.stop()
    }

    @Test(
        arguments: [
            (
                .vendor, "presence-p", "user_count,subscription_count",
                #"{"occupied":true,"user_count":1,"subscription_count":2}"#
            ),
            (.vendor, "c", "user_count", "user_count does not exist on channel c\n"),
            // Unrequested attributes are included as well; the requested ones make no difference.
            (.soketi, "presence-p", "cache", #"{"subscription_count":2,"occupied":true,"user_count":1}"#),
            (.soketi, "c", "user_count", #"{"subscription_count":1,"occupied":true}"#),
            (.soketi, "presence-q", "", #"{"subscription_count":0,"occupied":false,"user_count":0}"#),
            // Attributes that do not apply are omitted.
            (.reverb, "presence-p", "user_count,subscription_count", #"{"occupied":true,"user_count":1}"#),
            (.reverb, "c", "user_count,subscription_count", #"{"occupied":true,"subscription_count":1}"#),
        ] as [(PusherMockServer.Profile, String, String, String)])
    func countsAreToldAsTheServerDoes(
        profile: PusherMockServer.Profile, channel: String, info: String, body: String
    ) async throws {
        let server = try await PusherMockServer.start(.init(profile: profile))
        for _ in 0..<2 {
            _ = try await TestClient.subscribed(to: "presence-p", on: server, channelData: #"{"user_id":"u"}"#)
        }
        _ = try await TestClient.subscribed(to: "c", on: server)
        #expect(
            try await SignedAPI(server: server).get("channels/\(channel)", [("info", info)]).body == body)
        await server.stop()
    }

    @Test func reverbAnnouncesThatAPongIsMissing() async throws {
        let server = try await PusherMockServer.start(
            .init(
                apps: [.init(pingAfter: .milliseconds(20), pongTimeout: .milliseconds(20))], profile: .reverb))
        let (client, _) = try await TestClient.established(to: server)
        #expect(await client.text()?.contains("pusher:ping") == true)
        #expect(await client.text()?.contains(#"\"code\":4201"#) == true)
        #expect(await client.next() == .close(code: 4201, reason: "Pong reply not received in time"))
        await server.stop()
    }

    @Test func soketiDropsSilentClients() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [.init(pingAfter: .milliseconds(20))], profile: .soketi))
        let (client, _) = try await TestClient.established(to: server)
        #expect(await client.next() == .end)
        await server.stop()
    }
}
