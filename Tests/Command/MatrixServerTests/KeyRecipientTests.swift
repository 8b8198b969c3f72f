import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// Recipients of a room's keys, as matrix-nio sees it.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct KeyRecipientTests {
    private let homeserver: Homeserver
    private let ann: EncryptedUser
    private let nio: EncryptedPeer
    private let room: MXRoom

    init() async throws {
        homeserver = try Homeserver(.plain)
        ann = try await EncryptedUser("ann", on: homeserver)
        nio = try await EncryptedPeer("nio", on: homeserver)
        room = try await ann.makeRoom(inviting: nio.user.id)
        try await nio.perform("join", room.roomId)
    }

    private func session(_ text: String) async throws -> String {
        try await ann.megolmSession(of: try await room.sendTextMessage(text))
    }

    private func waits(for user: Homeserver.User, _ membership: MXMembership) async -> Bool {
        await eventually { room.state?.members.member(withUserId: user.id)?.membership == membership }
    }

    /// Whether our client knows this number of devices.
    private func knows(_ count: Int, devicesOf user: Homeserver.User) async throws -> Bool {
        let crypto = try #require(try ann.session.crypto)
        return await eventually {
            try? await crypto.downloadKeys([user.id])
            return (try? crypto.devices(forUser: user.id).count) == count
        }
    }

    @Test func aNewDeviceReadsWhatIsSaidLater_andTheNextMessageGoesOtherwiseWhenItIsGone() async throws {
        let before = try await room.sendTextMessage("before")
        #expect(await nio.hears(before, "before"))
        let second = try await EncryptedPeer("nio", on: homeserver, as: nio.user)
        #expect(try await knows(2, devicesOf: nio.user))
        let after = try await room.sendTextMessage("after")
        #expect(await nio.hears(after, "after"))
        #expect(await second.hears(after, "after"))
        #expect(await second.failsToRead(before))
        #expect(try await ann.megolmSession(of: after) == ann.megolmSession(of: before))

        try await second.perform("logout")
        #expect(try await knows(1, devicesOf: nio.user))
        let last = try await room.sendTextMessage("without the second")
        #expect(await nio.hears(last, "without the second"))
        #expect(try await ann.megolmSession(of: last) != ann.megolmSession(of: after))
    }

    @Test func whoeverGoesTheNextMessageGoesByAnotherSession() async throws {
        let bob = try await EncryptedUser("bob", on: homeserver)
        let client = try ann.session.matrixRestClient
        var sessions = [try await session("among two")]
        // As an invited user, he could have read: invited users can also see the room's history.
        try await client.inviteUser(bob.user.id, toRoom: room.roomId)
        #expect(await waits(for: bob.user, .invite))
        #expect(try await session("while he is invited") == sessions[0])
        try await bob.session.matrixRestClient.leaveRoom(room.roomId)
        #expect(await waits(for: bob.user, .leave))
        sessions.append(try await session("without him"))

        try await client.inviteUser(bob.user.id, toRoom: room.roomId)
        _ = try await bob.join(room.roomId)
        #expect(await waits(for: bob.user, .join))
        #expect(try await session("with him") == sessions[1])
        try await room.kickUser(bob.user.id)
        #expect(await waits(for: bob.user, .leave))
        sessions.append(try await session("after he was kicked"))

        #expect(try await session("among two") == sessions[2])
        try await room.banUser(nio.user.id)
        #expect(await waits(for: nio.user, .ban))
        sessions.append(try await session("after nio was banned"))
        #expect(Set(sessions).count == sessions.count)
    }

    @Test func aPeerThatBlocksUsGivesNoKey_andNamesNoCause() async throws {
        let bob = try await EncryptedUser("bob", on: homeserver)
        try await ann.session.matrixRestClient.inviteUser(bob.user.id, toRoom: room.roomId)
        _ = try await bob.join(room.roomId)
        // Makes both known to nio.
        #expect(await ann.hears(try await nio.send("to both", to: room.roomId), "to both"))
        try await nio.perform("block", ann.user.id, try ann.deviceId)
        try await nio.perform("discard", room.roomId)
        let id = try await nio.send("not for ann", to: room.roomId)
        #expect(await bob.hears(id, "not for ann"))
        #expect(await ann.hears(id, .unknownSession))
    }

    @Test func onlyWhoIsVerifiedReads_whereThatIsWanted() async throws {
        let second = try await EncryptedPeer("nio", on: homeserver, as: nio.user)
        let crypto = try #require(try ann.session.crypto)
        try crypto.setBlacklistUnverifiedDevicesInRoom(room.roomId, blacklist: true)
        try await ann.set(.verified, try nio.deviceId, of: nio.user)
        #expect(try await knows(2, devicesOf: nio.user))
        let id = try await room.sendTextMessage("for the verified one")
        #expect(await nio.hears(id, "for the verified one"))
        #expect(await second.failsToRead(id))
        try await ann.set(.verified, try second.deviceId, of: nio.user)
        let next = try await room.sendTextMessage("for both")
        #expect(await second.hears(next, "for both"))
    }

    /// matrix-nio is a second device of ann; both devices verify each other manually.
    @Test func ourOwnVerifiedDeviceIsGivenTheKeysThatItAsksFor() async throws {
        let id = try await room.sendTextMessage("before the second device")
        #expect(await nio.hears(id, "before the second device"))
        let second = try await EncryptedPeer("ann", on: homeserver, as: ann.user)
        // A message makes the devices known to each other.
        #expect(try await knows(2, devicesOf: ann.user))
        let next = try await room.sendTextMessage("after it")
        #expect(await second.hears(next, "after it"))
        #expect(await second.failsToRead(id))

        try await second.perform("verify", ann.user.id, try ann.deviceId)
        try await second.perform("request", id)
        // It gets nothing while unverified, and the key once verified.
        try await ann.set(.verified, try second.deviceId, of: ann.user)
        #expect(await second.receivesKey(of: try await ann.megolmSession(of: id)))
    }

    /// The other way round: matrix-nio gives us the messages' keys from before our device existed.
    @Test func aPeerThatHasVerifiedUsGivesUsTheKeysThatWeAskFor() async throws {
        let second = try await EncryptedPeer("ann", on: homeserver, as: ann.user)
        #expect(try await knows(2, devicesOf: ann.user))
        let third = try await EncryptedUser("ann", on: homeserver, as: ann.user)
        let id = try await room.sendTextMessage("for all")
        #expect(await second.hears(id, "for all"))
        let late = try await EncryptedUser("ann", on: homeserver, as: ann.user)
        let sameRoom = try await late.room(room.roomId)
        #expect(try await sameRoom.event(withId: id).decryptionError == .unknownSession)
        try ann.stop()
        try third.stop()
        try await second.perform("verify", ann.user.id, try late.deviceId)
        try await late.set(.verified, try second.deviceId, of: ann.user)
        #expect(
            await eventually {
                (try? await sameRoom.event(withId: id).contentJSON["body"]?.string) == "for all"
            })
    }
}
