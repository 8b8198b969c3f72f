import Combine
import Foundation
import MatrixSDK
import Testing

/// A service written by an application on top of the session works.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct PlannedServiceTests {
    @Test(arguments: SampleServer.allCases) func twoServicesOfAnApplicationTalk(server: SampleServer) async throws {
        let url = try await server.start()
        let users = [
            try await SampleServer.newUser("ann", at: url), try await SampleServer.newUser("bob", at: url),
        ]
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ann, bob) = (PlannedService(), PlannedService())
        var states: [PlannedService.State] = []
        let subscription = ann.statePublisher.sink { states.append($0) }
        for (service, user) in zip([ann, bob], users) {
            try service.initialize(homeserverURL: url)
            try await service.login(username: user.name, password: user.password, folder: folder)
            #expect(service.userId == user.id)
            try await service.startSync()
        }
        #expect(states == [.disconnected, .connecting, .connected])

        var heard: [MXEvent] = []
        bob.onMessage = { _, event in heard.append(event) }
        let roomId = try await ann.createRoom(name: "Plan", isDirect: false, inviteUserIds: [users[1].id])
        #expect(ann.joinedRooms().map(\.name) == ["Plan"])
        #expect(await holds { bob.session?.room(withRoomId: roomId) != nil })
        #expect(try await bob.joinRoom(roomId) == roomId)
        try await talk(ann, bob, roomId) { heard }
        try await showFiles(ann, folder, roomId)
        #expect(await holds { heard.filter { !$0.isEdit }.count == 3 })
        #expect(heard.last?.content["msgtype"] as? String == "m.file")

        let older = try await bob.messages(of: roomId, limit: 50)
        #expect(older.count >= 3)
        try await ann.kick(users[1].id, from: roomId, reason: "for a test")
        #expect(await holds { bob.joinedRooms().isEmpty })
        try await ann.invite(users[1].id, to: roomId)
        #expect(await holds { bob.session?.room(withRoomId: roomId) != nil })
        _ = try await bob.joinRoom(roomId)
        try await bob.leaveRoom(roomId)
        #expect(bob.joinedRooms().isEmpty)

        bob.stopSync()
        await bob.resumeSync()
        let direct = try await ann.createRoom(name: nil, isDirect: true, inviteUserIds: [users[1].id])
        #expect(await holds { ann.joinedRooms().contains { $0.id == direct && $0.isDirect } })
        let secret = try await ann.createRoom(
            name: "Secret", isDirect: false, inviteUserIds: [], isEncrypted: true)
        await #expect(throws: PlannedService.Failure.self) { _ = try await ann.send("x", html: nil, to: secret) }
        try await ann.logout()
        try await bob.logout()
        #expect(states.last == .disconnected)
        subscription.cancel()
    }

    private func talk(
        _ ann: PlannedService, _ bob: PlannedService, _ roomId: String, _ heard: @MainActor () -> [MXEvent]
    ) async throws {
        let id = try await ann.send("Hello", html: "<b>Hello</b>", to: roomId)
        #expect(await holds { heard().map(\.eventId) == [id] })
        try await bob.toggle("👍", on: id, in: roomId)
        #expect(try await holds { try ann.reactions(to: id, in: roomId) == ["👍": 1] })
        try await bob.toggle("👍", on: id, in: roomId)
        #expect(try await holds { try ann.reactions(to: id, in: roomId) == [:] })
        try await ann.setTyping(true, in: roomId)
        #expect(await holds { bob.session?.room(withRoomId: roomId)?.typingUsers == [ann.userId ?? ""] })
        try bob.markAsRead(roomId)
        #expect(await holds { bob.session?.room(withRoomId: roomId)?.summary.notificationCount == 0 })
        try await ann.edit(id, in: roomId, to: "Hello again")
        let room = try #require(bob.session?.room(withRoomId: roomId))
        #expect(await holds { room.edited(heard()[0]).content["body"] as? String == "Hello again" })
        try await ann.redact(id, in: roomId, reason: "enough")
        #expect(await holds { (try? room.storedMessages().contains { $0.eventId == id && $0.isRedacted }) == true })
    }

    private func showFiles(_ ann: PlannedService, _ folder: URL, _ roomId: String) async throws {
        let file = folder.appendingPathComponent("note.txt")
        try Data("note".utf8).write(to: file)
        #expect(try await ann.sendImage(file, to: roomId).hasPrefix("$"))
        #expect(try await ann.sendFile(file, to: roomId).hasPrefix("$"))
    }
}
