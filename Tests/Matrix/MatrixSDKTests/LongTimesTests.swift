import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

@testable import MatrixSDK

/// Calls and options accept any time, and any number may replace one; none ends the process.
@Suite(.overSockets)
struct LongTimesTests {
    private static let durations: [Duration] = [
        .seconds(1e20), .seconds(Int64.max), .seconds(-1e20), .seconds(-1), .zero,
    ]

    private func room(
        _ more: String = "", _ change: (inout MXSessionOptions) -> Void = { _ in }
    ) async throws -> (SessionScene, MXRoom) {
        let scene = try await SessionScene(change)
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$0")]) + more))
        try await scene.session.start()
        return (scene, try #require(scene.session.rooms.first))
    }

    @Test(
        arguments: [
            (Double.infinity, 120_000), (1e300, 120_000), (.nan, 30_000), (-.infinity, 1000), (-1, 1000), (5000, 5000),
        ] as [(Double, Int)])
    func theTimeOfTyping(given: Double, milliseconds: Int) async throws {
        let (scene, room) = try await room()
        scene.server.on("PUT", "v3/rooms/*/typing/*", .ok)
        try await room.sendTypingNotification(typing: true, timeout: given)
        let request = try #require(scene.server.requests("PUT", "v3/rooms/*/typing/*").first)
        #expect(request.json?["timeout"]?.int == milliseconds)
    }

    @Test(arguments: durations)
    func theTimesOfCalls(given: Duration) async throws {
        let server = try await FakeHomeserver.start()
        let client = MXRestClient.make(server)
        server.on("PUT", "v3/rooms/*/typing/*", .ok)
        server.on("GET", "v3/sync", .ok)
        try await client.sendTypingNotification(inRoom: "!r:s", typing: true, timeout: given)
        let timeout = server.requests("PUT", "v3/rooms/*/typing/*").first?.json?["timeout"]?.int
        #expect(timeout.map { $0 >= 1 } == true)
        _ = try await client.sync(timeout: given, patience: given)
        #expect(server.requests("GET", "v3/sync").count == 1)
    }

    @Test(arguments: [Double.infinity, 1e300, .nan, -.infinity, -1, 0])
    func theTimeOfABackgroundSync(seconds: Double) async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1"))
        try await scene.session.start()
        #expect(await scene.isPolled())  // a pending poll would take the next answer
        scene.session.pause()
        #expect(await eventually { scene.session.state == .paused })
        scene.script(Sync.answer("s2"))
        // Without any time, it reports a time-out.
        do { try await scene.session.backgroundSync(timeout: seconds) } catch let error as MatrixError {
            #expect(error.code == .timedOut)
        }
    }

