import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing
import Transport

/// Two users of every method of the service.
@MainActor
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(2)))
struct ServiceOnHomeserverTests {
    @Test func everyMethodDoesWhatItSays_asTheOtherSees() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (try await ServiceUser("ann", on: homeserver), try await ServiceUser("bob", on: homeserver))
        var table = ServiceTable()
        try await logIn(ann, bob, &table)
        let roomId = try await meet(ann, bob, &table)
        try await talk(ann, bob, roomId, &table)
        try await showFiles(ann, bob, roomId, &table)
        try await part(ann, bob, roomId, &table)
        try await talkAlone(ann, bob, &table)
        try await comeBack(ann, bob, &table)
        try await end(ann, bob, &table)
        #expect(table.isComplete())
    }

    private func logIn(_ ann: ServiceUser, _ bob: ServiceUser, _ table: inout ServiceTable) async throws {
        try await ann.initialize()
        table.show("initialize", "finds the homeserver", ann.service.connectionState == .disconnected)
        try await ann.service.loginWithPassword(username: ann.user.name, password: ann.user.password)
        table.show("loginWithPassword", "is that user", ann.service.userId == ann.user.id)
        try await bob.initialize()
        let url = try #require(URL(string: bob.homeserver.url))
        let elsewhere = MXRestClient(homeServer: url, options: .direct)
        let token = try await elsewhere.login(username: bob.user.name, password: bob.user.password).accessToken ?? ""
        try await bob.service.login(novaUserId: bob.user.id, accessToken: token)
        table.show("login", "the token of another login is bob's", bob.service.userId == bob.user.id)
        try await ann.service.startSync()
        try await bob.service.startSync()
        table.show(
            "startSync", "both are connected after the first sync",
            ann.service.connectionState == .connected && bob.service.connectionState == .connected)
    }

    private func meet(
        _ ann: ServiceUser, _ bob: ServiceUser, _ table: inout ServiceTable
    ) async throws -> String {
        let roomId = try await ann.service.createRoom(
            name: "Room 1", isDirect: false, inviteUserIds: [bob.user.id], isEncrypted: false)
        let made = try await ann.service.getRoom(roomId: roomId)
        table.show("createRoom", "ann is in it, bob is invited", made?.name == "Room 1" && made?.membership == .join)
        #expect(await bob.sees { $0.rooms.contains { $0.id == roomId && $0.membership == .invite } })
        let invitation = try await bob.service.getRoom(roomId: roomId)
        table.show("getRoom", "shows bob the invitation", invitation?.membership == .invite)
        try await bob.join(roomId)
        #expect(await ann.sees { $0.rooms.last { $0.id == roomId }?.memberCount == 2 })
        table.show("joinRoom", "both are members", try await bob.service.getRoom(roomId: roomId)?.membership == .join)
        table.show(
            "getJoinedRooms", "has the room of both",
            try await [ann.service.getJoinedRooms().map(\.id), bob.service.getJoinedRooms().map(\.id)]
                == [[roomId], [roomId]])
        return roomId
    }

    private func talk(
        _ ann: ServiceUser, _ bob: ServiceUser, _ roomId: String, _ table: inout ServiceTable
    ) async throws {
        let id = try await ann.service.sendMessage(roomId: roomId, content: "Hello **world**")
        #expect(await bob.sees { $0.message(id) != nil })
        let isRight =
            bob.message(id)?.content == .text("Hello **world**", html: "Hello <strong>world</strong>")
            && bob.message(id)?.sender.id == ann.user.id && bob.message(id)?.isOwn == false
        table.show("sendMessage", "bob is told, with HTML of the Markdown", isRight)
        // The invitation may also count.
        #expect(await bob.sees { ($0.rooms.last { $0.id == roomId }?.unreadCount ?? 0) > 0 })
        try await bob.service.markRoomAsRead(roomId: roomId)
        #expect(await bob.sees { $0.rooms.last { $0.id == roomId }?.unreadCount == 0 })
        let room = ann.service.session?.room(withRoomId: roomId)
        let isRead = await ann.sees { _ in
            (try? room?.receipts().contains { $0.userId == bob.user.id && $0.eventId == id }) == true
        }
        table.show("markRoomAsRead", "bob's count is 0, ann has his receipt", isRead)

        try await ann.service.setTyping(roomId: roomId, isTyping: true)
        #expect(await bob.sees { $0.typing.last == [ann.user.id] })
        try await ann.service.setTyping(roomId: roomId, isTyping: false)
        table.show("setTyping", "bob sees it begin and end", await bob.sees { $0.typing.last == [] })

        try await bob.service.sendReaction(roomId: roomId, eventId: id, emoji: "👍")
        try await bob.service.sendReaction(roomId: roomId, eventId: id, emoji: "👍")
        let reaction = MatrixReaction(emoji: "👍", userIds: [bob.user.id])
        table.show("sendReaction", "ann sees it once", await ann.sees { $0.message(id)?.reactions == [reaction] })
        table.show(
            "getReactions", "ann's list has bob's",
            try await ann.service.getReactions(roomId: roomId, eventId: id) == [reaction])
        try await bob.service.toggleReaction(roomId: roomId, eventId: id, emoji: "👍")
        #expect(await ann.sees { $0.message(id)?.reactions == [] })
        try await bob.service.toggleReaction(roomId: roomId, eventId: id, emoji: "🎉")
        table.show(
            "toggleReaction", "ann sees one go and one come",
            await ann.sees { $0.message(id)?.reactions.map(\.emoji) == ["🎉"] })

        try await ann.service.editMessage(roomId: roomId, eventId: id, newContent: "Hello *moon*")
        let isEdited = await bob.sees { $0.message(id)?.content == .text("Hello *moon*", html: "Hello <em>moon</em>") }
        table.show("editMessage", "bob reads the new text", isEdited && bob.message(id)?.isEdited == true)
        await #expect(throws: MatrixServiceError.self) {
            try await bob.service.editMessage(roomId: roomId, eventId: id, newContent: "not mine")
        }
        try await ann.service.redactMessage(roomId: roomId, eventId: id, reason: "too loud")
        table.show(
            "redactMessage", "bob sees it gone, and why",
            await bob.sees { $0.message(id)?.content == .redacted(reason: "too loud") })
    }

    private func showFiles(
        _ ann: ServiceUser, _ bob: ServiceUser, _ roomId: String, _ table: inout ServiceTable
    ) async throws {
        let file = ann.folder.appending(path: "square.png")
        try Picture.data.write(to: file)
        let id = try await ann.service.sendMedia(
            roomId: roomId, mediaURL: file, mimeType: "image/png", caption: "a square")
        #expect(await bob.sees { $0.message(id) != nil })
        let attachment = try #require(bob.message(id)?.attachment)
        #expect(attachment.caption == "a square" && attachment.fileName == "square.png")
        #expect(attachment.size == Picture.data.count && attachment.width == 48 && attachment.height == 48)
        let (copy, small) = (bob.folder.appending(path: "copy.png"), bob.folder.appending(path: "small.png"))
        let client = try #require(bob.service.session?.matrixRestClient)
        try await client.downloadContent(attachment.url ?? "", to: copy, acceptedTypes: ["image/*"])
        let isSame = try Data(contentsOf: copy) == Picture.data
        table.show("sendMedia", "bob downloads the same bytes, and a thumbnail", isSame)
        let thumbnail = try await client.downloadThumbnail(attachment.url ?? "", to: small, width: 32, height: 32)
        #expect(thumbnail.size > 0 && thumbnail.mimeType.hasPrefix("image/"))

        var ids: [String] = []
        for number in 1...5 {
            ids.append(try await ann.service.sendMessage(roomId: roomId, content: "number \(number)"))
        }
        #expect(await bob.sees { $0.message(ids[4]) != nil })
        let last = try await bob.service.getRoomMessages(roomId: roomId, limit: 3)
        let before = try await bob.service.getRoomMessages(roomId: roomId, limit: 2, from: last[0].id)
        #expect(last.map(\.id) == Array(ids[2...]))
        table.show(
            "getRoomMessages", "the newest, then those before them", before.map(\.id) == Array(ids[..<2]))
    }

    private func part(
        _ ann: ServiceUser, _ bob: ServiceUser, _ roomId: String, _ table: inout ServiceTable
    ) async throws {
        try await ann.service.kickUser(roomId: roomId, userId: bob.user.id, reason: "for a test")
        let isOut = await bob.sees { $0.rooms.last { $0.id == roomId }?.membership == .leave }
        let rooms = try await bob.service.getJoinedRooms()
        table.show("kickUser", "bob is told, and has the room no more", isOut && rooms.isEmpty)
        try await ann.service.inviteUser(roomId: roomId, userId: bob.user.id)
        table.show(
            "inviteUser", "bob is invited again",
            await bob.sees { $0.rooms.last { $0.id == roomId }?.membership == .invite })
        try await bob.join(roomId)
        try await bob.service.leaveRoom(roomId: roomId)
        let left = try await bob.service.getRoom(roomId: roomId)
        let isAlone = await ann.sees { $0.rooms.last { $0.id == roomId }?.memberCount == 1 }
        table.show("leaveRoom", "ann is alone, bob has the room no more", left == nil && isAlone)
        await #expect(throws: MatrixServiceError.roomNotFound) {
            _ = try await bob.service.sendMessage(roomId: roomId, content: "x")
        }
    }

    private func talkAlone(_ ann: ServiceUser, _ bob: ServiceUser, _ table: inout ServiceTable) async throws {
        let direct = try await ann.service.createRoom(
            name: nil, isDirect: true, inviteUserIds: [bob.user.id], isEncrypted: false)
        try await bob.join(direct)
        #expect(await ann.sees { $0.rooms.last { $0.id == direct }?.directUserId == bob.user.id })
        #expect(await bob.sees { $0.rooms.last { $0.id == direct }?.directUserId == ann.user.id })
        let closed = try await ann.service.createRoom(
            name: "Secret", isDirect: false, inviteUserIds: [bob.user.id], isEncrypted: true)
        #expect(try await ann.service.getRoom(roomId: closed)?.isEncrypted == true)
        try await bob.join(closed)
        let secret = try await ann.service.sendMessage(roomId: closed, content: "for bob alone")
        #expect(await bob.sees { $0.message(secret)?.body == "for bob alone" })
        try await bob.service.stopSync()
        let id = try await ann.service.sendMessage(roomId: direct, content: "while you were away")
        #expect(bob.message(id) == nil)
        table.show(
            "stopSync", "bob is told no more until he starts again", bob.service.connectionState == .disconnected)
        try await bob.service.startSync()
        #expect(await bob.sees { $0.message(id) != nil })
    }

    private func comeBack(_ ann: ServiceUser, _ bob: ServiceUser, _ table: inout ServiceTable) async throws {
        let direct = try #require(try await ann.service.getJoinedRooms().first { $0.isDirect }?.id)
        ann.service.session?.close()
        let id = try await bob.service.sendMessage(roomId: direct, content: "are you there?")
        let isRestored = try await ann.restart()
        #expect(ann.service.userId == ann.user.id)
        #expect(try await ann.service.getRoomMessages(roomId: direct, limit: 9).map(\.body) == ["while you were away"])
        try await ann.service.startSync()
        // A first sync is history, and reports no single message.
        table.show(
            "restoreSession", "ann's messages are there, the next comes live: no full sync",
            await ann.sees { isRestored && $0.message(id) != nil })
    }

    private func end(_ ann: ServiceUser, _ bob: ServiceUser, _ table: inout ServiceTable) async throws {
        let token = try #require(ann.accessToken)
        try await ann.service.logout()
        let old = MXRestClient(
            credentials: MXCredentials(homeServer: ann.homeserver.url, userId: ann.user.id, accessToken: token),
            options: .direct)
        await #expect { _ = try await old.whoAmI() } throws: { ($0 as? MXError)?.errcode == "M_UNKNOWN_TOKEN" }
        let isForgotten = try await ann.service.restoreSession() == false
        table.show("logout", "the token is dead, nothing is kept", isForgotten && ann.accessToken == nil)
        // Bob's token is invalidated elsewhere; he can still log out.
        let dead = try #require(bob.accessToken)
        try await MXRestClient(
            credentials: MXCredentials(homeServer: bob.homeserver.url, userId: bob.user.id, accessToken: dead),
            options: .direct
        ).logout()
        try await bob.service.logout()
        #expect(bob.service.userId == nil && bob.accessToken == nil)
    }
}
