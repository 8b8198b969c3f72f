import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

@Suite(.overSockets)
@MainActor
struct ContactManagerTests {
    private func scene() async throws -> KitScene {
        let scene = try await KitScene()
        try await scene.start(
            KitScene.room(
                "!d:s", state: [KitScene.member("@a:s", name: "Me"), KitScene.member("@b:s", name: "bob")]),
            KitScene.room(
                "!g:s",
                state: [
                    KitScene.member("@a:s", name: "Me", in: "g"), KitScene.member("@c:s", name: "(Ana) Élan"),
                    KitScene.member("@d:s", name: "Carl"),
                ]),
            accountData: #"{"type":"m.direct","content":{"@b:s":["!d:s"]}}"#)
        return scene
    }

    @Test func contactsAreTheUsersOfRooms_byName_withoutTheUser() async throws {
        let scene = try await scene()
        let manager = MXKContactManager()
        manager.addMatrixSession(scene.session)
        #expect(await eventually { @MainActor in manager.matrixContacts.map(\.displayName) == ["bob"] })
        manager.contactManagerMXRoomSource = .all
        #expect(
            await eventually { @MainActor in manager.matrixContacts.map(\.displayName) == ["(Ana) Élan", "bob", "Carl"]
            })
        #expect(manager.directMatrixContacts.map(\.displayName) == ["bob"])
        let id = try #require(manager.matrixContacts.last?.contactID)
        #expect(manager.contact(withContactID: id)?.matrixIdentifiers == ["@d:s"])
        manager.removeMatrixSession(scene.session)
        #expect(await eventually { @MainActor in manager.matrixContacts.isEmpty })
    }

    @Test func aNewMember_isAContact_andItIsTold() async throws {
        let scene = try await scene()
        let manager = MXKContactManager()
        manager.reportInterval = .milliseconds(5)
        manager.contactManagerMXRoomSource = .all
        manager.addMatrixSession(scene.session)
        #expect(await eventually { @MainActor in manager.matrixContacts.count == 3 })
        await scene.next(
            #"{"next_batch":"s2","rooms":{"join":{\#(KitScene.room("!g:s", timeline: [KitScene.member("@e:s", name: "Eve")]))}}}"#
        )
        #expect(await eventually { @MainActor in manager.matrixContacts.map(\.displayName).contains("Eve") })
    }

    @Test func contactsAreFoundByBeginningsAndParts() {
        let contact = MXKContact(
            matrixContactWithDisplayName: "Ana Élan", matrixID: "@ana:s", andMatrixAvatarURL: nil)
        #expect(contact.hasPrefix("ana"))
        #expect(contact.hasPrefix("elan"))
        #expect(contact.hasPrefix("@AN"))
        #expect(!contact.hasPrefix("la"))
        #expect(contact.matched(withPatterns: ["LAN", "na:s"]))
        #expect(!contact.matched(withPatterns: ["lan", "bob"]))
    }

    @Test func whoWasActiveLastIsTheFirst() async throws {
        let scene = try await scene()
        await scene.next(
            #"{"next_batch":"s2","presence":{"events":[{"type":"m.presence","sender":"@d:s","content":{"presence":"online","last_active_ago":10}},{"type":"m.presence","sender":"@c:s","content":{"presence":"online","last_active_ago":90000}}]}}"#
        )
        let session = scene.session
        #expect(await eventually { @MainActor in session.user(withUserId: "@d:s")?.lastActiveAgo() != nil })
        let manager = MXKContactManager()
        manager.contactManagerMXRoomSource = .all
        manager.addMatrixSession(scene.session)
        #expect(await eventually { @MainActor in manager.matrixContacts.count == 3 })
        var contacts = manager.matrixContacts
        manager.sortContacts(byLastActiveInformation: &contacts)
        #expect(contacts.map(\.displayName) == ["Carl", "(Ana) Élan", "bob"])
    }

    @Test func theDirectoryOfUsersIsTheServers() async throws {
        let scene = try await scene()
        scene.server.on(
            "POST", "v3/user_directory/search",
            .json(#"{"limited":false,"results":[{"user_id":"@z:s","display_name":"Zoe"},{"user_id":"@y:s"}]}"#))
        let manager = MXKContactManager()
        manager.addMatrixSession(scene.session)
        let found = try await manager.searchDirectory("z", limit: 10)
        #expect(found.map(\.displayName) == ["Zoe", "@y:s"])
        scene.server.on("POST", "v3/user_directory/search", .error(403, "M_FORBIDDEN"))
        await #expect(throws: (any Error).self) { try await manager.searchDirectory("z", limit: 10) }
    }
}