    @Test(arguments: [Double.infinity, 1e300, .nan, -.infinity, -1])
    func theLengthOfARecording(seconds: Double) async throws {
        let (scene, room) = try await room()
        scene.server.on("GET", "v1/media/config", .json("{}"))
        scene.server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/1"}"#))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ogg")
        try Data("audio".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sent = Lock<[String?]>([])
        for send in [
            { room.sendAudioFile(file, mimeType: "audio/ogg", duration: seconds, completion: $0) },
            { room.sendVideo(file, duration: seconds, completion: $0) },
        ] as [(@escaping (MXResponse<String?>) -> Void) -> MXHTTPOperation] {
            _ = send { response in sent.withLock { $0.append((try? response.get()) ?? nil) } }
        }
        #expect(await eventually { sent.withLock { $0 } == ["$1", "$1"] })
    }

    /// The options of a session and of its client.
    @Test(arguments: durations)
    func everyOptionThatIsATime(given: Duration) async throws {
        for option in [\MXSessionOptions.pollTimeout, \.pongTimeout, \.sendRetryBound, \.reconnectPolicy.maximumDelay]
            as [WritableKeyPath<MXSessionOptions, Duration>]
        {
            let (scene, room) = try await room { $0[keyPath: option] = given }
            scene.server.on(
                "PUT", "v3/rooms/*/send/*/*", [.limited(milliseconds: .max), .json(#"{"event_id":"$1"}"#)])
            let sending = Task { try await room.sendTextMessage("hello") }
            #expect(await scene.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
            await scene.next(.page(502), Sync.answer("s2"))
            sending.cancel()
            _ = try? await sending.value
            scene.session.close()
        }
        for option in [
            \MXRestClientOptions.requestTimeout, \.stallTimeout, \.rateLimitBound, \.connectionPause,
        ] as [WritableKeyPath<MXRestClientOptions, Duration>] {
            let server = try await FakeHomeserver.start()
            server.on("GET", "versions", [.drop, .json(#"{"versions":[]}"#)])
            var options = MXRestClientOptions.quick
            options[keyPath: option] = given
            let client = MXRestClient(homeServer: server.url, options: options)
            let asking = Task { try await client.supportedVersions() }
            // A request without any time may end before it is sent.
            if given > .zero { #expect(await server.hasBeenAsked("GET", "versions")) }
            asking.cancel()
            _ = try? await asking.value
        }
    }

    private static let numbers = [
        "1e300", "-1e300", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e19", "-1", "0.5",
        "\"inf\"", "\"nan\"", "null", "[]",
    ]

    /// Every number that a homeserver sends for a time or a count.
    @Test(arguments: numbers)
    func aNumberOfAServer(number: String) async throws {
        let event = #"""
            {"type":"m.room.message","event_id":"$1","sender":"@b:s","origin_server_ts":\#(number),
            "unsigned":{"age":\#(number)},"content":{"msgtype":"m.audio","body":"b","url":"mxc://s/1",
            "info":{"duration":\#(number),"size":\#(number),"w":\#(number),"h":\#(number)}}}
            """#
        let levels = #"""
            {"type":"m.room.power_levels","event_id":"$p","sender":"@b:s","state_key":"","content":{"ban":\#(number),
            "users":{"@b:s":\#(number)},"notifications":{"room":\#(number)}}}
            """#
        let scene = try await SessionScene()
        scene.script(
            Sync.answer(
                "s1",
                Sync.room(
                    state: Sync.members + [levels], timeline: [event],
                    more: #"""
                        "unread_notifications":{"notification_count":\#(number),"highlight_count":\#(number)},
                        "summary":{"m.joined_member_count":\#(number),"m.invited_member_count":\#(number)},
                        "account_data":{"events":[{"type":"m.tag","content":{"tags":{"m.favourite":{"order":\#(number)}}}}]},
                        "ephemeral":{"events":[{"type":"m.receipt","content":{"$1":{"m.read":{"@b:s":{"ts":\#(number)}}}}}]}
                        """#)
                    + #","presence":{"events":[{"type":"m.presence","sender":"@b:s","content":{"presence":"online","last_active_ago":\#(number)}}]}"#
            ))
        try await scene.session.start()
        let room = try #require(scene.session.rooms.first)
        #expect(room.summary.lastMessageId == "$1")
        let page = try await room.liveTimeline.paginate(1)
        #expect(page.first.flatMap { MatrixMessage($0, in: room) } != nil)
        let server = try await FakeHomeserver.start()
        server.on(
            "POST", "v3/login",
            .json(
                #"{"user_id":"@a:s","access_token":"t","refresh_token":"r","device_id":"d","expires_in_ms":\#(number)}"#
            ))
        server.on("POST", "v3/refresh", .json(#"{"access_token":"t2","expires_in_ms":\#(number)}"#))
        server.on("GET", "v3/account/whoami", .json(#"{"user_id":"@a:s"}"#))
        server.on(
            "GET", "v3/devices",
            .json(#"{"errcode":"M_LIMIT_EXCEEDED","error":"","retry_after_ms":\#(number)}"#, status: 429)
                .with("Retry-After", number))
        let client = MXRestClient(homeServer: server.url, options: .quick)
        _ = try await client.login(username: "a", password: "p")
        _ = try? await client.whoAmI()
        let asking = Task { try await client.devices() }
        #expect(await server.hasBeenAsked("GET", "v3/devices"))
        asking.cancel()
        _ = try? await asking.value
    }
}
