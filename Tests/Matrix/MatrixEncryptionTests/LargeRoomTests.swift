import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// The first message in a room with many devices.
@Suite struct LargeRoomTests {
    /// Adds a device that only has its keys on a server.
    private static func addDevice(_ address: DeviceAddress, to server: KeyServer) throws {
        let fingerprint = Ed25519KeyPair(random: .system)
        let keys = try DeviceKeys(
            userID: address.user, deviceID: address.device,
            identityKey: Curve25519KeyPair(random: .system).publicKey, fingerprint: fingerprint)
        let oneTimeKey = try SignedOneTimeKey.json(
            Curve25519KeyPair(random: .system).publicKey, isFallback: false, userID: address.user,
            deviceID: address.device, fingerprint: fingerprint)
        server.addDevice(address)
        server.devices[address]?.keys = keys.json
        server.devices[address]?.oneTimeKeys = [("signed_curve25519:AAAA", oneTimeKey)]
    }

    /// The requests before a first message to `count` devices, two per user, and its CPU time.
    private static func firstMessage(toDevices count: Int) throws -> (requests: [KeyServer.Request], time: Duration) {
        let server = KeyServer()
        let alice = try TestDevice("@alice:s", "A", on: server)
        for number in 0..<count { try addDevice(DeviceAddress("@user\(number / 2):s", "D\(number)"), to: server) }
        try alice.encryptRoom("!r:s")
        let members = ["@alice:s"] + (0..<count / 2).map { "@user\($0):s" }
        let room = RoomToEncrypt(roomId: "!r:s", members: members, isSharedHistory: true)
        let before = server.requests.count
        let time = try cpuTime { _ = try alice.send("hello, everybody", to: room) }
        #expect(server.devices.values.count { $0.messages.count == 1 } == count)
        return (Array(server.requests.dropFirst(before)), time)
    }

    @Test func aThousandDevicesTakeFewRequests_andWorkThatGrowsAsTheyDo() throws {
        let (requests, time) = try Self.firstMessage(toDevices: 1_000)
        var (queries, claims, messages): ([Int], Int, Int) = ([], 0, 0)
        for request in requests {
            switch request.call {
            case .queryKeys(let users): queries.append(users.count)
            case .claimKeys: claims += 1
            case .sendToDevice: messages += 1
            default: Issue.record("\(request.call)")
            }
        }
        #expect(queries.sorted() == [1, 250, 250] || queries.sorted() == [250, 250], "\(queries)")
        #expect(claims == 1)
        #expect(messages == 4)
        #expect(time < .seconds(10), "\(time)")
        // 8.06 times as many devices take 8.1 to 8.5 times as long. Searching the answers to queries and claims once
        // for each user and device took 17.7 times as long.
        let few = try Self.firstMessage(toDevices: 124).time
        #expect(time < few * 12, "\(time) for 1,000, \(few) for 124")
    }
}
