import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

/// Calls of `MXCrypto` for programs that send and read events themselves.
@Suite(.overSockets)
struct CryptoNamesTests {
    @Test func whatIsEncryptedHereIsReadByTheOthers_andSentInClearByNobody() async throws {
        let scene = try await EncryptedScene()
        let content = try await scene.crypto.encryptEventContent(
            ["msgtype": "m.text", "body": "by another way"], withType: .roomMessage, in: scene.room)
        #expect(content["algorithm"]?.string == Algorithm.megolm && content["body"] == nil)
        let id = try await scene.session.matrixRestClient.sendEvent(
            toRoom: "!r:s", eventType: MXEventType(identifier: "m.room.encrypted"),
            content: #require(content.foundation as? [String: Any]), transactionId: "t1")
        #expect(try scene.reads(id, { $0.bob }) == "by another way")
        #expect(!scene.hasLeaked("by another way"))
    }

    @Test func nothingIsEncryptedForARoomThatIsNot() async throws {
        let scene = try await EncryptedScene()
        _ = try scene.home.with { world in
            world.tell(
                "m.room.member", from: "@a:s", object { $0.add("membership", "join") }, in: "!clear:s",
                stateKey: "@a:s")
        }
        #expect(await eventually { scene.session.room(withRoomId: "!clear:s") != nil })
        let room = try #require(scene.session.room(withRoomId: "!clear:s"))
        await #expect {
            try await scene.crypto.encryptEventContent(["body": "x"], withType: .roomMessage, in: room)
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
    }

    @Test func eventsOfAnywhereAreRead_inTheirOrder() async throws {
        let scene = try await EncryptedScene()
        let event = try await scene.bobSays("one")
        let heard = try #require(scene.heard(event.eventId))
        let wire = try #require(
            MXEvent(
                json: object { writer in
                    writer.add("type", "m.room.encrypted")
                    writer.add("event_id", event.eventId)
                    writer.add("room_id", "!r:s")
                    writer.add("sender", "@b:s")
                    writer.add("origin_server_ts", json: "\(heard.originServerTs)")
                    writer.add("content", event.content)
                }))
        #expect(wire.isEncrypted)
        let clear = try #require(
            MXEvent(
                json: object { writer in
                    writer.add("type", "m.room.message")
                    writer.add("event_id", "$clear")
                    writer.add("room_id", "!r:s")
                    writer.add("sender", "@b:s")
                    writer.add("content", object { $0.add("body", "two") })
                }))
        let read = try scene.crypto.decryptEvents([clear, wire], inTimeline: nil)
        #expect(read.map { $0.contentJSON["body"]?.string } == ["two", "one"])
        #expect(read.map(\.isDecrypted) == [false, true])
    }

    @Test func aKeyIsAskedForAgain_atTheUsersWish() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        let phone = try scene.home.with { world in
            let phone = try TestDevice("@a:s", "PHONE", on: world.keys)
            try phone.encryptRoom("!r:s")
            world.others.append(phone)
            world.keys.noteChange(of: "@a:s")
            return phone.address
        }
        try await scene.crypto.downloadKeys(["@a:s"], forceDownload: true)
        try scene.crypto.setDeviceVerification(.verified, forDevice: "PHONE", ofUser: "@a:s")
        let id = try scene.home.with { world in
            let event = try world.say("lost", by: world.bob, to: ["@b:s"])
            world.tell(event)
            return event.eventId
        }
        #expect(await scene.hears(id, .unknownSession))
        @Sendable func asked() -> Int { scene.home.types(to: phone).count { $0 == "m.room_key_request" } }
        #expect(await eventually { asked() == 1 })
        try scene.crypto.reRequestRoomKey(for: #require(scene.heard(id)))
        #expect(await eventually { asked() >= 2 })
        let clear = try #require(MXEvent(json: object { $0.add("type", "m.room.message") }))
        #expect(throws: MatrixError.self) { try scene.crypto.reRequestRoomKey(for: clear) }
    }

    @Test func theKeysOfIdentitiesAreKnown_andWhenThisDevicesWereMade() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        try await scene.crypto.downloadKeys(["@b:s", "@e:s"], forceDownload: true)
        let own = try #require(try scene.crypto.crossSigning.crossSigningKeys(forUser: "@a:s"))
        let others = try #require(try scene.crypto.crossSigning.crossSigningKeys(forUser: "@b:s"))
        #expect(own.userSigningKey != nil && others.userSigningKey == nil && others.selfSigningKey != nil)
        #expect(own.masterKey != others.masterKey && others.userId == "@b:s")
        #expect(try scene.crypto.crossSigning.crossSigningKeys(forUser: "@e:s") == nil)
        let made = try #require(try scene.crypto.deviceCreationTs)
        #expect(abs(Double(made) / 1000 - Date().timeIntervalSince1970) < 3600)
        #expect(try scene.crypto.version.contains("OpenSSL"))
    }

    @Test func trustIsSummedUp() async throws {
        let scene = try await EncryptedScene(hasIdentity: true)
        try scene.home.with { world in
            let other = try TestDevice("@b:s", "OTHER", on: world.keys)
            world.others.append(other)
        }
        let sum = { @Sendable in
            try await scene.crypto.trustLevelSummary(forUserIds: ["@b:s", "@e:s"], forceDownload: true)
        }
        // Until the homeserver has the signature, its answers lack it.
        #expect(await eventually { (try? await sum())?.trustedUsers == 1 })
        let summary = try await sum()
        #expect(summary.users == 2)
        #expect(summary.devices == 3 && summary.trustedDevices == 1)
        let trusted = try #require(try scene.crypto.deviceTrustLevel(forDevice: "BOB", ofUser: "@b:s"))
        #expect(trusted.isVerified && trusted.isCrossSigned)
        let other = try #require(try scene.crypto.deviceTrustLevel(forDevice: "OTHER", ofUser: "@b:s"))
        #expect(other.localVerificationStatus == .unverified && !other.isCrossSigned && !other.isVerified)
        #expect(try scene.crypto.deviceTrustLevel(forDevice: "NONE", ofUser: "@b:s") == nil)
        #expect(try scene.crypto.crossSigning.hasAllPrivateKeys)
        #expect(try await scene.crypto.crossSigning.refreshState() == .canCrossSign)
        #expect(throws: MatrixError.self) { try scene.crypto.crossSigning.requestPrivateKeys(toDeviceIds: ["NONE"]) }
    }
}
