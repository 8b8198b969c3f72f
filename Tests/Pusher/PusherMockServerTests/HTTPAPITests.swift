import Foundation
import PusherMockServer
import PusherProtocol
import TestSupport
import Testing

@Suite(.overSockets)
struct HTTPAPITests {
    @Test func eventReachesItsChannelsButNotTheExcluded() async throws {
        let server = try await PusherMockServer.start()
        let (first, firstID) = try await TestClient.subscribed(to: "a", on: server)
        let (second, _) = try await TestClient.subscribed(to: "b", on: server)
        let answer = try await SignedAPI(server: server).post(
            "events", #"{"name":"e","channels":["a","b"],"data":"{\"some\":\"data\"}","socket_id":"\#(firstID)"}"#)
        #expect(answer == .init(status: 200, body: "{}"))
        #expect(await second.text() == #"{"event":"e","channel":"b","data":"{\"some\":\"data\"}"}"#)
        await server.publish(event: "next", channel: "a", data: "")
        #expect(await first.text()?.contains("next") == true)
        await server.stop()
    }

    @Test func countsAreToldOnRequest() async throws {
        let server = try await PusherMockServer.start()
        let api = SignedAPI(server: server)
        _ = try await TestClient.subscribed(to: "presence-p", on: server, channelData: #"{"user_id":"u"}"#)
        _ = try await TestClient.subscribed(to: "presence-p", on: server, channelData: #"{"user_id":"u"}"#)
        _ = try await TestClient.subscribed(to: "c", on: server)
        let info = #""info":"user_count,subscription_count""#
        #expect(
            try await api.post("events", #"{"name":"e","channels":["presence-p","c"],"data":"",\#(info)}"#).body
                == #"{"channels":{"presence-p":{"user_count":1,"subscription_count":2},"c":{"subscription_count":1}}}"#)
        #expect(
            try await api.post(
                "batch_events",
                #"{"batch":[{"name":"e","channel":"c","data":"1"},{"name":"e","channel":"presence-p","data":"2",\#(info)}]}"#
            ).body == #"{"batch":[{},{"user_count":1,"subscription_count":2}]}"#)
        #expect(try await api.get("channels").body == #"{"channels":{"c":{},"presence-p":{}}}"#)
        #expect(
            try await api.get("channels", [("filter_by_prefix", "presence-"), ("info", "user_count")]).body
                == #"{"channels":{"presence-p":{"user_count":1}}}"#)
        #expect(
            try await api.get("channels/presence-p", [("info", "user_count")]).body
                == #"{"occupied":true,"user_count":1}"#)
        #expect(
            try await api.get("channels/presence-p", [("info", "user_count,subscription_count")]).body
                == #"{"occupied":true,"user_count":1,"subscription_count":2}"#)
        #expect(try await api.get("channels/nobody").body == #"{"occupied":false}"#)
        #expect(try await api.get("channels/presence-p/users").body == #"{"users":[{"id":"u"}]}"#)
        await server.stop()
    }

    @Test func batchIsDeliveredInOrder() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.subscribed(to: "c", on: server)
        let events = (1...10).map { #"{"name":"e\#($0)","channel":"c","data":"d"}"# }.joined(separator: ",")
        #expect(try await SignedAPI(server: server).post("batch_events", #"{"batch":[\#(events)]}"#).body == "{}")
        for number in 1...10 {
            #expect(await client.text() == #"{"event":"e\#(number)","channel":"c","data":"d"}"#)
        }
        await server.stop()
    }

    private static let longData = String(repeating: "é", count: 5121)
    private static let manyChannels = (0...100).map { "\"c\($0)\"" }.joined(separator: ",")

    @Test(
        arguments: [
            ("not json", 400, "The body is not a JSON object"),
            (#"{"channel":"c","data":""}"#, 400, "name must be a string that is not empty"),
            (#"{"name":"","channel":"c","data":""}"#, 400, "name must be a string that is not empty"),
            (
                #"{"name":"\#(String(repeating: "n", count: 201))","channel":"c","data":""}"#, 400,
                "The event name exceeds the allowed maximum (200 characters)"
            ),
            (
                #"{"name":"pusher:e","channel":"c","data":""}"#, 400,
                "Event names starting with pusher: or pusher_internal: are reserved"
            ),
            (
                #"{"name":"pusher_internal:e","channel":"c","data":""}"#, 400,
                "Event names starting with pusher: or pusher_internal: are reserved"
            ),
            // Compared by characters, it lacks the prefix: the colon and the accent form one character.
            (
                #"{"name":"pusher:\#u{301}e","channel":"c","data":""}"#, 400,
                "Event names starting with pusher: or pusher_internal: are reserved"
            ),
            (#"{"name":"e","channel":"c","data":{}}"#, 400, "data must be a string"),
            (
                #"{"name":"e","channel":"c","data":"\#(longData)"}"#, 413,
                "The data content of this event exceeds the allowed maximum (10240 bytes)"
            ),
            (#"{"name":"e","data":""}"#, 400, "channels or channel is required"),
            (#"{"name":"e","channels":[],"data":""}"#, 400, "channels or channel is required"),
            (#"{"name":"e","channels":[1],"data":""}"#, 400, "channels must be an array of strings"),
            (
                #"{"name":"e","channels":[\#(manyChannels)],"data":""}"#, 400,
                "An event goes to at most 100 channels, this one to 101"
            ),
            (
                ##"{"name":"e","channel":"#other","data":""}"##, 400,
                "Invalid channel name: “#other” cannot be a channel name: "
                    + "only letters, digits and _ - = @ , . ; are allowed"
            ),
            (#"{"name":"e","channel":"c","data":"","socket_id":"x"}"#, 400, "Invalid socket_id"),
            (#"{"name":"e","channel":"c","data":"","info":"colour"}"#, 400, "Unknown info attribute: colour"),
        ])
    func wrongEventIsRefused(body: String, status: Int, message: String) async throws {
        let server = try await PusherMockServer.start()
        #expect(
            try await SignedAPI(server: server).post("events", body) == .init(status: status, body: message + "\n"))
        await server.stop()
    }

    @Test func wrongBatchPublishesNothing() async throws {
        let server = try await PusherMockServer.start()
        let api = SignedAPI(server: server)
        let (client, _) = try await TestClient.subscribed(to: "c", on: server)
        let event = #"{"name":"e","channel":"c","data":""}"#
        let eleven = Array(repeating: event, count: 11).joined(separator: ",")
        #expect(
            try await api.post("batch_events", #"{"batch":[\#(eleven)]}"#)
                == .init(status: 400, body: "A batch has at most 10 events, this one has 11\n"))
        #expect(try await api.post("batch_events", #"{"batch":[\#(event),{}]}"#).status == 400)
        #expect(try await api.post("batch_events", #"{"batch":[]}"#).status == 400)
        await server.publish(event: "last", channel: "c", data: "")
        #expect(await client.text()?.contains("last") == true)
        await server.stop()
    }

    @Test(
        arguments: [
            ("channels", [("info", "user_count")], 400),
            ("channels/c", [("info", "user_count")], 400),
            ("channels/presence-p", [("info", "cache")], 400),
            ("channels/a%20b", [], 401),  // escaped for the signature, escaped twice when sent
            ("channels/c/users", [], 400), ("nothing", [], 404), ("events", [], 404),
        ] as [(String, [(String, String)], Int)])
    func wrongQueryIsRefused(path: String, query: [(String, String)], status: Int) async throws {
        let server = try await PusherMockServer.start()
        #expect(try await SignedAPI(server: server).get(path, query).status == status)
        await server.stop()
    }

    @Test func signatureIsChecked() async throws {
        let server = try await PusherMockServer.start()
        let body = #"{"name":"e","channel":"c","data":""}"#
        let api = SignedAPI(server: server)
        for name in ["auth_signature", "auth_key", "auth_timestamp", "auth_version", "body_md5"] {
            let answer = try await api.call("POST", "events", body: body) { $0.removeAll { $0.name == name } }
            #expect(answer == .init(status: 401, body: "Missing parameter: \(name)\n"))
            let repeated = try await api.call("POST", "events", body: body) { query in
                query += query.filter { $0.name == name }
            }
            #expect(repeated == .init(status: 401, body: "Repeated parameter: \(name)\n"))
        }
        let tampered = try await api.call("POST", "events", [("a", "1")], body: body) { $0[0].value = "2" }
        #expect(tampered.status == 401 && tampered.body.hasPrefix("Invalid signature"))
        let digest = try await api.call("POST", "events", body: body, digest: "0")
        #expect(digest.status == 401 && digest.body.hasPrefix("Invalid body_md5"))
        for skew in [-610, 610] {
            var late = api
            late.timestamp += skew
            let answer = try await late.post("events", body)
            #expect(answer.status == 401 && answer.body.hasPrefix("Timestamp expired"))
        }
        for (key, secret) in [("other", "app-secret"), ("app-key", "other")] {
            var stranger = api
            stranger.credentials = AppCredentials(key: key, secret: secret)
            #expect(try await stranger.post("events", body).status == 401)
        }
        await server.stop()
    }

    @Test func officialLibrariesDifferAndAllAreAccepted() async throws {
        let server = try await PusherMockServer.start()
        var api = SignedAPI(server: server)
        api.timestamp -= 590
        // For GET, Python signs the digest of an empty body. Parameter names are lowercased for signing.
        let emptyDigest = "d41d8cd98f00b204e9800998ecf8427e"
        #expect(try await api.call("GET", "channels", body: nil, digest: emptyDigest).status == 200)
        #expect(try await api.get("channels", [("Name", "Something else, +&=")]).status == 200)
        await server.stop()
    }

    @Test func unknownAndDisabledApplicationsAreToldApart() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(isEnabled: false)]))
        #expect(
            try await SignedAPI(server: server).get("channels")
                == .init(status: 403, body: "Application disabled\n"))
        #expect(
            try await SignedAPI.send("GET", "/apps/none/channels", to: server, body: nil)
                == .init(status: 404, body: "Unknown application none\n"))
        await server.stop()
    }

    @Test func bodyHasALimit() async throws {
        let server = try await PusherMockServer.start(.init(maximumMessageSize: 1000))
        let answer = try await SignedAPI(server: server).post("events", String(repeating: " ", count: 1001))
        #expect(answer == .init(status: 413, body: "The body exceeds maximumMessageSize (1000 bytes)\n"))
        await server.stop()
    }

    /// Proxies resolve such paths, so the signature would cover a different request than the one that arrives.
    @Test(arguments: [
        "users/../terminate_connections", "users/./terminate_connections", "channels/..", "channels/.",
        "users/%2e%2e/terminate_connections", "channels/.%2E", "channels/a/../../events", "users/a/%2e/b",
    ])
    func aSignedPathWithDotSegmentsIsRefused(path: String) async throws {
        let server = try await PusherMockServer.start()
        let absolute = "/apps/\(PusherMockServer.App.defaultID)/\(path)"
        let isPost = path.hasSuffix("terminate_connections") || path.hasSuffix("events")
        let answer = try await SignedAPI(server: server).raw(
            isPost ? "POST" : "GET", absolute, body: isPost ? "{}" : nil)
        #expect(answer.hasPrefix("HTTP/1.1 400"))
        #expect(answer.contains("dot segment"))
        await server.stop()
    }
}
