import Basics
import Foundation
import LinuxCombine
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@MainActor
@Suite(.overSockets)
struct MXMatrixServiceTests {
    // MARK: Account

    @Test func beforeItsHomeserverNothingWorks_andBeforeALoginLittle() async throws {
        let service = MXMatrixService(clientOptions: .quick)
        await #expect(throws: MatrixServiceError.notInitialized) { _ = try await service.restoreSession() }
        await #expect(throws: MatrixServiceError.notInitialized) { try await service.startSync() }
        await #expect(throws: MatrixServiceError.notInitialized) {
            try await service.loginWithPassword(username: "a", password: "p")
        }
        let scene = try await ServiceScene()
        let ready = try await scene.service()
        await #expect(throws: MatrixServiceError.notLoggedIn) { _ = try await ready.getJoinedRooms() }
        await #expect(throws: MatrixServiceError.notLoggedIn) { try await ready.logout() }
        #expect(try await ready.restoreSession() == false)
        #expect(ready.connectionState == .disconnected)
    }

    @Test func aLoginIsKeptForItsOwnerAlone_andRestoredWithoutANetwork() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        try await service.loginWithPassword(username: "a", password: "secret")
        #expect(service.userId == "@a:s")
        #expect(scene.mode() == 0o700)
        #expect(scene.mode("credentials.json") == 0o600)
        #expect(scene.credentials?["accessToken"] as? String == "token-1")
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        try await service.startSync()
        #expect(service.connectionState == .connected)
        service.session?.close()

        await scene.server.stop()
        let second = try await scene.service()
        #expect(await eventually { (try? await second.restoreSession()) == true })
        #expect(second.userId == "@a:s")
        #expect(try await second.getJoinedRooms().map(\.name) == ["Bob"])
        #expect(try await second.getRoomMessages(roomId: "!r:s").map(\.body) == ["hello"])
        await #expect(throws: MatrixServiceError.network) { try await second.startSync() }
        #expect(second.connectionState == .connecting)
        try await second.stopSync()
        #expect(second.connectionState == .disconnected)
    }

    @Test func aWrongPasswordLeavesNothing_andTheNextTryMaySucceed() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        scene.server.on("POST", "v3/login", [.error(403, "M_FORBIDDEN"), ServiceScene.login("token-2")])
        await #expect(throws: MatrixServiceError.sdkError("said by the server (M_FORBIDDEN)")) {
            try await service.loginWithPassword(username: "a", password: "wrong")
        }
        #expect(service.userId == nil)
        #expect(scene.credentials == nil)
        try await service.loginWithPassword(username: "a", password: "right")
        #expect(scene.credentials?["accessToken"] as? String == "token-2")
        await #expect(throws: MatrixServiceError.self) {
            try await service.loginWithPassword(username: "a", password: "right")
        }
        #expect(scene.server.requests("POST", "v3/login").count == 2)
    }

    @Test func aStoreThatCannotBeOpenedUndoesTheLogin() async throws {
        let scene = try await ServiceScene()
        let holder = MXFileStore(folder: scene.folder.appending(path: "store"))
        _ = try holder.open(userId: "@a:s", deviceId: "DEVICE")
        scene.server.on("POST", "v3/login", ServiceScene.login("token-2"))
        let service = try await scene.service()
        await #expect(throws: MatrixServiceError.self) {
            try await service.loginWithPassword(username: "a", password: "p")
        }
        #expect(service.userId == nil)
        #expect(scene.credentials == nil)
        holder.close()
        #expect(scene.server.requests("POST", "v3/logout").map(\.token) == ["token-2"])
    }

    @Test func aTokenFromElsewhereIsAskedAbout_andMustBeTheUsers() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        await #expect(throws: MatrixServiceError.self) {
            try await service.login(novaUserId: "@b:s", accessToken: "t")
        }
        #expect(scene.credentials == nil)
        try await service.login(novaUserId: "@a:s", accessToken: "t")
        #expect(service.userId == "@a:s")
        #expect(scene.credentials?["deviceId"] as? String == "DEVICE")
    }

    @Test func twoLoginsAtOnceMakeOneSession() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        let logins = (0..<2).map { _ in Task { try await service.loginWithPassword(username: "a", password: "p") } }
        let results = [await logins[0].result, await logins[1].result]
        #expect(results.filter { $0.isSuccess }.count == 1)
        #expect(scene.server.requests("POST", "v3/login").count == 1)
    }

    @Test(arguments: [FakeAnswer.ok, .unknownToken(softLogout: false), .error(403, "M_FORBIDDEN")])
    func loggingOutDeletesEverything_alsoWhenTheTokenIsDead(answer: FakeAnswer) async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on("POST", "v3/logout", answer)
        try await service.logout()
        #expect(service.userId == nil)
        #expect(service.connectionState == .disconnected)
        #expect(scene.credentials == nil)
        let left = try FileManager.default.subpathsOfDirectory(atPath: scene.folder.path)
        #expect(!left.contains { $0.contains("sqlite") })
        #expect(try await service.restoreSession() == false)
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"] == nil)
    }

    @Test func aLogoutThatDoesNotReachTheServerChangesNothing() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on("POST", "v3/logout", .page(502))
        await #expect(throws: MatrixServiceError.network) { try await service.logout() }
        #expect(service.userId == "@a:s")
        #expect(scene.credentials != nil)
        #expect(try await service.getJoinedRooms().count == 1)
    }

    @Test func newTokensAreSavedBeforeTheyAreUsed_andNobodyNotices() async throws {
        let scene = try await ServiceScene()
        scene.server.on("POST", "v3/login", ServiceScene.login("old", refreshToken: "r1"))
        let service = try await scene.running()
        let saved = Lock<[String]>([])
        let folder = scene.folder
        scene.server.on(
            "POST", "v3/refresh", .json(#"{"access_token":"new","refresh_token":"r2","expires_in_ms":3600000}"#))
        scene.server.on("PUT", "v3/rooms/*/typing/*") { request in
            guard request.token == "new" else { return .unknownToken() }
            let file = try? String(contentsOf: folder.appending(path: "credentials.json"), encoding: .utf8)
            saved.withLock { $0.append(file?.contains(#""new""#) == true ? "saved" : "lost") }
            return .ok
        }
        try await service.setTyping(roomId: "!r:s", isTyping: true)
        #expect(saved.withLock { $0 } == ["saved"])
        #expect(scene.credentials?["refreshToken"] as? String == "r2")
        #expect(scene.mode("credentials.json") == 0o600)
        #expect(service.userId == "@a:s")
    }

    @Test func afterASoftLogoutMessagesStay_andTheSameDeviceLogsInAgain() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await eventually { await MainActor.run { service.session?.rooms.first?.lastMessage != nil } })
        await scene.next(service, .unknownToken(softLogout: true))
        #expect(
            await eventually {
                await MainActor.run { if case .error = service.connectionState { true } else { false } }
            })
        #expect(try await service.getRoomMessages(roomId: "!r:s").map(\.id) == ["$1"])
        await #expect(throws: MatrixServiceError.notLoggedIn) {
            _ = try await service.sendMessage(roomId: "!r:s", content: "x")
        }
        scene.server.on("POST", "v3/login", ServiceScene.login("token-2"))
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"]?.string == "DEVICE")
        scene.script(Sync.answer("s3"))
        try await service.startSync()
        #expect(scene.server.requests("GET", "v3/sync").last { $0.token == "token-2" } != nil)
        #expect(
            scene.server.requests("GET", "v3/sync").first { $0.token == "token-2" }?.parameter("since") == "s2")
        #expect(try await service.getRoomMessages(roomId: "!r:s").map(\.id) == ["$1"])
    }

    @Test func afterAHardLogoutTheTokensAreGone_andTheNextLoginIsANewDevice() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        await scene.next(service, .unknownToken(softLogout: false))
        #expect(await Self.holds { if case .error = service.connectionState { true } else { false } })
        #expect(scene.credentials == nil)
        #expect(try await service.restoreSession() == false)
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"] == nil)
        #expect(service.connectionState == .disconnected)
    }

    @Test func damagedCredentialsAreAnError_notACrash() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        try Data("{\"userId\":".utf8).write(to: scene.folder.appending(path: "credentials.json"))
        await #expect(throws: MatrixServiceError.self) { _ = try await service.restoreSession() }
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(service.userId == "@a:s")
    }

    // MARK: Published state

    @Test func connectionStatesArePublished_connectedOnlyAfterTheFirstSync() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        var states: [MatrixConnectionState] = []
        let subscription = service.connectionStatePublisher.sink { states.append($0) }
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(states == [.disconnected])
        scene.script(Sync.answer("s1"))
        try await service.startSync()
        #expect(states == [.disconnected, .connecting, .connected])
        // A second start is harmless, and returns at once.
        try await service.startSync()
        try await service.stopSync()
        #expect(states == [.disconnected, .connecting, .connected, .disconnected])
        subscription.cancel()
    }

    @Test func messagesTypingAndRoomsAreTold_editsReactionsAndRedactionsAgain() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        var told: [String] = []
        var rooms: [MatrixRoom] = []
        var typing: [[String]] = []
        service.onMessageReceived = { message in
            let reactions = message.reactions.map { "\($0.emoji)\($0.count)" }.joined()
            told.append(
                "\(message.id) \(message.sender.name) \(message.isRedacted ? "gone" : message.body) \(reactions)")
        }
        service.onRoomUpdated = { rooms.append($0) }
        service.onTypingIndicator = { roomId, users in if roomId == "!r:s" { typing.append(users) } }
        let reaction = #"""
            {"type":"m.reaction","event_id":"$2","sender":"@b:s","origin_server_ts":2,
            "content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"+"}}}
            """#
        let edit = #"""
            {"type":"m.room.message","event_id":"$3","sender":"@b:s","origin_server_ts":3,
            "content":{"msgtype":"m.text","body":"* new","m.new_content":{"msgtype":"m.text","body":"new"},
            "m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}
            """#
        let redaction = #"""
            {"type":"m.room.redaction","event_id":"$4","sender":"@b:s","origin_server_ts":4,"redacts":"$1",
            "content":{"redacts":"$1","reason":"why"}}
            """#
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: [Sync.message("$1", "old")])))
        #expect(await Self.holds { told == ["$1 Bob old "] })
        await scene.next(
            service,
            Sync.answer(
                "s3",
                Sync.room(
                    timeline: [reaction, edit],
                    more: #""ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":["@a:s","@b:s"]}}]}"#)))
        #expect(await Self.holds { told.last == "$1 Bob new +1" && typing == [["@b:s"]] })
        #expect(rooms.last?.lastMessage?.body == "new")
        await scene.next(service, Sync.answer("s4", Sync.room(timeline: [redaction])))
        #expect(await Self.holds { told.last == "$1 Bob gone " })
    }

    /// Waits for a condition on the main actor.
    private static func holds(_ condition: @escaping @MainActor () -> Bool) async -> Bool {
        await eventually { await condition() }
    }

    // MARK: Rooms and messages

    @Test func messagesComeFromTheStore_thenFromTheServer_withoutAHole() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        try await service.loginWithPassword(username: "a", password: "p")
        scene.script(
            Sync.answer(
                "s1",
                Sync.room(state: Sync.members, timeline: [Sync.message("$4"), Sync.message("$5")], prevBatch: "p1")))
        try await service.startSync()
        scene.server.on(
            "GET", "v3/rooms/*/messages",
            [
                .json(
                    #"{"start":"p1","end":"p2","chunk":[\#(Sync.message("$3")),\#(Sync.member("@b:s", id: "$m"))]}"#),
                .json(#"{"start":"p2","chunk":[\#(Sync.message("$2")),\#(Sync.message("$1"))]}"#),
            ])
        #expect(try await service.getRoomMessages(roomId: "!r:s", limit: 2).map(\.id) == ["$4", "$5"])
        #expect(scene.server.requests("GET", "v3/rooms/*/messages").isEmpty)
        #expect(
            try await service.getRoomMessages(roomId: "!r:s", limit: 2, from: "$4").map(\.id) == ["$2", "$3"])
        #expect(
            try await service.getRoomMessages(roomId: "!r:s", limit: 50).map(\.id) == ["$1", "$2", "$3", "$4", "$5"])
        #expect(scene.server.requests("GET", "v3/rooms/*/messages").count == 2)
    }

    @Test func whileTheServerCannotBeAsked_whatIsStoredIsShown() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.service()
        try await service.loginWithPassword(username: "a", password: "p")
        scene.script(Sync.answer("s1", Sync.room(timeline: [Sync.message("$1"), Sync.message("$2")], prevBatch: "p1")))
        try await service.startSync()
        scene.server.on("GET", "v3/rooms/*/messages", .page(502))
        #expect(try await service.getRoomMessages(roomId: "!r:s", limit: 50).map(\.id) == ["$1", "$2"])
        await #expect(throws: MatrixServiceError.network) {
            _ = try await service.getRoomMessages(roomId: "!r:s", limit: 50, from: "$1")
        }
    }

    @Test func aMessageThatTheStoreLacksIsStillAPlaceToReadFrom() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on(
            "GET", "v3/rooms/*/context/*",
            .json(#"{"event":\#(Sync.message("$9")),"events_before":[\#(Sync.message("$8"))],"start":"p"}"#))
        scene.server.on("GET", "v3/rooms/*/messages", .json(#"{"start":"p","chunk":[\#(Sync.message("$7"))]}"#))
        #expect(
            try await service.getRoomMessages(roomId: "!r:s", limit: 5, from: "$9").map(\.id) == ["$7", "$8"])
    }

    @Test func aRoomThatTheAccountLacksIsNotFound() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        await #expect(throws: MatrixServiceError.roomNotFound) {
            _ = try await service.sendMessage(roomId: "!other", content: "x")
        }
        scene.server.on("POST", "v3/join/*", .error(404, "M_NOT_FOUND"))
        await #expect(throws: MatrixServiceError.roomNotFound) {
            _ = try await service.joinRoom(roomIdOrAlias: "#none:s")
        }
        #expect(try await service.getRoom(roomId: "!other") == nil)
    }

    @Test func aReactionIsToggled_withoutWaitingForASync() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await Self.holds { service.session?.rooms.first?.lastMessage != nil })
        let count = Lock(0)
        scene.server.on("PUT", "v3/rooms/*/send/m.reaction/*") { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .json(#"{"event_id":"$own\#(number)"}"#)
        }
        scene.server.on("PUT", "v3/rooms/*/redact/*/*", .json(#"{"event_id":"$redaction"}"#))
        func own() async throws -> [Bool] {
            try await service.getReactions(roomId: "!r:s", eventId: "$1").map(\.isOwn)
        }
        try await service.toggleReaction(roomId: "!r:s", eventId: "$1", emoji: "👍")
        #expect(try await own() == [true])
        try await service.sendReaction(roomId: "!r:s", eventId: "$1", emoji: "👍")
        #expect(count.withLock { $0 } == 1)
        try await service.toggleReaction(roomId: "!r:s", eventId: "$1", emoji: "👍")
        #expect(try await own() == [])
        try await service.toggleReaction(roomId: "!r:s", eventId: "$1", emoji: "👍")
        #expect(try await own() == [true])
        #expect(scene.server.requests("PUT", "v3/rooms/*/redact/*/*").map { $0.path[6] } == ["$own1"])
    }

    @Test func reactionsToAnEventThatTheStoreLacksAreAskedFor() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on(
            "GET", "v1/rooms/*/relations/*/m.annotation/m.reaction",
            .json(
                #"""
                {"chunk":[{"type":"m.reaction","event_id":"$2","sender":"@b:s","origin_server_ts":2,
                "content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$old","key":"+"}}}]}
                """#))
        let reactions = try await service.getReactions(roomId: "!r:s", eventId: "$old")
        #expect(reactions == [MatrixReaction(emoji: "+", userIds: ["@b:s"])])
    }

    @Test func mediaGoesOutByItsType_withCaptionSizeAndName() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        let file = scene.folder.appending(path: "dot.png")
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82]
        png += [0, 0, 0, 3, 0, 0, 0, 2]
        try Data(png).write(to: file)
        scene.server.on("GET", "v1/media/config", .json(#"{"m.upload.size":1000}"#))
        scene.server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/1"}"#))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let id = try await service.sendMedia(
            roomId: "!r:s", mediaURL: file, mimeType: "image/png", caption: "a *dot*")
        #expect(id == "$1")
        let content = try #require(scene.server.requests("PUT", "v3/rooms/*/send/*/*").first?.json)
        #expect(content["msgtype"]?.string == "m.image")
        #expect(content["body"]?.string == "a *dot*")
        #expect(content["formatted_body"]?.string == "a <em>dot</em>")
        #expect(content["filename"]?.string == "dot.png")
        #expect(content["url"]?.string == "mxc://s/1")
        #expect(content["info"]?["size"]?.int == 24)
        #expect(content["info"]?["w"]?.int == 3 && content["info"]?["h"]?.int == 2)
        #expect(content["info"]?["mimetype"]?.string == "image/png")
    }

    @Test func anErrorSaysNoSecret() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .error(403, "M_FORBIDDEN"))
        do {
            _ = try await service.sendMessage(roomId: "!r:s", content: "my secret words")
            Issue.record("it was sent")
        } catch {
            // The caller got the error, and nothing is left of the message.
            #expect(try await service.getRoomMessages(roomId: "!r:s").isEmpty)
            #expect(!"\(error) \(String(reflecting: error))".contains("secret"))
            #expect(!"\(error)".contains("token-1"))
        }
    }
}
