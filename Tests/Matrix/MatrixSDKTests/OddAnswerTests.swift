import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// One field that violates the specification does not make an answer unreadable.
@Suite(.overSockets)
struct OddAnswerTests {
    private func client(_ path: String, _ answer: String) async throws -> MXRestClient {
        let server = try await FakeHomeserver.start()
        server.on("GET", path, .json(answer))
        server.on("POST", path, .json(answer))
        return MXRestClient.make(server)
    }

    private static let odd = ["1", "\"true\"", "null", "[]", "{\"a\":1}", "1.5"]

    @Test(arguments: odd) func aFeatureThatIsNoBooleanIsNone(value: String) async throws {
        let answer = #"{"versions":["v1.11"],"unstable_features":{"odd":\#(value),"even":true,"off":false}}"#
        let versions = try await client("versions", answer).supportedVersions()
        #expect(versions.versions == ["v1.11"])
        #expect(versions.unstableFeatures == ["even": true, "off": false])
    }

    @Test(arguments: odd) func featuresThatAreNoObjectAreNone(value: String) async throws {
        let answer = #"{"versions":["v1.11",7],"unstable_features":\#(value)}"#
        #expect(try await client("versions", answer).supportedVersions().versions == ["v1.11"])
    }

    @Test func oneOddDeviceLeavesTheOthers() async throws {
        let answer = #"""
            {"devices":[{"device_id":"A","display_name":7,"last_seen_ts":1700000000000.5},{"display_name":"none"},
            {"device_id":"B","display_name":"b","last_seen_ip":[],"last_seen_ts":1.7e12}]}
            """#
        let devices = try await client("v3/devices", answer).devices()
        #expect(devices.map(\.deviceId) == ["A", "B"])
        #expect(devices.map(\.lastSeenTs) == [1_700_000_000_000, 1_700_000_000_000])
        #expect(devices.map(\.displayName) == [nil, "b"])
    }

    @Test func oneOddRoomOfTheDirectoryLeavesTheOthers() async throws {
        let answer = #"""
            {"chunk":[{"room_id":"!a:s","name":[],"num_joined_members":2.0,"world_readable":"yes"},{"name":"none"},
            {"room_id":"!b:s","num_joined_members":"many","guest_can_join":true}],"total_room_count_estimate":"x"}
            """#
        let rooms = try await client("v3/publicRooms", answer).publicRooms()
        #expect(rooms.map(\.roomId) == ["!a:s", "!b:s"])
        #expect(rooms.map(\.joinedMembersCount) == [2, 0])
        #expect(rooms.map(\.guestCanJoin) == [false, true])
    }

    @Test func oneOddMemberLeavesTheOthers() async throws {
        let answer = #"{"joined":{"@a:s":{"display_name":"A"},"@b:s":{"display_name":7},"@c:s":[]}}"#
        let members = try await client("v3/rooms/*/joined_members", answer).joinedMembers(ofRoom: "!r:s")
        #expect(members.mapValues(\.displayName) == ["@a:s": "A", "@b:s": nil, "@c:s": nil])
    }

    @Test func whoAmIAndPresenceTakeWhatTheyUnderstand() async throws {
        let who = try await client("v3/account/whoami", #"{"user_id":"@a:s","device_id":"D","is_guest":0}"#).whoAmI()
        #expect(who.userId == "@a:s" && who.deviceId == "D" && who.isGuest == nil)
        let presence = try await client(
            "v3/presence/*/status", #"{"presence":"online","last_active_ago":1500.7,"status_msg":{}}"#
        ).presence(ofUser: "@a:s")
        #expect(presence.presence == "online" && presence.lastActiveAgo == 1500 && presence.statusMessage == nil)
    }

    // MARK: Times

    @Test(
        arguments: [
            ("1700000000000", 1_700_000_000_000), ("1700000000000.0", 1_700_000_000_000),
            ("1700000000000.9", 1_700_000_000_000), ("1.7e12", 1_700_000_000_000), ("17E+11", 1_700_000_000_000),
            ("-1", 0), ("-1.5", 0), ("1e300", 0), ("\"1700000000000\"", 0), ("null", 0), ("true", 0),
        ] as [(String, UInt64)])
    func aTimeMayBeWrittenAsAFraction(text: String, expected: UInt64) throws {
        let event = #"{"type":"m.room.message","event_id":"$1","sender":"@b:s","origin_server_ts":\#(text)}"#
        #expect(MXEvent(data: Data(event.utf8))?.originServerTs == expected)
    }

    // MARK: Token lifetimes

    /// Whatever lifetime a server announces, a token is used before it is refreshed.
    @Test(arguments: [
        "0", "-1", "0.5", "1", "5", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "1e300",
        "\"3600\"", "null", "[]", "3600000.5",
    ])
    func anAbsurdLifeOfATokenMakesNoLoopOfRefreshes(life: String) async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let count = Lock(1)
        server.on("POST", "v3/refresh") { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .json(#"{"access_token":"a\#(number)","refresh_token":"r\#(number)","expires_in_ms":\#(life)}"#)
        }
        let client = MXRestClient.make(server, token: "a1", refreshToken: "r1", expiresAt: 1)
        let start = ContinuousClock.now
        for _ in 0..<20 { _ = try await client.joinedRooms() }
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(server.requests("POST", "v3/refresh").count <= 3)
        #expect(server.requests("GET", "v3/joined_rooms").count == 20)
    }
}
