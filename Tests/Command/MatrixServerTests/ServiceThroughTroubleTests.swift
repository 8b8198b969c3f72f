import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands

/// Services with a difficult homeserver: expiring tokens, limits, gaps, crashes.
@MainActor
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(3)))
struct ServiceThroughTroubleTests {
    /// Returns two users in a room that the first one created.
    private func pair(
        _ homeserver: Homeserver, _ change: (inout MXSessionOptions) -> Void = { _ in }
    ) async throws -> (ann: ServiceUser, bob: ServiceUser, roomId: String) {
        let ann = try await ServiceUser("ann", on: homeserver)
        let bob = try await ServiceUser("bob", on: homeserver, change)
        try await ann.start()
        try await bob.start()
        let roomId = try await ann.service.createRoom(
            name: "Room", isDirect: false, inviteUserIds: [bob.user.id], isEncrypted: false)
        try await bob.join(roomId)
        return (ann, bob, roomId)
    }

    @Test func afterAGapEveryMessageIsThere_once() async throws {
        let (ann, bob, roomId) = try await pair(Homeserver(.plain)) { $0.timelineLimit = 3 }
        try await bob.service.stopSync()
        var ids: [String] = []
        for number in 1...13 {
            ids.append(try await ann.service.sendMessage(roomId: roomId, content: "number \(number)"))
        }
        try await bob.service.startSync()
        #expect(await bob.sees { $0.message(ids[12]) != nil })
        let room = try #require(bob.service.session?.room(withRoomId: roomId))
        #expect(try room.storedMessages().count == 3)
        room.liveTimeline.resetPagination()
        let events = try await room.liveTimeline.paginate(50)
        #expect(events.filter { $0.eventType == .roomMessage }.map(\.eventId) == ids.reversed())
        #expect(Set(events.map(\.eventId)).count == events.count)
        #expect(!room.liveTimeline.canPaginate(.backwards))
        #expect(try await bob.service.getRoomMessages(roomId: roomId, limit: 50).map(\.id) == ids)
        #expect(
            try await bob.service.getRoomMessages(roomId: roomId, limit: 4, from: ids[5]).map(\.id) == Array(ids[1..<5])
        )
    }

    @Test func tokensOfFifteenSecondsAreRenewed_inTheMiddleOfEverything() async throws {
        let homeserver = try Homeserver(.shortTokens)
        let (ann, bob, roomId) = try await pair(homeserver)
        var tokens: Set<String> = []
        var ids: [String] = []
        let bound = ContinuousClock.now + .seconds(90)
        while tokens.count < 3, ContinuousClock.now < bound {
            ann.accessToken.map { token in _ = tokens.insert(token) }
            let id = try await ann.service.sendMessage(roomId: roomId, content: "number \(ids.count)")
            ids.append(id)
            try await ann.service.setTyping(roomId: roomId, isTyping: ids.count % 2 == 0)
            try await bob.service.sendReaction(roomId: roomId, eventId: id, emoji: "👍")
            try await ann.service.editMessage(roomId: roomId, eventId: id, newContent: "edited \(ids.count)")
            #expect(try await ann.service.getRoomMessages(roomId: roomId, limit: 5).count <= 5)
            try await bob.service.markRoomAsRead(roomId: roomId)
            #expect(await bob.sees { $0.message(id)?.isEdited == true })
        }
        #expect(tokens.count == 3)
        var seen: Set<String> = []
        #expect(bob.messages.map(\.id).filter { seen.insert($0).inserted } == ids)
        #expect(try await bob.service.getRoomMessages(roomId: roomId, limit: 500).map(\.id) == ids)
        #expect(ann.service.connectionState == .connected && bob.service.connectionState == .connected)
        // The token is dead when the next run begins.
        ann.service.session?.close()
        #expect(await ServiceUser.dies(ann.accessToken, of: homeserver.url))
        #expect(try await ann.restart())
        try await ann.service.startSync()
        _ = try await ann.service.sendMessage(roomId: roomId, content: "back")
    }

    @Test func afterASoftLogoutTheDeviceGoesOn() async throws {
        let homeserver = try Homeserver(.shortTokens)
        let ann = try await ServiceUser("ann", on: homeserver)
        try await ann.initialize()
        let elsewhere = MXRestClient(homeServer: try #require(URL(string: homeserver.url)), options: .direct)
        try await elsewhere.login(username: ann.user.name, password: ann.user.password)
        let roomId = try await elsewhere.createRoom(parameters: MXRoomCreationParameters())
        let id = try await elsewhere.sendTextMessage(toRoom: roomId, text: "kept")
        let login: [String: Any] = [
            "type": "m.login.password", "identifier": ["type": "m.id.user", "user": ann.user.name],
            "password": ann.user.password, "refresh_token": false,
        ]
        let token = try await elsewhere.login(parameters: login)
        try await ann.service.login(novaUserId: ann.user.id, accessToken: token.accessToken ?? "")
        try await ann.service.startSync()
        // The token lives for four seconds; a pending poll may last longer.
        #expect(await ServiceUser.dies(token.accessToken, of: homeserver.url))
        await #expect(throws: MatrixServiceError.notLoggedIn) {
            _ = try await ann.service.sendMessage(roomId: roomId, content: "too late")
        }
        #expect(await ann.sees { if case .error = $0.service.connectionState { true } else { false } })
        #expect(try await ann.service.getRoomMessages(roomId: roomId, limit: 9).map(\.id) == [id])
        try await ann.service.loginWithPassword(username: ann.user.name, password: ann.user.password)
        #expect(ann.service.session?.credentials?.deviceId == token.deviceId)
        #expect(try await ann.service.getRoomMessages(roomId: roomId, limit: 9).map(\.id) == [id])
        try await ann.service.startSync()
        _ = try await ann.service.sendMessage(roomId: roomId, content: "again")
    }

    @Test func aServerThatLimitsTheRateGetsEveryMessage_once_inOrder() async throws {
        let (ann, bob, roomId) = try await pair(Homeserver(.limited))
        let service = ann.service
        let texts = (1...7).map { "number \($0)" }
        let sending = texts.map { text in
            Task { @MainActor in try await service.sendMessage(roomId: roomId, content: text) }
        }
        var ids: [String] = []
        for task in sending { ids.append(try await task.value) }
        #expect(await bob.sees { $0.messages.count >= texts.count })
        #expect(bob.messages.map(\.body) == texts)
        #expect(bob.messages.map(\.id) == ids)
    }

    @Test func killedDuringASyncAndStartedAgain_theServerHasEverything_andSoHaveWe() async throws {
        let homeserver = try await Homeserver.temporary()
        let (ann, bob, roomId) = try await pair(homeserver)
        let first = try await ann.service.sendMessage(roomId: roomId, content: "before")
        #expect(await bob.sees { $0.message(first) != nil })
        try await homeserver.kill()
        #expect(await bob.sees { $0.service.connectionState == .connecting })
        let service = ann.service
        let during = Task { @MainActor in try await service.sendMessage(roomId: roomId, content: "during") }
        #expect(await ann.sees { !($0.service.session?.room(withRoomId: roomId)?.outgoingMessages ?? []).isEmpty })
        try await homeserver.start()
        let second = try await during.value
        let third = try await ann.service.sendMessage(roomId: roomId, content: "after")
        #expect(await bob.sees { $0.message(third) != nil })
        #expect(bob.messages.map(\.body) == ["before", "during", "after"])
        #expect(await ann.sees { $0.service.connectionState == .connected })
        let messages = try await bob.service.getRoomMessages(roomId: roomId, limit: 50)
        #expect(messages.map(\.id) == [first, second, third])
        await homeserver.remove()
    }

    @Test func aRoomOfVersionTwelveBelongsToItsCreator_whoIsInNoList() async throws {
        let (ann, bob, roomId) = try await pair(Homeserver(.plain))
        #expect(!roomId.contains(":"))
        let room = try #require(bob.service.session?.room(withRoomId: roomId))
        let state = try #require(room.state)
        #expect(state.roomVersion == "12")
        #expect(state.creatorUserId == ann.user.id)
        #expect(state.event(type: "m.room.power_levels")?.contentJSON["users"]?.members.isEmpty == true)
        #expect(state.powerLevels.canKick(ann.user.id, target: bob.user.id))
        #expect(!state.powerLevels.canKick(bob.user.id, target: ann.user.id))
        #expect(state.powerLevels.powerLevelOfUser(withUserID: ann.user.id) > 100)
        #expect(state.powerLevels.powerLevelOfUser(withUserID: bob.user.id) == 0)
    }

    @Test func theServerPushesToTheLocalGateway_untilThePusherIsRemoved() async throws {
        let (ann, bob, roomId) = try await pair(Homeserver(.plain))
        let gateway = try await PushGateway.start()
        let client = try #require(bob.service.session?.matrixRestClient)
        try await client.setPusher(
            pushKey: "key", kind: .http, appId: "org.example", appDisplayName: "Example", deviceDisplayName: "Test",
            profileTag: "tag", lang: "en", data: ["url": gateway.url], append: false)
        #expect(try await client.pushers().map(\.pushKey) == ["key"])
        // A phone in use gets no pushes.
        try await bob.service.stopSync()
        let id = try await ann.service.sendMessage(roomId: roomId, content: "wake up")
        var reader = gateway.notifications.makeAsyncIterator()
        var notification = await reader.next()
        while let other = notification, other.eventID != id { notification = await reader.next() }
        #expect(notification?.roomID == roomId && notification?.sender == ann.user.id)
        try await client.setPusher(
            pushKey: "key", kind: .none, appId: "org.example", appDisplayName: "Example", deviceDisplayName: "Test",
            profileTag: "tag", lang: "en", data: [:], append: false)
        #expect(try await client.pushers().isEmpty)
        await gateway.stop()
    }

    // MARK: The other client

    @Test func whatMatrixNioSaysIsTold() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await ServiceUser("ann", on: homeserver)
        try await ann.start()
        let peer = try await homeserver.newUser("nio")
        let roomId = try await ann.service.createRoom(
            name: "Both", isDirect: false, inviteUserIds: [peer.id], isEncrypted: false)
        #expect(try await homeserver.peer(peer, "join", roomId).run().status == 0)
        let own = try await ann.service.sendMessage(roomId: roomId, content: "question")
        let sent = try await homeserver.peer(peer, "send", roomId, "answer").run()
        let id = try #require(sent.objects.first?["event_id"] as? String)
        #expect(await ann.sees { $0.message(id)?.body == "answer" })
        #expect(try await homeserver.peer(peer, "react", roomId, own, "🌞").run().status == 0)
        #expect(await ann.sees { $0.message(own)?.reactions.map(\.emoji) == ["🌞"] })
        #expect(try await homeserver.peer(peer, "edit", roomId, id, "better answer").run().status == 0)
        #expect(await ann.sees { $0.message(id)?.body == "better answer" })
        #expect(try await homeserver.peer(peer, "redact", roomId, id, "wrong").run().status == 0)
        #expect(await ann.sees { $0.message(id)?.content == .redacted(reason: "wrong") })
    }

    @Test func matrixNioReadsWhatWeSay() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await ServiceUser("ann", on: homeserver)
        try await ann.start()
        let peer = try await homeserver.newUser("nio")
        let roomId = try await ann.service.createRoom(
            name: "Both", isDirect: false, inviteUserIds: [peer.id], isEncrypted: false)
        #expect(try await homeserver.peer(peer, "join", roomId).run().status == 0)
        let listener = homeserver.peer(peer, "listen", "--count", "5", "--timeout", "30")
        try listener.start()
        #expect(await listener.waitFor { $0["type"] as? String == "ready" })
        let id = try await ann.service.sendMessage(roomId: roomId, content: "a **bold** word")
        try await ann.service.sendReaction(roomId: roomId, eventId: id, emoji: "👍")
        try await ann.service.editMessage(roomId: roomId, eventId: id, newContent: "a quiet word")
        _ = try await ann.service.sendMessage(roomId: roomId, content: "/me waves")
        try await ann.service.redactMessage(roomId: roomId, eventId: id, reason: "enough")
        let events = try await listener.end().objects.filter { $0["type"] as? String == "event" }
        let contents = events.compactMap { $0["content"] as? [String: Any] }
        #expect(events.count == 5)
        try #require(contents.count == 5)
        #expect(contents[0]["formatted_body"] as? String == "a <strong>bold</strong> word")
        let relation = contents[1]["m.relates_to"] as? [String: Any]
        #expect(relation?["key"] as? String == "👍" && relation?["event_id"] as? String == id)
        #expect((contents[2]["m.new_content"] as? [String: Any])?["body"] as? String == "a quiet word")
        #expect(contents[3]["msgtype"] as? String == "m.emote" && contents[3]["body"] as? String == "waves")
        #expect(events[4]["event_type"] as? String == "m.room.redaction")
    }
}
